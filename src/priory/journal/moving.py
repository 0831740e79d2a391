"""A journal is copied as it is from one store to another, and what has arrived is compared with what was there."""

from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

from priory.journal.journal import Journal
from priory.journal.lesson import JournalError
from priory.journal.snapshot import digest_of
from priory.journal.view import RowsOf, View


def copy(source: Journal, target: Journal, progressed: Callable[[int], None] = lambda _: None) -> int:
    """Copy all lessons and what was noted about them into an empty journal, as a whole; return how many lessons."""
    _refuse(source, target)
    n = 0
    with target.writing():
        target.name_labels(source.labels())
        if ends := source.automatic.ends_of_peoples():
            target.automatic.begin()
            target.automatic.leave_to_people([bytes(16) + end for end in ends])
        for lesson in source.lessons():
            target.learn(lesson)
            progressed(1)
            n += 1
        for digest, user in source.listing.still(sorted(source.confirmed())):
            if label := source.label_of(digest, user):
                target.confirm(digest, user, label)
    return n


def verify(source: Journal, target: Journal, rows_of: RowsOf) -> str:
    """Compare two journals lesson by lesson, and the counts that each gives from nothing; return the counts' digest."""
    for one, other in zip_longest(source.lessons(), target.lessons()):
        if one != other:
            raise _differ(source, target, "a lesson")
    if sorted(source.automatic.ends_of_peoples()) != sorted(target.automatic.ends_of_peoples()):
        raise _differ(source, target, "what is left to people")
    confirmed = [sorted(each.listing.still(each.confirmed())) for each in (source, target)]
    if confirmed[0] != confirmed[1]:
        raise _differ(source, target, "what was confirmed")
    digests = [_counts_digest(each, rows_of) for each in (source, target)]
    if digests[0] != digests[1]:
        raise _differ(source, target, "the counts")
    return digests[0]


def _counts_digest(journal: Journal, rows_of: RowsOf) -> str:
    view = View(journal, journal.labels(), Path("/dev/null"), rows_of)
    view.build()
    return digest_of(view.counts)


def _refuse(source: Journal, target: Journal) -> None:
    if target.position().change:
        raise JournalError(f"{target.name} is not empty: copy into a store that has no lessons, or use priory merge.")
    theirs, ours = ((each.bits, each.personal_bits) for each in (source, target))
    if theirs != ours:
        raise JournalError(
            f"{source.name} has 2^{theirs[0]} and 2^{theirs[1]} buckets and {target.name} 2^{ours[0]} and 2^{ours[1]}: "
            "copy into a store that does not exist yet."
        )


def _differ(source: Journal, target: Journal, what: str) -> JournalError:
    return JournalError(
        f"{what} differs between {source.name} and {target.name}. Let nobody learn meanwhile, empty the copy, and copy "
        "again."
    )
