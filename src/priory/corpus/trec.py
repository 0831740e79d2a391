"""Reads a TREC index: a list of message files, each with the label a person gave it.

    spam ../data/inmail.1
    ham ../data/inmail.2

A line is a label, one space, and a path that starts from the folder the index is in; everything after the
first space is the path. One line is one message, whatever its file looks like inside.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from priory.corpus import mbox
from priory.corpus.error import CorpusError, explained


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of an index: the label, the path as it is written there, and where that is."""

    label: str
    name: str
    index: Path
    line_number: int

    @property
    def path(self) -> Path:
        """The message's file, as it can be reached from where the index was named."""
        return self.index.parent / self.name


def entries(index: Path) -> Iterator[Entry]:
    r"""Yield the entries of an index; blank lines are passed over.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "index")
    ...     _ = path.write_text("spam data/you won.eml\nham data/lunch.eml\n")
    ...     [(entry.label, entry.name) for entry in entries(path)]
    [('spam', 'data/you won.eml'), ('ham', 'data/lunch.eml')]
    """
    # utf-8-sig: the mark that Windows editors put first must not become part of a label.
    with index.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield parsed(line.rstrip("\r\n"), index, number)


def parsed(line: str, index: Path, line_number: int) -> Entry:
    """Return the entry on a line, or raise if it has none."""
    label, _, name = line.partition(" ")
    if not (label.isprintable() and label and name):
        found = ascii(line[:60])
        advice = "correct or delete this line"
        raise CorpusError(f"{index}:{line_number}: expected a label, a space and a path, found {found}; {advice}")
    return Entry(label, name, index, line_number)


def load(entry: Entry) -> bytes:
    """Read the message of an entry."""
    path = entry.path
    if not path.is_file():
        where = f"{entry.index}:{entry.line_number}"
        raise CorpusError(f"{where}: there is no file {path}; restore it or delete this line")
    with explained(path), path.open("rb") as stream:
        return mbox.only(stream)
