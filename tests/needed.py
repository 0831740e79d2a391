"""What a test needs of the machine: without it the test is skipped with the reason, but never in CI."""

import os
import shutil
from typing import NoReturn

import pytest


def missing(reason: str) -> NoReturn:
    """Skip a test, with the reason; in CI, fail it."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason}: in CI no test is skipped")
    pytest.skip(reason)


def program(name: str) -> str:
    """Return the path of a program."""
    found = shutil.which(name)
    return found or missing(f"{name} is not installed")


def servers(*names: str) -> None:
    """Need programs that only root can start as a test wants them."""
    for name in names:
        program(name)
    if os.geteuid() != 0:
        missing(f"only root can start {' and '.join(names)}")
