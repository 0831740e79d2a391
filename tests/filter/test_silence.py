"""What silence says is counted exactly, and automatic lessons never outrank a person or confirm themselves."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from checked_mail import N_MOVED, OTHER, checked, learn_from_silence, make_older, moved, record
from counted import lesson_counts_of
from journals import CountsOf, Journals, Open, Start
from priory.decision import UNSURE, Costs
from priory.demo import Drawn, draw
from priory.features import VERSION, Spec
from priory.filter.counts import counts_digest
from priory.filter.filter import Filter
from priory.filter.options import Options, SilenceRules
from priory.filter.silence import FEWEST_MOVED, MOST_AUTOMATIC, Conclusion, SilenceStats
from priory.journal import AUTOMATIC, Journal, Selection, open_file, open_file_to_read
from priory.journal.checked import DAY_S, FOLDER, CheckedMessage
from priory.journal.silence import RETENTION_DAYS, Told
from priory.journal.transfer import copy, verify
from priory.lab.examples import lessons

AUTOMATICALLY = Selection(automatic=True)
OPTIONS = Options(spec=Spec(bits=16))
COUNTED_ONLY = replace(OPTIONS, silence=SilenceRules(learns=False))
MAIL = list(draw(700, seed=8))
TAUGHT, COMING, LATER = MAIL[:200], MAIL[200:600], MAIL[600:]


def teach(filter_: Filter, mail: list[Drawn] = TAUGHT, user: str = "") -> None:
    list(filter_.learn_many(((drawn.raw, drawn.label, "") for drawn in mail), user))


@pytest.fixture
def filter_(tmp_path: Path) -> Iterator[Filter]:
    with Filter.open(tmp_path / "home", OPTIONS) as filter_:
        teach(filter_)
        yield filter_


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[Filter]:
    """A filter that was taught the same, and that only counts."""
    with Filter.open(tmp_path / "twin", COUNTED_ONLY) as twin:
        teach(twin)
        yield twin


def counted(filter_: Filter) -> list[bytes]:
    """Return the bytes of the counts."""
    filter_.refresh()
    return [bytes(part) for part in filter_.counts.parts]


def rebuilt(filter_: Filter) -> list[bytes]:
    filter_.rebuild()
    return counted(filter_)


def automatic(filter_: Filter) -> int:
    return sum(filter_.stats().automatic.values())


def estimate(filter_: Filter) -> bytes:
    """Return the estimate of what silence says, after another conclusion."""
    filter_.silence.conclude([])
    stored = filter_.journal.silence.load()
    assert stored is not None
    return stored.estimate


def verdicts(filter_: Filter) -> list[str]:
    return [filter_.check(drawn.raw).log_odds.hex() for drawn in LATER[:20]]


# What is counted


def test_what_people_leave_alone_is_counted_and_a_sample_is_learned(filter_: Filter) -> None:
    before = filter_.stats()
    assert before.silence is None
    learned = learn_from_silence(filter_, COMING)
    after = filter_.stats()
    assert after.silence is not None
    assert (after.silence.silent, after.silence.moved) == (len(COMING) - N_MOVED, N_MOVED)
    assert 20 < len(learned) < 200
    assert automatic(filter_) == len(learned)
    assert sum(after.lessons.values()) == len(TAUGHT) + N_MOVED + len(learned)
    marked = [lesson for lesson in filter_.journal.lessons() if lesson.is_automatic]
    assert [(lesson.source, lesson.held_out) for lesson in marked] == [("silence", None)] * len(learned)
    assert filter_.taught_by(learned[0].raw) == []
    assert counted(filter_) == rebuilt(filter_)


def test_it_does_not_feed_the_outcomes_of_calibration(filter_: Filter, twin: Filter) -> None:
    assert learn_from_silence(filter_, COMING)
    assert not learn_from_silence(twin, COMING)
    assert filter_.stats().scored == twin.stats().scored
    assert filter_.stats().calibration == twin.stats().calibration
    assert bytes(filter_.counts.held_out) == bytes(twin.counts.held_out)
    assert not any(lesson.is_automatic for lesson in filter_.journal.unscored_lessons("ham", 999, size=5))


def test_silence_moves_the_calibration(twin: Filter) -> None:
    twin.silence.start()
    wrong = moved(twin, COMING[:N_MOVED])
    before, line = verdicts(twin), twin.stats().calibration["spam"]
    twin.silence.conclude(wrong + [checked(twin, drawn.raw) for drawn in COMING if drawn.label == "ham"])
    after = twin.stats().calibration["spam"]
    assert after.intercept < line.intercept  # nearly all mail that comes is ham
    assert verdicts(twin) != before


def test_silence_says_nothing_where_people_never_move_anything(filter_: Filter) -> None:
    before = verdicts(filter_)
    concluded = filter_.silence.conclude([checked(filter_, drawn.raw) for drawn in COMING])
    assert (concluded.silent, sum(concluded.learned.values())) == (len(COMING), 0)
    assert verdicts(filter_) == before
    assert str(filter_.stats().silence).endswith("0 moved; silence counts once 10 were moved")


def test_it_can_be_counted_without_being_learned(twin: Filter) -> None:
    assert learn_from_silence(twin, COMING) == []
    assert not any(checked(twin, drawn.raw).features for drawn in COMING)
    stats = twin.stats().silence
    assert stats is not None
    assert stats.silent == len(COMING) - N_MOVED


def test_nothing_is_counted_before_there_are_two_labels_to_compare(tmp_path: Path) -> None:
    with Filter.open(tmp_path, OPTIONS) as filter_:
        list(filter_.learn_many((drawn.raw, "ham", "") for drawn in TAUGHT if drawn.label == "ham"))
        message = filter_.prepare(COMING[0].raw)
        assert filter_.silence.checked_message(message, filter_.check(message)) is None
        record(filter_, COMING[0].raw)
        assert not (tmp_path / FOLDER).exists()


# What is learned


def test_nothing_is_learned_before_people_have_moved_some_messages(filter_: Filter) -> None:
    filter_.silence.start()
    silent = [checked(filter_, drawn.raw) for drawn in COMING[100:]]
    assert filter_.silence.conclude(moved(filter_, COMING[: FEWEST_MOVED - 1]) + silent).learned == {}
    assert filter_.silence.conclude(moved(filter_, COMING[FEWEST_MOVED - 1 : FEWEST_MOVED])).learned == {}
    again = [message._replace(identity=message.identity[::-1]) for message in silent]
    assert filter_.silence.conclude(again).learned


def test_the_less_people_move_the_less_is_learned(tmp_path: Path) -> None:
    shares = []
    for n in (200, 0):
        with Filter.open(tmp_path / str(n), OPTIONS) as filter_:
            teach(filter_)
            filter_.silence.start()
            # Some 200 messages of spam lie in the inbox: people have moved all of them, or have left all but a few.
            spam = [message for message in moved(filter_, COMING[:200]) if message.decision == "ham"]
            hidden = [message._replace(identity=message.identity[::-1]) for message in spam * (n == 0) * 3]
            silent = [checked(filter_, drawn.raw) for drawn in COMING[200:]]
            conclusion = filter_.silence.conclude(spam[:200] + hidden + silent)
            stats = filter_.stats().silence
            assert stats is not None
            shares.append((stats.move_rates["ham"], conclusion.learned["ham"]))
    (much, many), (little, few) = shares
    assert (many > few, much > little) == (True, True)


def test_mail_of_which_the_filter_was_unsure_is_never_presumed_to_be_anything(filter_: Filter) -> None:
    learn_from_silence(filter_, COMING)
    recorded = [checked(filter_, drawn.raw) for drawn in LATER]
    unsure = [message for message in recorded if message.decision == UNSURE]
    assert unsure
    assert not any(message.features for message in unsure)
    features = next(message.features for message in recorded if message.features)
    eager = [message._replace(identity=bytes(2) + message.identity[2:], features=features) for message in unsure]
    assert filter_.silence.conclude(eager) == Conclusion(silent=len(unsure))


def test_what_the_filter_would_no_longer_say_is_not_learned(filter_: Filter) -> None:
    sure = [message for drawn in COMING[N_MOVED:] if (message := checked(filter_, drawn.raw)).features]
    turned = [message._replace(decision=OTHER[message.decision]) for message in sure]
    filter_.silence.start()
    assert filter_.silence.conclude(moved(filter_, COMING[:N_MOVED]) + turned).learned == {}


def test_most_lessons_that_are_learned_have_some_of_people_beside_them(tmp_path: Path) -> None:
    with Filter.open(tmp_path, OPTIONS) as filter_:
        teach(filter_, TAUGHT[:30])
        filter_.silence.start()
        told = moved(filter_, COMING[:N_MOVED])
        ham = next(message for drawn in COMING[50:] if (message := checked(filter_, drawn.raw)).decision == "ham")
        features = filter_.journal.lesson_of(filter_.prepare(TAUGHT[0].raw).digest, "")
        assert features is not None
        many = [
            ham._replace(identity=bytes(2) + i.to_bytes(30), decision=features.label, features=features.features)
            for i in range(1000)
        ]
        most = MOST_AUTOMATIC * (30 + N_MOVED)
        assert sum(filter_.silence.conclude(told + many).learned.values()) == most
        assert filter_.silence.conclude([m._replace(identity=b"\0\0" + m.identity[:30]) for m in many]).learned == {}


def test_what_a_user_sees_differently_is_not_learned_for_everyone(tmp_path: Path) -> None:
    with Filter.open(tmp_path, Options()) as filter_:
        teach(filter_, list(draw(200, seed=1)))
        lists = [b"List-Id: <daily.list.example>\nSubject: Daily %d\n\nhttp://list.example" % i for i in range(60)]
        list(filter_.learn_many([(raw, "spam", "") for raw in lists[30:]], "ann"))
        for raw in lists[:30]:
            message = filter_.prepare(raw)
            verdict = filter_.check(message, "ann")
            assert (verdict.label, bool(verdict.you)) == ("spam", True)
            recorded = filter_.silence.checked_message(message, verdict)
            assert recorded is not None
            assert recorded.features == b""


def test_scores_are_recorded_as_they_were_before_calibration(filter_: Filter) -> None:
    """Another line is drawn later: a score must not depend on the line by which the message was judged."""
    before = [checked(filter_, drawn.raw).scores for drawn in COMING]
    filter_.silence.conclude([checked(filter_, drawn.raw) for drawn in COMING if drawn.label == "ham"])
    assert [checked(filter_, drawn.raw).scores for drawn in COMING] == [
        pytest.approx(scores, abs=1e-9) for scores in before
    ]


# What people say


def test_what_any_person_has_taught_is_not_learned_automatically(filter_: Filter) -> None:
    learned = learn_from_silence(filter_, COMING)
    list(filter_.forget_many(AUTOMATICALLY))
    recorded = [checked(filter_, drawn.raw) for drawn in learned]
    teach(filter_, learned[:3], user="ann")
    teach(filter_, learned[3:6])
    before = counted(filter_)
    assert filter_.silence.conclude(recorded[:6]) == Conclusion(told=6)
    assert counted(filter_) == before


@pytest.mark.parametrize("user", ["", "ann"])
@pytest.mark.parametrize("is_agreed", [True, False])
def test_a_lesson_of_a_person_takes_the_automatic_one_back(
    filter_: Filter, twin: Filter, user: str, *, is_agreed: bool
) -> None:
    learned = learn_from_silence(filter_, COMING)
    learn_from_silence(twin, COMING)
    mine = [drawn if is_agreed else replace(drawn, label=OTHER[drawn.label]) for drawn in learned]
    teach(filter_, mine, user)
    teach(twin, mine, user)
    assert automatic(filter_) == 0
    assert counted(filter_) == counted(twin) == rebuilt(filter_)
    assert filter_.stats().calibration == twin.stats().calibration
    assert verdicts(filter_) == verdicts(twin)


ON_ITS_WAY = b"Return-Path: <x@mail.example>\nDelivered-To: bob@home.example\nReceived: from mx by home.example; now\n"


def test_a_person_may_have_another_copy_of_the_message_than_was_checked(filter_: Filter) -> None:
    """Headers that a server adds after its milter do not change the identity of a message."""
    learned = learn_from_silence(filter_, COMING)
    recorded = [checked(filter_, drawn.raw) for drawn in learned]
    assert filter_.learn(ON_ITS_WAY + learned[0].raw, "spam", user="bob").outcome == "learned"
    assert filter_.forget(ON_ITS_WAY + learned[1].raw, user="bob").was == learned[1].label
    assert automatic(filter_) == len(learned) - 2
    filter_.forget(ON_ITS_WAY + learned[0].raw, user="bob")
    list(filter_.forget_many(AUTOMATICALLY))
    before = counted(filter_)
    assert filter_.silence.conclude(recorded[:2]).learned == {}  # a person had a hand in them
    assert counted(filter_) == before == rebuilt(filter_)


def test_copies_of_a_message_count_once(filter_: Filter) -> None:
    copies = [checked(filter_, raw) for raw in (COMING[0].raw, ON_ITS_WAY + COMING[0].raw)]
    assert filter_.silence.conclude(copies) == Conclusion(silent=1)


def test_a_person_can_forget_what_was_learned_automatically(filter_: Filter) -> None:
    learned = learn_from_silence(filter_, COMING)
    assert filter_.forget(learned[0].raw, user="ann").was == learned[0].label
    assert automatic(filter_) == len(learned) - 1
    assert filter_.forget(learned[0].raw, user="ann").was is None


def test_what_is_forgotten_before_it_is_concluded_says_nothing(filter_: Filter, twin: Filter) -> None:
    for each in (filter_, twin):
        each.silence.start()
    recorded = moved(filter_, COMING[:5])
    for drawn in COMING[:5]:
        filter_.forget(drawn.raw)
    assert filter_.silence.conclude(recorded) == Conclusion(told=5)
    assert estimate(filter_) == estimate(twin)


def test_what_people_said_last_about_a_message_counts(filter_: Filter) -> None:
    filter_.silence.start()
    recorded = moved(filter_, COMING[:5])
    teach(filter_, [replace(drawn, label=OTHER[drawn.label]) for drawn in COMING[:5]])
    filter_.silence.conclude(recorded)
    assert filter_.stats().silence is None  # they agree with the filter after all


def test_what_a_user_said_is_deleted_with_the_user(filter_: Filter) -> None:
    filter_.silence.start()
    teach(filter_, COMING[:3], "ann")
    teach(filter_, COMING[3:5], "bob")
    list(filter_.users.delete("ann"))
    assert {told.user for told in filter_.journal.silence.every_told()} == {"bob"}


# Forgetting


def test_all_that_was_learned_automatically_is_taken_back_exactly(filter_: Filter, twin: Filter) -> None:
    n = len(learn_from_silence(filter_, COMING))
    learn_from_silence(twin, COMING)
    assert list(filter_.forget_many(AUTOMATICALLY, group=20)) == [20] * (n // 20) + [n % 20] * (n % 20 > 0)
    assert counted(filter_) == counted(twin) == rebuilt(filter_)
    assert filter_.stats().calibration == twin.stats().calibration
    assert list(filter_.forget_many(AUTOMATICALLY)) == []


def test_a_forgotten_lesson_takes_its_place_in_the_tally_with_it(filter_: Filter, twin: Filter) -> None:
    """The next estimate is that of a filter to which these messages never came."""
    learned = learn_from_silence(filter_, COMING)
    unknown = {drawn.raw for drawn in learned}
    learn_from_silence(twin, [drawn for drawn in COMING if drawn.raw not in unknown])
    assert estimate(filter_) != estimate(twin)
    list(filter_.forget_many(AUTOMATICALLY))
    assert estimate(filter_) == estimate(twin)
    for drawn in COMING[:N_MOVED]:
        for each in (filter_, twin):
            assert each.forget(drawn.raw).was == drawn.label
    assert estimate(filter_) == estimate(twin)
    stats = filter_.stats().silence
    assert stats is not None
    assert (stats.moved, stats.silent) == (0, len(COMING) - N_MOVED - len(learned))
    assert counted(filter_) == counted(twin) == rebuilt(filter_)


def test_a_message_that_was_taught_and_forgotten_leaves_no_trace(filter_: Filter, twin: Filter) -> None:
    """Neither when it was checked before."""
    for each in (filter_, twin):
        each.silence.start()
        each.silence.conclude([checked(each, drawn.raw) for drawn in COMING[N_MOVED:]])
    filter_.silence.conclude(moved(filter_, COMING[:N_MOVED]))
    assert estimate(filter_) != estimate(twin)
    for drawn in COMING[:N_MOVED]:
        filter_.forget_digest(filter_.prepare(drawn.raw).digest)
    assert estimate(filter_) == estimate(twin)
    assert counted(filter_) == counted(twin)
    assert verdicts(filter_) == verdicts(twin)


def test_what_people_taught_meanwhile_stays(filter_: Filter, twin: Filter) -> None:
    """The predictions of their lessons stay, too; all else is as if the automatic lessons had never been there."""
    for each in (filter_, twin):
        learn_from_silence(each, COMING)
        teach(each, LATER)
    list(filter_.forget_many(AUTOMATICALLY))
    assert counted(filter_) == rebuilt(filter_)
    assert filter_.counts.totals.tolist() == twin.counts.totals.tolist()
    assert np.array_equal(lesson_counts_of(filter_.counts), lesson_counts_of(twin.counts))


def test_forgetting_can_continue_after_the_process_was_killed(filter_: Filter, twin: Filter) -> None:
    n = len(learn_from_silence(filter_, COMING))
    learn_from_silence(twin, COMING)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with Filter.open(filter_.home, OPTIONS) as mine:
            for i, _ in enumerate(mine.forget_many(AUTOMATICALLY, group=5)):
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
    assert counted(filter_) == counted(twin) == rebuilt(filter_)


def test_scoring_lessons_later_keeps_what_was_noted_of_them(tmp_path: Path) -> None:
    """Lessons of a label that lacks scores are forgotten and learned again."""
    with Filter.open(tmp_path, OPTIONS) as filter_:
        teach(filter_, [drawn for drawn in TAUGHT if drawn.label == "ham"])
        teach(filter_, [drawn for drawn in TAUGHT if drawn.label == "spam"][:1])
        filter_.silence.start()
        told = [drawn for drawn in COMING if drawn.label == "ham"][:20]
        scored = filter_.stats().scored["ham"]
        filter_.silence.conclude(moved(filter_, told))
        before = [row[:1] + row[2:] for row in filter_.journal.silence.every_judged()]
        assert len(before) == 20
        changes = [lesson.digest for lesson in filter_.journal.lessons()]
        teach(filter_, [drawn for drawn in LATER if drawn.label == "spam"])
        assert [lesson.digest for lesson in filter_.journal.lessons()][: len(changes)] != changes  # they were reordered
        assert filter_.stats().scored["ham"] > scored
        assert sorted(row[:1] + row[2:] for row in filter_.journal.silence.every_judged()) == sorted(before)


# Files, processes, journals


def recorded_days(home: Path) -> list[str]:
    return [path.name for path in (home / FOLDER).iterdir()]


@pytest.fixture
def waiting(filter_: Filter) -> list[CheckedMessage]:
    """Mail in a file that is due to be concluded."""
    for drawn in COMING[:100]:
        record(filter_, drawn.raw)
    recorded = moved(filter_, COMING[100:120])
    for message in recorded:
        filter_.silence._file("mail").append(message)
    filter_.silence.close()
    make_older(filter_.home)
    return recorded


def test_a_file_is_concluded_after_the_days_of_the_rules(filter_: Filter) -> None:
    for drawn in COMING[:3]:
        record(filter_, drawn.raw)
    filter_.silence.close()
    make_older(filter_.home, OPTIONS.silence.days)
    assert filter_.silence.conclude_due() == Conclusion()
    make_older(filter_.home, 1)
    assert filter_.silence.conclude_due() == Conclusion(silent=3)
    assert recorded_days(filter_.home) == []
    assert filter_.silence.conclude_due() == Conclusion()


def test_mail_of_which_it_is_forgotten_what_people_said_does_not_count(filter_: Filter) -> None:
    for days in (1, RETENTION_DAYS - 1):
        record(filter_, COMING[0].raw)
        filter_.silence.close()
        make_older(filter_.home, days)
    assert len(recorded_days(filter_.home)) == 2
    assert filter_.silence.conclude_due() == Conclusion(silent=1)
    assert recorded_days(filter_.home) == []


def test_a_process_that_is_killed_before_it_deletes_a_file_counts_it_once(
    filter_: Filter, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    for drawn in COMING[:50]:
        record(filter_, drawn.raw)
    filter_.silence.close()
    make_older(filter_.home)

    def conclude() -> None:
        monkeypatch.setattr(Path, "unlink", lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        with Filter.open(filter_.home, OPTIONS) as mine:
            mine.silence.conclude_due()

    assert os.waitstatus_to_exitcode(os.waitpid(start(conclude), 0)[1]) == -signal.SIGKILL
    assert len(recorded_days(filter_.home)) == 1
    stored = filter_.journal.silence.load()
    assert filter_.silence.conclude_due() == Conclusion()
    assert recorded_days(filter_.home) == []
    assert filter_.journal.silence.load() == stored
    stats = filter_.stats().silence
    assert stats is not None
    assert stats.silent == 50


@pytest.mark.usefixtures("waiting")
def test_processes_that_conclude_and_teach_at_once_count_each_message_once(filter_: Filter, start: Start) -> None:
    def conclude() -> None:
        with Filter.open(filter_.home, OPTIONS) as mine:
            mine.silence.conclude_due()

    def busy() -> None:
        with Filter.open(filter_.home, OPTIONS) as mine:
            for i, drawn in enumerate(COMING[:60]):
                mine.learn(drawn.raw, drawn.label, user=f"user {i % 2}")

    children = [start(act) for act in (conclude, busy, conclude)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert counted(filter_) == rebuilt(filter_)
    stats = filter_.stats().silence
    assert stats is not None
    taught = len(filter_.journal.silence.every_judged()) - automatic(filter_)
    assert 20 <= taught <= 80
    assert 40 <= stats.silent <= 100
    for drawn in COMING[:60]:
        message = filter_.prepare(drawn.raw)
        assert not (filter_.journal.users_of(message.digest) and filter_.journal.users_of(message.identity))


@pytest.mark.usefixtures("waiting")
def test_a_file_that_another_process_has_concluded_meanwhile_is_no_error(filter_: Filter, monkeypatch) -> None:
    due = list((filter_.home / FOLDER).iterdir())
    filter_.silence.conclude_due()
    monkeypatch.setattr("priory.filter.silence.checked_files_due", lambda *_: due)
    assert filter_.silence.conclude_due() == Conclusion()


@pytest.mark.usefixtures("waiting")
def test_a_file_that_cannot_be_read_does_not_delay_the_others(filter_: Filter) -> None:
    (due,) = (filter_.home / FOLDER).iterdir()
    unreadable = due.with_suffix(f".{int(due.suffix[1:]) - 1}")
    unreadable.mkdir()
    assert filter_.silence.conclude_due().errors == (f"cannot read {unreadable}: Is a directory",)
    assert list((filter_.home / FOLDER).iterdir()) == [unreadable]
    assert filter_.stats().silence is not None


def test_a_label_that_is_added_later_starts_with_what_people_say_next(filter_: Filter) -> None:
    learn_from_silence(filter_, COMING)
    late = [checked(filter_, drawn.raw) for drawn in LATER[:5]]
    filter_.close()
    costs = Costs(("ham", "spam", "news"), ((0, 10, 10), (100, 0, 10), (5, 10, 0)))
    with Filter.open(filter_.home, replace(OPTIONS, costs=costs)) as more:
        assert more.stats().silence == SilenceStats(silent=0, moved=N_MOVED, move_rates={})
        for i, drawn in enumerate(LATER[5:40]):
            more.learn(drawn.raw, drawn.label if i % 2 else "news")
        assert more.silence.conclude(late).silent == 0  # their scores say nothing about the new label
        recorded = [checked(more, drawn.raw) for drawn in LATER[40:]]
        assert more.silence.conclude(recorded).silent == len(recorded)
        stats = more.stats().silence
        assert stats is not None
        assert set(stats.move_rates) == {"ham", "spam", "news"}
        assert counted(more) == rebuilt(more)


def test_features_for_another_size_of_table_are_only_counted(filter_: Filter) -> None:
    with Filter.open(filter_.home.parent / "large", Options()) as large:
        teach(large)
        recorded = [checked(large, drawn.raw) for drawn in COMING[N_MOVED:]]
    filter_.silence.start()
    conclusion = filter_.silence.conclude(moved(filter_, COMING[:N_MOVED]) + recorded)
    assert (conclusion.silent, conclusion.learned) == (len(recorded), {})


def test_merging_keeps_what_people_taught_and_none_of_it_twice(filter_: Filter, tmp_path: Path) -> None:
    """This holds whichever of two journals takes in the other."""
    mine = learn_from_silence(filter_, COMING)
    filter_.learn(mine[1].raw, "spam")
    homes = [tmp_path / "one", tmp_path / "two"]
    with Filter.open(homes[1], OPTIONS) as other:
        teach(other)
        learned = learn_from_silence(other, COMING)
        assert learned == mine
        other.learn(mine[0].raw, "spam", user="ann")
        others = set(taught(other))
    both = set(taught(filter_)) | others
    spoken = {filter_.prepare(drawn.raw).identity for drawn in mine[:2]}
    with Filter.open(homes[0], OPTIONS) as merged:
        for home in (filter_.home, homes[1], filter_.home):
            journal = open_file_to_read(home / "journal.sqlite", VERSION)
            merged.merge(journal)
            journal.close()
        expected = {lesson for lesson in both if lesson[1] is not AUTOMATIC or lesson[0] not in spoken}
        assert set(taught(merged)) == expected
        assert automatic(merged) == len(mine) - 2
        assert counted(merged) == rebuilt(merged)


def taught(filter_: Filter) -> list[tuple[bytes, str, str]]:
    return [(lesson.digest, lesson.user, lesson.label) for lesson in filter_.journal.lessons()]


def test_the_workbench_judges_by_what_people_said_alone(filter_: Filter) -> None:
    learn_from_silence(filter_, COMING)
    assert len(list(lessons(filter_.journal))) == len(TAUGHT) + N_MOVED


# In both databases


def test_all_filters_of_a_journal_say_the_same_to_the_last_digit(
    tmp_path: Path, opened: Open, counts_of: CountsOf
) -> None:
    with opened(tmp_path, OPTIONS) as one, opened(tmp_path, OPTIONS) as follower, opened(tmp_path, OPTIONS) as other:
        teach(one)
        follower.follow()
        before = verdicts(follower)
        assert verdicts(other) == before == verdicts(one)
        learn_from_silence(one, COMING)
        after = verdicts(one)
        assert after != before
        assert verdicts(other) == after
        assert _followed(follower, after)
        one.silence.conclude([checked(one, drawn.raw) for drawn in LATER])  # this adds no lesson that counts
        again = verdicts(one)
        assert again != after
        assert verdicts(other) == again
        assert _followed(follower, again)
        list(other.forget_many(AUTOMATICALLY))
        assert verdicts(one) == verdicts(other)
        assert _followed(follower, verdicts(one))
        assert counts_of(one).parts == counts_of(other).parts
    with opened(tmp_path, OPTIONS) as late:
        now = verdicts(late)
    with opened(tmp_path, OPTIONS) as rebuilding:
        rebuilding.rebuild()
        assert verdicts(rebuilding) == now
        rebuilding.silence.conclude([])
        assert estimate(rebuilding) == estimate(rebuilding)


def test_what_people_said_long_ago_is_deleted_also_where_no_mail_is_recorded(tmp_path: Path, opened: Open) -> None:
    with opened(tmp_path, OPTIONS) as filter_:
        filter_.silence.start()
        teach(filter_)
        with filter_.journal.writing():
            filter_.journal.silence.tell([Told(bytes(32), None, "", filter_.journal.now() - 91 * DAY_S)])
        assert len(filter_.journal.silence.every_told()) == len(TAUGHT) + 1
        filter_._counts.settle()  # as many lessons do
        assert len(filter_.journal.silence.every_told()) == len(TAUGHT)


def _followed(filter_: Filter, expected: list[str]) -> bool:
    """Tell whether a filter comes to say what is expected."""
    from real_daemon import wait_until  # noqa: PLC0415 - only here

    wait_until(lambda: verdicts(filter_) == expected)
    return True


@pytest.mark.parametrize("reverse", [False, True])
def test_a_journal_is_moved_with_all_that_was_said_and_not_said(
    tmp_path: Path, journals: Journals, opened: Open, *, reverse: bool
) -> None:
    with opened(tmp_path / "source", OPTIONS) as source:
        teach(source)
        learned = learn_from_silence(source, COMING)
        source.silence.conclude([checked(source, drawn.raw) for drawn in LATER[:50]], "mail.1")
        source.forget(learned[0].raw)
        late = [Told(bytes([i]) * 32, None, "ann", 1.0) for i in range(3)]  # merged from elsewhere, from long ago
        with source.journal.writing():
            source.journal.silence.tell(late)
        last = estimate(source)
        before = verdicts(source), source.stats().silence
    homes = [tmp_path / "source", tmp_path / "target"]
    with (
        closing(journals.open(homes[0])) as old,
        closing(_target(homes[1], journals, opened, old, reverse=reverse)) as new,
    ):
        assert copy(old, new) == len(list(old.lessons()))
        verify(old, new, counts_digest)
        assert new.silence.is_concluded("mail.1")
    with Filter.open(homes[1], OPTIONS) if reverse else opened(homes[1], OPTIONS) as target:
        assert (verdicts(target), target.stats().silence) == before
        assert estimate(target) == last


def _target(home: Path, journals: Journals, opened: Open, source: Journal, *, reverse: bool) -> Journal:
    """Return an empty journal in the kind of database of another, or in a file."""
    if not reverse:
        opened(home, OPTIONS).close()
        return journals.open(home)
    home.mkdir()
    return open_file(home / "journal.sqlite", VERSION, source.bits, personal_bits=source.personal_bits)
