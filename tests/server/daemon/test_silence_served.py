"""The daemon records what it has checked, also if it is killed, and concludes what silence says some days later."""

import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from checked_mail import N_MOVED, learn_from_silence, make_older
from command import priory
from metrics_client import metrics
from milter_client import MailServer
from priory.demo import draw
from priory.filter.filter import Filter
from priory.journal.checked import FOLDER, CheckedMessage, read_checked
from real_daemon import Daemon, is_running, request, serving

pytestmark = pytest.mark.slow

MAIL = list(draw(500, seed=12))
COMING = MAIL[300:]


@pytest.fixture(scope="module")
def much_taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a filter whose people have moved enough mail for it to learn from silence."""
    home = tmp_path_factory.mktemp("much")
    with Filter.open(home) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in MAIL[:260]))
        assert learn_from_silence(filter_, MAIL[260 : 260 + N_MOVED]) == []
    return home


@pytest.fixture
def home(much_taught: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(much_taught, tmp_path / "home"))


def recorded(home: Path) -> list[CheckedMessage]:
    folder = home / FOLDER
    return [message for path in sorted(folder.iterdir()) for message in read_checked(path)] if folder.is_dir() else []


def identities(home: Path) -> list[bytes]:
    return [message.identity for message in recorded(home)]


def expected(home: Path, mail: list[bytes]) -> list[bytes]:
    with Filter.open(home) as filter_:
        return [filter_.prepare(raw).identity for raw in mail]


def automatic(home: Path) -> int:
    with Filter.open(home) as filter_:
        return sum(filter_.stats().automatic.values())


def counted(daemon: Daemon) -> dict[str, float]:
    return {name: n for name, n in metrics(daemon).items() if name.startswith("autolearned_")}


def test_what_is_checked_on_arrival_is_concluded_some_days_later(home: Path):
    with serving(home, "[serve]\nworkers = 2\n") as daemon:
        for i, drawn in enumerate(COMING):
            daemon.ask(request(("CHECK", "PROCESS", "HEADERS", "REPORT")[i % 4], drawn.raw))
        daemon.wait_until(lambda: len(recorded(home)) == len(COMING))
    assert sorted(identities(home)) == sorted(expected(home, [drawn.raw for drawn in COMING]))
    assert automatic(home) == 0
    make_older(home)
    with serving(home, f"[serve]\nworkers = 2\n[http]\nlisten = '{home}/http'\n") as daemon:
        daemon.wait_until(lambda: f"concluded silent={len(COMING)} told=0 learned=" in daemon.log)
        daemon.wait_until(lambda: sum(counted(daemon).values()) == automatic(home))
        with Filter.open(home) as filter_:
            lessons = [lesson.label for lesson in filter_.journal.lessons() if lesson.is_automatic]
        assert lessons
        assert counted(daemon) == Counter(f"autolearned_total{{{label}}}" for label in lessons)
        assert recorded(home) == []
    shown = " ".join(priory("stats", home=home).stdout.decode().split())
    assert f"silence {len(COMING)} messages left where they were, 30 moved" in shown
    taken_back = priory("forget", "--auto", "--yes", "--json", home=home)
    assert json.loads(taken_back.stdout) == {"selected": len(lessons), "forgotten": len(lessons)}
    assert automatic(home) == 0


def test_what_people_teach_meanwhile_is_told_and_what_they_forget_says_nothing(home: Path):
    with serving(home) as daemon:
        for drawn in COMING[:20]:
            daemon.ask(request("CHECK", drawn.raw))
        for drawn in COMING[:5]:
            daemon.ask(request("TELL", drawn.raw, f"Message-class: {drawn.label}", "Set: local"))
        daemon.ask(request("TELL", COMING[4].raw, "Remove: local"))
        daemon.wait_until(lambda: len(recorded(home)) == 20)
    make_older(home)
    with serving(home) as daemon:
        daemon.wait_until(lambda: "concluded silent=15 told=5 " in daemon.log)
    with Filter.open(home) as filter_:
        judged = [digest for digest, *_ in filter_.journal.silence.every_judged()]
        assert {filter_.prepare(drawn.raw).digest for drawn in COMING[:4]} <= set(judged)
        assert filter_.prepare(COMING[4].raw).digest not in judged


def test_asking_for_a_verdict_is_not_recorded_with_a_daemon_or_without(home: Path, tmp_path: Path):
    message = tmp_path / "message.eml"
    message.write_bytes(COMING[0].raw)
    with serving(home, f"[http]\nlisten = '{home}/http'\n") as daemon:
        for _ in range(3):
            assert priory("check", message, home=home).returncode == 0
        daemon.ask(request("PROCESS", COMING[1].raw))  # what was to be recorded before would be recorded by then
        daemon.wait_until(lambda: recorded(home))
        daemon.wait_until(lambda: daemon.n_logged("request verb=HEADERS") == 3)
    priory("check", message, "--json", home=home)
    assert identities(home) == expected(home, [COMING[1].raw])


def test_filter_records_with_a_daemon_and_without(home: Path):
    alone = priory("filter", home=home, stdin=COMING[0].raw)
    assert alone.stdout.endswith(COMING[0].raw)
    assert alone.stderr == b""
    assert len(recorded(home)) == 1
    with serving(home) as daemon:
        marked = priory("filter", home=home, stdin=COMING[1].raw).stdout
        daemon.wait_until(lambda: len(recorded(home)) == 2)
    assert marked.endswith(COMING[1].raw)
    assert identities(home) == expected(home, [COMING[0].raw, COMING[1].raw])
    assert expected(home, [marked]) == expected(home, [COMING[1].raw])  # a filtered message is the same message


def test_filter_without_a_daemon_concludes_what_is_due(home: Path):
    for drawn in COMING[:2]:
        priory("filter", home=home, stdin=drawn.raw)
    make_older(home)
    done = priory("filter", home=home, stdin=COMING[2].raw)
    assert (done.returncode, done.stderr) == (0, b"")
    assert identities(home) == expected(home, [COMING[2].raw])
    with Filter.open(home) as filter_:
        stats = filter_.stats().silence
        assert stats is not None
        assert stats.silent == 2


def test_mail_flows_where_it_cannot_be_recorded(home: Path):
    (home / FOLDER).write_text("not a folder")
    alone = priory("filter", home=home, stdin=COMING[0].raw)
    assert (alone.returncode, alone.stdout.endswith(COMING[0].raw)) == (0, True)
    assert alone.stderr.decode().startswith("priory: message not recorded: ")
    with serving(home, "[serve]\nworkers = 1\n") as daemon:
        for drawn in COMING[:5]:
            assert b" EX_OK\r\n" in daemon.ask(request("CHECK", drawn.raw))
        daemon.wait_until(lambda: f"cannot read the checked mail in {home / FOLDER}: Not a directory" in daemon.log)
        assert daemon.n_logged(f"error what='cannot record checked mail in {home / FOLDER}: ") == 1
        assert not daemon.n_logged("worker ended")


def test_a_daemon_that_is_killed_loses_no_record(home: Path):
    with serving(home, "[serve]\nworkers = 2\n") as daemon:
        for n, drawn in enumerate(COMING[:40], 1):
            daemon.ask(request("CHECK", drawn.raw))
            daemon.wait_until(lambda n=n: len(recorded(home)) == n)
        killed = [*daemon.workers, daemon.process.pid]
        for process in killed:
            os.kill(process, signal.SIGKILL)
        daemon.wait()
        daemon.wait_until(lambda: not any(map(is_running, killed)))
        assert sorted(identities(home)) == sorted(expected(home, [drawn.raw for drawn in COMING[:40]]))


@pytest.fixture
def server(home: Path) -> "Iterator[tuple[Daemon, MailServer]]":
    config = '[milter]\nlisten = "127.0.0.1:0"\n[serve]\nmax_bytes = 100000\n'
    with serving(home, config) as daemon:
        server = MailServer(("127.0.0.1", daemon.port))
        yield daemon, server
        server.close()


def test_mail_through_the_milter_is_recorded_unless_it_is_sent_by_ones_own_users(
    home: Path, server: "tuple[Daemon, MailServer]"
):
    daemon, mail_server = server
    assert mail_server.deliver(COMING[0].raw, auth_authen="ann") == [("a", b"")]
    mail_server.deliver(COMING[1].raw)
    mail_server.deliver(COMING[2].raw.rstrip(b"\n") + b"\n" * 200_000)  # more than it reads: the headers identify it
    daemon.wait_until(lambda: len(recorded(home)) == 2)
    assert sorted(identities(home)) == sorted(expected(home, [drawn.raw for drawn in COMING[1:3]]))
