"""Labelled messages one after the other, each read once, on as many cores as there are.

They come from files, or from a filter's own journal, which has the features of everything that was taught: so a filter
can be judged on its owner's mail long after the messages were deleted.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Final, TypeAlias

from priory.corpus import Labelled
from priory.features import Features, Spec, unpacked
from priory.journal import Journal
from priory.lab.hands import Hands
from priory.lab.splits.threads import HEADERS
from priory.message import Message, parse
from priory.reading import MOST_BYTES_TOGETHER, Prepared, prepared, together
from priory.workers import Workers

_TOGETHER: Final = (64, MOST_BYTES_TOGETHER)  #: messages, and their bytes, that go to another process together,
_TOGETHER_ELSEWHERE: Final = (256, 4 * 1024 * 1024)  #: and to another machine
MOST_HEADER: Final = 4000  #: characters of a header that are kept
_Read: TypeAlias = tuple[Prepared, tuple[str, str, str], float]


@dataclass(frozen=True, slots=True)
class Example:
    """A message, what a person said it is, and what was read of it; `raw` is missing where only a journal has it."""

    name: str  #: where it is, for people
    label: str
    message: Prepared
    thread: tuple[str, str, str] = ("", "", "")  #: Message-ID, In-Reply-To, References
    time: float = math.nan  #: when it came, in seconds, if it says so
    raw: bytes | None = None


def examples(mail: Iterable[Labelled], spec: Spec, jobs: Hands = 1) -> Iterator[Example]:
    """Read mail with so many processes, or by others; the order is that of the mail, and so is everything else.

    >>> mail = [Labelled(b"From: a@b.example\\nSubject: lunch\\n\\nFriday?", "ham", "inbox:1")]
    >>> [(example.name, example.message.sender) for example in examples(mail, Spec())]
    [('inbox:1', 'b.example')]
    """
    reading = partial(_read, spec=spec)
    pairs = _ahead(mail, reading, jobs) if jobs != 1 else ((message, reading(message.raw)) for message in mail)
    for message, (read, thread, time) in pairs:
        yield Example(message.source, message.label, read, thread, time, message.raw)


def lessons(journal: Journal) -> Iterator[Example]:
    """Yield what people have taught a journal, in the order of their lessons: nothing else is known to be true."""
    for lesson in journal.lessons():
        if lesson.is_automatic:
            continue
        features = unpacked(lesson.features, journal.bits)
        name = lesson.source or lesson.digest.hex()
        yield Example(name, lesson.label, Prepared(lesson.digest, lesson.sender, features), time=lesson.time)


def _read(raw: bytes, spec: Spec) -> _Read:
    """What is kept of a message; where its features stand in it is not, for it is large."""
    message = parse(raw)
    read = prepared(message, spec)
    bare = Features(read.features.buckets, read.features.offsets)
    return read._replace(features=bare), _thread(message), _time(message)


def _thread(message: Message) -> tuple[str, str, str]:
    first, second, third = (message.header(name)[:MOST_HEADER] for name in HEADERS)
    return first, second, third


def _time(message: Message) -> float:
    """When the last server received the message, which is less often a lie than when it says it was sent."""
    for stamp in (message.header("Received").rpartition(";")[2], message.header("Date")):
        with suppress(ValueError, TypeError, OverflowError, IndexError):
            return parsedate_to_datetime(stamp[:100].strip()).timestamp()
    return math.nan


def _ahead(mail: Iterable[Labelled], reading: "partial[_Read]", jobs: Hands) -> Iterator[tuple[Labelled, _Read]]:
    """Let other processes read what comes next, a bounded number of messages ahead."""
    under_way: deque[list[Labelled]] = deque()

    def batches() -> Iterator[list[bytes]]:
        for chunk in together(mail, _raw_bytes, *(_TOGETHER if isinstance(jobs, int) else _TOGETHER_ELSEWHERE)):
            under_way.append(chunk)
            yield [message.raw for message in chunk]

    with _read_elsewhere(partial(_read_all, reading), batches(), jobs) as results:
        for read in results:
            yield from zip(under_way.popleft(), read, strict=True)


@contextmanager
def _read_elsewhere(
    work: Callable[[list[bytes]], list[_Read]], batches: Iterable[list[bytes]], jobs: Hands
) -> Iterator[Iterator[list[_Read]]]:
    if isinstance(jobs, int):
        with Workers(jobs, lambda: nullcontext(work)) as workers:
            yield workers.ordered(batches)
    else:
        with jobs.ordered(work, batches) as results:
            yield results


def _read_all(reading: "partial[_Read]", raws: list[bytes]) -> list[_Read]:
    return [reading(raw) for raw in raws]


def _raw_bytes(message: Labelled) -> int:
    return len(message.raw)
