"""A piece of a corpus that is still to be read: to say where it is costs little, here and on the way elsewhere."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from priory.corpus.error import told

#: The source and the raw bytes of each message; no bytes where there was none.
Several: TypeAlias = Iterable[tuple[str, bytes | None]]


class Labelled(NamedTuple):
    r"""A message as it was received, what a person said it is, and where it was found.

    The source is for people and the journal, and begins with the path that was named: `inbox/ham/7.eml`,
    `inbox.mbox:3`, `/home/ann/Maildir/cur/1700000000.M1P1.mx:2,S`, `mail.tar.xz:spam/7`; `-` is standard input.

    >>> Labelled(b"Subject: You won\n", "spam", "spam.mbox:1").label
    'spam'
    """

    raw: bytes
    label: str
    source: str


class Part(NamedTuple):
    """A file, an archive or a stream with the messages of one label: who reads it, and where it is."""

    label: str
    name: str  #: what someone named that it belongs to
    reader: Callable[..., Several]
    where: tuple[Any, ...]
    holds: str = "message"  #: or "file", if that may be an mbox; "archive"; "stream", which passes by here alone

    def read(self) -> Several:
        """Return source and raw bytes of each message; what was passed over has no bytes."""
        return self.reader(*self.where)


def messages(parts: Iterable[Part], passed_over: list[str]) -> Iterator[Labelled]:
    """Yield the messages of all parts; note the sources of what was no mail."""
    for part in parts:
        try:
            for source, raw in part.read():
                if raw is None:
                    passed_over.append(as_text(source))
                else:
                    yield Labelled(raw, part.label, as_text(source))
        except OSError as error:
            raise told(error, part.name) from error


def as_text(source: str) -> str:
    """Return a file's name, which may be any bytes: those that are no text would stop a terminal or the journal."""
    if source.isascii():
        return source
    return source.encode(errors="surrogateescape").decode(errors="backslashreplace")
