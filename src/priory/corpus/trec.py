"""Reads a TREC index: a list of message files, each with the label a person gave it.

    spam ../data/inmail.1
    ham ../data/inmail.2

A line is a label, one space, and a path that starts from the folder the index is in; everything after the
first space is the path. One line is one message, whatever its file looks like inside.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from priory.corpus import mbox
from priory.corpus.error import CorpusError, told
from priory.corpus.raw import file_bytes


class Entry(NamedTuple):
    """One line of an index: the label, the path as it is written there and as it is reached from here, and the line."""

    label: str
    name: str
    path: str
    listed_in: str
    line_number: int


def entries(index: Path) -> Iterator[Entry]:
    r"""Yield the entries of an index; blank lines are passed over.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "index")
    ...     _ = path.write_text("spam data/you won.eml\nham data/lunch.eml\n")
    ...     [(entry.label, entry.name) for entry in entries(path)]
    [('spam', 'data/you won.eml'), ('ham', 'data/lunch.eml')]
    """
    name = str(index)
    folder = os.path.join(os.path.dirname(name), "")  # noqa: PTH118, PTH120 - as text: a Path for each line takes long
    # utf-8-sig: the mark that Windows editors put first must not become part of a label.
    with index.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield parsed(line.rstrip("\r\n"), folder, name, number)


def parsed(line: str, folder: str, index: str, line_number: int) -> Entry:
    """Return the entry on a line, or raise if it has none."""
    label, _, name = line.partition(" ")
    if not (label.isprintable() and label and name):
        found = ascii(line[:60])
        advice = "correct or delete this line"
        raise CorpusError(f"{index}:{line_number}: expected a label, a space and a path, found {found}; {advice}")
    path = name if name.startswith("/") else folder + name.removeprefix("./")
    return Entry(label, name, path, index, line_number)


def load(entry: Entry) -> bytes:
    """Return the message of an entry."""
    [(_, raw)] = read(entry.path, entry.listed_in, entry.line_number)
    return raw


def read(path: str, listed_in: str, line_number: int) -> list[tuple[str, bytes]]:
    """Return source and raw bytes of the message that a line lists."""
    try:
        raw = file_bytes(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raw = None
    except OSError as error:
        raise told(error, path) from error
    if raw is None:
        advice = "restore it or delete this line"
        raise CorpusError(f"{listed_in}:{line_number}: there is no file {path}; {advice}")
    return [(path, mbox.only(raw))]
