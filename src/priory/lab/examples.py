"""Labelled messages as a stream, read once, in several processes if wanted.

They come from files or from a filter's journal. The journal has the features of every lesson, so a filter can be judged
on its owner's mail long after the messages were deleted.
"""

import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from priory.corpus import Corpus, CorpusError, Labelled
from priory.features import Features, Spec, unpack_features
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.prepare import MOST_BYTES_TOGETHER, Prepared, in_groups, prepare_parsed
from priory.journal import Journal
from priory.lab.error import LabError
from priory.lab.splits.groups import HEADERS
from priory.message import Message, parse, receipt_time
from priory.processes.workers import Workers

Batch = TypeVar("Batch")
Result = TypeVar("Result")
T = TypeVar("T")


_BATCH: Final = (64, MOST_BYTES_TOGETHER)  #: messages, and bytes, in one batch for another process
_BATCH_FOR_EXECUTOR: Final = (256, 4 * 1024 * 1024)  #: messages, and bytes, in one batch for an executor
MOST_HEADER: Final = 4000  #: characters that are read of a header
_MOST_KEPT = 64 * 1024  #: larger messages are not kept in memory while messages are sorted


_Read: TypeAlias = tuple[Prepared, tuple[str, str, str], float, str]


class Executor(Protocol):
    """Runs work elsewhere; batches and results are pickled.

    Stands for `priory.bulk.cluster.Cluster`, because the layers forbid the lab to import `bulk`.
    """

    def ordered(
        self, work: Callable[[Batch], Result], these: Iterable[Batch], /
    ) -> AbstractContextManager[Iterator[Result]]:
        """Yield the results in the order of the batches."""

    def unordered(
        self, work: Callable[[Batch], Result], these: Iterable[Batch], /
    ) -> AbstractContextManager[Iterator[Result]]:
        """Yield each result as soon as it is ready."""


Jobs: TypeAlias = int | Executor


@dataclass(frozen=True, slots=True)
class Example:
    """A message with its label and features; `raw` is None if it comes from a journal."""

    name: str  #: its place, for display
    label: str
    message: Prepared
    thread: tuple[str, str, str] = ("", "", "")  #: Message-ID, In-Reply-To, References
    time: float = math.nan  #: time of receipt in seconds, NaN if unknown
    raw: bytes | None = None
    recipient: str = ""  #: the address to which it was delivered, or the user who taught it


def examples(mail: Iterable[Labelled], spec: Spec, jobs: Jobs = 1) -> Iterator[Example]:
    """Read mail with a number of processes or an executor, and yield it in its order.

    >>> mail = [Labelled(b"From: a@b.example\\nSubject: lunch\\n\\nFriday?", "ham", "inbox:1")]
    >>> [(example.name, example.message.sender) for example in examples(mail, Spec())]
    [('inbox:1', 'b.example')]
    """
    reading = partial(_read, spec=spec)
    pairs = _ahead(mail, reading, jobs) if jobs != 1 else ((message, reading(message.raw)) for message in mail)
    for message, (read, thread, time, recipient) in pairs:
        yield Example(message.source, message.label, read, thread, time, message.raw, recipient)


def lessons(journal: Journal) -> Iterator[Example]:
    """Yield the lessons of a journal that people taught, in order; labels that the filter chose itself are left out."""
    for lesson in journal.lessons():
        if lesson.is_automatic:
            continue
        features = unpack_features(lesson.features, journal.bits)
        name = lesson.source or lesson.digest.hex()
        message = Prepared(lesson.digest, lesson.sender, features)
        yield Example(name, lesson.label, message, time=lesson.time, recipient=str(lesson.user))


def _read(raw: bytes, spec: Spec) -> _Read:
    """Return features, thread, time and recipient of a message; positions of features are dropped: they are large."""
    message = parse(raw)
    read = prepare_parsed(message, spec)
    bare = Features(read.features.buckets, read.features.offsets)
    return read._replace(features=bare), _thread(message), receipt_time(message), _recipient(message)


def _thread(message: Message) -> tuple[str, str, str]:
    first, second, third = (message.header(name)[:MOST_HEADER] for name in HEADERS)
    return first, second, third


