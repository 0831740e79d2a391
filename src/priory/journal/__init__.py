"""What was learned: one row per lesson, in a file that loses nothing; the counts are a view of it.

Every change has a number. A lesson carries the number of the change that learned it; a lesson that is forgotten moves
to a list with the number of the change that forgot it. So counts that stand at change C are brought up to date by

    adding      every lesson learned after C, and
    subtracting every lesson forgotten after C that was learned at or before C,

whoever made those changes. A snapshot of the counts is such a view at some C; `rebuild` is the view from nothing.
"""

from priory.journal.lesson import AUTOMATIC, Change, JournalBusyError, JournalError, Lesson
from priory.journal.listing import EVERYTHING, Entry, Selection, SelectionError
from priory.journal.sqlite import Journal
from priory.journal.view import View

__all__ = [
    "AUTOMATIC",
    "EVERYTHING",
    "Change",
    "Entry",
    "Journal",
    "JournalBusyError",
    "JournalError",
    "Lesson",
    "Selection",
    "SelectionError",
    "View",
]
