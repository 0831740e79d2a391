"""Forgetting selected lessons: exact, in groups, and continued after a kill."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from checked_mail import checked, learn_from_silence
from journals import SMALL, CountsOf, Open, Start, is_meant
from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.filter.options import SilenceRules
from priory.journal import Selection, SelectionError


def counted(filter_: Filter, counts_of: CountsOf) -> list[bytes]:
    return [bytes(part) for part in counts_of(filter_).parts]


def teach(filter_: Filter, mail: list[Drawn]) -> None:
    """Ann and Bob teach in turns, from two folders."""
    for i in range(0, len(mail), 40):
        some = [(drawn.raw, drawn.label, f"/{'new' if i % 80 else 'old'}/{i}") for drawn in mail[i : i + 40]]
        list(filter_.learn_many(some, "ann" if i % 120 else "bob"))


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_killed_process_can_continue_to_forget(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf, start: Start
) -> None:
    selection = Selection(user="ann")
    with opened(tmp_path) as filter_:
        teach(filter_, mail)
        left = [lesson for lesson in filter_.journal.lessons() if not is_meant(lesson, selection)]
    reading, writing = os.pipe()

    def forget() -> None:
        with opened(tmp_path) as mine:
            for i, n in enumerate(mine.forget_many(selection, group=5)):
                os.write(writing, bytes([n]))
                if i == 30:
                    signal.pause()  # so that it is killed before it is done, however late that is

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
    with opened(tmp_path) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "inbox") for drawn in mail[:200]))
        by_hand, *others = learn_from_silence(filter_, mail[200:])
        recorded = [checked(filter_, drawn.raw) for drawn in (by_hand, *others)]
        filter_.learn(by_hand.raw, by_hand.label, "by hand")
        assert sum(filter_.forget_many(Selection(source="by hand"))) == 1
        assert sum(filter_.forget_many(Selection(source="silence", automatic=False))) == 0
        assert sum(filter_.forget_many(Selection(source="silence"))) == len(others)
        assert filter_.stats().automatic == {"ham": 0, "spam": 0}
        conclusion = filter_.silence.conclude(recorded)
        assert (conclusion.told, conclusion.silent) == (1, len(others))
        assert sum(conclusion.learned.values()) > 0
    with opened(tmp_path, replace(SMALL, silence=SilenceRules(learns=False))) as filter_:
        lesson, *_ = filter_.lessons.page(Selection(automatic=True)).lessons
        assert (lesson.automatic, lesson.user, lesson.certainty) == (True, "", None)
