"""The shipped unit: systemd accepts it, its exposure is as documented, and the daemon runs under it."""

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import pytest

import requirements
from command import PRIORY
from real_daemon import Daemon, request, wait_until

ROOT = Path(__file__).parents[3]
UNIT = ROOT / "recipes" / "systemd" / "priory.service"
PR_SET_MDWE = 65  #: from Linux 6.3 on: memory that was written cannot become executable


@pytest.fixture(scope="session")
def systemd_analyze() -> str:
    """systemd-analyze; without it a test is skipped, but never in CI."""
    return requirements.program("systemd-analyze")


def test_systemd_finds_nothing_wrong_with_the_unit(systemd_analyze: str, tmp_path: Path):
    here = tmp_path / UNIT.name
    here.write_text(UNIT.read_text().replace("/usr/local/bin/priory", PRIORY))
    done = subprocess.run([systemd_analyze, "verify", str(here)], capture_output=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")


def test_the_unit_is_as_closed_as_documented(systemd_analyze: str):
    command = [systemd_analyze, "security", "--offline=true", "--no-pager", str(UNIT)]
    judged = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    exposure = re.search(r"Overall exposure level for priory\.service: ([\d.]+)", judged)
    assert exposure is not None
    documented = re.search(r"exposure level ([\d.]+)", (ROOT / "docs" / "serve.md").read_text())
    assert documented is not None
    assert float(exposure[1]) <= float(documented[1])


def test_the_account_is_made_as_the_unit_needs_it(systemd_analyze: str, tmp_path: Path):
    sysusers = Path(systemd_analyze).with_name("systemd-sysusers")
    (tmp_path / "etc").mkdir()
    subprocess.run([sysusers, f"--root={tmp_path}", UNIT.with_name("sysusers.conf")], capture_output=True, check=True)
    account = (tmp_path / "etc" / "passwd").read_text().split(":")
    assert (account[0], account[5], account[6]) == ("priory", "/var/lib/priory", "/usr/sbin/nologin\n")


def test_the_documentation_shows_the_unit_that_is_shipped():
    assert f"```ini\n{UNIT.read_text()}```" in (ROOT / "docs" / "serve.md").read_text()


def test_the_commands_of_the_unit_are_ours():
    commands = re.findall(r"^Exec\w+=/usr/local/bin/priory (\w+) --home (\S+)$", UNIT.read_text(), re.MULTILINE)
    assert commands == [("serve", "/var/lib/priory"), ("config", "/var/lib/priory")]
    assert "StateDirectory=priory" in UNIT.read_text()


@pytest.mark.slow
def test_the_daemon_runs_where_memory_that_was_written_cannot_become_executable(home: Path):
    start = f"""
import ctypes, os
assert ctypes.CDLL(None).prctl({PR_SET_MDWE}, 1, 0, 0, 0) == 0
os.execv({PRIORY!r}, ["priory", "serve", "--home", {str(home)!r}])
"""
    if ctypes.CDLL(None).prctl(PR_SET_MDWE + 1, 0, 0, 0, 0) < 0:
        pytest.skip("this Linux cannot refuse it")
    (home / "priory.toml").write_text(f'[http]\nlisten = "{home}/http"\n[patterns]\nlunch = "(?i)lunch"\n')
    with (home / "serve.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", start], stderr=log)
    daemon = Daemon(home, process, home / "serve.log")
    try:
        wait_until(lambda: daemon.n_logged("ready") or process.poll() is not None, lambda: daemon.log)
        raw = b"Subject: Lunch?\n\nShall we?"
        assert daemon.ask(request("REPORT", raw)).startswith(b"SPAMD/1.1 0 EX_OK")
        assert b"DidSet: local" in daemon.ask(request("TELL", raw, "Message-class: ham", "Set: local"))
    finally:
        process.terminate()
        daemon.wait()
