"""The daemon stores the mail that is worth a question after it has answered, and deletes it again in time."""

import os
import shutil
import signal
import stat
import time
from pathlib import Path

import pytest

from command import priory
from milter_client import MailServer
from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.options import SpoolLimits
from priory.filter.spool import FOLDER, Spool, SpooledMessage
from real_daemon import Daemon, request, serving

pytestmark = pytest.mark.slow

LIMITS = SpoolLimits(5_000_000)
ON = '[serve]\nworkers = 2\n[ask]\nspool = "5 MB"\n'


@pytest.fixture
def home(lessons: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lessons, tmp_path / "home"))


@pytest.fixture
def doubtful(home: Path) -> list[bytes]:
    """Mail about which the filter is unsure."""
    mail = [drawn.raw for drawn in draw(600, seed=17)]
    with Filter.open(home) as filter_:
        verdicts = filter_.check_many(mail)
        return [raw for raw, verdict in zip(mail, verdicts, strict=True) if verdict.label == "unsure"]


def stored(home: Path) -> set[bytes]:
    return {raw for raw, _ in Spool(home, LIMITS).mail(lambda _digest: False)}


def wait_for(daemon: Daemon, mail: list[bytes]) -> None:
    daemon.wait_until(lambda: stored(daemon.home) == set(mail))


def test_checked_mail_is_stored_after_the_answer_and_leaves_when_it_is_taught(home: Path, doubtful: list[bytes]):
    with serving(home, ON) as daemon:
        for n, verb in enumerate(("CHECK", "PROCESS", "HEADERS", "REPORT", "SYMBOLS"), 1):
            assert b"EX_OK" in daemon.ask(request(verb, doubtful[n]))
            wait_for(daemon, doubtful[1 : n + 1])
        priory("check", "-", home=home, stdin=doubtful[6])
        daemon.ask(request("CHECK", doubtful[6], "Only-asks: yes"))
        daemon.ask(request("TELL", doubtful[1], "Message-class: spam", "Set: local"))
        priory("learn", "ham", "-", home=home, stdin=b"Delivered-To: ann@home.example\n" + doubtful[2])
        marked = priory("filter", home=home, stdin=doubtful[7]).stdout
        wait_for(daemon, [*doubtful[3:6], doubtful[7]])
        priory("learn", "spam", "-", home=home, stdin=marked)
        assert stored(home) == set(doubtful[3:6])
        folder = home / FOLDER
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert daemon.n_logged("error") == 0
        for raw in doubtful[:8]:
            assert Filter.open(home).prepare(raw).digest.hex() not in daemon.log


def test_mail_through_the_milter_is_stored_but_no_part_of_a_message(home: Path, doubtful: list[bytes]):
    config = f'{ON}[milter]\nlisten = "127.0.0.1:0"\n'.replace("workers = 2", "workers = 1\nmax_bytes = 100000")
    with serving(home, config) as daemon:
        server = MailServer(("127.0.0.1", daemon.port))
        server.deliver(doubtful[0], auth_authen="ann")
        server.deliver(doubtful[1].rstrip(b"\n") + b"\n" * 200_000)
        server.deliver(doubtful[2])
        daemon.wait_until(lambda: len(Spool(home, LIMITS)) == 1)
        server.close()
        (raw,) = stored(home)
        assert raw.partition(b"\n\n")[2].strip() == doubtful[2].partition(b"\n\n")[2].strip()


def test_old_mail_is_deleted_at_the_start(home: Path, doubtful: list[bytes]):
    spool = Spool(home, LIMITS)
    for raw in doubtful[:2]:
        spool.keep(raw, 4.0)
    (path, _) = (home / FOLDER).iterdir()
    message = SpooledMessage.of(path.name)
    assert message is not None
    path.rename(path.with_name(message._replace(time=time.time() - 8 * 86_400).name))
    with serving(home, ON) as daemon:  # no mail comes
        daemon.wait_until(lambda: len(list((home / FOLDER).iterdir())) == 1)


def test_switching_the_spool_off_deletes_all_mail(home: Path, doubtful: list[bytes]):
    with serving(home, ON) as daemon:
        for raw in doubtful[:3]:
            daemon.ask(request("CHECK", raw))
        wait_for(daemon, doubtful[:3])
        (home / "priory.toml").write_text("[serve]\nworkers = 1\n")
        daemon.reload()
        daemon.wait_until(lambda: not (home / FOLDER).exists())
        daemon.ask(request("CHECK", doubtful[4]))
    assert not (home / FOLDER).exists()


def test_a_spool_that_cannot_be_written_fails_no_check(home: Path, doubtful: list[bytes]):
    (home / FOLDER).write_text("no folder")
    with serving(home, ON.replace("workers = 2", "workers = 1")) as daemon:
        for raw in doubtful[:20]:
            assert b"EX_OK" in daemon.ask(request("CHECK", raw))
        daemon.wait_until(lambda: daemon.n_logged("error"))
        passed = priory("filter", home=home, stdin=doubtful[0])
        assert passed.stdout.endswith(doubtful[0])
    assert f"error what='cannot write to {home}/{FOLDER}: Not a directory'" in daemon.log
    assert daemon.n_logged("error") <= 2  # and not for every message


def test_a_worker_that_is_killed_leaves_a_spool_that_works(home: Path, doubtful: list[bytes]):
    with serving(home, ON) as daemon:
        for raw in doubtful[:40]:
            daemon.ask(request("CHECK", raw))
        for worker in daemon.workers:
            os.kill(worker, signal.SIGKILL)
        daemon.wait_until(lambda: daemon.n_logged("worker ended") == 2)
        daemon.ask(request("CHECK", doubtful[40]))
        daemon.wait_until(lambda: doubtful[40] in stored(home))
        assert stored(home) <= set(doubtful[:41])


def test_filter_stores_mail_without_a_daemon(home: Path, doubtful: list[bytes]):
    (home / "priory.toml").write_text(ON)
    done = priory("filter", home=home, stdin=doubtful[0])
    assert (done.returncode, done.stderr) == (0, b"")
    assert stored(home) == {doubtful[0]}
    (home / "priory.toml").unlink()
    assert priory("filter", home=home, stdin=doubtful[1]).stderr == b""
    assert stored(home) == {doubtful[0]}


def test_filter_passes_mail_that_cannot_be_stored(home: Path, doubtful: list[bytes]):
    (home / "priory.toml").write_text(ON)
    (home / FOLDER).write_text("no folder")
    done = priory("filter", "--strict", home=home, stdin=doubtful[0])
    assert done.returncode == 0
    assert done.stdout.endswith(doubtful[0])
    assert done.stderr == b"priory: message not stored in the spool: Not a directory\n"
