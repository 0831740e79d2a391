"""What the daemon shows over HTTP, compared with what real clients did; and mail that flows without it."""

import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from command import PRIORY
from metrics_client import get, metrics
from milter_client import mail_server
from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.promise import LostHam
from priory.server.http import PACKAGES
from priory.server.http.process import MOST_CLIENTS
from priory.server.http.prometheus import exposition
from priory.server.http.state import Daemon as State
from priory.server.metrics.names import add_labels, scoreboard
from priory.server.options import ServeOptions
from priory.server.tokens import issue
from real_daemon import PATIENCE_S, Daemon, ask, connected, is_running, opened, received, request, serving

pytestmark = pytest.mark.slow

PING = b"PING SPAMC/1.5\r\n\r\n"
PONG = b"SPAMD/1.5 0 PONG\r\n"


def config(home: Path, n_workers: int = 2, more: str = "") -> str:
    return f"""
        [http]
        listen = "{home}/http"
        [milter]
        listen = "127.0.0.1:0"
        [serve]
        workers = {n_workers}
        max_bytes = 50_000
        {more}
    """


def health(daemon: Daemon) -> tuple[int, dict[str, object]]:
    status, body = get(daemon, "/healthz")
    return status, json.loads(body)


def http_process(daemon: Daemon) -> int:
    """The child of the master that listens on the path."""
    bound = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    listens = "00010000"  # who was taken there has the same path
    inode = next(line[6] for line in bound if line[7:] == [f"{daemon.home}/http"] and line[3] == listens)
    for child in daemon.workers:
        if f"socket:[{inode}]" in opened(child, "socket"):
            return child
    raise AssertionError("nobody listens")


def mail_workers(daemon: Daemon) -> list[int]:
    http = http_process(daemon)
    return [child for child in daemon.workers if child != http]


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    with serving(home, config(home)) as running:
        yield running


@pytest.fixture(scope="module")
def home_and_port(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """Where a daemon answers over HTTP: in its home, and on a port."""
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("http") / "home"))
    with serving(home, config_of_both(home)) as running:
        yield home, running.port


def config_of_both(home: Path) -> str:
    return f'[serve]\nworkers = 1\n[http]\nlisten = ["{home}/http", "127.0.0.1:0"]\n'


def asked(daemon: Daemon, mail: list[Drawn], spamc: str) -> Counter[str]:
    """Ask and teach in all ways; return what should have been counted."""
    counted: Counter[str] = Counter()

    def spamc_does(*options: str, raw: bytes) -> None:
        command = [spamc, "-F", "/dev/null", "-U", daemon.socket, *options]
        subprocess.run(command, input=raw, capture_output=True, check=False, timeout=PATIENCE_S)
        counted["received_bytes_total{spamd}"] += len(raw)

    for drawn in mail[:4]:
        verdict = daemon.ask(request("SYMBOLS", drawn.raw)).decode().strip().rpartition("PRIORY_")[2].lower()
        counted["received_bytes_total{spamd}"] += len(drawn.raw)
        spamc_does("-c", raw=drawn.raw)
        counted[f"messages_checked_total{{spamd,{verdict}}}"] += 2
    lessons = [("spam", "learned"), ("spam", "known"), ("ham", "relearned"), ("forget", "forgotten")]
    for what, outcome in (*lessons, ("forget", "unknown")):
        spamc_does("-L", what, raw=mail[5].raw)
        counted[f"lessons_total{{{outcome}}}"] += 1
    daemon.ask(b"", is_end=True)  # who only looks whether the daemon is there is not refused anything
    daemon.ask(b"NONSENSE\r\n")
    daemon.ask(b"CHECK SPAMC/1.5\r\nContent-length: 50001\r\n\r\n")
    with mail_server(daemon) as server:
        (_, inserted), *_ = server.deliver(mail[6].raw)
        verdict = inserted.split(b"\0")[-2].split(b";")[0].strip().decode()
        counted[f"messages_checked_total{{milter,{verdict}}}"] += 1
        server.deliver(mail[6].raw, auth_authen="ann")
        assert metrics(daemon)["connections_open{milter}"] == 1
    return counted + Counter(
        {
            "requests_total{SYMBOLS}": 4,
            "requests_total{CHECK}": 4,
            "requests_total{TELL}": 5,
            "lesson_seconds_count": 5,
            "check_seconds_count{spamd}": 8,
            "check_seconds_count{milter}": 1,
            "refusals_total{spamd,malformed}": 1,
            "refusals_total{spamd,too_large}": 1,
            "connections_total{spamd}": 4 + 4 + 5 + 3,
            "connections_total{milter}": 1,
            "milter_actions_total{mark}": 1,
            "messages_unchecked_total{milter,authenticated}": 1,
        }
    )


