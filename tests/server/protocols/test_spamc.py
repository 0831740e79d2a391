"""SpamAssassin's own client against the daemon."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.filter.headers import mark
from real_daemon import PATIENCE_S, Daemon, serving

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    with serving(home, '[spamd]\nlisten = "127.0.0.1:0"\n[serve]\nmax_bytes = 100_000\n') as running:
        yield running


@pytest.fixture(params=["path", "port"])
def run(request: pytest.FixtureRequest, spamc: str, daemon: Daemon) -> Run:
    to = ["-U", daemon.socket] if request.param == "path" else ["-d", "127.0.0.1", "-p", str(daemon.port)]

    def run(*options: str, raw: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [spamc, "-F", "/dev/null", *to, *options], input=raw, capture_output=True, check=False, timeout=PATIENCE_S
        )

    return run


@pytest.fixture
def by_label(home: Path, mail: list[Drawn]) -> dict[str, bytes]:
    """Three messages: with the verdicts ham, spam and unsure."""
    with Filter.open(home) as filter_:
        return {filter_.check(drawn.raw).label: drawn.raw for drawn in mail}


def test_spamc_says_what_the_filter_says(run: Run, by_label: dict[str, bytes], home: Path):
    assert set(by_label) == {"ham", "spam", "unsure"}
    for label, raw in by_label.items():
        checked = run("-c", raw=raw)
        points, threshold = map(float, checked.stdout.split(b"/"))
        assert checked.returncode == (label == "spam") == (points >= threshold == 5.0)
        assert run("-E", raw=raw).returncode == (label == "spam")
        with Filter.open(home) as filter_:
            assert run(raw=raw).stdout == run("--headers", raw=raw).stdout == mark(raw, filter_.check(raw))
        assert run("-y", raw=raw).stdout.strip() == f"PRIORY_{label.upper()}".encode()
        shown = run("-R", raw=raw).stdout
        assert shown.startswith(checked.stdout + f"Priory says {label}: spam with probability 0.".encode())
        # For -r spamc reads True, but is told Yes, by the original as well: so it leaves the points out.
        assert run("-r", raw=raw).stdout == (shown.partition(b"\n")[2] if label == "spam" else b"")


def test_spamc_teaches_and_takes_back(run: Run, by_label: dict[str, bytes], daemon: Daemon):
    raw = by_label["unsure"]
    learned, known = b"Message successfully un/learned\n", b"Message was already un/learned\n"
    for what, said in (("spam", learned), ("spam", known), ("ham", learned), ("forget", learned), ("forget", known)):
        done = run("-L", what, "-u", "ann", raw=raw)
        assert (done.stdout, done.returncode) == (said, 0)
    reported = run("-C", "report", "-u", "ann", raw=raw)
    assert (reported.stdout, reported.returncode) == (b"Unable to report/revoke message\n", 0)  # nowhere but here
    with Filter.open(daemon.home) as filter_:
        assert filter_.forget(raw, "ann").was == "spam"
    run("-C", "revoke", "-u", "ann", raw=raw)
    with Filter.open(daemon.home) as filter_:
        assert filter_.forget(raw, "ann").was == "ham"


def test_spamc_finds_the_daemon_alive(run: Run):
    assert run("-K").stdout.startswith(b"SPAMD/1.5 0")


def test_mail_that_is_too_large_passes_spamc_unchanged(run: Run):
    raw = b"Subject: large\n\n" + b"x" * 200_000
    assert run(raw=raw).stdout == raw
    assert run("-x", raw=raw).returncode != 0
