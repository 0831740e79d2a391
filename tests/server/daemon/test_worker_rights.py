"""Hostile code in a worker: a real daemon, in whose workers a message can run what hostile_code.py tries."""

import errno
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import hostile_code
from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.processes.confinement import missing_protections
from priory.server.daemon.long_messages import LONG_BYTES
from real_daemon import Daemon, request, serving

TESTS = Path(hostile_code.__file__).parent
PYTHONPATH = f"{TESTS / 'hostile_daemon'}:{TESTS}"
REFUSALS = {errno.EPERM, errno.EACCES, errno.ENOSYS}
needs_landlock = pytest.mark.skipif(
    any("Landlock" in missing for missing in missing_protections()), reason="this kernel has no Landlock, or an old one"
)


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    with serving(home, "[serve]\nworkers = 1\n", PYTHONPATH=PYTHONPATH) as running:
        yield running


@pytest.fixture
def other_home(home: Path, tmp_path: Path) -> Path:
    copy = Path(shutil.copytree(home, tmp_path / "other", ignore=shutil.ignore_patterns("socket")))
    (copy / "old").touch()
    return copy


def tried(daemon: Daemon, attempts: str, other_home: Path, *, is_long: bool) -> dict[str, int]:
    """Have hostile code try something in a worker, or in the process for long messages; return the error numbers."""
    asked = {"attempts": attempts, "other_home": str(other_home), "victim": daemon.process.pid}
    filler = " " * LONG_BYTES if is_long else ""
    results: dict[str, int] = json.loads(daemon.ask(request("CHECK", json.dumps(asked).encode() + filler.encode())))
    return results


@pytest.mark.parametrize("is_long", [False, True])
def test_hostile_code_makes_no_call_that_it_could_use(is_long: bool, daemon: Daemon, other_home: Path):
    if "seccomp" in missing_protections():
        pytest.skip("this kernel, or its container, has no seccomp")
    results = tried(daemon, "call_attempts", other_home, is_long=is_long)
    assert {name: number for name, number in results.items() if number not in REFUSALS} == {}
    assert len(results) == 12


@needs_landlock
@pytest.mark.parametrize("is_long", [False, True])
def test_hostile_code_opens_nothing_outside_the_home(is_long: bool, daemon: Daemon, other_home: Path):
    before = sorted(entry.name for entry in other_home.iterdir())
    results = tried(daemon, "file_attempts", other_home, is_long=is_long)
    assert {name: number for name, number in results.items() if number not in REFUSALS} == {}
    assert len(results) == 10
    assert sorted(entry.name for entry in other_home.iterdir()) == before


def test_the_same_code_succeeds_where_nothing_is_taken_away(other_home: Path):
    child = os.fork()  # it may harm
    if not child:
        files = hostile_code.file_attempts(other_home, os.getpid())
        calls = hostile_code.call_attempts(other_home, os.getpid())
        for name in ("execute a program", "connect", "trace another process", "make a namespace"):
            calls.pop(name)  # ends this process, or fails for other reasons
        files.pop("change the code of the daemon")  # opens it, if this account may
        os._exit(any(hostile_code.results(files | calls).values()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_confined_daemon_uses_files_that_the_home_links_to(home: Path, tmp_path: Path, mail: list[Drawn]):
    disk = tmp_path / "disk"
    disk.mkdir()
    for file in home.glob("journal.sqlite*"):
        shutil.move(file, disk / file.name)
    (home / "journal.sqlite").symlink_to(disk / "journal.sqlite")
    with serving(home) as daemon:
        lesson = request("TELL", mail[0].raw, "Message-class: ham", "Set: local")
        assert b"DidSet: local" in daemon.ask(lesson)
        assert b"EX_OK" in daemon.ask(request("CHECK", mail[1].raw))
    with Filter.open(home) as filter_:
        assert filter_.journal.label_of(filter_.prepare(mail[0].raw).digest) == "ham"


def test_the_log_names_what_the_kernel_lacks(home: Path):
    with serving(home) as daemon:
        assert daemon.n_logged("not fully confined") == bool(missing_protections())
