"""Automatic lessons never outrank a person, never confirm themselves, and can all be forgotten at once."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from priory.demo import draw
from priory.features import VERSION, Spec
from priory.filter.filter import Filter
from priory.filter.options import Autolearn, Options
from priory.journal import AUTOMATIC, Selection, open_file_to_read
from priory.lab.examples import lessons

AUTOMATICALLY = Selection(automatic=True)
RULES = Autolearn(certainty=0.7, after=20)
OPTIONS = Options(spec=Spec(bits=12), autolearn=RULES)
MAIL = list(draw(420, seed=8))
TAUGHT, COMING = MAIL[:200], MAIL[200:]


def teach(filter_: Filter) -> None:
    list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in TAUGHT))


@pytest.fixture
def filter_(tmp_path: Path) -> Iterator[Filter]:
    with Filter.open(tmp_path / "home", OPTIONS) as filter_:
        teach(filter_)
        yield filter_


def counted(filter_: Filter) -> list[bytes]:
    """Return the bytes of the counts."""
    filter_.refresh()
    return [bytes(part) for part in filter_.counts.parts]


def rebuilt(filter_: Filter) -> list[bytes]:
    filter_.rebuild()
    return counted(filter_)


def learn_what_comes(filter_: Filter) -> list[tuple[bytes, str]]:
    """Check mail, and learn the certain messages; return those that were learned."""
    learned = []
    for drawn in COMING:
        verdict = filter_.check(drawn.raw)
        if filter_.would_learn(verdict) and filter_.autolearn(drawn.raw, verdict.label) == "learned":
            learned.append((drawn.raw, verdict.label))
    return learned


def automatic(filter_: Filter) -> int:
    return sum(filter_.stats().automatic.values())


def test_nothing_is_learned_automatically_unless_it_is_switched_on(tmp_path: Path) -> None:
    with Filter.open(tmp_path, replace(OPTIONS, autolearn=None)) as filter_:
        teach(filter_)
        assert not any(filter_.would_learn(filter_.check(drawn.raw)) for drawn in COMING)
        with pytest.raises(ValueError, match="switched off"):
            filter_.autolearn(COMING[0].raw, "ham")


def test_what_is_certain_is_learned_once_and_marked(filter_: Filter) -> None:
    learned = learn_what_comes(filter_)
    assert len(learned) > 50
    assert automatic(filter_) == len(learned)
    assert sum(filter_.stats().lessons.values()) == len(TAUGHT) + len(learned)
    marked = [lesson for lesson in filter_.journal.lessons() if lesson.is_automatic]
    assert [(lesson.source, lesson.held_out) for lesson in marked] == [("auto", None)] * len(learned)
    assert [filter_.autolearn(raw, label) for raw, label in learned[:3]] == ["known"] * 3
    assert filter_.taught_by(learned[0][0]) == []
    assert counted(filter_) == rebuilt(filter_)


def test_what_is_not_certain_is_not_learned(tmp_path: Path) -> None:
    with Filter.open(tmp_path, replace(OPTIONS, autolearn=replace(RULES, certainty=1 - 1e-12))) as filter_:
        assert not filter_.would_learn(filter_.check(b""))
        teach(filter_)
        assert not any(filter_.would_learn(filter_.check(drawn.raw)) for drawn in COMING)


def test_nothing_is_learned_before_calibration_has_seen_enough_of_every_label(tmp_path: Path) -> None:
    with Filter.open(tmp_path, OPTIONS) as filter_:
        for drawn in TAUGHT:
            if min(filter_.stats().scored.values()) >= RULES.after:
                break
            assert filter_.autolearn(COMING[0].raw, "ham") == "early"
            filter_.learn(drawn.raw, drawn.label)
        assert filter_.autolearn(COMING[0].raw, "ham") == "learned"


def test_it_does_not_feed_calibration(filter_: Filter) -> None:
    before, held_out = filter_.stats(), bytes(filter_.counts.held_out)
    assert learn_what_comes(filter_)
    after = filter_.stats()
    assert after.scored == before.scored
    assert after.calibration == before.calibration
    assert bytes(filter_.counts.held_out) == held_out
    assert not any(lesson.is_automatic for lesson in filter_.journal.unscored_lessons("ham", 999, size=5))


def test_what_any_person_has_taught_is_not_learned_automatically(filter_: Filter) -> None:
    filter_.learn(COMING[0].raw, "spam", user="ann")
    filter_.learn(COMING[1].raw, "ham")
    before = counted(filter_)
    assert [filter_.autolearn(drawn.raw, "ham") for drawn in COMING[:2]] == ["known", "known"]
    assert counted(filter_) == before


@pytest.mark.parametrize("user", ["", "ann"])
@pytest.mark.parametrize("label", ["ham", "spam"])
def test_a_lesson_of_a_person_takes_the_automatic_one_back(
    filter_: Filter, tmp_path: Path, user: str, label: str
) -> None:
    for drawn in COMING[:5]:
        assert filter_.autolearn(drawn.raw, "ham") == "learned"
    done = list(filter_.learn_many(((drawn.raw, label, "") for drawn in COMING[:5]), user))
    assert [learned.outcome for learned in done[0]] == ["learned"] * 5
    assert automatic(filter_) == 0
    with Filter.open(tmp_path / "people alone", OPTIONS) as alone:
        teach(alone)
        list(alone.learn_many(((drawn.raw, label, "") for drawn in COMING[:5]), user))
        assert counted(filter_) == counted(alone) == rebuilt(filter_)
        assert filter_.stats().calibration == alone.stats().calibration


ON_ITS_WAY = b"Return-Path: <x@mail.example>\nDelivered-To: bob@home.example\nReceived: from mx by home.example; now\n"


def test_a_person_may_have_another_copy_of_the_message_than_was_learned(filter_: Filter) -> None:
    """Headers that a server adds after its milter do not change the identity of a message."""
    before = counted(filter_)
    arriving = [drawn.raw for drawn in COMING[:3]]
    assert [filter_.autolearn(raw, "ham") for raw in arriving] == ["learned"] * 3
    filter_.learn(ON_ITS_WAY + arriving[0], "spam", user="bob")
    assert filter_.forget(ON_ITS_WAY + arriving[1], user="bob").was == "ham"
    assert [filter_.autolearn(raw, "ham") for raw in arriving] == ["known"] * 3
    assert automatic(filter_) == 1
    filter_.forget(ON_ITS_WAY + arriving[0], user="bob")
    assert filter_.autolearn(arriving[0], "ham") == "known"  # a person had a hand in it
    list(filter_.forget_many(AUTOMATICALLY))
    assert counted(filter_) == before == rebuilt(filter_)


def test_messages_are_told_apart_by_the_headers_of_their_senders(filter_: Filter) -> None:
    raw = b"Message-ID: <1@x>\nDate: today\nFrom: ann@mail.example\nSubject: lunch\n\nat noon?\n"
    others = [raw.replace(one, b"other") for one in (b"<1@x>", b"today", b"ann@", b"lunch")]
    assert [filter_.autolearn(each, "ham") for each in (raw, *others)] == ["learned"] * 5
    assert filter_.autolearn(ON_ITS_WAY + raw.replace(b": lunch", b":\n lunch "), "ham") == "known"


def test_a_person_can_forget_what_was_learned_automatically(filter_: Filter) -> None:
    before = counted(filter_)
    filter_.autolearn(COMING[0].raw, "ham")
    assert counted(filter_) != before
    assert filter_.forget(COMING[0].raw, user="ann").was == "ham"
    assert counted(filter_) == before
    assert filter_.forget(COMING[0].raw, user="ann").was is None


def test_all_of_it_is_taken_back_exactly(filter_: Filter) -> None:
    before, stats = counted(filter_), filter_.stats()
    n = len(learn_what_comes(filter_))
    assert list(filter_.forget_many(AUTOMATICALLY, group=40)) == [40] * (n // 40) + [n % 40] * (n % 40 > 0)
    assert counted(filter_) == before == rebuilt(filter_)
    assert filter_.stats()._replace(changes=0, journal_bytes=0) == stats._replace(changes=0, journal_bytes=0)
    assert list(filter_.forget_many(AUTOMATICALLY)) == []


def test_what_people_taught_meanwhile_stays(filter_: Filter, tmp_path: Path) -> None:
    """The predictions of their lessons stay, too; all else is as if the automatic lessons had never been there."""
    learn_what_comes(filter_)
    later = list(draw(30, seed=9))
    list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in later))
    list(filter_.forget_many(AUTOMATICALLY))
    assert counted(filter_) == rebuilt(filter_)
    with Filter.open(tmp_path / "people alone", OPTIONS) as alone:
        teach(alone)
        list(alone.learn_many((drawn.raw, drawn.label, "") for drawn in later))
        assert filter_.counts.totals.tolist() == alone.counts.totals.tolist()
        assert (filter_.counts.table == alone.counts.table).all()


def test_forgetting_can_continue_after_the_process_was_killed(filter_: Filter) -> None:
    before, n = counted(filter_), len(learn_what_comes(filter_))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with Filter.open(filter_.home, OPTIONS) as mine:
            for i, _ in enumerate(mine.forget_many(AUTOMATICALLY, group=20)):
                os.write(writing, b".")
                if i == 2:
                    signal.pause()  # so that it is killed before it is done, however late that is
        os._exit(0)
    os.read(reading, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert counted(filter_) == rebuilt(filter_)
    left = automatic(filter_)
    assert 0 < left < n
    assert sum(filter_.forget_many(AUTOMATICALLY)) == left
    assert counted(filter_) == before == rebuilt(filter_)


def test_at_least_half_of_the_lessons_of_a_label_come_from_people(tmp_path: Path) -> None:
    with Filter.open(tmp_path, OPTIONS) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in TAUGHT[:60]))
        by_people = filter_.stats().lessons
        for label in ("ham", "spam"):
            outcomes = [filter_.autolearn(b"Subject: %s %d\n\nhello" % (label.encode(), i), label) for i in range(70)]
            n = by_people[label]
            assert outcomes == ["learned"] * n + ["full"] * (70 - n)
        assert filter_.stats().automatic == by_people


def test_the_daily_limit_holds_for_all_processes_together(filter_: Filter, monkeypatch: pytest.MonkeyPatch) -> None:
    options = replace(OPTIONS, autolearn=replace(RULES, per_day=10))
    with Filter.open(filter_.home, options) as one, Filter.open(filter_.home, options) as other:
        outcomes = [(one, other)[i % 2].autolearn(drawn.raw, "ham") for i, drawn in enumerate(COMING[:12])]
        assert outcomes == ["learned"] * 10 + ["full"] * 2
        assert one.autolearn(COMING[12].raw, "spam") == "learned"
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 86_401)
        assert other.autolearn(COMING[13].raw, "ham") == "learned"
        assert counted(one) == counted(other)


def test_autolearning_does_not_wait_for_another_writer(filter_: Filter) -> None:
    with Filter.open(filter_.home, OPTIONS) as other:
        with filter_.journal.writing():
            assert other.autolearn(COMING[0].raw, "ham") == "busy"
        assert other.autolearn(COMING[0].raw, "ham") == "learned"


def test_processes_that_learn_and_teach_at_once_leave_one_lesson_each(filter_: Filter) -> None:
    def busy(which: int) -> None:
        with Filter.open(filter_.home, OPTIONS) as mine:
            for i, drawn in enumerate(COMING[:60]):
                if (i + which) % 3 == 0:
                    mine.learn(drawn.raw, drawn.label, user=f"user {which}")
                else:
                    mine.autolearn(drawn.raw, drawn.label)

    children = []
    for which in range(2):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                busy(which)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert counted(filter_) == rebuilt(filter_)
    for drawn in COMING[:60]:
        read = filter_.prepare(drawn.raw)
        assert not (filter_.journal.users_of(read.digest) and filter_.journal.users_of(read.identity))
    every = [lesson.user for lesson in filter_.journal.lessons()]
    assert every.count(AUTOMATIC) == automatic(filter_)


def test_merging_keeps_what_people_taught_and_none_of_it_twice(filter_: Filter, tmp_path: Path) -> None:
    """This holds whichever of two journals takes in the other."""
    filter_.autolearn(COMING[0].raw, "ham")
    filter_.autolearn(COMING[1].raw, "ham")
    filter_.learn(COMING[2].raw, "spam")
    homes = [tmp_path / "one", tmp_path / "two"]
    with Filter.open(homes[1], OPTIONS) as other:
        teach(other)
        other.learn(COMING[0].raw, "spam", user="ann")
        other.autolearn(COMING[2].raw, "ham")
        other.autolearn(COMING[3].raw, "ham")
        others = set(taught(other))
    mine = set(taught(filter_))
    assert sum(user is AUTOMATIC for _, user, _ in mine | others) == 4
    with Filter.open(homes[0], OPTIONS) as merged:
        for home in (filter_.home, homes[1], filter_.home):
            journal = open_file_to_read(home / "journal.sqlite", VERSION)
            merged.merge(journal)
            journal.close()
        found = set(taught(merged))
        assert {each for each in found if each[1] is AUTOMATIC} == {
            (merged.prepare(COMING[i].raw).identity, AUTOMATIC, "ham") for i in (1, 3)
        }
        assert {each for each in found if each[1] is not AUTOMATIC} == {
            each for each in mine | others if each[1] is not AUTOMATIC
        }
        assert automatic(merged) == 2
        assert counted(merged) == rebuilt(merged)


def taught(filter_: Filter) -> list[tuple[bytes, str, str]]:
    return [(lesson.digest, lesson.user, lesson.label) for lesson in filter_.journal.lessons()]


def test_the_workbench_judges_by_what_people_said_alone(filter_: Filter) -> None:
    learn_what_comes(filter_)
    assert len(list(lessons(filter_.journal))) == len(TAUGHT)


def test_what_a_user_sees_differently_is_not_learned_for_everyone(tmp_path: Path):
    with Filter.open(tmp_path, Options(autolearn=Autolearn(certainty=0.5, after=10))) as filter_:
        list(filter_.learn_many([(drawn.raw, drawn.label, "") for drawn in draw(200, seed=1)]))
        lists = [b"List-Id: <daily.list.example>\nSubject: Daily %d\n\nhttp://list.example" % i for i in range(31)]
        list(filter_.learn_many([(raw, "spam", "") for raw in lists[1:]], "ann"))
        verdict = filter_.check(lists[0], "ann")
        assert verdict.you
        assert verdict.label == "spam"
        assert not filter_.would_learn(verdict)
        assert filter_.would_learn(filter_.check(next(iter(draw(1, seed=1))).raw))
