"""The values that go in and out of a journal, and the errors that it raises."""

from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeGuard

if TYPE_CHECKING:
    from priory.journal.rules import RuleSet

PERSONAL_BITS: Final = 22  #: the default size of the table of personal evidence: 2^22 buckets


class AutomaticUser(Enum):
    """The author of lessons that the filter learned by itself.

    A journal stores it as a name that no user may have: see `ReservedUserError`.
    """

    AUTOMATIC = "automatic"


AUTOMATIC: Final = AutomaticUser.AUTOMATIC
#: Who taught a lesson: a user by name, the empty name for no user in particular, or the filter itself.
LessonUser: TypeAlias = str | AutomaticUser


def is_person(user: LessonUser) -> TypeGuard[str]:
    """Tell whether a lesson belongs to a named user.

    >>> is_person("ann"), is_person(""), is_person(AUTOMATIC)
    (True, False, False)
    """
    return user is not AUTOMATIC and user != ""


class JournalError(Exception):
    """A journal cannot be used; the text says which, why, and what to do."""


class ReservedUserError(ValueError):
    """A user has the name under which a journal stores the lessons that the filter learned by itself."""


class JournalBusyError(JournalError):
    """Another process holds the write lock of a journal and did not release it in time."""


class JournalAwayError(JournalError):
    """The server of a journal cannot be reached now."""


class DamagedJournalError(JournalError):
    """The head or the tally of a journal is damaged, or contradicts its lessons."""


class UnknownLabelError(JournalError):
    """The journal holds a label, taught by another machine, that the configuration here does not name."""


class Rank(NamedTuple):
    """Orders lessons about the same message: the greatest counts, which is the latest unless two times are equal."""

    time: float
    node: str
    label: str


class Identity(NamedTuple):
    """What identifies a journal, and the sizes that its counts depend on."""

    id: str  #: tells this journal's snapshots from others; empty if its server was never reached
    bits: int
    personal_bits: int


class Position(NamedTuple):
    """Where a journal stands."""

    change: int  #: the number of the last change
    settled: int  #: lessons forgotten up to this change have been deleted for good
    stamp: str  #: of the last change; unlike numbers, stamps never repeat, not even when a replica replaces the server


class Lesson(NamedTuple):
    """One learned message: its label and its packed features, from which no word can be read.

    The label comes from a person or from the filter itself. A message that a person has taught has no automatic one.
    """

    digest: bytes  #: of the message; its identity if the lesson is automatic
    label: str
    features: bytes
    held_out: bytes | None = None  #: the predictions made just before the message was learned, if any
    user: LessonUser = ""
    source: str = ""
    sender: str = ""
    time: float = 0.0
    shared: bool = True  #: whether the lesson counts for all users; decided when it is learned
    node: str = ""  #: the machine that learned it
    subject: str = ""  #: of the message, if the journal keeps subjects

    @property
    def is_automatic(self) -> bool:
        """Whether the filter learned this by itself."""
        return self.user is AUTOMATIC

    @property
    def rank(self) -> Rank:
        """What decides between this and another lesson about the same message."""
        return Rank(self.time, self.node, self.label)


class Change(NamedTuple):
    """The effect of one change on the counts: one message of a label is added or removed."""

    sign: int
    label: str
    features: bytes
    held_out: bytes | None
    user: LessonUser
    shared: bool
    number: int = 0  #: of the lesson, for messages


class TallyKind(IntEnum):
    """The three numbers that a journal keeps for each label."""

    EVERY = 0
    AUTOMATIC = 1
    UNSHARED = 2


class Tallies(NamedTuple):
    """How many lessons each label has."""

    every: dict[str, int]
    automatic: dict[str, int]  #: those that the filter learned by itself
    unshared: dict[str, int]  #: those that count only for the user who taught them


class SyncPoint(NamedTuple):
    """The change, and its stamp, up to which counts have followed a journal; -1 if that is unknown."""

    change: int
    stamp: str


class ChangeBatch(NamedTuple):
    """The changes that take counts from one point to a later one."""

    start: SyncPoint
    end: SyncPoint
    changes: list[Change]
    tallies: Tallies | None  #: what the counts must add up to at the end; None if more batches follow
    silence: bytes = b""  #: the estimate of what silence says, packed, if no more batches follow
    rules: "RuleSet | None" = None  #: the rules of people; None if more batches follow
