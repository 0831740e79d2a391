"""Forks of this process: ready in a few milliseconds, with signals set up for a child.

A child must not use resources that its parent has open, above all a database: it opens its own.
"""

import os
import signal
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress


def fork_child(run: Callable[[], None], ignored: Iterable[signal.Signals] = ()) -> int:
    """Start a child process that calls `run` and exits; return its process ID.

    The child has none of its parent's signal handlers. It ignores SIGINT and the signals in `ignored`.

    >>> process = fork_child(lambda: None)
    >>> os.waitpid(process, 0) == (process, 0)
    True
    """
    # Signals stay blocked until the child has reset the handlers: a handler that raises would run the parent's code.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        process = os.fork()
        if not process:
            _run_child(run, (signal.SIGINT, *ignored))
        return process
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def give_way(niceness: int) -> None:
    """Lower the priority of this process, if allowed: a service may be forbidden to change it."""
    with suppress(OSError):
        os.nice(niceness)


def _run_child(run: Callable[[], None], ignored: Iterable[signal.Signals]) -> None:
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        run()
        status = 0
    except BaseException:  # noqa: BLE001 - the child must not return into its parent's code
        traceback.print_exc()
    finally:
        os._exit(status)
