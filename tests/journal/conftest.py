"""What the tests of the journal share: mail, a filter with few buckets, its counts, and processes of our own."""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from priory.bayes import Counts
from priory.demo import Drawn, draw
from priory.features import Spec
from priory.filter import Filter, Options

Open = Callable[[Path], Filter]
Start = Callable[[Callable[[], None]], int]


@pytest.fixture(scope="session")
def mail() -> list[Drawn]:
    return list(draw(400, seed=3))


@pytest.fixture(scope="session")
def opened() -> Open:
    """Open a filter with 2^12 buckets: small enough to be compared byte by byte."""
    return lambda home: Filter.open(home, Options(spec=Spec(bits=12)))


@pytest.fixture(scope="session")
def counts_of() -> Callable[[Filter], Counts]:
    """The counts a filter would use for its next check."""

    def refreshed(filter_: Filter) -> Counts:
        filter_._memory.view.refresh()
        return filter_._memory.view.counts

    return refreshed


@pytest.fixture
def start() -> Iterator[Start]:
    """Start functions as processes of their own; those still running at the end are ended."""
    running: list[int] = []

    def begin(act: Callable[[], None]) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                act()
            except BaseException:  # noqa: BLE001
                traceback.print_exc(file=sys.__stderr__)
                os._exit(1)
            os._exit(0)
        running.append(pid)
        return pid

    yield begin
    for pid in running:
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
