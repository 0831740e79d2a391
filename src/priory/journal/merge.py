"""Merge one journal into another: where both have a lesson about a message, the later one counts."""

from priory.journal.journal import Journal
from priory.journal.lesson import AUTOMATIC


def merge(journal: Journal, other: Journal) -> dict[str, int]:
    """Add the lessons of another journal, inside `writing`; return how many were added, relabelled and known.

    The later lesson counts even where both have the same label: its time is compared again when a third journal is
    merged. A message that people have taught or forgotten, in either journal, has no automatic lesson.
    """
    outcomes = {"added": 0, "relabelled": 0, "known": 0}
    _reserve(journal, other.automatic.reserved_ends())
    for lesson in other.lessons():
        if lesson.is_automatic and _is_reserved(journal, lesson.digest):
            outcomes["known"] += 1
            continue
        rank = journal.rank_of(lesson.digest, lesson.user)
        is_later = rank is None or lesson.rank > rank
        if rank is None:
            outcomes["added"] += 1
        elif is_later and rank.label != lesson.label:
            outcomes["relabelled"] += 1
        else:
            outcomes["known"] += 1
        if is_later:
            journal.forget(lesson.digest, lesson.user)
            journal.learn(lesson)
    journal.number_changes()
    return outcomes


def _reserve(journal: Journal, ends: list[bytes]) -> None:
    """Reserve messages for people, given by the last 16 bytes of their identities, and forget the automatic lessons."""
    if ends:
        journal.automatic.create_table()
        identities = [bytes(16) + end for end in ends]
        journal.automatic.reserve(identities)
        for identity in identities:
            journal.forget(identity, AUTOMATIC)


def _is_reserved(journal: Journal, identity: bytes) -> bool:
    journal.automatic.create_table()
    return journal.automatic.is_reserved(identity)
