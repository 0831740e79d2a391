r"""Reads sorted mail: each message comes with the label that a person gave it.

The mail may be in message files, mboxes, Maildirs, folders of these, tar archives, a TREC index or standard input, or
at an address that fsspec can open, such as s3://mail/2024/*.mbox. It is read one message at a time, as raw bytes. Only
an mbox is changed: it is split into messages, and its quoting is undone.

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
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from os import PathLike
from pathlib import Path

from priory.corpus import folder, mail_file, trec
from priory.corpus.part import Labelled, Part, messages
from priory.corpus.storage import LARGEST_MESSAGE, CorpusError, corpus_errors, is_address

__all__ = ["LARGEST_MESSAGE", "Corpus", "CorpusError", "Labelled", "Part", "messages", "read", "read_index"]


class Corpus:
    """Labelled mail that can be iterated again and again. Messages are read only when they are requested.

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
        """Start an iteration: return the parts to read, and the list for the sources of files that are not mail."""
        # A new list: an earlier iteration that is still running keeps its own.
        self._passed_over = []
        return self._parts(), self._passed_over

    @property
    def passed_over(self) -> list[str]:
        r"""The sources of files that did not look like mail, so far in the latest iteration.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "notes.txt").write_bytes(b"Buy milk\n")
        ...     corpus = read([folder], "ham")
        ...     print(list(corpus), [Path(source).name for source in corpus.passed_over])
        [] ['notes.txt']
        """
        return list(self._passed_over)

    def count(self) -> int:
        """Count the messages, for a progress bar, without building them."""
        return self._n_messages()


class StandardInput:
    """The mail on standard input, one message or an mbox. It can be read once and counted afterwards."""

    def __init__(self) -> None:
        self._is_read = False
        self._n_messages: int | None = None

    def read(self) -> Iterator[tuple[str, bytes]]:
        """Yield source and raw bytes of each message."""
        if self._is_read:
            raise CorpusError("standard input can be read only once; save the mail to a file and name that instead")
        self._is_read = True
        n_messages = 0
        for source, raw in mail_file.read_named(sys.stdin.buffer, "-", "standard input"):
            if raw is not None:
                n_messages += 1
                yield source, raw
        self._n_messages = n_messages

    def count(self) -> int:
        """Return the number of messages, after they have been read."""
        if self._n_messages is None:
            raise CorpusError("standard input cannot be counted before it is read; save the mail to a file to count it")
        return self._n_messages


def read(paths: str | PathLike[str] | Iterable[str | PathLike[str]], label: str) -> Corpus:
    """Return the mail in files and folders, all with the same label. The path "-" is standard input.

    >>> read(["/no/such/folder"], "ham")
    Traceback (most recent call last):
    priory.corpus.storage.CorpusError: /no/such/folder does not exist; check the path
    """
    # A single path: a string would otherwise be read as a list of its letters.
    listed = [paths] if isinstance(paths, str | PathLike) else paths
    roots = tuple(_root(path) for path in listed)
    return Corpus(partial(_parts, roots, label), partial(_count, roots))


def read_index(path: str | PathLike[str]) -> Corpus:
    r"""Return the mail that a TREC index lists, with its labels. The whole index is checked at once.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "1.eml").write_bytes(b"Subject: You won\n")
    ...     _ = Path(folder, "index").write_text("spam 1.eml\n")
    ...     [message] = read_index(Path(folder, "index"))
    >>> message.label, message.source.removeprefix(folder), message.raw
    ('spam', '/1.eml', b'Subject: You won\n')
    """
    _refuse_empty(path)
    with corpus_errors(path):
        entries = tuple(trec.entries(Path(path)))
    return Corpus(partial(_index_parts, entries), partial(len, entries))


def _root(path: str | PathLike[str]) -> str | StandardInput:
    if str(path) == "-":
        return StandardInput()
    _refuse_empty(path)
    if is_address(str(path)):
        return str(path)
    root = str(Path(path))
    with corpus_errors(root):
        mode = os.stat(root).st_mode  # noqa: PTH116 - one system call: a user may pass many thousands of paths
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise CorpusError(f"{root} is neither a file nor a folder; pipe its contents in and name - instead")
    return root


def _refuse_empty(path: str | PathLike[str]) -> None:
    # An unset variable of a script: Path would read it as the current folder.
    if not str(path):
        raise CorpusError("an empty path; name a file or a folder")


def _parts(roots: tuple[str | StandardInput, ...], label: str) -> Iterator[Part]:
    for root in roots:
        if isinstance(root, StandardInput):
            yield Part(label, "standard input", root.read, (), "stream")
        else:
            with corpus_errors(root):
                yield from folder.parts(root, label)


def _count(roots: tuple[str | StandardInput, ...]) -> int:
    n_messages = 0
    for root in roots:
        if isinstance(root, StandardInput):
            n_messages += root.count()
        else:
            with corpus_errors(root):
                n_messages += folder.count(root)
    return n_messages


def _index_parts(entries: tuple[trec.IndexEntry, ...]) -> Iterator[Part]:
    return (Part(label, index, trec.read, (path, index, number)) for label, _, path, index, number in entries)
