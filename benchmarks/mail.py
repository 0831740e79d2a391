"""The mail for measurements: trec07p in order, in the forms that the filters need."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

INDEX = "trec07p/full/index"


@dataclass(frozen=True)
class Mail:
    """Messages as files in one folder, with their labels."""

    folder: Path
    entries: tuple[tuple[str, str], ...]  #: label and name

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, some: slice) -> "Mail":
        return Mail(self.folder, self.entries[some])

    @property
    def size_bytes(self) -> int:
        """The size of all messages."""
        return sum((self.folder / name).stat().st_size for _, name in self.entries)

    def read_once(self) -> int:
        """Read every message into the page cache; return the number of bytes."""
        return sum(len((self.folder / name).read_bytes()) for _, name in self.entries)

    def names(self, label: str | None = None) -> list[str]:
        """Return the names of the messages with a label, or of all."""
        return [name for its, name in self.entries if label in (None, its)]

    def write_list(self, path: Path, label: str | None = None) -> Path:
        """Write the paths of the messages with a label, or of all, one per line."""
        return _written(path, (str(self.folder / name) for name in self.names(label)))

    def write_index(self, path: Path) -> Path:
        """Write an index: lines of `label path`."""
        return _written(path, (f"{label} {self.folder / name}" for label, name in self.entries))


def _written(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def corpus(index: str) -> Path:
    """Return the path of a corpus index; exit with a message if it is missing."""
    corpora = os.environ.get("PRIORY_CORPORA")
    if not corpora or not (path := Path(corpora) / index).is_file():
        sys.exit(f"Set PRIORY_CORPORA to the folder that has {index}: CONTRIBUTING.md says what is in it.")
    return path


def trec07p() -> Mail:
    """Return all messages of the corpus; exit with a message if it is missing."""
    index = corpus(INDEX)
    folder = (index.parent / "../data").resolve()
    lines = [line.split(maxsplit=1) for line in index.read_text().splitlines()]
    return Mail(folder, tuple((label, Path(path).name) for label, path in lines))