def _recipient(message: Message) -> str:
    """Return the address to which a message was delivered, in lower case; empty if it names none."""
    for name in ("Delivered-To", "X-Original-To", "To"):
        found = re.search(r"[^\s<>,:;\"]+@[^\s<>,;\"]+", message.header(name)[:MOST_HEADER])
        if found:
            return found[0].lower()
    return ""


def _ahead(mail: Iterable[Labelled], reading: "partial[_Read]", jobs: Jobs) -> Iterator[tuple[Labelled, _Read]]:
    """Read messages in other processes, a bounded number ahead."""
    under_way: deque[list[Labelled]] = deque()

    def batches() -> Iterator[list[bytes]]:
        for chunk in in_groups(mail, _raw_bytes, *(_BATCH if isinstance(jobs, int) else _BATCH_FOR_EXECUTOR)):
            under_way.append(chunk)
            yield [message.raw for message in chunk]

    with _read_in_parallel(partial(_read_all, reading), batches(), jobs) as results:
        for read in results:
            yield from zip(under_way.popleft(), read, strict=True)


@contextmanager
def _read_in_parallel(
    work: Callable[[list[bytes]], list[_Read]], batches: Iterable[list[bytes]], jobs: Jobs
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


@dataclass(frozen=True, slots=True)
class Source:
    """Mail that can be read repeatedly, and the options of the filter."""

    name: str
    options: Options
    bits: int
    n_messages: int
    in_order: bool  #: whether the mail is in order of arrival
    read: Callable[[Jobs], Iterator[Example]]  #: with a number of processes or an executor
    raw: Callable[[], Iterator[Labelled]] | None  #: None if only features are available


def from_corpora(name: str, corpora: Sequence[Corpus], options: Options, *, in_order: bool) -> Source:
    """Return a source of mail in files."""

    def raw() -> Iterator[Labelled]:
        for corpus in corpora:
            yield from corpus

    reading = partial(examples, spec=options.spec)
    n = sum(_count(corpus) for corpus in corpora)
    return Source(name, options, options.spec.bits, n, in_order, lambda jobs: reading(raw(), jobs=jobs), raw)


def _count(corpus: Corpus) -> int:
    try:
        return corpus.count()
    except CorpusError as error:
        raise LabError(f"{error}; the workbench reads mail more than once, so it must be in files") from None


def from_journal(home: Path, options: Options, advice: str = "teach it with: priory learn") -> Source:
    """Return a source of the lessons of a home's filter; `advice` completes the error if it has none."""
    if not home.is_dir():
        raise LabError(f"there is no filter in {home}: {advice}")
    with Filter.open(home, options) as filter_:
        bits, (every, automatic, _) = filter_.journal.bits, filter_.journal.tallies()
    n = sum(every.values()) - sum(automatic.values())
    if n == 0:
        raise LabError(f"the filter in {home} has no lessons yet: {advice}")
    options = replace(options, spec=replace(options.spec, bits=bits))

    def reading(_jobs: Jobs) -> Iterator[Example]:
        with Filter.open(home, options) as filter_:
            yield from lessons(filter_.journal)

    return Source(f"lessons of {home}", options, bits, n, True, reading, None)


def in_order(mail: Iterable[Example]) -> list[Example]:
    """Sort messages by time of receipt; those without a time come first.

    All are in memory for that, so large ones keep their features only, and mistakes about them have no reasons.
    """
    examples = [_without_large_raw(example) for example in mail]
    return [examples[i] for i in by_time([example.time for example in examples])]


def _without_large_raw(example: Example) -> Example:
    return replace(example, raw=None) if example.raw is not None and len(example.raw) > _MOST_KEPT else example


def with_progress(things: Iterable[T], advance: Callable[[int], None]) -> Iterator[T]:
    """Yield things, and report each to a progress display."""
    for thing in things:
        yield thing
        advance(1)


def by_time(times: Sequence[float] | NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the indices of messages in order of time; those without a time (NaN) come first.

    >>> by_time([3.0, 1.0, np.nan]).tolist()
    [2, 1, 0]
    """
    known = np.asarray(times, np.float64)
    return np.argsort(np.where(np.isnan(known), -np.inf, known), kind="stable")
