"""The tree keeps its shape: eight layers, one page that shows them, and no class name twice."""

import ast
import runpy
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "priory"
PAGE = ROOT / "docs" / "architecture.md"
FOLDERS = sorted(path for path in SOURCES.rglob("*/") if list(path.glob("*.py*")) and path.name != "__pycache__")


def test_the_root_of_the_package_holds_no_modules() -> None:
    assert {path.name for path in SOURCES.iterdir() if path.is_file()} == {"__init__.py", "__main__.py", "py.typed"}


@pytest.mark.slow
def test_a_public_class_name_exists_once() -> None:
    places = defaultdict(list)
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(SOURCES)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(SOURCES)))
def test_the_page_on_architecture_names_every_folder(folder: Path) -> None:
    assert f"`{folder.relative_to(SOURCES)}/`" in PAGE.read_text()


def test_the_picture_of_the_architecture_is_what_the_imports_say() -> None:
    drawing = runpy.run_path(str(ROOT / "docs" / "architecture_picture.py"))
    assert drawing["PICTURE"].read_text() == drawing["svg"](), "run: python docs/architecture_picture.py"
