"""The master during reloads that follow each other or come at a bad time: connections are always accepted."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ports import reserved_port
from real_daemon import Daemon, ask, is_running, opened, serving, starting

PING = b"PING SPAMC/1.5\r\n\r\n"
PONG = b"SPAMD/1.5 0 PONG\r\n"


@contextmanager
def held_up(home: Path) -> Iterator[None]:
    """Make starting workers wait, because they cannot read the counts yet."""
    pipe, aside = home / "pipe", home / "aside"
    os.mkfifo(pipe)
    (home / "counts").rename(aside)
    (home / "counts").hardlink_to(pipe)
    try:
        yield
    finally:
        aside.replace(home / "counts")
        with suppress(OSError):  # nobody waits
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        pipe.unlink()


def n_pipes(daemon: Daemon) -> int:
    """The number of pipes that the master has open: one for each worker that is not ready."""
    return len(opened(daemon.process.pid, "pipe"))


def wait_for_reload(daemon: Daemon, n: int) -> None:
    daemon.send(signal.SIGHUP)
    daemon.wait_until(lambda: daemon.n_logged("reloading") == n)


def test_a_reload_before_the_first_workers_are_ready(home: Path):
    with starting(home, "[serve]\nworkers = 2\n") as daemon:
        with held_up(home):
            daemon.wait_until(lambda: len(daemon.workers) == 2)
            first = daemon.workers
            wait_for_reload(daemon, 1)
            daemon.wait_until(lambda: len(set(daemon.workers) - set(first)) == 2)
        daemon.wait_until(lambda: daemon.n_logged("ready workers=2"))
        assert daemon.ask(PING) == PONG
        daemon.wait_until(lambda: not any(map(is_running, first)))
        assert not daemon.n_logged("reload failed")


def test_a_reload_that_fails_before_the_first_workers_are_ready_leaves_them(home: Path):
    with starting(home, "[serve]\nworkers = 2\n") as daemon:
        with held_up(home):
            daemon.wait_until(lambda: len(daemon.workers) == 2)
            (home / "priory.toml").write_text("[serve]\nwrkers = 3\n")
            wait_for_reload(daemon, 1)
            daemon.wait_until(lambda: daemon.n_logged("reload failed why="))
        daemon.wait_until(lambda: daemon.n_logged("ready workers=2"))
        assert daemon.ask(PING) == PONG


def test_two_reloads_in_a_row_with_another_address(home: Path):
    port = reserved_port()
    with serving(home, "[serve]\nworkers = 2\n") as daemon:
        with held_up(home):
            (home / "priory.toml").write_text(f'[serve]\nworkers = 2\n[spamd]\nlisten = "127.0.0.1:{port}"\n')
            wait_for_reload(daemon, 1)
            daemon.wait_until(lambda: len(daemon.workers) == 4)
            wait_for_reload(daemon, 2)
        daemon.wait_until(lambda: daemon.n_logged("ready") == 2)
        assert ask(("127.0.0.1", port), PING) == PONG
        assert daemon.ask(PING) == PONG
        daemon.wait_until(lambda: len(daemon.workers) == 2)
        assert not daemon.n_logged("reload failed")
        assert daemon.n_logged(f"listening on=127.0.0.1:{port}") == 1


def test_a_worker_that_is_killed_before_it_is_ready_ends_the_reload(home: Path):
    with serving(home, "[serve]\nworkers = 2\n") as daemon:
        before = daemon.workers
        with held_up(home):
            wait_for_reload(daemon, 1)
            daemon.wait_until(lambda: len(daemon.workers) == 4)
            os.kill(daemon.workers[-1], signal.SIGKILL)
            daemon.wait_until(lambda: daemon.n_logged("reload failed serving=as before"))
        assert daemon.ask(PING) == PONG
        daemon.wait_until(lambda: daemon.workers == before)


def test_a_worker_that_is_killed_after_it_was_ready_is_replaced(home: Path):
    with serving(home, "[serve]\nworkers = 2\n") as daemon:
        before, n = daemon.workers, n_pipes(daemon)
        with held_up(home):
            wait_for_reload(daemon, 1)
            daemon.wait_until(lambda: len(daemon.workers) == 4)
            quick, slow = [each for each in daemon.workers if each not in before]
            os.kill(slow, signal.SIGSTOP)
        daemon.wait_until(lambda: n_pipes(daemon) == n + 1)
        os.kill(quick, signal.SIGKILL)
        daemon.wait_until(lambda: daemon.n_logged(f"worker ended worker={quick}"))
        os.kill(slow, signal.SIGCONT)
        daemon.wait_until(lambda: daemon.n_logged("ready") == 2)
        daemon.wait_until(lambda: len(daemon.workers) == 2 and slow in daemon.workers)
        assert daemon.ask(PING) == PONG


@pytest.mark.slow
def test_a_master_without_descriptors_starts_workers_once_it_has_some(home: Path):
    with serving(home, "[serve]\nworkers = 2\n") as daemon:
        most = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (3, most[1]))
        os.kill(daemon.workers[0], signal.SIGKILL)
        daemon.wait_until(lambda: "cannot start a process: Too many open files" in daemon.log)
        assert daemon.ask(PING) == PONG
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, most)
        daemon.wait_until(lambda: len(daemon.workers) == 2)


def test_a_hangup_of_the_whole_group_ends_no_worker(home: Path):
    with serving(home, "[serve]\nworkers = 2\n") as daemon:
        before = daemon.workers
        with held_up(home):
            wait_for_reload(daemon, 1)
            daemon.wait_until(lambda: len(daemon.workers) == 4)
            for worker in daemon.workers:
                os.kill(worker, signal.SIGHUP)
        daemon.wait_until(lambda: daemon.n_logged("ready") == 2)
        daemon.wait_until(lambda: len(daemon.workers) == 2 and not set(daemon.workers) & set(before))
        assert not daemon.n_logged("worker ended")
