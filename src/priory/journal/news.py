"""What has changed in a journal, as it is handed to counts that follow it."""

from typing import NamedTuple

from priory.journal.automatic import Tallies
from priory.journal.lesson import Change


class Mark(NamedTuple):
    """Where counts stand: at a change, and its stamp; -1 if it is not known where."""

    change: int
    stamp: str


class News(NamedTuple):
    """What takes counts from one mark to a later one."""

    start: Mark
    end: Mark
    changes: list[Change]
    tallies: Tallies | None  #: what the counts must add up to then; None on the way there
