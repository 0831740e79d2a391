"""Subjects of learned messages: stored with their lessons if the configuration says so, and deleted with them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from journals import LESSON, SMALL, Journals, Open
from priory.filter.filter import Filter
from priory.filter.questions import read_questions
from priory.journal import Journal, Lesson, Selection
from priory.journal.transfer import copy, merge, verify

KEEPING = replace(SMALL, keeps_subjects=True, personal_bits=12)
LUNCH = b"From: Ann <ann@mail.example>\nSubject: Lunch on Friday?\n\nShall we?"
PILLS = b"From: Eve <eve@shop.example>\nSubject: =?utf-8?q?Pills_for_Z=C3=BCrich?=\n\nBuy now!"
NAMED = LESSON._replace(subject="Lunch on Friday?")


@pytest.fixture
def filter_(tmp_path: Path, opened: Open) -> Iterator[Filter]:
    with opened(tmp_path / "home", KEEPING) as filter_:
        filter_.learn(LUNCH, "ham", user="ann")
        filter_.learn(PILLS, "spam")
        yield filter_


def subjects(filter_: Filter, selection: Selection | None = None) -> list[str]:
    """The subjects of the lessons, by both ways in which lessons are read."""
    listed = filter_.lessons.page(selection or Selection()).lessons
    stored = {lesson.digest.hex(): lesson.subject for lesson in filter_.journal.lessons()}
    assert [lesson.subject for lesson in listed] == [stored[lesson.digest] for lesson in listed]
    return sorted(lesson.subject for lesson in listed)


def journal_with(journals: Journals, home: Path, *lessons: Lesson) -> Journal:
    journal = journals.open(home)
    with journal.writing():
        journal.learn_many(lessons)
    return journal


def test_a_subject_comes_out_with_its_lesson(filter_: Filter) -> None:
    assert subjects(filter_) == ["Lunch on Friday?", "Pills for Zürich"]
    assert filter_.journal.subjects.n() == 2


def test_messages_that_were_prepared_before_have_their_subjects(tmp_path: Path, opened: Open) -> None:
    with opened(tmp_path, KEEPING) as filter_:
        filter_.learn(filter_.prepare(LUNCH), "ham")
        (pills,) = filter_.prepare_many([PILLS])
        filter_.learn(pills, "spam")
        (question,) = read_questions(filter_, [(b"Subject: Asked\n\nIs it spam?", "")])
        filter_.learn(question.message, "spam")
        assert subjects(filter_) == ["Asked", "Lunch on Friday?", "Pills for Zürich"]


def test_the_lessons_behind_a_verdict_have_their_subjects(filter_: Filter) -> None:
    behind = filter_.lessons_behind(LUNCH, "ann")
    assert behind.similar[0].lesson.subject == "Lunch on Friday?"


def test_no_subject_is_stored_unless_the_setting_is_on(tmp_path: Path, opened: Open) -> None:
    with opened(tmp_path, replace(KEEPING, keeps_subjects=False)) as filter_:
        filter_.learn(filter_.prepare(LUNCH), "ham")
        filter_.learn(PILLS, "spam")
        assert subjects(filter_) == ["", ""]
        assert filter_.journal.subjects.n() == 0


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_a_journal_without_subjects_has_no_table_for_them(tmp_path: Path, opened: Open) -> None:
    with opened(tmp_path) as filter_:
        filter_.learn(LUNCH, "ham")
        filter_.delete_subjects()
        assert not filter_.journal._db.has("subjects")


def test_a_forgotten_lesson_takes_its_subject_along(filter_: Filter) -> None:
    filter_.forget(LUNCH, "ann")
    assert subjects(filter_) == ["Pills for Zürich"]
    assert filter_.journal.subjects.n() == 1


def test_relearning_keeps_the_subject(filter_: Filter) -> None:
    digest = filter_.prepare(LUNCH).digest
    assert filter_.relearn(digest, "spam", "ann").was == "ham"
    filter_.learn(PILLS, "ham")
    assert subjects(filter_) == ["Lunch on Friday?", "Pills for Zürich"]


def test_teaching_a_known_message_again_adds_its_subject(tmp_path: Path, opened: Open) -> None:
    for options, found in ((SMALL, ""), (KEEPING, "Lunch on Friday?"), (SMALL, "Lunch on Friday?")):
        with opened(tmp_path, replace(options, personal_bits=12)) as filter_:
            filter_.learn(LUNCH, "ham", user="ann")
            assert subjects(filter_) == [found]


def test_all_subjects_can_be_deleted_and_the_lessons_stay(filter_: Filter) -> None:
    assert filter_.delete_subjects() == 2
    assert filter_.delete_subjects() == 0
    assert subjects(filter_) == ["", ""]
    filter_.learn(b"Subject: Dinner?\n\nOn Sunday", "ham")
    assert subjects(filter_) == ["", "", "Dinner?"]


@pytest.mark.parametrize("way", ["forget", "delete_user", "delete_subjects"])
@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_deleted_subjects_are_overwritten_in_all_files(tmp_path: Path, opened: Open, way: str) -> None:
    with opened(tmp_path, KEEPING) as filter_:
        mail = [b"Subject: Secret number %d of the day\n\nText %d" % (i, i) for i in range(400)]
        for _ in filter_.learn_many(((raw, "spam" if i % 3 else "ham", "") for i, raw in enumerate(mail)), "ann"):
            pass
        filter_.journal.wipe()
        assert b"Secret number" in (tmp_path / "journal.sqlite").read_bytes()
        if way == "delete_user":
            assert sum(filter_.users.delete("ann")) == 400
        elif way == "delete_subjects":
            assert filter_.delete_subjects() == 400
        else:
            assert sum(filter_.forget_many(Selection(user="ann"))) == 400
            filter_.journal.wipe()
        files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        assert [name for name, content in files.items() if b"Secret number" in content] == []


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_one_forgotten_subject_is_overwritten_among_those_that_stay(tmp_path: Path, opened: Open) -> None:
    with opened(tmp_path, KEEPING) as filter_:
        mail = [b"Subject: Secret %d.\n\nText %d" % (i, i) for i in range(300)]
        for _ in filter_.learn_many((raw, "ham", "") for raw in mail):
            pass
        for raw in mail[:300:7]:
            filter_.forget(raw)
        filter_.journal.wipe()
        content = (tmp_path / "journal.sqlite").read_bytes()
        assert [i for i in range(300) if b"Secret %d." % i in content] == [i for i in range(300) if i % 7]


def test_lessons_are_selected_by_a_part_of_the_subject(filter_: Filter) -> None:
    assert subjects(filter_, Selection(subject="FRIDAY")) == ["Lunch on Friday?"]
    assert subjects(filter_, Selection(subject="for Zürich")) == ["Pills for Zürich"]
    assert subjects(filter_, Selection(subject="%")) == subjects(filter_, Selection(subject="\x00")) == []
    assert subjects(filter_, Selection(subject="")) == ["Lunch on Friday?", "Pills for Zürich"]
    assert sum(filter_.forget_many(Selection(subject="lunch"))) == 1
    assert subjects(filter_) == ["Pills for Zürich"]


def test_a_journal_without_subjects_selects_no_lesson_by_them(tmp_path: Path, opened: Open) -> None:
    with opened(tmp_path) as filter_:
        filter_.learn(LUNCH, "ham")
        assert filter_.lessons.n_of(Selection(subject="Lunch")) == 0


def test_merging_takes_subjects_along(tmp_path: Path, journals: Journals) -> None:
    other = journal_with(journals, tmp_path / "other", NAMED)
    journal = journal_with(journals, tmp_path / "home")
    with journal.writing():
        assert merge(journal, other)["added"] == 1
    assert list(journal.lessons()) == [NAMED]
    for each in (journal, other):
        each.close()


def test_copying_takes_subjects_along_and_verifies_them(tmp_path: Path, journals: Journals) -> None:
    source = journal_with(journals, tmp_path / "source", NAMED)
    target = journal_with(journals, tmp_path / "target")
    assert copy(source, target) == 1
    assert list(target.lessons()) == [NAMED]
    verify(source, target, lambda journal: str(journal.tally()))
    for journal in (source, target):
        journal.close()


def test_scoring_lessons_later_keeps_their_subjects(tmp_path: Path, opened: Open) -> None:
    with opened(tmp_path, KEEPING) as filter_:
        for label in ("ham", "spam"):
            mail = [b"Subject: %s %d\n\n%s words %d" % (label.encode(), i, label.encode(), i) for i in range(40)]
            for _ in filter_.learn_many((raw, label, "") for raw in mail):
                pass
        changes = filter_.journal.queries.numbers()
        assert changes[0] > 1, "no lesson was scored later"
        assert subjects(filter_) == sorted(f"{label} {i}" for label in ("ham", "spam") for i in range(40))


def test_an_export_of_a_user_has_the_subjects(filter_: Filter) -> None:
    assert [lesson["subject"] for lesson in filter_.users.exported("ann")] == ["Lunch on Friday?"]


def test_subjects_are_printable_and_cut(tmp_path: Path, opened: Open) -> None:
    with opened(tmp_path, KEEPING) as filter_:
        filter_.learn(b"Subject: \x1b[2J=?utf-8?q?=00=E2=80=AE?= " + 200 * b"x" + b"\n\nText", "ham")
        (subject,) = subjects(filter_)
    assert (len(subject), subject[:8], subject[-2:]) == (100, "·[2J·· x", "x…")