def counts(daemon: Daemon) -> Counter[str]:
    """All that only grows, but for what a message is made of on its way through a milter."""
    names = ("_total{", "_count")
    values = {name: int(value) for name, value in metrics(daemon).items() if any(map(name.__contains__, names))}
    assert values.pop("received_bytes_total{milter}") > 0
    return Counter(values)


def test_what_clients_did_is_counted_whoever_dies_and_across_reloads(
    home: Path, daemon: Daemon, mail: list[Drawn], spamc: str
):
    expected = asked(daemon, mail, spamc)
    assert counts(daemon) == expected
    for process in mail_workers(daemon):
        os.kill(process, signal.SIGKILL)
    expected["restarts_total{worker}"] = 2
    daemon.wait_until(lambda: counts(daemon) == expected and metrics(daemon).get("workers_ready") == 2)
    expected += asked(daemon, mail, spamc)
    assert counts(daemon) == expected
    for n_workers in (3, 1):
        (home / "priory.toml").write_text(config(home, n_workers))
        daemon.reload()
        daemon.wait_until(lambda: metrics(daemon)["workers"] == n_workers)  # noqa: B023 - the one before may answer once more
        expected["reloads_total{done}"] += 1
        expected += asked(daemon, mail, spamc)
        assert counts(daemon) == expected
    values = metrics(daemon)
    assert values["workers"] == values["workers_ready"] == 1
    assert values["journal_lessons{ham}"] + values["journal_lessons{spam}"] == 200
    assert values["journal_bytes"] > 100_000
    with Filter.open(home) as filter_:
        lost_ham = filter_.lost_ham()
    assert values["ham_known"] == lost_ham.ham > 0
    assert values.get("ham_lost", 0) == lost_ham.lost
    assert values["ham_lost_at_most_ratio"] == pytest.approx(lost_ham.at_most)
    assert values["connections_limit"] == 256
    assert values["check_seconds_bucket{+Inf,spamd}"] == values["check_seconds_count{spamd}"]
    assert values["check_seconds_sum{spamd}"] > 0


def test_who_was_connected_to_a_worker_that_was_killed_is_not(daemon: Daemon):
    with ExitStack() as kept:
        for _ in range(6):
            kept.enter_context(connected(daemon.socket))
        daemon.wait_until(lambda: metrics(daemon).get("connections_open{spamd}") == 6)
        for process in mail_workers(daemon):
            os.kill(process, signal.SIGKILL)
        daemon.wait_until(lambda: daemon.n_logged("worker ended") == 2)
        daemon.wait_until(lambda: metrics(daemon).get("workers_ready") == 2)
        assert "connections_open{spamd}" not in metrics(daemon)


def test_errors_and_timeouts_are_counted_by_kind(home: Path, mail: list[Drawn]):
    with serving(home, config(home, 1, "timeout = 1\n")) as daemon:
        with connected(daemon.socket) as slow:
            slow.sendall(b"CHECK SPAMC/1.5\r\n")
            assert slow.recv(1000).startswith(b"SPAMD/1.0 79 Timeout")
        with connected(str(home / "http")) as slow:
            slow.sendall(b"GET /metr")
            assert slow.recv(1000) == b""
        (home / "journal.sqlite").rename(home / "elsewhere")
        (home / "journal.sqlite").write_bytes(b"this is no journal")
        daemon.ask(request("TELL", mail[0].raw, "Message-class: ham", "Set: local"))
        with connected(("127.0.0.1", daemon.port)) as nonsense:
            nonsense.sendall(bytes(8))
            assert nonsense.recv(1000) == b""
        counted = metrics(daemon)
    assert counted["refusals_total{spamd,timeout}"] == counted["refusals_total{spamd,error}"] == 1
    assert counted["refusals_total{milter,malformed}"] == counted["errors_total{lesson}"] == 1
    assert "journal_readable" not in counted
    assert "journal_bytes" not in counted


