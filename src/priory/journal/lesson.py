"""The values that go in and out of a journal."""

from typing import Final, NamedTuple

#: Whose lessons those are that the filter has learned by itself: no name that a person can have.
AUTOMATIC: Final = "\tauto"
PERSONAL_BITS: Final = 22  #: the size of the table of personal evidence, unless a journal was made with another


def is_person(user: str) -> bool:
    """Tell whether lessons under a name are somebody's: neither nobody's in particular nor the filter's own.

    >>> is_person("ann"), is_person(""), is_person(AUTOMATIC)
    (True, False, False)
    """
    return user not in ("", AUTOMATIC)


class JournalError(Exception):
    """A journal cannot be used; the text says which, why, and what to do."""


class JournalBusyError(JournalError):
    """Somebody else is writing to a journal, and did not finish in time."""


class JournalAwayError(JournalError):
    """The server of a journal cannot be reached now."""


class UnknownLabelError(JournalError):
    """Another machine has taught a label that this one does not know."""


class Rank(NamedTuple):
    """Which of two lessons about a message counts: the later, and where two are of one moment, the greater."""

    time: float
    node: str
    label: str


class Identity(NamedTuple):
    """What a journal is known by, and what its counts depend on."""

    id: str  #: tells this journal's snapshots from others; empty of one that was never reached
    bits: int
    personal_bits: int


class Position(NamedTuple):
    """Where a journal stands."""

    change: int  #: the number of the last change
    settled: int  #: lessons forgotten up to this change are gone for good
    stamp: str  #: of the last change: numbers may come twice where a server takes the place of another, stamps do not


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
    shared: bool = True  #: whether it counts for everyone, which is decided when it is learned
    node: str = ""  #: which of several machines has learned it

    @property
    def is_automatic(self) -> bool:
        """Whether no person said so."""
        return self.user == AUTOMATIC

    @property
    def rank(self) -> Rank:
        """What it is held against another lesson about the same message by."""
        return Rank(self.time, self.node, self.label)


class Change(NamedTuple):
    """What one change means for counts: a label's message comes or goes."""

    sign: int
    label: str
    features: bytes
    held_out: bytes | None
    user: str
    shared: bool
