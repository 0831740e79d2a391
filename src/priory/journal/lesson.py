"""The values that go in and out of a journal."""

from typing import NamedTuple


class JournalError(Exception):
    """A journal cannot be used; the text says which, why, and what to do."""


class Lesson(NamedTuple):
    """One learned message: what a person said it is, and its packed features, of which no word can be read."""

    digest: bytes
    label: str
    features: bytes
    held_out: bytes | None = None  #: what was predicted of it just before it was learned, if anything was
    user: str = ""
    source: str = ""
    sender: str = ""
    time: float = 0.0


class Change(NamedTuple):
    """What one change means for counts: a label's message comes or goes."""

    sign: int
    label: str
    features: bytes
    held_out: bytes | None
