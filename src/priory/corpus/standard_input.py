"""Reads mail that is piped into Priory: one message, or an mbox."""

import sys
from collections.abc import Iterator

from priory.corpus import file
from priory.corpus.error import CorpusError


class StandardInput:
    """The mail on standard input, which passes by once and is counted while it does."""

    def __init__(self) -> None:
        self._is_read = False
        self._n_messages: int | None = None

    def read(self) -> Iterator[tuple[str, bytes]]:
        """Yield source and raw bytes of each message."""
        if self._is_read:
            raise CorpusError("standard input can be read only once; save the mail to a file and name that instead")
        self._is_read = True
        n_messages = 0
        for source, raw in file.named(sys.stdin.buffer, "-", "standard input"):
            if raw is not None:
                n_messages += 1
                yield source, raw
        self._n_messages = n_messages

    def count(self) -> int:
        """Return how many messages there were, once they have been read."""
        if self._n_messages is None:
            raise CorpusError("standard input cannot be counted before it is read; save the mail to a file to count it")
        return self._n_messages
