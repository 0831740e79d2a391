"""An inbox in files, and a filter that has learned most of it."""

from pathlib import Path

import pytest

from command import priory
from priory.demo import draw


@pytest.fixture(scope="session")
def inbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inbox")
    for i, drawn in enumerate(draw(240, seed=4)):
        place = folder / ("unseen" if i >= 200 else "taught") / drawn.label
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i}.eml").write_bytes(drawn.raw)
    return folder


@pytest.fixture(scope="session")
def home(inbox: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    for label in ("ham", "spam"):
        assert priory("learn", label, inbox / "taught" / label, home=home).returncode == 0
    return home
