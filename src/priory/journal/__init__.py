"""What was learned: one row per lesson, in a store that loses nothing; the counts are a view of it.

Every change has a number. A lesson carries the number of the change that learned it; a lesson that is forgotten moves
to a list with the number of the change that forgot it. So counts that stand at change C are brought up to date by

    adding      every lesson learned after C, and
    subtracting every lesson forgotten after C that was learned at or before C,

whoever made those changes. A snapshot of the counts is such a view at some C; `rebuild` is the view from nothing.
"""

from priory.journal.address import Store
from priory.journal.journal import Journal
from priory.journal.lesson import (
    AUTOMATIC,
    PERSONAL_BITS,
    Change,
    JournalAwayError,
    JournalBusyError,
    JournalError,
    Lesson,
    Rank,
    is_person,
)
from priory.journal.listing import Entry
from priory.journal.selection import EVERYTHING, Selection, SelectionError
from priory.journal.sqlite import may_write, open_file, open_file_to_read
from priory.journal.view import View

__all__ = [
    "AUTOMATIC",
    "EVERYTHING",
    "PERSONAL_BITS",
    "Change",
    "Entry",
    "Journal",
    "JournalAwayError",
    "JournalBusyError",
    "JournalError",
    "Lesson",
    "Rank",
    "Selection",
    "SelectionError",
    "Store",
    "View",
    "is_person",
    "may_write",
    "open_file",
    "open_file_to_read",
]
