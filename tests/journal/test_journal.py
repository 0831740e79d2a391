"""Lessons are read as they were written, transactions are atomic, and writers wait for each other."""

import os
import sqlite3
import time
from pathlib import Path

import psycopg
import pytest

from journals import LESSON, Journals, Open, Start
from priory.demo import Drawn
from priory.journal import JournalError, Lesson


def test_a_transaction_that_fails_leaves_nothing_and_the_journal_usable(tmp_path: Path, journals: Journals) -> None:
    journal = journals.open(tmp_path)

    def fail_midway() -> None:
        with journal.writing():
            journal.learn(LESSON)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_midway()
    assert journal.label_of(LESSON.digest) is None
    assert (journal.position()[:2], journal.tally(), list(journal.lessons())) == ((0, 0), {}, [])
    with journal.writing():
        journal.learn(LESSON)
    assert (journal.position()[:2], journal.tally(), list(journal.lessons())) == ((1, 0), {"ham": 1}, [LESSON])
    journal.close()


def test_a_mistake_in_the_calling_code_is_not_blamed_on_the_journal(tmp_path: Path, journals: Journals) -> None:
    journal = journals.open(tmp_path)
    with journal.writing():
        journal.learn(LESSON)
    with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)), journal.writing():
        journal.learn(LESSON)
    journal.close()


def test_a_lesson_comes_out_as_it_went_in(tmp_path: Path, journals: Journals) -> None:
    lesson = Lesson(b"\2" * 32, "spam", b"\1\2", b"\0\0\x80?\0", "ada", "inbox/3", "mail.example", 1.5, False, "mx1")
    journal = journals.open(tmp_path)
    with journal.writing():
        journal.learn(lesson)
    assert list(journal.lessons()) == [lesson]
    assert journal.label_of(lesson.digest, "ada") == "spam"
    assert journal.label_of(lesson.digest) is None
    journal.close()


def test_the_labels_of_many_messages_are_found_also_of_those_just_learned(tmp_path: Path, journals: Journals) -> None:
    journal = journals.open(tmp_path)
    lessons = [Lesson(i.to_bytes(2) * 16, ("ham", "spam")[i % 2], b"\0", user="ada") for i in range(1201)]
    asked = [lesson.digest for lesson in (*lessons, Lesson(b"\xff" * 32, "", b""))]
    with journal.writing():
        journal.learn_many(lessons)
        assert journal.labels_of(asked, "ada") == {lesson.digest: lesson.label for lesson in lessons}
    assert journal.labels_of(asked, "ada") == {lesson.digest: lesson.label for lesson in lessons}
    assert journal.labels_of(asked) == journal.labels_of([], "ada") == {}
    journal.close()


def test_lessons_without_scores_are_picked_by_label_and_digest(tmp_path: Path, journals: Journals) -> None:
    journal = journals.open(tmp_path)
    plain = [Lesson(bytes([i]) * 32, "ham", b"\0") for i in (5, 3, 4)]
    with journal.writing():
        for lesson in (*plain, Lesson(b"\1" * 32, "ham", b"\0", b"\0" * 5), Lesson(b"\2" * 32, "spam", b"\0")):
            journal.learn(lesson)
    assert journal.unscored_lessons("ham", 2, size=5) == [plain[1], plain[2]]
    assert journal.unscored_lessons("ham", 9, size=5) == [plain[1], plain[2], plain[0]]
    assert [lesson.digest[0] for lesson in journal.unscored_lessons("ham", 9, size=12)] == [3, 4, 5, 1]
    assert journal.unscored_lessons("newsletter", 9, size=5) == []
    journal.close()


def test_an_unshared_lesson_is_not_rescored_for_everyone(tmp_path: Path, journals: Journals) -> None:
    predicted = bytes(10)
    every = [Lesson(bytes([n]) * 32, "ham", b"\0", predicted, "ann", shared=n > 1) for n in (1, 2)]
    journal = journals.open(tmp_path)
    with journal.writing():
        journal.learn_many(every)
        assert journal.lessons_with_prediction("ham", 10, 0, predicted) == every[1:]
        assert journal.unscored_lessons("ham", 10, 4) == every[1:]
    journal.close()


def test_forgetting_what_was_never_learned_changes_nothing(tmp_path: Path, journals: Journals) -> None:
    journal = journals.open(tmp_path)
    with journal.writing():
        assert journal.forget(b"\1" * 32) is None
    assert journal.position()[:2] == (0, 0)
    journal.close()


def test_a_transaction_without_changes_is_not_noticed_by_others(
    tmp_path: Path, mail: list[Drawn], opened: Open
) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as other:
        one.learn(mail[0].raw, "ham")
        version = other.journal.version()
        one.learn(mail[0].raw, "ham")
        one.forget(mail[1].raw)
        assert other.journal.version() == version
        one.learn(mail[1].raw, "ham")
        assert other.journal.version() != version


def test_a_second_writer_gives_up_and_names_the_file(tmp_path: Path, journals: Journals) -> None:
    first = journals.open(tmp_path)
    with first.writing():
        second = journals.open(tmp_path, wait_s=0.2)
        begun = time.monotonic()
        with pytest.raises(JournalError) as caught, second.writing():
            pass
        waited_s = time.monotonic() - begun
        assert second.position()[:2] == (0, 0)
    assert str(caught.value) == (
        f"{journals.name(tmp_path)} is being written to by another process, which did not finish within 0.2 s: "
        "try again later."
    )
    assert waited_s >= 0.2
    with second.writing():
        second.learn(LESSON)
    assert first.tally() == {"ham": 1}
    first.close()
    second.close()


def test_a_second_writer_waits_for_the_first(tmp_path: Path, journals: Journals, start: Start) -> None:
    journals.open(tmp_path).close()
    is_held, holds = os.pipe()
    is_wanted, wants = os.pipe()

    def hold() -> None:
        journal = journals.open(tmp_path)
        with journal.writing():
            journal.learn(LESSON)
            os.write(holds, b".")
            os.read(is_wanted, 1)
            time.sleep(0.4)  # the second writer waits inside the database, where no event tells of it

    pid = start(hold)
    os.read(is_held, 1)
    journal = journals.open(tmp_path, wait_s=20)
    os.write(wants, b".")
    with journal.writing():
        assert journal.last_change == 1
        journal.learn(Lesson(b"\2" * 32, "spam", b"\0"))
    assert journal.tally() == {"ham": 1, "spam": 1}
    journal.close()
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_a_snapshot_does_not_wait_for_a_writer(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path) as filter_, opened(tmp_path) as other:
        filter_.learn(mail[0].raw, "ham")
        with other.journal.writing():
            filter_._counts.save_if_due(1)
        assert not (tmp_path / "counts").exists()
        filter_._counts.save_if_due(1)
        assert (tmp_path / "counts").exists()
