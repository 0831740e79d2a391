"""Draw docs/pictures/architecture.svg: the layers of the import contract, and what each folder imports.

    python docs/architecture_picture.py

Layers come from the contract in pyproject.toml and imports from the statements in src, so the picture cannot claim
what the code does not do. Lists are easier to follow here than arrows: nearly every folder imports several others.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SOURCES: Final = ROOT / "src" / "priory"
PICTURE: Final = ROOT / "docs" / "pictures" / "architecture.svg"

#: What each folder is for, in the few words that fit into its box.
PURPOSES: Final = {
    "cli": "commands, their output, and the client of the daemon",
    "config": "the table of all settings; reads, checks and writes priory.toml",
    "server": "the daemon: spamd, milter, HTTP API and page",
    "imap": "teaches by what is moved in mailboxes elsewhere",
    "lab": "the workbench: splits, measures, comparisons, reports",
    "bulk": "many messages: batches, local processes, Dask",
    "filter": "Filter: check, learn, forget, explain; the counts; verdicts and their evidence",
    "features": "message → buckets",
    "decision": "probability, costs → label",
    "corpus": "mail in files and folders",
    "demo": "an invented inbox",
    "journal": "lessons, durable",
    "bayes": "models, without mail",
    "message": "bytes → message",
    "wire": "spamd, milter without I/O",
    "processes": "fork, workers, log",
    "html": "escaped markup",
    "native": "compiled tables and kernels that several layers use",
}
WIDTH, BAND, LEFT, GAP = 960, 88, 44, 12
_IMPORT: Final = re.compile(r"^\s*(?:from|c?import) priory\.(\w+)", re.MULTILINE)


def layers() -> list[list[str]]:
    """Return the folders of each layer, the highest layer first."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contract = tomllib.load(file)["tool"]["importlinter"]["contracts"][0]
    return [[folder.strip() for folder in layer.split("|")] for layer in contract["layers"]]


def imports(folder: str) -> list[str]:
    """Return the other folders that a folder imports, in the order of the layers."""
    sources = (path.read_text() for path in (SOURCES / folder).rglob("*.p*") if path.suffix in {".py", ".pyx", ".pxd"})
    imported = {name for source in sources for name in _IMPORT.findall(source)}
    return [other for layer in layers() for other in layer if other in imported and other != folder]


def svg() -> str:
    """Return the picture."""
    bands = layers()
    height = BAND * len(bands)
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-label="The layers of Priory and their imports" font-family="system-ui, sans-serif">'
    )
    ground = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    boxes = (part for row, band in enumerate(bands) for part in _band(row, band, len(bands)))
    return "\n".join([opening, ground, *boxes, "</svg>\n"])


def _band(row: int, folders: list[str], n_bands: int) -> Iterator[str]:
    top = BAND * row
    if row % 2:
        yield f'<rect y="{top}" width="{WIDTH}" height="{BAND}" fill="#f0f3f6"/>'
    yield f'<text x="16" y="{top + BAND // 2 + 6}" font-size="18" fill="#6b7885">{n_bands - row}</text>'
    width = (WIDTH - LEFT) // len(folders) - GAP
    for place, folder in enumerate(folders):
        yield from _box(folder, LEFT + place * (width + GAP), top + GAP // 2, width)


def _box(folder: str, left: int, top: int, width: int) -> Iterator[str]:
    yield (f'<rect x="{left}" y="{top}" width="{width}" height="{BAND - GAP}" rx="6" fill="#ffffff" stroke="#2f5d8a"/>')
    yield f'<text x="{left + 10}" y="{top + 20}" font-size="15" font-weight="600" fill="#14202b">{folder}</text>'
    yield f'<text x="{left + 10}" y="{top + 36}" font-size="12" fill="#14202b">{PURPOSES[folder]}</text>'
    imported = ", ".join(imports(folder))
    for number, line in enumerate(wrap(f"imports {imported}", (width - 12) // 6) if imported else []):
        yield f'<text x="{left + 10}" y="{top + 53 + 14 * number}" font-size="11" fill="#52606d">{line}</text>'


if __name__ == "__main__":
    PICTURE.write_text(svg(), encoding="utf-8")
