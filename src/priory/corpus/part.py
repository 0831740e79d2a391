"""Parts of a corpus that are read later. A part is small, so it can be sent to another process to be read there."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

from priory.corpus.storage import as_corpus_error

#: The source and the raw bytes of each message; None for bytes where a file is not mail.
SourcesAndMessages: TypeAlias = Iterable[tuple[str, bytes | None]]


class Labelled(NamedTuple):
    r"""A raw message, the label that a person gave it, and its source.

    The source is for people and the journal. It begins with the path that the user passed: `inbox/ham/7.eml`,
    `inbox.mbox:3`, `/home/ann/Maildir/cur/1700000000.M1P1.mx:2,S`, `mail.tar.xz:spam/7`; `-` is standard input.

    >>> Labelled(b"Subject: You won\n", "spam", "spam.mbox:1").label
    'spam'
    """

    raw: bytes
    label: str
    source: str


class Part(NamedTuple):
    """A file, an archive or a stream with messages of one label: its reader, and the arguments for it."""

    label: str
    name: str  #: the path that the user passed, for errors
    reader: Callable[..., SourcesAndMessages]
    where: tuple[Any, ...]
    #: A file may be an mbox; a shard is a piece of one. A stream can be read only in this process.
    holds: Literal["message", "file", "archive", "shard", "stream"] = "message"

    def read(self) -> SourcesAndMessages:
        """Return source and raw bytes of each message; None for bytes where a file is not mail."""
        return self.reader(*self.where)


def messages(parts: Iterable[Part], passed_over: list[str]) -> Iterator[Labelled]:
    """Yield the messages of all parts; append the sources of files that are not mail to `passed_over`."""
    for part in parts:
        try:
            for source, raw in part.read():
                if raw is None:
                    passed_over.append(as_text(source))
                else:
                    yield Labelled(raw, part.label, as_text(source))
        except OSError as error:
            raise as_corpus_error(error, part.name) from error


def as_text(source: str) -> str:
    """Escape the bytes of a file's name that are not text: a terminal and the journal need valid text."""
    if source.isascii():
        return source
    return source.encode(errors="surrogateescape").decode(errors="backslashreplace")
