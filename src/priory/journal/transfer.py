"""Bring the lessons and rules of one journal into another: merge them, or copy them unchanged into an empty one."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

from priory.journal.database import Row, loaded_user
from priory.journal.journal import Journal
from priory.journal.lesson import AUTOMATIC, JournalError, Lesson, LessonUser
from priory.journal.silence import Told


def merge(journal: Journal, other: Journal) -> dict[str, int]:
    """Add lessons and rules of another journal, inside `writing`; count the lessons added, relabelled and known.

    The later lesson counts even where both have the same label: its time is compared again when a third journal is
    merged. A message that people have taught or forgotten, in either journal, has no automatic lesson.
    """
    outcomes = {"added": 0, "relabelled": 0, "known": 0}
    _leave_to_people(journal, other.silence.every_told())
    for lesson in other.lessons():
        if lesson.is_automatic and journal.silence.told([lesson.digest]):
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
    _merge_rules(journal, other)
    journal.number_changes()
    return outcomes


def _merge_rules(journal: Journal, other: Journal) -> None:
    """Add the rules of another journal; of two about the same thing, the later counts."""
    ours = {rule.key: rule for rule in journal.rules.every()}
    later = [rule for rule in other.rules.every() if rule.key not in ours or rule.rank > ours[rule.key].rank]
    for rule in later:
        journal.rules.put(rule)
    if later:
        journal.mark_change()


def _leave_to_people(journal: Journal, told: list[Told]) -> None:
    """Note what people said about messages, and forget the automatic lessons about these."""
    if told:
        journal.silence.create_tables()
        journal.silence.tell(told)
        for message in told:
            journal.forget(message.identity, AUTOMATIC)


def copy(source: Journal, target: Journal, progressed: Callable[[int], None] = lambda _: None) -> int:
    """Copy all lessons, the notes about them, and all rules into an empty journal, all or none; count the lessons."""
    _refuse(source, target)
    n = 0
    with target.writing():
        target.name_labels(source.labels())
        for lesson in source.lessons():
            target.learn(lesson)
            progressed(1)
            n += 1
        target.write_lessons()
        _copy_confirmations(source, target)
        _copy_silence(source, target)
        _merge_rules(target, source)
    return n


def salvage(
    source: Journal, lessons: Iterable[Lesson], target: Journal, labels: Sequence[str]
) -> tuple[int, list[str]]:
    """Copy lessons of a damaged journal, and what else can be read, into an empty one.

    Return the number of lessons, and what could not be read.
    """
    n, lost = 0, []
    with target.writing():
        target.name_labels(labels)
        for lesson in lessons:
            target.learn(lesson)
            n += 1
        target.write_lessons()
        for name, copy_part in (
            ("confirmed labels", _copy_confirmations),
            ("notes about checked mail", _copy_silence),
            ("rules", lambda source, target: _merge_rules(target, source)),
        ):
            try:
                copy_part(source, target)
            except (JournalError, sqlite3.Error):
                lost.append(name)
    return n, lost


def _copy_confirmations(source: Journal, target: Journal) -> None:
    for digest, user in source.queries.existing(sorted(source.confirmed_changes())):
        if label := source.label_of(digest, user):
            target.confirm(digest, user, label)


def _copy_silence(source: Journal, target: Journal) -> None:
    """Copy what people said and did not say about checked mail."""
    stored = source.silence.load()
    told = source.silence.every_told()
    if not (stored or told):
        return
    target.silence.create_tables()
    for digest, user, decision, bins in source.silence.every_judged():
        target.silence.judge(digest, loaded_user(user), decision, bins)
    for file, time in source.silence.concluded_files():
        target.silence.conclude(file, time)  # deletes what was said too long ago
    target.silence.tell(told)
    if stored:
        target.silence.store(stored)


def verify(source: Journal, target: Journal, counts_digest: Callable[[Journal], str]) -> str:
    """Compare two journals lesson by lesson, and the counts built from each; return the digest of the counts."""
    for original, copied in zip_longest(source.lessons(), target.lessons()):
        if original != copied:
            raise _differ(source, target, "a lesson")
    if set(source.silence.every_told()) != set(target.silence.every_told()):
        raise _differ(source, target, "the list of messages that people spoke about")
    if source.silence.load() != target.silence.load() or _judged_lessons(source) != _judged_lessons(target):
        raise _differ(source, target, "the tally of checked mail")
    if source.rules.every() != target.rules.every():
        raise _differ(source, target, "a rule")
    if _confirmed_lessons(source) != _confirmed_lessons(target):
        raise _differ(source, target, "the list of confirmed labels")
    digest = counts_digest(source)
    if counts_digest(target) != digest:
        raise _differ(source, target, "the counts")
    return digest


def _confirmed_lessons(journal: Journal) -> set[tuple[bytes, LessonUser]]:
    return set(journal.queries.existing(journal.confirmed_changes()))


def _judged_lessons(journal: Journal) -> list[Row]:
    return sorted(tuple(row) for row in journal.silence.every_judged())


def _refuse(source: Journal, target: Journal) -> None:
    if target.position().change:
        raise JournalError(f"{target.name} is not empty: copy into a store that has no lessons, or use priory merge.")
    theirs, ours = ((journal.bits, journal.personal_bits) for journal in (source, target))
    if theirs != ours:
        raise JournalError(
            f"{source.name} has 2^{theirs[0]} and 2^{theirs[1]} buckets and {target.name} 2^{ours[0]} and 2^{ours[1]}: "
            "copy into a store that does not exist yet."
        )


def _differ(source: Journal, target: Journal, what: str) -> JournalError:
    return JournalError(
        f"{what} differs between {source.name} and {target.name}. Make sure that nothing is learned meanwhile, empty "
        "the copy, and copy again."
    )