def test_every_metric_is_documented_with_its_labels(home: Path):
    board = scoreboard()
    add_labels(board, ["ham", "spam"])
    state = State(home, ServeOptions(), board, 0.0, Options(), board.tally(board.take()))
    text, _ = exposition(state, "", LostHam(0, 712))
    table = (Path(__file__).parents[3] / "docs" / "serve.md").read_text()
    rows = {name: line for line in table.splitlines() for name in re.findall(r"`(priory_\w+)`", line) if line[0] == "|"}
    for family in text_string_to_metric_families(text.decode()):
        name = family.name + ("_total" if family.type == "counter" else "")
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        assert all(f"`{label}`" in rows[name] for label in labels), name
        assert family.samples, name
        del rows[name]
    assert not rows


def test_health_is_told_with_the_reason(home: Path, daemon: Daemon):
    status, report = health(daemon)
    assert (status, report["healthy"], report["reason"]) == (200, True, "")
    assert report["workers"] == report["workers_ready"] == 2
    (home / "journal.sqlite").rename(home / "elsewhere")
    status, report = health(daemon)
    assert (status, report["healthy"]) == (503, False)
    assert report["reason"] == f"there is no journal {home}/journal.sqlite."
    (home / "journal.sqlite").write_bytes(b"this is no journal")
    status, report = health(daemon)
    assert status == 503
    assert str(report["reason"]).startswith(f"{home}/journal.sqlite is not a Priory journal")
    for process in mail_workers(daemon):
        os.kill(process, signal.SIGKILL)
    daemon.wait_until(lambda: health(daemon)[1]["workers_ready"] == 0)
    status, report = health(daemon)
    assert (status, report["reason"]) == (503, "no worker is ready; the log of the daemon says why")
    (home / "elsewhere").replace(home / "journal.sqlite")
    daemon.wait_until(lambda: health(daemon)[0] == 200)
    assert daemon.ask(PING) == PONG


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *((host, 200) for host in ("localhost", "LOCALHOST:7358", "127.0.0.1:1", "127.9.9.9", "[::1]", "[::1]:7358")),
        *((host, 421) for host in ("evil.example", "localhost.evil.example:7358", "192.0.2.1", "[::2]:1", "a:b", "")),
    ],
)
def test_who_asks_for_another_machine_is_refused(home_and_port: tuple[Path, int], host: str, status: int):
    """As a browser would that was led here by a name that somebody else has made to mean this machine."""
    home, port = home_and_port
    token = issue(home, "check")
    for path in ("/metrics", "/healthz", "/nothing", "/openapi.json"):
        asked = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        expected = 404 if path == "/nothing" and status == 200 else status
        assert ask(("127.0.0.1", port), asked).startswith(b"HTTP/1.1 %d " % expected)
        assert ask(f"{home}/http", asked).startswith(b"HTTP/1.1 %d " % (404 if path == "/nothing" else 200))
    assert ask(("127.0.0.1", port), b"GET /healthz HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 ")


def test_a_connection_ends_with_its_answer_whatever_more_is_sent(daemon: Daemon):
    """Who could keep it by a byte now and then, a hundred times, would keep all others out."""
    with connected(str(daemon.home / "http")) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
        assert b"\r\nconnection: close\r\n" in received(client).lower()


def test_more_clients_than_it_takes_are_let_go_and_fill_no_log(home: Path):
    with serving(home, config_of_both(home)) as daemon, ExitStack() as kept:
        resource.prlimit(http_process(daemon), resource.RLIMIT_NOFILE, (3 * MOST_CLIENTS, 3 * MOST_CLIENTS))
        silent = [kept.enter_context(connected(("127.0.0.1", daemon.port))) for _ in range(4 * MOST_CLIENTS)]
        daemon.wait_until(lambda: len(select.select(silent, [], [], 0)[0]) >= 3 * MOST_CLIENTS)
        kept.close()
        daemon.wait_until(lambda: ask(f"{home}/http", b"GET /healthz HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 "))
        assert daemon.n_logged("error") == 0


