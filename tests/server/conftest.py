"""Mail, a filter that has learned some of it, and SpamAssassin's own client."""

import os
import shutil
from pathlib import Path

import pytest

from priory.demo import Drawn, draw

MAIL = list(draw(240, seed=4))


@pytest.fixture(scope="session")
def mail() -> list[Drawn]:
    """Mail that no filter here has seen."""
    return MAIL[200:]


@pytest.fixture
def home(lessons: Path, tmp_path: Path) -> Path:
    """The home of a filter that has learned."""
    return Path(shutil.copytree(lessons, tmp_path / "home"))


@pytest.fixture(scope="session")
def spamc() -> str:
    """SpamAssassin's client; without it a test is skipped, but never in CI."""
    found = shutil.which("spamc")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("spamc is not installed: in CI no test is skipped")
        pytest.skip("spamc is not installed")
    return found
