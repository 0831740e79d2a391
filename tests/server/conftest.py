"""Mail, a filter that has learned some of it, and SpamAssassin's own client."""

import shutil
from pathlib import Path

import pytest

import requirements
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
    return requirements.program("spamc")
