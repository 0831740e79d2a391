"""Another process that is a copy of this one: ready in a few milliseconds, and never back in what its parent was doing.

A fork must not touch what its parent has open and could change, a database above all: who lives there opens its own.
"""

import os
import signal
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress


def forked(live: Callable[[], None], deaf_to: Iterable[signal.Signals] = ()) -> int:
    """Start a process that does this and ends; return its number.

    It has none of its parent's handlers of signals; Ctrl-C is the parent's to hear, and so is what it is deaf to.

    >>> process = forked(lambda: None)
    >>> os.waitpid(process, 0) == (process, 0)
    True
    """
    # What a signal raised in the child would return into what its parent was doing: none until it is ready.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        process = os.fork()
        if not process:
            _live(live, (signal.SIGINT, *deaf_to))
        return process
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def give_way(niceness: int) -> None:
    """Let other processes go before this one, if that is allowed: a service may be forbidden to change its priority."""
    with suppress(OSError):
        os.nice(niceness)


def _live(live: Callable[[], None], ignored: Iterable[signal.Signals]) -> None:
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        live()
        status = 0
    except BaseException:  # noqa: BLE001 - the traceback is all that can be saved
        traceback.print_exc()
    finally:
        os._exit(status)
