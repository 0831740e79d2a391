"""The client of the daemon: whatever happens to the daemon, the output is that of the ordinary command."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from command import PRIORY, unread
from priory import __version__
from priory.demo import draw
from priory.filter.filter import Filter
from real_daemon import PATIENCE_S, is_running, opened, serving, wait_until

pytestmark = pytest.mark.slow

MAIL = list(draw(240, seed=4))
ODD = {
    "crlf.eml": b"Subject: hi\r\nX-Priory-Verdict: forged\r\n\r\nhello\r\n",
    "envelope.eml": b"From ann@x.example Mon Jan  6 08:00:00 2025\nSubject: hi\n\nhello\n",
    "headless.eml": b"no header at all\n",
    "header-only.eml": b"Subject: hi",
    "empty.eml": b"",
    "two.mbox": b"From a\nSubject: one\n\n1\n\nFrom b\nSubject: two\n\n2\n",
    "bytes.eml": b"Subject: \xff\xfe\n\n\x00\x80",
    "picture.eml": b"GIF89a: no mail\n",
    "of-mail.tar": b"Subject: named like an archive\n\n",
}
OF_ANOTHER_VERSION = (
    b"SPAMD/1.1 0 EX_OK\r\nContent-length: 39\r\nLabels: 2\r\nVersion: 0.0.1\r\n\r\n"
    b"X-Priory-Verdict: spam; spam=0.123456\n\n"
)


@pytest.fixture
def home(lessons: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lessons, tmp_path / "home"))


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    folder = tmp_path / "mail"
    folder.mkdir()
    for i, drawn in enumerate(MAIL[200:]):
        (folder / f"{i}.eml").write_bytes(drawn.raw)
    for name, raw in ODD.items():
        (folder / name).write_bytes(raw)
    return folder


def run(*arguments: object, raw: bytes = b"", home: Path, **more: object) -> tuple[bytes, bytes, int]:
    environment = {**os.environ, "PRIORY_HOME": str(home)}
    command = [PRIORY, *map(str, arguments)]
    done = subprocess.run(  # type: ignore[call-overload]
        command, input=raw, capture_output=True, env=environment, check=False, timeout=PATIENCE_S, **more
    )
    return done.stdout, done.stderr, done.returncode


def everything(home: Path, mail: Path) -> dict[str, tuple[bytes, bytes, int]]:
    """What `filter` and `check` print for all kinds of messages."""
    return printed(home, [mail / f"{i}.eml" for i in range(0, 40, 4)] + [mail / name for name in ODD])


def some(home: Path, mail: Path) -> dict[str, tuple[bytes, bytes, int]]:
    """The same for three labels."""
    return printed(home, [mail / "0.eml", mail / "1.eml", mail / "crlf.eml"])


def printed(home: Path, files: list[Path]) -> dict[str, tuple[bytes, bytes, int]]:
    said = {f"check {path.name}": run("check", path, home=home) for path in files}
    said |= {f"filter {path.name}": run("filter", raw=path.read_bytes(), home=home) for path in files}
    return said


def test_it_prints_what_the_ordinary_command_prints(home: Path, mail: Path):
    alone = everything(home, mail)
    with serving(home) as daemon:
        assert everything(home, mail) == alone
    n_filtered, n_checked = daemon.n_logged("request verb=PROCESS"), daemon.n_logged("request verb=HEADERS")
    assert n_filtered == len(alone) // 2
    assert n_checked == 10 + 3  # crlf, header-only, bytes
    labels = {said.split()[0] for name, (said, _, _) in alone.items() if name.startswith("check") and said}
    assert labels == {b"ham", b"spam", b"unsure"}


def test_the_user_is_sent_to_the_daemon(home: Path, mail: Path):
    lists = b"List-Id: <daily.list.example>\nSubject: Daily %d\n\nhttp://list.example/%d"
    with Filter.open(home) as filter_:
        list(filter_.learn_many([(lists % (i, i), "spam", "") for i in range(30)], "ann lee"))
    (mail / "daily.eml").write_bytes(lists % (99, 99))
    asked: list[tuple[str, ...]] = [
        (command, *where, *user)
        for command, where in (("check", (str(mail / "daily.eml"),)), ("filter", ()))
        for user in ((), ("--user", "ann lee"), ("--user=ann lee",), ("--user", "bob"), ("--user", "änn"))
    ]
    alone = [run(*arguments, raw=lists % (99, 99), home=home) for arguments in asked]
    with serving(home) as daemon:
        assert [run(*arguments, raw=lists % (99, 99), home=home) for arguments in asked] == alone
    assert daemon.n_logged("request verb=") == len(asked) - 2  # no field can carry the last
    assert alone[0] != alone[1] == alone[2]
    assert alone[0] == alone[3] == alone[4]


def test_unknown_options_and_paths_are_left_to_the_ordinary_command(home: Path, mail: Path):
    (mail / "häm\x1b.eml").write_bytes(MAIL[-1].raw)
    os.mkfifo(mail / "fifo")
    asked: list[tuple[object, ...]] = [
        ("check", "-"), ("check", mail / "0.eml", "--json"), ("check", mail / "0.eml", mail / "1.eml"),
        ("check", mail / "häm\x1b.eml"), ("check", f"{mail}//0.eml"), ("check", f"{mail}/./0.eml"),
        ("check", "--", "-"),
        ("check", "/no/such/mail"), ("check", mail / "fifo"), ("check", ""), ("check", mail / "0.eml", "--jobs", "2"),
        ("check", mail / "0.eml", "--home"), ("filter", "--wrong"), ("filter", "more"), ("check", "--help"), (),
    ]  # fmt: skip
    alone = [run(*arguments, raw=MAIL[-1].raw, home=home) for arguments in asked]
    with serving(home) as daemon:
        assert [run(*arguments, raw=MAIL[-1].raw, home=home) for arguments in asked] == alone
    assert not daemon.n_logged("request")


def test_the_home_is_found_as_the_ordinary_command_finds_it(home: Path, mail: Path, tmp_path: Path):
    (tmp_path / ".priory").symlink_to(home)
    with serving(home) as daemon:
        expected = run("check", "./0.eml", home=home, cwd=mail)
        for arguments in (("--home", str(home)), (f"--home={home}",), ("--home", "~/.priory"), ()):
            environment = {**os.environ, "HOME": str(tmp_path), "PRIORY_HOME": ""}
            done = subprocess.run(
                [PRIORY, "check", *arguments, "0.eml"],
                capture_output=True,
                env=environment,
                cwd=mail,
                check=True,
                timeout=PATIENCE_S,
            )
            assert done.stdout == expected[0]
    assert daemon.n_logged("request verb=HEADERS") == 5


def test_with_more_than_two_labels_the_ordinary_command_names_the_label(home: Path, mail: Path):
    (home / "priory.toml").write_text('labels = ["ham", "spam", "news"]\n')
    alone = some(home, mail)
    with serving(home):
        assert some(home, mail) == alone


def test_the_reason_is_printed_while_nothing_is_learned(mail: Path, tmp_path: Path):
    alone = some(tmp_path, mail)
    with serving(tmp_path):
        assert some(tmp_path, mail) == alone
    assert b"no ham and no spam has been learned yet" in alone["check 0.eml"][1]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_unwritable_output_is_reported_alike(unbuffered: str, home: Path, mail: Path):
    def ends() -> list[tuple[int, bytes]]:
        environment = {**os.environ, "PRIORY_HOME": str(home), "PYTHONUNBUFFERED": unbuffered}
        told = []
        for command in (["check", str(mail / "0.eml")], ["filter"]):
            with Path("/dev/full").open("wb") as full:
                process = subprocess.Popen(
                    [PRIORY, *command], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, env=environment
                )
                said = process.communicate(timeout=PATIENCE_S)[1]
            told.append((process.returncode, said))
        return told

    expected = [
        (1, b"priory: the output cannot be written: No space left on device\n"),
        (75, b"priory: the message cannot be written: No space left on device\n"),
    ]
    assert ends() == expected
    with serving(home) as daemon:
        assert ends() == expected
    assert daemon.n_logged("request") == 2


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_is_silent_for_check_and_an_error_for_filter(unbuffered: str, home: Path, mail: Path):
    def ends() -> list[tuple[int, bytes]]:
        commands: list[tuple[object, ...]] = [("check", mail / "0.eml"), ("filter",)]
        return [unread(*command, home=home, unbuffered=unbuffered) for command in commands]

    expected = [(1, b""), (75, b"priory: the message cannot be written: Broken pipe\n")]
    assert ends() == expected
    with serving(home) as daemon:
        assert ends() == expected
    assert daemon.n_logged("request") == 2


def test_a_killed_daemon_is_not_missed(home: Path, mail: Path):
    alone = some(home, mail)
    with serving(home) as daemon:
        processes = [daemon.process.pid, *daemon.workers]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        for process in processes:
            os.kill(process, signal.SIGKILL)
        daemon.wait()
        wait_until(lambda: not any(map(is_running, processes)))
    assert (home / "socket").exists()
    assert some(home, mail) == alone


def test_a_daemon_that_is_killed_during_a_request_loses_no_message(home: Path):
    raw = MAIL[-1].raw
    expected = run("filter", raw=raw, home=home)
    with serving(home, "[serve]\nworkers = 1\n") as daemon:
        (worker,) = daemon.workers
        os.kill(worker, signal.SIGSTOP)
        environment = {**os.environ, "PRIORY_HOME": str(home)}
        with subprocess.Popen(
            [PRIORY, "filter"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        ) as client:
            assert client.stdin is not None
            client.stdin.write(raw)
            client.stdin.close()
            client.stdin = None
            wait_until(lambda: opened(client.pid, "socket"))
            daemon.process.kill()
            os.kill(worker, signal.SIGKILL)
            assert client.communicate(timeout=PATIENCE_S)[0] == expected[0]


def test_a_daemon_that_hangs_is_not_waited_for(home: Path):
    raw = MAIL[-1].raw
    expected = run("filter", raw=raw, home=home)
    with serving(home) as daemon:
        workers = daemon.workers
        for process in (daemon.process.pid, *workers):
            os.kill(process, signal.SIGSTOP)
        assert run("filter", raw=raw, home=home) == expected
        for process in workers:
            os.kill(process, signal.SIGCONT)


@contextmanager
def answering(home: Path, answer: Callable[[socket.socket], object], n_clients: int = 2) -> Iterator[None]:
    """Put another program at the socket."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home / "socket"))
        listener.listen()

        def serve() -> None:
            for _ in range(n_clients):
                client, _ = listener.accept()
                with client:
                    client.recv(1 << 20)
                    answer(client)

        listener.settimeout(PATIENCE_S)
        server = Thread(target=serve, daemon=True)
        server.start()
        try:
            yield
        finally:
            server.join(PATIENCE_S)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SPAMD/1.0 76 Bad header line: x\r\n",
        b"SPAMD/1.1 0 EX_OK\r\n\r\nno length",
        b"SPAMD/1.1 0 EX_OK\r\nContent-length: 100\r\nLabels: 2\r\n\r\ntoo short",
        b"SPAMD/1.1 0 EX_OK\r\nContent-length: 3",
        OF_ANOTHER_VERSION,
    ],
)
def test_an_invalid_answer_is_ignored(answer: bytes, home: Path, mail: Path):
    asked = (("filter",), ("check", mail / "0.eml"))
    alone = [run(*arguments, raw=MAIL[-1].raw, home=home) for arguments in asked]
    with answering(home, lambda client: client.sendall(answer)):
        assert [run(*arguments, raw=MAIL[-1].raw, home=home) for arguments in asked] == alone


