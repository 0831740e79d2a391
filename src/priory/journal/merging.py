"""Two journals become one: where both have a message, the later lesson counts."""

from priory.journal.journal import Journal
from priory.journal.lesson import AUTOMATIC


def merge(journal: Journal, other: Journal) -> dict[str, int]:
    """Take in the lessons of another journal, inside `writing`; return how many were added, relabelled and known.

    The later lesson counts also where both say the same: a third journal may disagree, and its time must be held
    against the later one. What people had a hand in, in either, has no automatic lesson.
    """
    done = {"added": 0, "relabelled": 0, "known": 0}
    _leave_to_people(journal, other.automatic.ends_of_peoples())
    for lesson in other.lessons():
        if lesson.is_automatic and _is_peoples(journal, lesson.digest):
            done["known"] += 1
            continue
        was = journal.rank_of(lesson.digest, lesson.user)
        is_later = was is None or lesson.rank > was
        if was is None:
            done["added"] += 1
        elif is_later and was[-1] != lesson.label:
            done["relabelled"] += 1
        else:
            done["known"] += 1
        if is_later:
            journal.forget(lesson.digest, lesson.user)
            journal.learn(lesson)
    journal.number_changes()
    return done


def _leave_to_people(journal: Journal, ends: list[bytes]) -> None:
    """Take back what was learned automatically of letters that people had a hand in, given by their ends."""
    if ends:
        journal.automatic.begin()
        letters = [bytes(16) + end for end in ends]
        journal.automatic.leave_to_people(letters)
        for letter in letters:
            journal.forget(letter, AUTOMATIC)


def _is_peoples(journal: Journal, letter: bytes) -> bool:
    journal.automatic.begin()
    return journal.automatic.is_peoples(letter)
