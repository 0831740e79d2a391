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
...         print(message.label, message.source.removeprefix(folder), message.raw)
2 messages
ham /inbox.mbox:1 b'Subject: lunch?\n'
ham /inbox.mbox:2 b'Subject: yes\n'
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
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

    The source is for people and the journal, and begins with the path that was named: `inbox/ham/7.eml`,
    `inbox.mbox:3`, `/home/ann/Maildir/cur/1700000000.M1P1.mx:2,S`, `mail.tar.xz:spam/7`; `-` is standard input.

    >>> Labelled(b"Subject: You won\n", "spam", "spam.mbox:1").label
    'spam'
    """

    raw: bytes
    label: str
    source: str


@dataclass(eq=False, slots=True)
class Corpus:
    """Labelled mail that can be gone through again and again; nothing is read before it is asked for.

    >>> corpus = read([], "ham")
    >>> corpus.count(), list(corpus)
    (0, [])
    """

    messages: Callable[[list[str]], Iterator[Labelled]]
    n_messages: Callable[[], int]
    _passed_over: list[str] = field(default_factory=list, init=False, repr=False)

    def __iter__(self) -> Iterator[Labelled]:
        # A new list, so that an iteration which is still under way does not write into this one's.
        self._passed_over = []
        return self.messages(self._passed_over)

    @property
    def passed_over(self) -> list[str]:
        r"""The sources of what did not look like mail, in the latest iteration as far as it has come.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "notes.txt").write_bytes(b"Buy milk\n")
        ...     corpus = read([folder], "ham")
        ...     print(list(corpus), [Path(source).name for source in corpus.passed_over])
        [] ['notes.txt']
        """
        return list(self._passed_over)

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
    ...     [message] = read_index(Path(folder, "index"))
    >>> message.label, message.source.removeprefix(folder), message.raw
    ('spam', '/1.eml', b'Subject: You won\n')
    """
    _refuse_empty(path)
    with explained(path):
        entries = tuple(trec.entries(Path(path)))
    return Corpus(partial(_listed, entries), partial(len, entries))


@dataclass(frozen=True, slots=True)
class _Place:
    name: str
    read: Callable[[], Iterator[tuple[str, bytes | None]]]
    count: Callable[[], int]


def _place(path: str | PathLike[str]) -> _Place:
    if str(path) == "-":
        stream = StandardInput()
        return _Place("standard input", stream.read, stream.count)
    _refuse_empty(path)
    root = Path(path)
    with explained(root):
        root.stat()
    if not (root.is_file() or root.is_dir()):
        raise CorpusError(f"{root} is neither a file nor a folder; pipe its contents in and name - instead")
    return _Place(str(root), partial(folder.read, root), partial(folder.count, root))


def _refuse_empty(path: str | PathLike[str]) -> None:
    # A script's unset variable; Path takes it for the current folder.
    if not str(path):
        raise CorpusError("an empty path; name a file or a folder")


def _labelled(places: tuple[_Place, ...], label: str, passed_over: list[str]) -> Iterator[Labelled]:
    for place in places:
        with explained(place.name):
            for source, raw in place.read():
                if raw is None:
                    passed_over.append(_printable(source))
                else:
                    yield Labelled(raw, label, _printable(source))


def _counted(places: tuple[_Place, ...]) -> int:
    n_messages = 0
    for place in places:
        with explained(place.name):
            n_messages += place.count()
    return n_messages


def _listed(entries: tuple[trec.Entry, ...], _passed_over: list[str]) -> Iterator[Labelled]:
    for entry in entries:
        yield Labelled(trec.load(entry), entry.label, _printable(str(entry.path)))


def _printable(source: str) -> str:
    # A file's name may be any bytes; those that are no text would stop a terminal or the journal's database.
    return source.encode(errors="surrogateescape").decode(errors="backslashreplace")
