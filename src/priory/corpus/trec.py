"""Reads a TREC index: a list of message files, each with the label a person gave it.

    spam ../data/inmail.1
    ham ../data/inmail.2

A line is a label, one space, and a path relative to the folder of the index; everything after the first space is the
path. One line is one message, whatever its file contains.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from priory.corpus import mbox
from priory.corpus.storage import CorpusError, as_corpus_error, file_bytes


class IndexEntry(NamedTuple):
    """One line of an index."""

    label: str
    name: str  #: the path as the index has it
    path: str  #: the path to open
    listed_in: str  #: the path of the index
    line_number: int


def entries(index: Path) -> Iterator[IndexEntry]:
    r"""Yield the entries of an index; skip blank lines.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "index")
    ...     _ = path.write_text("spam data/you won.eml\nham data/lunch.eml\n")
    ...     [(entry.label, entry.name) for entry in entries(path)]
    [('spam', 'data/you won.eml'), ('ham', 'data/lunch.eml')]
    """
    name = str(index)
    folder = os.path.join(os.path.dirname(name), "")  # noqa: PTH118, PTH120 - as text: a Path for each line takes long
    # utf-8-sig: the byte order mark of Windows editors must not become part of a label.
    with index.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield parse_line(line.rstrip("\r\n"), folder, name, number)


def parse_line(line: str, folder: str, index: str, line_number: int) -> IndexEntry:
    """Return the entry on a line; raise CorpusError if the line is malformed."""
    label, _, name = line.partition(" ")
    if not (label.isprintable() and label and name):
        text = ascii(line[:60])
        advice = "correct or delete this line"
        raise CorpusError(f"{index}:{line_number}: expected a label, a space and a path, found {text}; {advice}")
    path = name if name.startswith("/") else folder + name.removeprefix("./")
    return IndexEntry(label, name, path, index, line_number)


def load(entry: IndexEntry) -> bytes:
    """Return the message of an entry."""
    [(_, raw)] = read(entry.path, entry.listed_in, entry.line_number)
    return raw


def read(path: str, index: str, line_number: int) -> list[tuple[str, bytes]]:
    """Return source and raw bytes of the message on a line of an index."""
    try:
        raw = file_bytes(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raw = None
    except OSError as error:
        raise as_corpus_error(error, path) from error
    if raw is None:
        advice = "restore it or delete this line"
        raise CorpusError(f"{index}:{line_number}: there is no file {path}; {advice}")
    return [(path, mbox.single_message(raw))]
