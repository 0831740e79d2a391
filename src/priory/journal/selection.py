"""Which lessons are meant, by who taught them, what, when and from where."""

from dataclasses import dataclass, replace
from typing import Final

from priory.journal.database import Database
from priory.journal.lesson import AUTOMATIC

_DIGITS: Final = 64  # of a digest


class SelectionError(ValueError):
    """Nothing can be selected so; the text says why."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which lessons are meant: those for which all that is said here is true; None says nothing.

    >>> Selection(label="spam", sender="Mail.Example")
    Selection(label='spam', user=None, source=None, sender='mail.example', since=None, until=None, automatic=None, \
digest=None, certainty_below=None, certainty_above=None, changes=None)
    """

    label: str | None = None
    user: str | None = None  #: the empty name is nobody in particular; what was learned automatically is nobody's
    source: str | None = None  #: how it begins
    sender: str | None = None  #: the domain
    since: float | None = None  #: learned then or later
    until: float | None = None  #: learned before
    automatic: bool | None = None  #: learned by the filter itself; False: taught by people
    digest: str | None = None  #: the digits with which it begins
    certainty_below: float | None = None  #: its label had a probability below this before, as far as one is known
    certainty_above: float | None = None
    changes: tuple[int, ...] | None = None  #: the numbers of the changes that learned them

    def __post_init__(self) -> None:
        if self.digest is not None:
            _refuse_no_digits(self.digest)
            object.__setattr__(self, "digest", self.digest.lower())
        if self.sender is not None:
            object.__setattr__(self, "sender", self.sender.lower())
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise SelectionError("no time is both since the one and before the other: let the first be the earlier")
        _refuse_no_probabilities(self.certainty_above, self.certainty_below)

    @property
    def is_everything(self) -> bool:
        """Whether nothing is said, so that all lessons are meant."""
        return replace(self, source=self.source or None, digest=self.digest or None) == EVERYTHING

    @property
    def is_by_certainty(self) -> bool:
        """Whether it must be known how scores are read, to know which lessons are meant: the journal does not."""
        return not self.certainty_below is self.certainty_above is None

    def where(self, database: Database) -> tuple[str, list[object]]:
        """Return this as a condition of SQL as a database puts it, and its values."""
        if self.is_by_certainty:
            raise ValueError("a journal knows no certainties: ask the filter which changes are meant")
        said = self._said(database)
        return " AND ".join(condition for condition, _ in said) or "TRUE", [v for _, values in said for v in values]

    def _said(self, database: Database) -> list[tuple[str, tuple[object, ...]]]:
        digest = self.digest or ""
        between = tuple(bytes.fromhex(digest.ljust(_DIGITS, filling)) for filling in "0f")
        sign = "=" if self.automatic else "<>"
        every = (
            (self.label, "label = ?", (self.label,)),
            (self.user, f"{database.has_user} AND \"user\" <> '{AUTOMATIC}'", (self.user,)),
            (self.source or None, database.begins, (self.source,)),
            (self.sender, "sender = ?", (self.sender,)),
            (self.since, "time >= ?", (self.since,)),
            (self.until, "time < ?", (self.until,)),
            (self.automatic, f"\"user\" {sign} '{AUTOMATIC}'", ()),
            (digest or None, "digest BETWEEN ? AND ?", between),
            (self.changes, database.is_marked, _marked(self.changes or ())),
        )
        return [(condition, values) for value, condition, values in every if value is not None]


def _marked(changes: tuple[int, ...]) -> tuple[int, int, bytes, int]:
    """Return the first and the last of some changes, a byte for each from the first on, and the number before it.

    To ask a database whether a byte is set takes a third of the time that it takes to look many numbers up in a list.

    >>> _marked((7, 9))
    (7, 9, b'\\x01\\x00\\x01', 6)
    """
    first, last = min(changes, default=1), max(changes, default=0)
    marks = bytearray(last - first + 1)
    for change in changes:
        marks[change - first] = 1
    return first, last, bytes(marks), first - 1


def _refuse_no_digits(digest: str) -> None:
    if len(digest) > _DIGITS or not set(digest) <= set("0123456789abcdefABCDEF"):
        raise SelectionError(f"{digest!r} is not how a digest begins: it has up to {_DIGITS} digits, 0 to 9 and a to f")


def _refuse_no_probabilities(above: float | None, below: float | None) -> None:
    if not all(0 <= each <= 1 for each in (above, below) if each is not None):
        raise SelectionError("a certainty is a probability, from 0 to 1")
    if above is not None and below is not None and above >= below:
        raise SelectionError("no certainty is both above the one and below the other: let the first be the smaller")


EVERYTHING: Final = Selection()
