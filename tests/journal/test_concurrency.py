"""Several processes on one journal, and processes that are killed."""

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from counted import bytes_of
from journals import CountsOf, Journals, Open, Start
from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.message import parse
from real_daemon import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path, journals: Journals) -> Path:
    """A home whose journal all processes find."""
    journals.store(tmp_path)
    return tmp_path


def all_ended_well(pids: list[int]) -> bool:
    return [os.waitpid(pid, 0)[1] for pid in pids] == [0] * len(pids)


def assert_sound(filter_: Filter, counts_of: CountsOf) -> None:
    """The file is whole, and the counts are those that the lessons give from nothing."""
    before = bytes_of(counts_of(filter_))
    filter_.rebuild()
    assert bytes_of(counts_of(filter_)) == before


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_processes_that_come_first_together_share_one_journal(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf, start: Start
) -> None:
    for attempt in range(6):
        home = tmp_path / str(attempt)
        go = time.monotonic() + 0.05

        def come(which: int, home: Path = home, go: float = go) -> None:
            while time.monotonic() < go:
                pass
            with opened(home) as filter_:
                filter_.learn(mail[which].raw, "ham")

        pids = [start(lambda which=which, come=come: come(which)) for which in range(5)]
        assert all_ended_well(pids)
        with opened(home) as filter_:
            assert filter_.stats().lessons == {"ham": 5, "spam": 0}
            assert_sound(filter_, counts_of)


def test_a_process_sees_what_another_has_learned(home: Path, mail: list[Drawn], opened: Open, start: Start) -> None:
    with opened(home) as reader:
        assert reader.check(mail[0].raw).reason

    def teach() -> None:
        with opened(home) as writer:
            for drawn in mail[:60]:
                writer.learn(drawn.raw, drawn.label)
            writer._counts.save()
            writer.forget(mail[0].raw)

    pid = start(teach)
    with opened(home) as reader:
        reader.check(mail[0].raw)
        assert all_ended_well([pid])
        assert not reader.check(mail[0].raw).reason
        assert sum(reader.stats().lessons.values()) == 59
        with opened(home) as alone:
            assert alone.check(mail[70].raw) == reader.check(mail[70].raw)


def test_two_processes_check_while_one_learns_in_bulk(
    home: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf, start: Start
) -> None:
    with opened(home) as filter_:
        filter_.learn(mail[0].raw, "ham")
        filter_.learn(mail[1].raw, "spam")
    done = home / "done"

    def write() -> None:
        with opened(home) as writer:
            for _ in writer.learn_many(((drawn.raw, drawn.label, "") for drawn in mail), group=20):
                writer.forget(mail[2].raw)
                writer._counts.save()
            writer.learn(mail[2].raw, mail[2].label)
        done.touch()

    def read() -> None:
        n_seen = 0
        with opened(home) as reader:
            while n_seen < len(mail):
                finished = done.exists()
                for drawn in mail[:5]:
                    assert 0 <= reader.check(drawn.raw).probability <= 1
                n_seen = sum(reader.stats().lessons.values())
                assert not finished or n_seen == len(mail)
            counts = counts_of(reader)
            assert sum(counts.totals) == len(mail)

    pids = [start(read), start(read), start(write)]
    assert all_ended_well(pids)
    with opened(home) as filter_:
        assert_sound(filter_, counts_of)


def test_three_processes_learn_and_forget_at_once(
    home: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf, start: Start
) -> None:
    def act(number: int) -> None:
        rng = Random(number)
        with opened(home) as filter_:
            for _ in range(120):
                drawn = rng.choice(mail[:30])
                if rng.random() < 0.3:
                    filter_.forget(drawn.raw)
                else:
                    filter_.learn(drawn.raw, rng.choice(["ham", "spam"]))
                if rng.random() < 0.1:
                    filter_._counts.save()
            with filter_.journal.writing():  # holds the others off
                filter_._counts.catch_up()
                before = bytes_of(filter_._counts.counts)
                filter_._counts._build(filter_.journal.position())
                assert bytes_of(filter_._counts.counts) == before

    pids = [start(lambda number=number: act(number)) for number in range(3)]
    assert all_ended_well(pids)
    with opened(home) as filter_:
        assert_sound(filter_, counts_of)


