"""Listing lessons page by page and forgetting selected ones, compared with a plain list."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from journals import CountsOf, Journals, Open

from priory.demo import Drawn
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.options import Autolearn, Options
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
from priory.message import parse

USERS = ("", "ann", "bob", AUTOMATIC)
SOURCES = ("", "/home/ann/.Junk/1", "/home/ann/.Junk/2", "/home/bob/1", "50%_\x00\u20ac")
SENDERS = ("", "mail.example", "shop.example")

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
)


SAID: dict[str, st.SearchStrategy[object]] = {
    "label": st.sampled_from(["ham", "spam", "other"]),
    "user": st.sampled_from(["", "ann", "bob", "\tauto"]),  # the last is how automatic lessons are stored: no name
    "source": st.sampled_from(["", "/home", "/home/ann/.Junk", "/HOME", "50%", "50%_\x00\u20ac", "%"]),
    "sender": st.sampled_from(["", "mail.example", "Shop.Example", "example"]),
    "since": st.integers(0, 5).map(float),
    "until": st.integers(6, 10).map(float),
    "automatic": st.booleans(),
    "digest": digests.map(lambda digest: digest.hex()[:3]),
}
#: Few things are said at once, so that most selections have lessons in them.
selections = st.lists(st.one_of(*(st.tuples(st.just(name), said) for name, said in SAID.items())), max_size=3).map(
    lambda said: Selection(**dict(said))
)


def is_meant(lesson: Lesson | LessonSummary, selection: Selection) -> bool:
    is_automatic = lesson.user is AUTOMATIC
    return all(
        (
            selection.label in (None, lesson.label),
            selection.user is None or (selection.user == lesson.user and not is_automatic),
            lesson.source.startswith(selection.source or ""),
            selection.sender in (None, lesson.sender),
            selection.since is None or lesson.time >= selection.since,
            selection.until is None or lesson.time < selection.until,
            selection.automatic in (None, is_automatic),
            lesson.digest.hex().startswith(selection.digest or ""),
        )
    )


def learn_anew(journal: Journal, lesson: Lesson) -> None:
    with journal.writing():
        journal.forget(lesson.digest, lesson.user)
        journal.learn(lesson)


def everything(journal: Journal) -> list[LessonSummary]:
    return journal.queries.page(EVERYTHING, 1_000)


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
        found: list[LessonSummary] = []
        while page := journal.queries.page(selection, most, found[-1].place if found else None):
            assert len(page) <= most
            found += page
        assert [entry[1:] for entry in found] == [
            (each.digest, each.label, each.held_out, each.user, each.source, each.sender, each.time)
            for each in expected
        ]
        assert journal.queries.n_of(selection) == len(expected)
        journal.close()


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
        before, found, turns = everything(other), [], iter(between)
        while page := journal.queries.page(selection, most, found[-1].place if found else None):
            assert set(page) <= set(everything(other))
            found += page
            for comes, lesson in next(turns, []):
                if comes:
                    learn_anew(other, lesson)
                else:
                    with other.writing():
                        other.forget(lesson.digest, lesson.user)
        stayed = [entry for entry in before if entry in set(everything(other)) and is_meant(entry, selection)]
        assert [entry for entry in found if entry in set(stayed)] == stayed
        assert found == sorted(set(found), key=lambda entry: (-entry.time, -entry.change))
        assert all(is_meant(entry, selection) for entry in found)
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
    ("wrong", "said"),
    [
        ({"digest": "2g"}, "'2g' is not the beginning of a digest: write at most 64 hexadecimal digits"),
        ({"digest": "a" * 65}, "write at most 64 hexadecimal digits"),
        ({"since": 2.0, "until": 2.0}, "since must be earlier than until"),
    ],
)
def test_a_selection_that_cannot_be_meant_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(SelectionError, match=said):
        Selection(**wrong)  # type: ignore[arg-type]


def test_the_first_invalid_field_is_named() -> None:
    with pytest.raises(SelectionError, match=r"^since is not a time: write 2026-11-01 or"):
        read_selection({"until": "tomorrow", "since": "yesterday"})


@pytest.mark.parametrize("wrong", ["", "7", "nan:7", "inf:7", "7:x", "7:0", "7:-1", f"7:{1 << 63}", "7.5:8:9"])
def test_a_place_where_no_page_ended_is_refused(tmp_path: Path, opened: Open, wrong: str) -> None:
    with opened(tmp_path) as filter_, pytest.raises(SelectionError, match="take it from the page before"):
        filter_.lessons.page(after=wrong)


def counted(filter_: Filter, counts_of: CountsOf) -> list[bytes]:
    return [bytes(part) for part in counts_of(filter_).parts]


def teach(filter_: Filter, mail: list[Drawn]) -> None:
    """Ann and Bob teach in turns, from two folders."""
    for i in range(0, len(mail), 40):
        some = [(drawn.raw, drawn.label, f"/{'new' if i % 80 else 'old'}/{i}") for drawn in mail[i : i + 40]]
        list(filter_.learn_many(some, "ann" if i % 120 else "bob"))


@pytest.mark.parametrize(
    "selection",
    [
        Selection(label="spam"),
        Selection(user="ann", source="/old/"),
        Selection(automatic=False),
        Selection(since=0.0, digest="0"),
        Selection(until=1.0),
    ],
)
def test_counts_are_as_if_the_forgotten_lessons_had_never_existed(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf, selection: Selection
) -> None:
    with opened(tmp_path / "one") as filter_, opened(tmp_path / "other") as never:
        teach(filter_, mail)
        every = list(filter_.journal.lessons())
        left = [lesson for lesson in every if not is_meant(lesson, selection)]
        with never.journal.writing():
            never.journal.learn_many(left)
        gone = list(filter_.forget_many(selection, group=30))
        assert sum(gone) == len(every) - len(left)
        assert all(0 < n <= 30 for n in gone)
        assert list(filter_.journal.lessons()) == left
        forgotten = counted(filter_, counts_of)
        assert forgotten == counted(never, counts_of)
        filter_.rebuild()
        assert counted(filter_, counts_of) == forgotten


def test_everything_is_never_forgotten_for_want_of_a_selection(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path) as filter_:
        teach(filter_, mail[:40])
        for nothing in (Selection(), Selection(source="", digest="")):
            with pytest.raises(SelectionError, match="say which to forget"):
                list(filter_.forget_many(nothing))
        assert sum(filter_.stats().lessons.values()) == 40


def test_lessons_taught_or_relabelled_meanwhile_stay(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    spam = [drawn.raw for drawn in mail if drawn.label == "spam"][:6]
    with opened(tmp_path) as filter_, opened(tmp_path) as other:
        for raw in spam[:5]:
            filter_.learn(raw, "spam")
        forgetting = filter_.forget_many(Selection(label="spam"), group=2)
        assert next(forgetting) == 2
        other.learn(spam[5], "spam")
        other.learn(spam[4], "ham")
        other.forget(spam[3])
        assert list(forgetting) == [1]
        assert [lesson.label for lesson in filter_.lessons.page().lessons] == ["ham", "spam"]


def test_a_killed_process_can_continue_to_forget(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf, start: Callable[[Callable[[], None]], int]
) -> None:
    selection = Selection(user="ann")
    with opened(tmp_path) as filter_:
        teach(filter_, mail)
        left = [lesson for lesson in filter_.journal.lessons() if not is_meant(lesson, selection)]
    reading, writing = os.pipe()

    def forget() -> None:
        with opened(tmp_path) as mine:
            for n in mine.forget_many(selection, group=5):
                os.write(writing, bytes([n]))
                time.sleep(0.002)

    child = start(forget)
    acknowledged = sum(os.read(reading, 1)[0] for _ in range(7))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(writing)
    while more := os.read(reading, 1):
        acknowledged += more[0]
    os.close(reading)
    with opened(tmp_path) as filter_:
        still = filter_.journal.queries.n_of(selection)
        assert 0 < still <= len(mail) - len(left) - acknowledged
        assert sum(filter_.forget_many(selection)) == still
        assert list(filter_.journal.lessons()) == left
        forgotten = counted(filter_, counts_of)
        filter_.rebuild()
        assert counted(filter_, counts_of) == forgotten


def test_letters_of_people_are_left_to_them_and_automatic_lessons_may_come_again(
    tmp_path: Path, mail: list[Drawn], opened: Open
) -> None:
    options = Options(spec=Spec(bits=12), autolearn=Autolearn(certainty=0.999, after=20))
    with opened(tmp_path, options) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "inbox") for drawn in mail[:200]))
        filter_.learn(mail[300].raw, "ham", "by hand")
        assert filter_.autolearn(mail[301].raw, "ham") == "learned"
        assert sum(filter_.forget_many(Selection(source="by hand"))) == 1
        assert sum(filter_.forget_many(Selection(source="auto", automatic=False))) == 0
        assert sum(filter_.forget_many(Selection(source="auto"))) == 1
        assert filter_.stats().automatic == {"ham": 0, "spam": 0}
        assert [filter_.autolearn(mail[i].raw, "ham") for i in (300, 301)] == ["known", "learned"]
    without = replace(options, autolearn=None)
    with opened(tmp_path, without) as filter_:
        (lesson,) = filter_.lessons.page(Selection(automatic=True)).lessons
        assert (lesson.automatic, lesson.user, lesson.certainty) == (True, "", None)


def test_a_page_says_how_probable_each_label_was_before(tmp_path: Path, mail: list[Drawn], opened: Open) -> None:
    with opened(tmp_path) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:300]))
        judged = []
        for drawn in mail[300:330]:
            judged.append(filter_.check(drawn.raw).probabilities[drawn.label])
            filter_.learn(drawn.raw, drawn.label)
        page = filter_.lessons.page(most=30)
        certainties = [lesson.certainty for lesson in reversed(page.lessons)]
        assert certainties == pytest.approx(judged, abs=0.02)  # the lines have moved a little since
        (first,) = filter_.lessons.page(most=1, after=filter_.lessons.page(most=329).after).lessons
        assert (first.digest, first.certainty) == (parse(mail[0].raw).digest.hex(), None)
        assert filter_.lessons.page(most=330).after is None
