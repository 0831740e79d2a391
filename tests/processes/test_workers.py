"""Workers return results in order, end with their parent, and are reported when they are killed."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from priory.processes.workers import AHEAD, WorkerError, Workers
from real_daemon import is_running, wait_until


def doubled(batch: list[int]) -> list[int]:
    time.sleep(0.002 * (batch[0] % 3))  # so that the order is not that of the ends
    return [2 * n for n in batch]


def doing(work: Callable) -> Callable:
    return lambda: nullcontext(work)


def slow(_: object) -> int:
    """Take a while, so that no worker is done before the others begin; return the worker's process."""
    time.sleep(0.01)
    return os.getpid()


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_the_order_of_the_batches(jobs: int):
    batches = [[n, n + 1] for n in range(50)]
    with Workers(jobs, doing(doubled)) as workers:
        assert list(workers.ordered(batches)) == [[2 * n, 2 * n + 2] for n in range(50)]
        assert list(workers.ordered(iter([]))) == []
        assert list(workers.ordered(batches[:3])) == [[0, 2], [2, 4], [4, 6]]


def test_batches_and_results_larger_than_a_pipe_pass():
    large = [os.urandom(3_000_000) for _ in range(8)]
    with Workers(2, doing(lambda raw: raw[::-1])) as workers:
        assert list(workers.ordered(large)) == [raw[::-1] for raw in large]


def test_batches_are_read_only_a_little_ahead():
    taken = []

    def batches() -> Iterator[int]:
        for n in range(1000):
            taken.append(n)
            yield n

    with Workers(2, doing(str)) as workers:
        results = workers.ordered(batches())
        for n in range(10):
            assert next(results) == str(n)
            assert len(taken) <= n + 1 + 2 * AHEAD


def test_an_exception_comes_after_the_results_before_it():
    def inverse(n: int) -> float:
        return 1 / n

    with Workers(2, doing(inverse)) as workers:
        results = workers.ordered([4, 2, 0, 1])
        assert [next(results), next(results)] == [0.25, 0.5]
        with pytest.raises(ZeroDivisionError) as error:
            next(results)
    assert "in inverse" in error.value.__notes__[0]


def test_batches_before_an_error_are_processed():
    def batches() -> Iterator[int]:
        yield from range(20)
        raise OSError("gone")

    got = []
    with Workers(3, doing(str)) as workers, pytest.raises(OSError, match="gone"):
        got.extend(workers.ordered(batches()))
    assert got == [str(n) for n in range(20)]


def test_an_error_in_start_is_raised_with_the_first_result():
    def start() -> contextlib.AbstractContextManager[Callable]:
        raise ValueError("no such home")

    with Workers(2, start) as workers, pytest.raises(ValueError, match="no such home"):
        list(workers.ordered([1, 2, 3]))


def test_resources_are_closed_when_the_work_is_done(tmp_path: Path):
    @contextlib.contextmanager
    def start() -> Iterator[Callable]:
        yield str
        (tmp_path / str(os.getpid())).touch()

    with Workers(2, start) as workers:
        assert list(workers.ordered(range(20))) == [str(n) for n in range(20)]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_killed_worker_is_reported_after_the_results_before_it():
    def work(n: int) -> int:
        if n == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return n

    got = []
    with Workers(2, doing(work)) as workers, pytest.raises(WorkerError) as error:
        got.extend(workers.ordered(range(100)))
    assert str(error.value) == "a worker process was killed by SIGKILL; run the command again to continue"
    assert got == list(range(len(got)))
    assert len(got) <= 7


def test_a_worker_killed_while_idle_is_reported():
    with Workers(1, doing(lambda _: os.getpid())) as workers:
        [process] = workers.ordered([0])
        os.kill(process, signal.SIGKILL)
        with pytest.raises(WorkerError, match="was killed by SIGKILL"):
            list(workers.ordered(range(1000)))


def test_no_worker_is_left_when_the_results_are_abandoned():
    with Workers(3, doing(slow)) as workers:
        results = workers.ordered(range(10_000))
        processes = [next(results) for _ in range(12)]
    assert not any(map(is_running, processes))


def open_files() -> list[int]:
    return sorted(int(path.name) for path in Path("/proc/self/fd").iterdir())


def test_several_sets_of_workers_end_in_any_order():
    first, second = (Workers(2, doing(str)) for _ in range(2))
    assert list(first.ordered(range(5))) == list(second.ordered(range(5)))
    first.end()
    assert list(second.ordered([7])) == ["7"]
    second.end()


def test_too_many_workers_are_refused_and_nothing_is_left_open():
    before = open_files()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before) + 20, hard))
    try:
        with pytest.raises(WorkerError) as error:
            Workers(1000, doing(str))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert str(error.value) == "cannot start 1000 processes: Too many open files; use fewer"
    assert open_files() == before


ENDLESS = """
import os, sys, time
from contextlib import nullcontext
from itertools import count
from priory.processes.workers import Workers
with Workers(3, lambda: nullcontext(lambda n: (time.sleep(0.01), os.getpid())[1])) as workers:
    for process in workers.ordered(count()):
        print(process, flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_outlives_its_parent(how: signal.Signals):
    parent = subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    processes = {int(parent.stdout.readline()) for _ in range(30)}
    assert len(processes) == 3
    assert any(map(is_running, processes))
    if how == signal.SIGINT:
        os.killpg(parent.pid, how)  # as a terminal does
    else:
        parent.send_signal(how)
    parent.wait(timeout=10)
    parent.stdout.close()
    wait_until(lambda: not any(map(is_running, processes)))
