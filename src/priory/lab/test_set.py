"""Sealed test sets, which count how often they were used.

A test error is unbiased once. After looking, changing the model and looking again, it is a validation error, whatever
it is called. So a test set is sealed: a file holds a digest of every example, and one line for each look, with the
user, the time, the model and the figures. No figure is returned before its line is on disk. A second look is allowed;
it is counted.

This protects people from their own mistakes, not from cheating: the digests are no secret, and a file can be copied.
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

from priory.lab.chained_file import append_record, create_chain, read_chain
from priory.lab.error import LabError

Result = TypeVar("Result")

_KIND: Final = "sealed test set"
_DIGITS: Final = 32  #: hexadecimal digits, 128 bits: collisions are out of the question


class Fingerprint(NamedTuple):
    """An example in a seal: its place, for display, its label, and a digest of its content."""

    name: str
    label: str
    digest: str


def fingerprints(names: Sequence[str], labels: Sequence[str], digests: Sequence[bytes]) -> list[Fingerprint]:
    """Return the fingerprints of examples whose contents have these digests.

    >>> fingerprints(["inbox:1"], ["ham"], [bytes.fromhex("b286ad475e3dd1307b3b016f5953f35f42")])[0].digest
    'b286ad475e3dd1307b3b016f5953f35f'
    """
    if not len(names) == len(labels) == len(digests):
        raise LabError(f"{len(names)} names, {len(labels)} labels, {len(digests)} digests: give one for each example")
    shortened = (digest.hex()[:_DIGITS] for digest in digests)
    return [Fingerprint(*row) for row in zip(names, labels, shortened, strict=True)]


@dataclass(frozen=True, slots=True)
class RecordedLook:
    """One look at a sealed test set; only the number is known if its line was cut off by a crash."""

    number: int
    when: str = ""
    who: str = ""
    model: str = ""
    figures: Mapping[str, Any] | None = None


def seal(path: Path, examples: Sequence[Fingerprint]) -> "Sealed":
    """Seal examples as a test set in a new file."""
    n_by_class = Counter(example.label for example in examples)
    if len(n_by_class) < 2:
        there_are = f"are all {examples[0].label}" if examples else "are none"
        raise LabError(f"the {len(examples):,} examples {there_are}: a test set needs examples of at least two classes")
    n_by_class = Counter(dict(sorted(n_by_class.items())))
    first = {"kind": _KIND, "when": _now(), "who": _who(), "n_by_class": n_by_class, "examples": sorted(examples)}
    create_chain(path, first)
    return Sealed(path)


@dataclass(frozen=True, slots=True)
class Sealed:
    """A sealed test set. Every access reads the file, so that processes agree on the number of looks.

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
        """Open a sealed test set; raise `LabError` if the file is not one, or was changed."""
        if read_chain(path).first.get("kind") != _KIND:
            raise LabError(f"{path} is no sealed test set: create one with priory lab seal")
        return cls(path)

    @property
    def looks(self) -> tuple[RecordedLook, ...]:
        """All looks so far, the earliest first."""
        records = read_chain(self.path).records
        return tuple(RecordedLook(number, **(record or {})) for number, record in enumerate(records, start=1))

    @property
    def n_looks(self) -> int:
        """The number of looks."""
        return len(self.looks)

    @property
    def line(self) -> str:
        """The number of looks in words, for every report from this test set."""
        n = self.n_looks
        if n == 0:
            return "not looked at yet"
        return "looked at once: this is a test error" if n == 1 else f"looked at {n} times: this is a validation error"

    @property
    def examples(self) -> tuple[Fingerprint, ...]:
        """The examples that were sealed."""
        return tuple(Fingerprint(*row) for row in read_chain(self.path).first["examples"])

    @property
    def n_by_class(self) -> dict[str, int]:
        """The number of sealed examples of each class."""
        return dict(read_chain(self.path).first["n_by_class"])

    def check(self, examples: Sequence[Fingerprint]) -> None:
        """Raise `LabError` unless these are the sealed examples; their order and their places do not matter."""
        sealed = self.examples
        lost, strange = _without(sealed, examples), _without(examples, sealed)
        changed = {example.name for example in lost} & {example.name for example in strange}
        if lost or strange:
            raise LabError(
                f"these are not the examples of {self.path}: of {len(sealed):,} sealed, {len(lost) - len(changed):,} "
                f"are missing and {len(changed):,} have changed; {len(strange) - len(changed):,} are new; the first is "
                f"{(lost or strange)[0].name}. A test error needs all sealed examples and no others"
            )

    def check_training(self, examples: Sequence[Fingerprint]) -> None:
        """Raise `LabError` if any of the training examples is in the test set."""
        held = {example.digest for example in self.examples}
        both = [example.name for example in examples if example.digest in held]
        if both:
            raise LabError(
                f"{len(both):,} of {len(examples):,} examples to learn are in the test set {self.path}, the first is "
                f"{both[0]}: leave them out, because learned examples are no test"
            )

    def look(
        self,
        examples: Sequence[Fingerprint],
        model: str,
        compute: Callable[[], Result],
        figures: Callable[[Result], Mapping[str, Any]],
    ) -> Result:
        """Judge a model on the test set, and return the result after the look is on disk.

        `compute` judges it; `figures` returns the part of the result to record: names with plain numbers. If the
        examples are not the sealed ones, or a function fails, it raises an error and does not count the look.
        """
        self.check(examples)
        result = compute()
        recorded = dict(figures(result))
        try:
            json.dumps(recorded, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise LabError(f"cannot record the figures of {model}: {error}; give names with plain numbers") from None
        record = {"when": _now(), "who": _who(), "model": model, "figures": recorded}
        append_record(self.path, record)
        return result


def _without(examples: Iterable[Fingerprint], others: Iterable[Fingerprint]) -> list[Fingerprint]:
    """Return the examples without a counterpart of the same content and label among others."""
    there = Counter((other.label, other.digest) for other in others)
    remaining = []
    for example in examples:
        if there[example.label, example.digest]:
            there[example.label, example.digest] -= 1
        else:
            remaining.append(example)
    return remaining


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in containers
        return str(os.getuid())