def test_an_incomplete_answer_is_ignored(home: Path, mail: Path):
    alone = run("check", mail / "0.eml", home=home)
    answer = OF_ANOTHER_VERSION.replace(b"0.0.1", __version__.encode())
    with answering(home, lambda client: client.sendall(answer), n_clients=1):
        assert run("check", mail / "0.eml", home=home) == alone


def test_a_daemon_that_answers_drop_by_drop_is_not_waited_for(home: Path):
    raw = MAIL[-1].raw
    expected = run("filter", raw=raw, home=home)

    def drip(client: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client.sendall(b"S")
                time.sleep(0.1)  # the pace of the drops: it ends when the client has left

    with answering(home, drip, n_clients=1):
        start = time.monotonic()
        assert run("filter", raw=raw, home=home) == expected
        assert time.monotonic() - start < 30


def test_a_message_that_cannot_be_read_is_tried_again_later(home: Path):
    def end() -> tuple[int, bytes]:
        with Path("/dev/null").open("wb") as unreadable:
            done = subprocess.run(
                [PRIORY, "filter", "--home", str(home)],
                stdin=unreadable,
                capture_output=True,
                check=False,
                timeout=PATIENCE_S,
            )
        return done.returncode, done.stderr

    expected = (75, b"priory: the message cannot be read: Bad file descriptor\n")
    assert end() == expected
    with serving(home):
        assert end() == expected


@pytest.mark.parametrize("command", ["check", "filter"])
def test_it_loads_next_to_nothing(command: str, home: Path, mail: Path):
    arguments = [sys.executable, "-X", "importtime", "-c", "from priory.cli import main; main()", command]
    arguments += [str(mail / "0.eml")] if command == "check" else []
    with serving(home) as daemon:
        done = subprocess.run(
            arguments,
            input=b"",
            capture_output=True,
            env={**os.environ, "PRIORY_HOME": str(home)},
            check=True,
            timeout=PATIENCE_S,
        )
    assert daemon.n_logged("request") == 1
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "priory.cli.client" in loaded
    assert {name for name in loaded if name.startswith("priory")} == {"priory", "priory.cli", "priory.cli.client"}
    assert loaded.isdisjoint({"asyncio", "json", "pathlib", "re", "socket", "typer", "typing"})
