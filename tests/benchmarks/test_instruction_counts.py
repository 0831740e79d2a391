"""The hot path takes no more instructions than when its counts were committed."""

import json

import pytest

import counting
import requirements
from instructions import COMMITTED, REFRESH, counted, differences, too_many


@pytest.fixture
def valgrind() -> None:
    """What counts the instructions; without it a test is skipped, but never in CI."""
    requirements.program(counting.VALGRIND)


@pytest.mark.slow
def test_checking_and_learning_take_no_more_instructions_than_committed(valgrind):
    committed = json.loads(COMMITTED.read_text())
    failures = too_many(counted(), committed["per_message"])
    assert not failures, "\n".join([*failures, *differences(committed["made_with"]), f"If that is meant: {REFRESH}"])


def test_a_tenth_more_is_tolerated_and_not_more():
    before = {"learn": 1_000_000, "check": 500_000}
    assert too_many({"learn": 1_100_000, "check": 400_000}, before) == []
    assert too_many({"learn": 1_100_001, "check": 600_000}, before) == [
        "learn: 1,100,001 instructions per message, 10.0 % above the committed 1,000,000",
        "check: 600,000 instructions per message, 20.0 % above the committed 500,000",
    ]


def test_what_a_count_depends_on_is_named_where_it_differs():
    now = counting.made_with()
    assert differences(now) == []
    assert differences({**now, "libc": "1.0"}) == [f"libc: {now['libc']}, was 1.0"]


def test_without_valgrind_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(counting, "VALGRIND", "no-such-program")
    with pytest.raises(counting.CountingError, match="valgrind is not installed: apt-get install valgrind"):
        counting.instructions(["true"])


def test_a_program_that_fails_is_an_error_with_what_it_said(valgrind):
    with pytest.raises(counting.CountingError, match="false failed under valgrind"):
        counting.instructions(["false"])
