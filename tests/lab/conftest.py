"""An invented inbox that the workbench's tests share."""

from pathlib import Path

import pytest

from priory.corpus import Labelled
from priory.demo import draw
from priory.filter.options import Options
from priory.lab.examples import examples
from priory.lab.mail import Mail


def drawn(n_messages: int, seed: int) -> list[Labelled]:
    return [Labelled(each.raw, each.label, f"inbox:{i}") for i, each in enumerate(draw(n_messages, seed))]


@pytest.fixture(scope="session")
def inbox() -> list[Labelled]:
    return drawn(240, seed=5)


@pytest.fixture(scope="session")
def mail(inbox: list[Labelled]) -> Mail:
    return Mail.of(examples(inbox, Options().spec))


@pytest.fixture
def index(inbox: list[Labelled], tmp_path: Path) -> Path:
    """The inbox as files with an index, in order."""
    lines = []
    for i, message in enumerate(inbox):
        (tmp_path / f"{i}.eml").write_bytes(message.raw)
        lines.append(f"{message.label} {i}.eml\n")
    (tmp_path / "index").write_text("".join(lines))
    return tmp_path / "index"
