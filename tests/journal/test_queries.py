"""Selecting lessons and listing them page by page, compared with a plain list."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journals import Journals, Open, is_meant
from priory.demo import Drawn
from priory.journal import (
    AUTOMATIC,
    EVERYTHING,
    Journal,
    Lesson,
    LessonSummary,
    Selection,
    SelectionError,
    read_selection,
)

USERS = ("", "ann", "bob", AUTOMATIC)
SOURCES = ("", "/home/ann/.Junk/1", "/home/ann/.Junk/2", "/home/bob/1", "50%_\x00\u20ac")
SENDERS = ("", "mail.example", "shop.example")
SUBJECTS = ("", "", "Lunch on Friday?", "50 % off_€", "lunch")

digests = st.binary(min_size=1, max_size=2).map(lambda start: (32 * start)[:32])
lessons = st.builds(
    Lesson,
    digests,
    st.sampled_from(["ham", "spam"]),
    st.just(b"\0"),
    st.none(),
    st.sampled_from(USERS),
    st.sampled_from(SOURCES),
    st.sampled_from(SENDERS),
    st.integers(0, 9).map(float),
    subject=st.sampled_from(SUBJECTS),
)


CRITERIA: dict[str, st.SearchStrategy[object]] = {
    "label": st.sampled_from(["ham", "spam", "other"]),
    "user": st.sampled_from(["", "ann", "bob", "\tauto"]),  # the last is how automatic lessons are stored: no name
    "source": st.sampled_from(["", "/home", "/home/ann/.Junk", "/HOME", "50%", "50%_\x00\u20ac", "%"]),
    "sender": st.sampled_from(["", "mail.example", "Shop.Example", "example"]),
    "since": st.integers(0, 5).map(float),
    "until": st.integers(6, 10).map(float),
    "automatic": st.booleans(),
    "digest": digests.map(lambda digest: digest.hex()[:3]),
    "subject": st.sampled_from(["", "LUNCH", "on Friday", "%", "_€", "dinner"]),
}
#: Few criteria are combined, so that most selections have lessons in them.
criteria = st.one_of(*(st.tuples(st.just(name), values) for name, values in CRITERIA.items()))
selections = st.lists(criteria, max_size=3).map(lambda chosen: Selection(**dict(chosen)))


def learn_anew(journal: Journal, lesson: Lesson) -> None:
    with journal.writing():
        journal.forget(lesson.digest, lesson.user)
        journal.learn(lesson)


def everything(journal: Journal) -> list[LessonSummary]:
    return journal.queries.page(EVERYTHING, 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@settings(max_examples=80, deadline=None)
@given(st.lists(lessons, max_size=30), selections, st.integers(1, 9))
def test_pages_are_the_selected_lessons_from_the_latest_on(
    journals: Journals, learned: list[Lesson], selection: Selection, most: int
) -> None:
    assert_pages_are_the_selected_lessons(journals, learned, selection, most)


@pytest.mark.parametrize("kind", ["postgres"], indirect=True)
@settings(max_examples=12, deadline=None)
@given(st.lists(lessons, min_size=10, max_size=30), selections, st.integers(1, 9))
def test_pages_are_so_on_a_server_too(
    journals: Journals, learned: list[Lesson], selection: Selection, most: int
) -> None:
    journals.give_back()
    assert_pages_are_the_selected_lessons(journals, learned, selection, most)


def assert_pages_are_the_selected_lessons(
    journals: Journals, learned: list[Lesson], selection: Selection, most: int
) -> None:
    with TemporaryDirectory() as home:
        journal = journals.open(Path(home))
        model: dict[tuple[bytes, str], Lesson] = {}
        with journal.writing():
            for lesson in learned:
                journal.forget(lesson.digest, lesson.user)
                journal.learn(lesson)
                model.pop((lesson.digest, lesson.user), None)
                model[lesson.digest, lesson.user] = lesson
        latest = sorted(model.values(), key=lambda lesson: lesson.time)[::-1]
        expected = [lesson for lesson in latest if is_meant(lesson, selection)]
        entries: list[LessonSummary] = []
        while page := journal.queries.page(selection, most, entries[-1].place if entries else None):
            assert len(page) <= most
            entries += page
        assert [entry[1:] for entry in entries] == [
            (*lesson[:2], lesson.held_out, lesson.user, lesson.source, lesson.sender, lesson.time, lesson.subject)
            for lesson in expected
        ]
        assert journal.queries.n_of(selection) == len(expected)
        journal.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@settings(max_examples=80, deadline=None)
@given(
    st.lists(lessons, min_size=5, max_size=30),
    selections,
    st.integers(1, 4),
    st.lists(st.lists(st.tuples(st.booleans(), lessons), max_size=3), max_size=30),
)
def test_what_stays_comes_once_and_in_order_whatever_others_do_between_pages(
    journals: Journals, learned: list[Lesson], selection: Selection, most: int, between: list[list[tuple[bool, Lesson]]]
) -> None:
    with TemporaryDirectory() as home:
        journal, other = (journals.open(Path(home)) for _ in range(2))
        for lesson in learned:
            learn_anew(other, lesson)
        before, entries, turns = everything(other), [], iter(between)
        while page := journal.queries.page(selection, most, entries[-1].place if entries else None):
            assert set(page) <= set(everything(other))
            entries += page
            for comes, lesson in next(turns, []):
                if comes:
                    learn_anew(other, lesson)
                else:
                    with other.writing():
                        other.forget(lesson.digest, lesson.user)
        stayed = [entry for entry in before if entry in set(everything(other)) and is_meant(entry, selection)]
        assert [entry for entry in entries if entry in set(stayed)] == stayed
        assert entries == sorted(set(entries), key=lambda entry: (-entry.time, -entry.change))
        assert all(is_meant(entry, selection) for entry in entries)
        journal.close()
        other.close()


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_nothing_is_held_open_between_pages(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path) as reader, opened(tmp_path) as writer:
        list(writer.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:40]))
        page = reader.lessons.page(most=10)
        writer.learn(mail[50].raw, mail[50].label)
        is_busy, *_ = writer.journal._db._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert not is_busy
        assert len(reader.lessons.page(most=1_000, after=page.after).lessons) == 30


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"digest": "2g"}, "'2g' is not the beginning of a digest: write at most 64 hexadecimal digits"),
        ({"digest": "a" * 65}, "write at most 64 hexadecimal digits"),
        ({"since": 2.0, "until": 2.0}, "since must be earlier than until"),
    ],
)
def test_a_selection_that_cannot_be_meant_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        Selection(**wrong)  # type: ignore[arg-type]


def test_the_first_invalid_field_is_named() -> None:
    with pytest.raises(SelectionError, match=r"^since is not a time: write 2026-11-01 or"):
        read_selection({"until": "tomorrow", "since": "yesterday"})


@pytest.mark.parametrize("wrong", ["", "7", "nan:7", "inf:7", "7:x", "7:0", "7:-1", f"7:{1 << 63}", "7.5:8:9"])
def test_a_place_where_no_page_ended_is_refused(tmp_path: Path, opened: Open, wrong: str) -> None:
    with opened(tmp_path) as filter_, pytest.raises(SelectionError, match="take it from the page before"):
        filter_.lessons.page(after=wrong)


def test_a_journal_refuses_what_it_cannot_know(tmp_path: Path, opened: Open) -> None:
    selection = Selection(certainty_below=0.5)
    assert not selection.is_everything
    with opened(tmp_path) as filter_:
        assert filter_.lessons.page(selection).lessons == []
        with pytest.raises(ValueError, match="a journal knows no certainties: select by certainty"):
            filter_.journal.queries.n_of(selection)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"certainty_below": 1.5}, "a probability, from 0 to 1"),
        ({"certainty_above": -0.1}, "a probability, from 0 to 1"),
        ({"certainty_above": float("nan")}, "a probability, from 0 to 1"),
        ({"certainty_above": 0.5, "certainty_below": 0.5}, "certainty_above must be smaller than certainty_below"),
    ],
)
def test_a_certainty_that_cannot_be_is_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        Selection(**wrong)  # type: ignore[arg-type]


def test_a_sample_is_spread_over_the_journal_and_has_each_label(journals: Journals, tmp_path: Path):
    journal = journals.open(tmp_path)
    with journal.writing():
        for i in range(3_000):
            journal.learn(Lesson(i.to_bytes(32), "spam" if i < 100 else "ham", b"%d" % i))
    sample = journal.queries.sample(50)
    numbers = [int.from_bytes(lesson.digest) for lesson in sample]
    assert [lesson.label for lesson in sample] == ["spam"] * 50 + ["ham"] * 50
    assert numbers == sorted(numbers)
    assert numbers[-1] > 2_900
    assert all(lesson.features == b"%d" % number for lesson, number in zip(sample, numbers, strict=True))
    journal.close()


def test_a_sample_of_few_lessons_is_all_of_them(journals: Journals, tmp_path: Path):
    journal = journals.open(tmp_path)
    assert journal.queries.sample(50) == []
    with journal.writing():
        for i in range(9):
            journal.learn(Lesson(i.to_bytes(32), "ham", b""))
    assert [lesson.digest[-1] for lesson in journal.queries.sample(50)] == list(range(9))
    journal.close()