KILLS = {"sqlite": 20, "postgres": 6}  # in each of three ways


@pytest.mark.parametrize("way", ["one by one", "in bulk", "back and forth"])
def test_acknowledged_lessons_survive_a_kill(
    home: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf, start: Start, *, kind: str, way: str
) -> None:
    """Each child writes down what `learn` or `forget` has acknowledged, and is killed at a random moment."""
    notes = home / "notes"
    notes.touch()
    rng = Random(way)
    for kill in range(KILLS[kind]):
        n_lines = len(whole_lines(notes))
        pid = start(lambda kill=kill: learn_on(lambda: opened(home), notes, mail, way, kill))
        if kill % 2:  # every other child has acknowledged something, on the slowest machine
            wait_until(lambda n_lines=n_lines: len(whole_lines(notes)) > n_lines)
        time.sleep(rng.uniform(0.0, 0.12))  # not for an event: the kill is to come at a random moment
        os.kill(pid, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
        lines = whole_lines(notes)
        notes.write_text("".join(lines))  # the next child begins a line of its own
        check_acknowledged(home, lines, opened, counts_of)
    assert len(whole_lines(notes)) >= KILLS[kind] // 2


def whole_lines(notes: Path) -> list[str]:
    """The lines with their ends. A kill can cut a write at the end of a page, within the last line."""
    return [line for line in notes.read_text().splitlines(keepends=True) if line.endswith("\n")]


def learn_on(opened: Callable[[], Filter], notes: Path, mail: list[Drawn], way: str, seed: int) -> None:
    rng = Random(seed)
    drawn = [rng.choice(mail) for _ in range(5000)]
    with notes.open("a") as file, opened() as filter_:

        def write_down(*lines: str) -> None:
            file.write("".join(f"{line}\n" for line in lines))
            file.flush()

        if way == "in bulk":
            for group in filter_.learn_many(((message.raw, message.label, "") for message in drawn), group=9):
                write_down(*(f"knows {learned.digest}" for learned in group))
                filter_._counts.save()
        for message in drawn:
            digest = parse(message.raw).digest
            if way == "back and forth" and rng.random() < 0.4:
                write_down(f"may forget {digest.hex()}")
                filter_.forget_digest(digest)
                write_down(f"forgot {digest.hex()}")
                filter_._counts.save_if_due(3)
            else:
                write_down(f"may know {digest.hex()}")
                write_down(f"knows {filter_.learn(message.raw, message.label).digest}")


def check_acknowledged(home: Path, lines: list[str], opened: Open, counts_of: CountsOf) -> None:
    last = {digest: what for what, _, digest in (line.strip().rpartition(" ") for line in lines)}
    with opened(home) as filter_:
        for digest, what in last.items():
            label = filter_.journal.label_of(bytes.fromhex(digest))
            assert what.startswith("may") or (label is not None) == (what == "knows")
        assert_sound(filter_, counts_of)


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_two_filters_of_one_process_lose_nothing_when_another_process_comes_and_goes(
    tmp_path: Path, mail: list[Drawn], opened: Open
):
    def come_and_go() -> None:  # no fork: that would have part of SQLite's memory of what is open
        look = f"from priory import Filter; f = Filter.open({str(tmp_path)!r}); print(f.stats().lessons); f.close()"
        lessons = ast.literal_eval(subprocess.check_output([sys.executable, "-c", look], text=True))
        seen.append(sum(lessons.values()))

    seen: list[int] = []
    one, two = opened(tmp_path), opened(tmp_path)
    for i, drawn in enumerate(mail[:4]):
        (one, two)[i % 2].learn(drawn.raw, drawn.label)
        come_and_go()
    one.close()
    two.learn(mail[4].raw, mail[4].label)
    come_and_go()
    two.close()
    assert seen == [1, 2, 3, 4, 5]
