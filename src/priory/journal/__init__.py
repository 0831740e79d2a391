"""The journal: a durable store with one row per lesson, from which the counts are computed.

Every change has a number. A lesson carries the number of the change that learned it; a lesson that is forgotten moves
to a list with the number of the change that forgot it. So counts that stand at change C are brought up to date by

    adding      every lesson learned after C, and
    subtracting every lesson forgotten after C that was learned at or before C,

whichever process made those changes. A snapshot holds the counts at some C; `rebuild` starts from empty counts.
"""

from priory.journal.files import may_write
from priory.journal.journal import Journal
from priory.journal.lesson import (
    AUTOMATIC,
    PERSONAL_BITS,
    Change,
    JournalAwayError,
    JournalBusyError,
    JournalError,
    Lesson,
    LessonUser,
    Rank,
    ReservedUserError,
    is_person,
)
from priory.journal.queries import (
    EVERYTHING,
    LessonSummary,
    Selection,
    SelectionError,
    read_selection,
    require_label,
)
from priory.journal.rules import Rule, RuleEffect, RuleError, RuleKey, RuleThing
from priory.journal.shared.store import StoreAddress
from priory.journal.sqlite import open_file, open_file_to_read

__all__ = [
    "AUTOMATIC",
    "EVERYTHING",
    "PERSONAL_BITS",
    "Change",
    "Journal",
    "JournalAwayError",
    "JournalBusyError",
    "JournalError",
    "Lesson",
    "LessonSummary",
    "LessonUser",
    "Rank",
    "ReservedUserError",
    "Rule",
    "RuleEffect",
    "RuleError",
    "RuleKey",
    "RuleThing",
    "Selection",
    "SelectionError",
    "StoreAddress",
    "is_person",
    "may_write",
    "open_file",
    "open_file_to_read",
    "read_selection",
    "require_label",
]
