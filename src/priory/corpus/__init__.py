r"""Brings in mail that someone has already sorted: each message comes with the label a person gave it.

Mail comes from message files, mboxes, Maildirs, folders of these, tar archives, a TREC index and standard input; or
from an address, such as s3://mail/2024/*.mbox, that fsspec can open.
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

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from os import PathLike
from pathlib import Path

from priory.corpus import address, folder, trec
from priory.corpus.error import CorpusError, explained
from priory.corpus.part import Labelled, Part, messages
from priory.corpus.raw import LARGEST_MESSAGE
from priory.corpus.standard_input import StandardInput

__all__ = ["LARGEST_MESSAGE", "Corpus", "CorpusError", "Labelled", "Part", "messages", "read", "read_index"]


class Corpus:
    """Labelled mail that can be gone through again and again; nothing is read before it is asked for.

    >>> corpus = read([], "ham")
    >>> corpus.count(), list(corpus)
    (0, [])
    """

    def __init__(self, parts: Callable[[], Iterable[Part]], n_messages: Callable[[], int]) -> None:
        self._parts = parts
        self._n_messages = n_messages
        self._passed_over: list[str] = []

    def __iter__(self) -> Iterator[Labelled]:
        return messages(*self.parts())

    def parts(self) -> tuple[Iterable[Part], list[str]]:
        """Begin an iteration: return what is to be read, and the list in which to note what turns out to be no mail."""
        # A new list, so that an iteration which is still under way does not write into this one's.
        self._passed_over = []
        return self._parts(), self._passed_over

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
        return self._n_messages()


def read(paths: str | PathLike[str] | Iterable[str | PathLike[str]], label: str) -> Corpus:
    """Return the mail in files and folders, all of it with the same label; the path "-" is standard input.

    >>> read(["/no/such/folder"], "ham")
    Traceback (most recent call last):
    priory.corpus.error.CorpusError: /no/such/folder does not exist; check the path
    """
    # A path alone would otherwise be taken for a list of its letters.
    several = [paths] if isinstance(paths, str | PathLike) else paths
    places = tuple(_place(path) for path in several)
    return Corpus(partial(_parts, places, label), partial(_counted, places))


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


def _place(path: str | PathLike[str]) -> str | StandardInput:
    if str(path) == "-":
        return StandardInput()
    _refuse_empty(path)
    if address.is_address(str(path)):
        return str(path)
    root = str(Path(path))
    with explained(root):
        mode = os.stat(root).st_mode  # noqa: PTH116 - one look: a person may name many thousands
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise CorpusError(f"{root} is neither a file nor a folder; pipe its contents in and name - instead")
    return root


def _refuse_empty(path: str | PathLike[str]) -> None:
    # A script's unset variable; Path takes it for the current folder.
    if not str(path):
        raise CorpusError("an empty path; name a file or a folder")


def _parts(places: tuple[str | StandardInput, ...], label: str) -> Iterator[Part]:
    for place in places:
        if isinstance(place, StandardInput):
            yield Part(label, "standard input", place.read, (), "stream")
        else:
            with explained(place):
                yield from folder.parts(place, label)


def _counted(places: tuple[str | StandardInput, ...]) -> int:
    n_messages = 0
    for place in places:
        if isinstance(place, StandardInput):
            n_messages += place.count()
        else:
            with explained(place):
                n_messages += folder.count(place)
    return n_messages


def _listed(entries: tuple[trec.Entry, ...]) -> Iterator[Part]:
    return (Part(label, index, trec.read, (path, index, number)) for label, _, path, index, number in entries)
