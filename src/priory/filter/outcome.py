"""What became of a lesson that was taught or taken back."""

from enum import StrEnum
from typing import NamedTuple


class LessonOutcome(StrEnum):
    """One word for what became of a lesson.

    >>> LessonOutcome.LEARNED == "learned"
    True
    """

    LEARNED = "learned"
    RELEARNED = "relearned"  #: it had another label before
    KNOWN = "known"  #: nothing changed: the message has this label already, or a later lesson outranks this one
    FORGOTTEN = "forgotten"
    UNKNOWN = "unknown"  #: nothing was forgotten: there was no such lesson
    KEPT = "kept"  #: the journal cannot be reached; the outbox keeps the lesson, or the request to forget, until it can

    __repr__ = str.__repr__  # prints as the plain word that it equals


class LearnResult(NamedTuple):
    """What became of one message that was taught: *learned*, *relearned*, *known* or *kept*."""

    outcome: LessonOutcome
    digest: str
    was: str | None = None  #: the label that the message had before


class ForgetResult(NamedTuple):
    """What became of a request to forget a message: *forgotten*, *unknown* or *kept*."""

    outcome: LessonOutcome
    digest: str
    was: str | None = None  #: the label that was forgotten
