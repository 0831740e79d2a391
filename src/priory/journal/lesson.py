"""The values that go in and out of a journal."""

from typing import Final, NamedTuple

#: Whose lessons those are that the filter has learned by itself: no name that a person can have.
AUTOMATIC: Final = "\tauto"


class JournalError(Exception):
    """A journal cannot be used; the text says which, why, and what to do."""


class JournalBusyError(JournalError):
    """Somebody else is writing to a journal, and did not finish in time."""


class Lesson(NamedTuple):
    """One learned message: what somebody said it is, and its packed features, of which no word can be read.

    Somebody is a person, or the filter itself. A letter that a person has taught has no automatic lesson.
    """

    digest: bytes  #: of an automatic lesson, the name of the letter
    label: str
    features: bytes
    held_out: bytes | None = None  #: what was predicted of it just before it was learned, if anything was
    user: str = ""
    source: str = ""
    sender: str = ""
    time: float = 0.0

    @property
    def is_automatic(self) -> bool:
        """Whether no person said so."""
        return self.user == AUTOMATIC


class Change(NamedTuple):
    """What one change means for counts: a label's message comes or goes."""

    sign: int
    label: str
    features: bytes
    held_out: bytes | None