def test_a_form_that_is_none_is_not_taken_for_an_error_of_ours(daemon: Daemon):
    assert get(daemon, "/metrics", "Accept: application/openmetrics-text; version=new")[0] == 200


def test_nothing_of_who_asks_is_logged(daemon: Daemon):
    get(daemon, "/healthz?secret", "User-Agent: hidden")
    assert get(daemon, "/hidden")[0] == 404
    assert ask(str(daemon.home / "http"), b"hidden\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert "hidden" not in daemon.log
    assert "secret" not in daemon.log
    daemon.wait_until(lambda: daemon.n_logged("http what='Invalid HTTP request received.'") == 1)


def test_it_ends_when_its_master_is_killed(daemon: Daemon):
    http = http_process(daemon)
    daemon.process.kill()
    daemon.wait()
    daemon.wait_until(lambda: not is_running(http))


def test_no_other_process_loads_what_it_needs():
    code = "import priory.server.daemon.master, priory.config.parse, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.decode().split()
    assert {"priory.server.daemon.master", "priory.server.http.state"} <= set(loaded)
    assert not set(PACKAGES) & set(loaded)


def test_workers_share_the_memory_of_all_that_teaches():
    code = "import priory.server.daemon.master, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.decode().split()
    assert {f"priory.filter.{name}" for name in ("evidence", "learn", "forget", "rescore", "retention")} <= set(loaded)


@contextmanager
def unimportable(packages: Path) -> Iterator[None]:
    (packages / "uvicorn.py").write_text("raise ImportError('it is broken')")
    yield
    (packages / "uvicorn.py").unlink(missing_ok=True)


def shadowed(packages: Path) -> str:
    return os.pathsep.join([str(packages), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])


def test_mail_is_answered_while_http_cannot_start(home: Path, tmp_path: Path):
    packages = tmp_path / "packages"
    packages.mkdir()
    with serving(home, config(home), PYTHONPATH=shadowed(packages)) as daemon:
        workers = mail_workers(daemon)
        with unimportable(packages):
            os.kill(http_process(daemon), signal.SIGKILL)
            daemon.wait_until(lambda: daemon.n_logged("http ended") >= 2)  # it was tried again
            os.kill(workers[0], signal.SIGKILL)
            daemon.wait_until(lambda: daemon.n_logged("worker ended"))
            assert daemon.ask(PING) == PONG
            daemon.reload()
            assert daemon.n_logged("reload failed serving=as before") == 1
            assert workers[1] in daemon.workers
            assert daemon.ask(PING) == PONG
        daemon.wait_until(lambda: (home / "http").exists() and health(daemon)[0] == 200)
        assert metrics(daemon)["restarts_total{http}"] >= 2


def test_mail_is_answered_from_the_start_if_http_cannot_start(home: Path, tmp_path: Path):
    with unimportable(tmp_path), serving(home, config(home), PYTHONPATH=shadowed(tmp_path)) as daemon:
        assert daemon.ask(PING) == PONG
        assert daemon.n_logged("http ended") >= 1
        (tmp_path / "uvicorn.py").unlink()
        assert health(daemon)[0] == 200


def test_without_its_packages_http_is_refused_with_the_remedy(home: Path, tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['uvicorn'] = None\n")
    (home / "priory.toml").write_text(config(home))
    done = subprocess.run(
        [PRIORY, "serve", "--home", str(home)],
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
        env={**os.environ, "PYTHONPATH": shadowed(tmp_path)},
    )
    assert done.returncode == 1
    needs = "[http] needs packages that are not installed (uvicorn); pip install '.[server]' in Priory's source folder"
    assert done.stderr.decode() == f"priory: {home}/priory.toml:3: {needs}\n"


def test_it_comes_and_goes_with_the_configuration(home: Path):
    with serving(home) as daemon:
        assert not (home / "http").exists()
        (home / "priory.toml").write_text(config(home))
        daemon.reload()
        assert health(daemon)[0] == 200
        (home / "priory.toml").unlink()
        daemon.reload()
        assert not (home / "http").exists()
        daemon.wait_until(lambda: len(daemon.workers) == len(os.sched_getaffinity(0)))
    assert daemon.process.returncode == 0
