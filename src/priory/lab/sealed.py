"""The golden rule as a thing: a test set that remembers how often it was looked at.

A test error is unbiased once. Whoever looks, changes the model and looks again is choosing by the test set, and has a
validation error, whatever it is called. So a test set is sealed: a file keeps a digest of every example and one line
for each look, with who looked, when, at which model, and the figures. No figure is handed out before its line is on the
disk. A second look is allowed; it is counted.

This protects people from themselves. It does nothing against somebody who wants to cheat: the digests are no secret,
and a file can be copied.
"""

import getpass
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeVar

from priory.lab import chained
from priory.lab.error import LabError

Result = TypeVar("Result")

_KIND: Final = "sealed test set"
_DIGITS: Final = 32  #: 128 bits tell more examples apart than there will ever be


class Fingerprint(NamedTuple):
    """What a seal keeps of an example: where it is, for people, what it is, and a digest of what is in it."""

    name: str
    label: str
    digest: str


def fingerprints(names: Sequence[str], labels: Sequence[str], digests: Sequence[bytes]) -> list[Fingerprint]:
    """Return what a seal keeps of examples whose contents have these digests.

    >>> fingerprints(["inbox:1"], ["ham"], [bytes.fromhex("b286ad475e3dd1307b3b016f5953f35f42")])[0].digest
    'b286ad475e3dd1307b3b016f5953f35f'
    """
    if not len(names) == len(labels) == len(digests):
        raise LabError(f"{len(names)} names, {len(labels)} labels, {len(digests)} digests: give one for each example")
    shortened = (digest.hex()[:_DIGITS] for digest in digests)
    return [Fingerprint(*row) for row in zip(names, labels, shortened, strict=True)]


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a sealed test set; all is empty but the number where its line was torn."""

    number: int
    when: str = ""
    who: str = ""
    model: str = ""
    figures: Mapping[str, Any] | None = None


def seal(path: Path, examples: Sequence[Fingerprint]) -> "Sealed":
    """Seal examples as a test set, in a file that must not exist yet."""
    n_by_class = Counter(example.label for example in examples)
    if len(n_by_class) < 2:
        there_are = f"are all {examples[0].label}" if examples else "are none"
        raise LabError(f"the {len(examples):,} examples {there_are}: a test set needs examples of two classes at least")
    n_by_class = Counter(dict(sorted(n_by_class.items())))
    first = {"kind": _KIND, "when": _now(), "who": _who(), "n_by_class": n_by_class, "examples": sorted(examples)}
    chained.create(path, first)
    return Sealed(path)


@dataclass(frozen=True, slots=True)
class Sealed:
    """A sealed test set. It is read from its file whenever it is asked, so two processes agree on the number of looks.

    >>> from tempfile import mkdtemp
    >>> mail = fingerprints(["inbox:1", "junk:1"], ["ham", "spam"], [b"digest of lunch", b"digest of an offer"])
    >>> sealed = seal(Path(mkdtemp()) / "test.seal", mail)
    >>> sealed.line
    'not looked at yet'
    >>> sealed.look(mail, "bernoulli", lambda: {"error": 0.5}, dict)
    {'error': 0.5}
    >>> sealed.line
    'looked at once: this is a test error'
    >>> sealed.look(mail, "bernoulli, alpha 0.1", lambda: {"error": 0.0}, dict)
    {'error': 0.0}
    >>> sealed.line
    'looked at 2 times: this is a validation error'
    """

    path: Path

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a sealed test set; an error if the file is none, or has been changed."""
        if chained.read(path).first.get("kind") != _KIND:
            raise LabError(f"{path} is no sealed test set: make one with Priory first")
        return cls(path)

    @property
    def looks(self) -> tuple[Look, ...]:
        """All looks so far, the first first."""
        records = chained.read(self.path).records
        return tuple(Look(number, **(record or {})) for number, record in enumerate(records, start=1))

    @property
    def n_looks(self) -> int:
        """How often it was looked at."""
        return len(self.looks)

    @property
    def line(self) -> str:
        """What every report from this test set has to say."""
        n = self.n_looks
        if n == 0:
            return "not looked at yet"
        return "looked at once: this is a test error" if n == 1 else f"looked at {n} times: this is a validation error"

    @property
    def examples(self) -> tuple[Fingerprint, ...]:
        """The examples that were sealed."""
        return tuple(Fingerprint(*row) for row in chained.read(self.path).first["examples"])

    @property
    def n_by_class(self) -> dict[str, int]:
        """How many examples of each class were sealed."""
        return dict(chained.read(self.path).first["n_by_class"])

    def check(self, examples: Sequence[Fingerprint]) -> None:
        """Raise an error unless these are the sealed examples; their order, and where they are, do not matter."""
        sealed = self.examples
        lost, strange = _without(sealed, examples), _without(examples, sealed)
        changed = {example.name for example in lost} & {example.name for example in strange}
        if lost or strange:
            raise LabError(
                f"these are not the examples of {self.path}: of {len(sealed):,} sealed, {len(lost) - len(changed):,} "
                f"are missing and {len(changed):,} have changed; {len(strange) - len(changed):,} are new; the first is "
                f"{(lost or strange)[0].name}. A test error needs all that was sealed, and nothing else"
            )

    def check_training(self, examples: Sequence[Fingerprint]) -> None:
        """Raise an error if any of the examples to be learned is in the test set."""
        held = {example.digest for example in self.examples}
        both = [example.name for example in examples if example.digest in held]
        if both:
            raise LabError(
                f"{len(both):,} of {len(examples):,} examples to learn are in the test set {self.path}, the first is "
                f"{both[0]}: leave them out, for what was learned is no test"
            )

    def look(
        self,
        examples: Sequence[Fingerprint],
        model: str,
        compute: Callable[[], Result],
        figures: Callable[[Result], Mapping[str, Any]],
    ) -> Result:
        """Judge a model on the test set, and hand out the result once the look is on the disk.

        `compute` judges it; `figures` returns what is kept of the result: names with plain numbers. If the examples are
        not the sealed ones, or either function fails, nothing was handed out and nothing is counted.
        """
        self.check(examples)
        result = compute()
        kept = dict(figures(result))
        try:
            json.dumps(kept, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise LabError(f"the figures of {model} cannot be kept: {error}; give names with plain numbers") from None
        record = {"when": _now(), "who": _who(), "model": model, "figures": kept}
        chained.append(self.path, record)
        return result


def _without(examples: Iterable[Fingerprint], others: Iterable[Fingerprint]) -> list[Fingerprint]:
    """Return the examples that have no counterpart of the same content and label among others."""
    there = Counter((other.label, other.digest) for other in others)
    left = []
    for example in examples:
        if there[example.label, example.digest]:
            there[example.label, example.digest] -= 1
        else:
            left.append(example)
    return left


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in containers
        return str(os.getuid())
