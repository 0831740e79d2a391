"""Numbers in shared memory: what was counted stays counted, gauges end with their process."""

import os
from fractions import Fraction

import pytest

from priory.processes.fork import fork_child
from priory.server.metrics.names import CHANNELS, CONNECTED, LESSON_TIMES, add_labels, scoreboard
from priory.server.metrics.scoreboard import BOUNDS, CELLS, SLOTS, Scoreboard

CHECKS = ("requests", "CHECK")


def ended(process: int) -> int:
    return os.waitpid(process, 0)[1]


def test_what_processes_count_is_added_up():
    board = scoreboard()
    slots = [board.take() for _ in range(3)]
    counting = [fork_child(lambda slot=slot: [board.tally(slot).add(CHECKS) for _ in range(1000)]) for slot in slots]
    assert [ended(process) for process in counting] == [0, 0, 0]
    assert board.total(CHECKS) == 3000


def test_a_slot_goes_on_counting_where_its_last_process_has_ended():
    board = scoreboard()
    for _ in range(5):
        slot = board.take()
        process = fork_child(lambda slot=slot: _count_and_die(board, slot))
        assert ended(process) == 9
        assert board.total(CONNECTED["milter"]) == 2
        board.release(slot)
    assert board.total(CHECKS) == 5
    assert board.total(CONNECTED["milter"]) == 0


def _count_and_die(board: Scoreboard, slot: int) -> None:
    tally = board.tally(slot)
    tally.add(CHECKS)
    tally.add(CONNECTED["milter"], 2)
    os.kill(os.getpid(), 9)


def test_numbers_keep_their_places_when_labels_are_added():
    board = scoreboard()
    add_labels(board, ["ham", "spam"])
    before = board.tally(board.take())
    add_labels(board, ["news", "spam", "ham"])
    after = board.tally(board.take())
    for tally in (before, after):
        tally.add(("checked", "spamd", "spam"))
    after.add(("checked", "spamd", "news"))
    assert board.total(("checked", "spamd", "spam")) == 2
    assert board.total(("checked", "spamd", "news")) == 1
    assert len(board.keys("checked")) == len(CHANNELS) * 4


def test_what_has_no_place_is_counted_nowhere_and_breaks_nothing():
    board = scoreboard()
    add_labels(board, [f"label-{i}" for i in range(CELLS)])
    tally = board.tally(board.take())
    tally.add(("checked", "spamd", f"label-{CELLS - 1}"))
    tally.add(("no", "such"))
    assert board.total(("checked", "spamd", "label-0")) == 0
    assert len(board.keys("checked")) < CELLS


def test_more_processes_than_slots_are_refused_until_one_ends():
    board = Scoreboard()
    slots = [board.take() for _ in range(SLOTS)]
    assert slots == list(range(SLOTS))
    with pytest.raises(OSError, match="temporarily unavailable"):
        board.take()
    board.release(17)
    assert board.take() == 17


def test_durations_are_counted_by_range_and_summed():
    board = scoreboard()
    tally = board.tally(board.take())
    seconds = [Fraction(1, 4000), Fraction(1, 3999), Fraction(10), Fraction(11)]
    for each in seconds:
        tally.time(LESSON_TIMES, float(each))
    counts = [board.total(key) for key in LESSON_TIMES.ranges]
    assert counts == [1, 1, *[0] * (len(BOUNDS) - 3), 1, 1]  # an upper end belongs to its range
    assert board.total(LESSON_TIMES.sum) == pytest.approx(float(sum(seconds)) * 1e9, abs=4)
