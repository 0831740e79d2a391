"""Programs and rights that a test requires of the machine. Without them it is skipped, but in CI it fails."""

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
    return shutil.which(name) or missing(f"{name} is not installed")


def servers(*names: str) -> None:
    """Require programs that only root can start as a test wants them."""
    for name in names:
        program(name)
    if os.geteuid() != 0:
        missing(f"only root can start {' and '.join(names)}")
