"""With --jobs the commands print, store and refuse the same, and leave no process behind."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from command import PRIORY, priory
from priory.demo import draw
from real_daemon import wait_until

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_check_prints_the_same_on_any_number_of_cores(options: tuple[str, ...], inbox: Path, home: Path):
    (alone, *several) = (priory("check", inbox, "--jobs", jobs, *options, home=home) for jobs in (1, 2, 3))
    assert alone.stdout.count(b"\n") == 240
    assert alone.returncode == 0
    assert [(each.stdout, each.stderr, each.returncode) for each in several] == 2 * [(alone.stdout, alone.stderr, 0)]


def test_errors_are_the_same_on_several_cores(inbox: Path, home: Path, tmp_path: Path):
    message = next((inbox / "taught/ham").iterdir())
    (tmp_path / "index").write_text(f"ham {message}\nham gone.eml\n")
    (tmp_path / "foreign").write_text(f"ham {message}\nspan {message}\n")
    (tmp_path / "empty").mkdir()
    for command in (
        ("learn", "--index", tmp_path / "index", "--json"),
        ("learn", "--index", tmp_path / "foreign", "--json"),
        ("learn", "ham", tmp_path / "empty", "--json"),
        ("check", tmp_path / "empty"),
        ("check", "-"),
    ):
        said = []
        for jobs in (1, 2):
            done = priory(*command, "--jobs", jobs, home=tmp_path / f"home{jobs}" if command[0] == "learn" else home)
            said.append((done.returncode, done.stderr, re.sub(rb"seconds.*", b"", done.stdout)))
        assert said[0] == said[1]
        assert said[0][0] == 1
    assert json.loads(priory("stats", "--json", home=tmp_path / "home2").stdout)["lessons"] == {"ham": 1, "spam": 0}


def _learning_on_two_cores(folder: Path, home: Path) -> tuple[subprocess.Popen[bytes], list[int]]:
    """Start to learn much mail, and wait until the first lessons are durable."""
    command = [PRIORY, "learn", "--index", str(folder / "index"), "--jobs", "2", "--home", str(home), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    wait_until(lambda: process.poll() is not None or _n_learned(home) >= 500)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 2
    return process, [int(child) for child in children]


def _n_learned(home: Path) -> int:
    done = priory("stats", "--json", home=home)
    return sum(json.loads(done.stdout)["lessons"].values()) if done.returncode == 0 else 0


@pytest.fixture(scope="module")
def much(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("much")
    lines = []
    for i, drawn in enumerate(draw(500, seed=6)):
        for j in range(40):
            (folder / f"{i}-{j}.eml").write_bytes(drawn.raw + b"%d" % j)
            lines.append(f"{drawn.label} {i}-{j}.eml\n")
    (folder / "index").write_text("".join(lines))
    return folder


def test_ctrl_c_on_several_cores_keeps_lessons(much: Path, tmp_path: Path):
    process, children = _learning_on_two_cores(much, tmp_path)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    stdout, stderr = process.communicate(timeout=60)
    said = json.loads(stdout)
    assert process.returncode == 130
    assert stderr == b""
    assert said["stopped"]
    assert 500 <= said["learned"] == _n_learned(tmp_path) < 20_000
    assert not any(Path(f"/proc/{child}").exists() for child in children)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_a_check_and_its_workers(much: Path, home: Path, jobs: str):
    command = [PRIORY, "check", str(much), "--jobs", jobs, "--home", str(home)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=environment
    ) as process:
        process.stdout.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == (0 if jobs == "1" else 2)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr == b""
    assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_a_killed_worker_is_reported_and_lessons_are_kept(much: Path, tmp_path: Path):
    process, children = _learning_on_two_cores(much, tmp_path)
    os.kill(children[0], signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert stderr.decode() == "priory: a worker process was killed by SIGKILL; run the command again to continue\n"
    assert 500 <= json.loads(stdout)["learned"] == _n_learned(tmp_path) < 20_000
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    assert priory("rebuild", home=tmp_path).returncode == 0


def test_workers_end_with_their_killed_parent_and_lessons_are_kept(much: Path, tmp_path: Path):
    process, children = _learning_on_two_cores(much, tmp_path)
    process.kill()
    process.communicate(timeout=60)
    wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    assert _n_learned(tmp_path) >= 500
    assert priory("rebuild", home=tmp_path).returncode == 0
