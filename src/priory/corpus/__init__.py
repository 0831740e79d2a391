r"""Brings in mail that someone has already sorted: each message comes with the label a person gave it.

Mail comes from message files, mboxes, Maildirs, folders of these, tar archives, a TREC index and standard input.
It is read one message at a time, as raw bytes that are not decoded or changed, except that an mbox is
taken apart and its quoting undone.

>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     inbox = Path(folder, "inbox.mbox")
...     _ = inbox.write_bytes(b"From ann@example.org\nSubject: lunch?\n\nFrom bob@example.org\nSubject: yes\n")
...     corpus = read([inbox], "ham")
...     print(corpus.count(), "messages")
...     for message in corpus:
...         print(message.label, message.source, message.raw)
2 messages
ham inbox.mbox:1 b'Subject: lunch?\n'
ham inbox.mbox:2 b'Subject: yes\n'
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path

from priory.corpus import folder, trec
from priory.corpus.error import CorpusError, explained
from priory.corpus.raw import LARGEST_MESSAGE
from priory.corpus.standard_input import StandardInput

__all__ = ["LARGEST_MESSAGE", "Corpus", "CorpusError", "Labelled", "read", "read_index"]


@dataclass(frozen=True, slots=True)
class Labelled:
    r"""A message as it was received, what a person said it is, and where it was found.

    The source is for people and the journal: `inbox.mbox:3`, `cur/1700000000.M1P1.mx:2,S`, `mail.tar.xz:spam/7`.

    >>> Labelled(b"Subject: You won\n", "spam", "spam.mbox:1").label
    'spam'
    """

    raw: bytes
    label: str
    source: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """Labelled mail that can be gone through again and again; nothing is read before it is asked for.

    >>> corpus = read([], "ham")
    >>> corpus.count(), list(corpus)
    (0, [])
    """

    messages: Callable[[], Iterator[Labelled]]
    n_messages: Callable[[], int]

    def __iter__(self) -> Iterator[Labelled]:
        return self.messages()

    def count(self) -> int:
        """Return the number of messages, for a progress bar, without building one of them."""
        return self.n_messages()


def read(paths: str | PathLike[str] | Iterable[str | PathLike[str]], label: str) -> Corpus:
    """Return the mail in files and folders, all of it with the same label; the path "-" is standard input.

    >>> read(["/no/such/folder"], "ham")
    Traceback (most recent call last):
    priory.corpus.error.CorpusError: /no/such/folder does not exist; check the path
    """
    # A path alone would otherwise be taken for a list of its letters.
    several = [paths] if isinstance(paths, str | PathLike) else paths
    places = tuple(_place(path) for path in several)
    return Corpus(partial(_labelled, places, label), partial(_counted, places))


def read_index(path: str | PathLike[str]) -> Corpus:
    r"""Return the mail a TREC index lists, with the labels it gives; the whole index is checked at once.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "1.eml").write_bytes(b"Subject: You won\n")
    ...     _ = Path(folder, "index").write_text("spam 1.eml\n")
    ...     list(read_index(Path(folder, "index")))
    [Labelled(raw=b'Subject: You won\n', label='spam', source='1.eml')]
    """
    with explained(path):
        entries = tuple(trec.entries(Path(path)))
    return Corpus(partial(_listed, entries), partial(len, entries))


@dataclass(frozen=True, slots=True)
class _Place:
    name: str
    read: Callable[[], Iterator[tuple[str, bytes]]]
    count: Callable[[], int]


def _place(path: str | PathLike[str]) -> _Place:
    if str(path) == "-":
        stream = StandardInput()
        return _Place("standard input", stream.read, stream.count)
    root = Path(path)
    with explained(root):
        root.stat()
    if not (root.is_file() or root.is_dir()):
        raise CorpusError(f"{root} is neither a file nor a folder; pipe its contents in and name - instead")
    return _Place(str(root), partial(folder.read, root), partial(folder.count, root))


def _labelled(places: tuple[_Place, ...], label: str) -> Iterator[Labelled]:
    for place in places:
        with explained(place.name):
            for source, raw in place.read():
                yield Labelled(raw, label, _printable(source))


def _counted(places: tuple[_Place, ...]) -> int:
    n_messages = 0
    for place in places:
        with explained(place.name):
            n_messages += place.count()
    return n_messages


def _listed(entries: tuple[trec.Entry, ...]) -> Iterator[Labelled]:
    for entry in entries:
        yield Labelled(trec.load(entry), entry.label, _printable(entry.name))


def _printable(source: str) -> str:
    # A file's name may be any bytes; those that are no text would stop a terminal or the journal's database.
    return source.encode(errors="surrogateescape").decode(errors="backslashreplace")
