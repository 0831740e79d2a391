"""With --cluster the commands print and store the same, and leave no process behind."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from command import PRIORY, priory
from mail_formats import state
from priory.demo import draw
from real_daemon import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def much(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More mail than can be learned before Ctrl-C arrives."""
    folder = tmp_path_factory.mktemp("much")
    for label in ("ham", "spam"):
        with (folder / f"{label}.mbox").open("wb") as mbox:
            drawn = [each for each in draw(200, seed=7) if each.label == label]
            mbox.writelines(b"From a\n" + each.raw + b"%d\n\n" % i for i in range(200) for each in drawn)
    return folder


def test_learn_prints_and_stores_the_same(inbox: Path, tmp_path: Path):
    said = []
    for name, options in (("alone", ()), ("cluster", ("--cluster", "local:2"))):
        done = priory("learn", "spam", inbox / "taught/spam", "--json", *options, home=tmp_path / name)
        assert (done.returncode, done.stderr) == (0, b"")
        said.append({**json.loads(done.stdout), "seconds": 0})
    assert said[0] == said[1]
    assert state(tmp_path / "cluster") == state(tmp_path / "alone")


def test_ctrl_c_keeps_lessons_and_ends_the_workers(much: Path, tmp_path: Path):
    command = [PRIORY, "learn", "ham", much / "ham.mbox", "--cluster", "local:2", "--json", "--home", tmp_path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    wait_until(lambda: process.poll() is not None or len(_workers(process.pid)) == 2)
    workers = _workers(process.pid)
    wait_until(lambda: process.poll() is not None or _n_learned(tmp_path) >= 500)
    assert process.poll() is None
    assert len(workers) == 2
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    stdout, stderr = process.communicate()
    said = json.loads(stdout)
    assert (process.returncode, stderr) == (130, b"")
    assert said["stopped"]
    assert 500 <= said["learned"] == _n_learned(tmp_path)
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


@pytest.mark.parametrize("command", ["learn ham {}/ham.mbox", "lab evaluate ham={0}/ham.mbox spam={0}/spam.mbox"])
def test_ctrl_c_while_the_workers_start_ends_all(much: Path, tmp_path: Path, command: str):
    process = subprocess.Popen(
        [PRIORY, *command.format(much).split(), "--cluster", "local:2", "--home", tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_until(lambda: process.poll() is not None or len(_workers(process.pid)) == 2)
    assert process.poll() is None
    workers = _workers(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate()
    assert process.returncode == 130
    assert b"Traceback" not in stderr
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def test_ctrl_c_ends_the_wait_for_a_scheduler(much: Path, tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(30)
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        process = subprocess.Popen(
            [PRIORY, "learn", "ham", much / "ham.mbox", "--cluster", address, "--home", tmp_path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        silent.accept()[0].close()  # it is on its way
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=10) == (b"", b"")
    assert process.returncode == 130


def _workers(process: int) -> list[str]:
    """Return the processes that Dask has started, each from its own thread."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    children = [child for task in tasks for child in task.read_text().split()]
    return [child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def _n_learned(home: Path) -> int:
    """Return how many lessons are in the journal, faster than any command: the mail must not be used up meanwhile."""
    if not (home / "journal.sqlite").exists():
        return 0
    with closing(sqlite3.connect(home / "journal.sqlite")) as journal:
        try:
            return int(journal.execute("SELECT count(*) FROM lessons").fetchone()[0])
        except sqlite3.OperationalError:  # its tables do not exist yet
            return 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ("--cluster", "local:2", "--jobs", 2),
            "learn takes either --jobs or --cluster, not both",
        ),
        (("--cluster", "here"), "'here' is not a cluster: use tcp://HOST:8786, or local:2 for two processes here"),
    ],
)
def test_an_invalid_cluster_is_refused(inbox: Path, tmp_path: Path, options: tuple[object, ...], told: str):
    done = priory("learn", "spam", inbox / "taught/spam", *options, home=tmp_path)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"priory: {told}")


def test_models_are_judged_the_same(inbox: Path, tmp_path: Path):
    mail = [f"{label}={inbox / 'taught' / label}" for label in ("ham", "spam")]
    asked = ("lab", "compare", *mail, "--model", "filter", "--model", "bernoulli", "--folds", "3", "--json", "--fresh")
    said = []
    for options in ((), ("--cluster", "local:2")):
        done = priory(*asked, *options, home=tmp_path)
        assert (done.returncode, done.stderr) == (0, b"")
        said.append([(run["model"], run["figures"]) for run in json.loads(done.stdout)["runs"]])
    assert said[0] == said[1]
