"""Bulk work on several cores: worker processes read the mail; results and their order are as in one process.

To check mail, each worker opens the filter and does everything. To learn mail, the workers read, parse and extract
features, and this process alone counts, in order. Files are sent to the workers by name, messages of a stream by their
contents.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from priory.bulk.batches import Batch, BatchResult, Sizes, batches, process_batch
from priory.corpus import Corpus, Labelled
from priory.corpus.shards import ShardNumbering
from priory.features import Features, Spec, pack_features, unpack_features
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.prepare import READ_TOGETHER, Extras, Prepared, in_groups, prepare_many
from priory.filter.verdict import Verdict
from priory.processes.fork import give_way
from priory.processes.workers import Workers

#: Of workers that read for a learning process. At equal priority the workers finish early, and the
#: learning process does the rest on one core.
NICENESS: Final = 2
#: A message to learn, raw or prepared, with its label and source.
LearnItem: TypeAlias = tuple[bytes | Prepared, str, str]


class CheckResult(NamedTuple):
    """The output for a group of messages, and the reason if nothing could be said about the last one."""

    text: str
    n_messages: int
    reason: str


@contextmanager
def checked(  # noqa: PLR0913, PLR0917 - all parameters of a check
    mail: Corpus,
    home: Path,
    options: Options,
    to_text: Callable[[Verdict, Labelled], str],
    jobs: int = 1,
    user: str = "",
    *,
    located: bool = False,
) -> Iterator[Iterator[CheckResult]]:
    """Check mail of a user with the filter of a home; the output is the same with any number of processes.

    With several processes, this one opens nothing in the home: a forked process must not inherit an open database. If
    `located`, the reasons of the verdicts need no second extraction.

    >>> import tempfile
    >>> from priory.corpus import read
    >>> with tempfile.TemporaryDirectory() as home:
    ...     _ = Path(home, "lunch.eml").write_bytes(b"Subject: lunch?")
    ...     mail = read(Path(home, "lunch.eml"), "")
    ...     with checked(mail, Path(home), Options(), lambda verdict, message: verdict.label) as results:
    ...         list(results)
    [CheckResult(text='unsure', n_messages=1, reason='no ham and no spam has been learned yet')]
    """
    if jobs == 1:
        with Filter.open(home, options) as filter_:
            work = partial(_check, filter_, to_text=to_text, user=user, located=located)
            yield map(work, in_groups(mail, _raw_bytes, READ_TOGETHER))
    else:
        with Workers(jobs, lambda: _start_checking(home, options, to_text, user, located)) as workers:
            parts, passed_over = mail.parts()
            yield values_in_order(workers.ordered(batches(parts, Sizes())), passed_over)


@contextmanager
def read_ahead(mail: Corpus, filter_: Filter, jobs: int = 1) -> Iterator[Iterator[LearnItem]]:
    """Read mail for the filter's `learn_many`, with this many worker processes.

    >>> import tempfile
    >>> from priory.corpus import read
    >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
    ...     _ = Path(home, "lunch.eml").write_bytes(b"Subject: lunch?")
    ...     with read_ahead(read(Path(home, "lunch.eml"), "ham"), filter, jobs=2) as lessons:
    ...         [learned.outcome for group in filter.learn_many(lessons) for learned in group]
    ['learned']
    """
    if jobs == 1:
        yield ((message.raw, message.label, message.source) for message in mail)
    else:
        reader = MailReader(filter_.spec, filter_.extras)
        with Workers(jobs, lambda: _start_reading(reader)) as workers:
            parts, passed_over = mail.parts()
            results = workers.ordered(batches(parts, Sizes(), sharded=True))
            yield to_lessons(values_in_order(results, passed_over), filter_.spec.bits)


@contextmanager
def _start_reading(reader: "MailReader") -> Iterator[Callable[[Batch], BatchResult]]:
    give_way(NICENESS)
    yield reader


@contextmanager
def _start_checking(
    home: Path, options: Options, to_text: Callable[[Verdict, Labelled], str], user: str, located: bool
) -> Iterator[Callable[[Batch], BatchResult]]:
    with Filter.open(home, options) as filter_:
        yield partial(process_batch, work=partial(_check, filter_, to_text=to_text, user=user, located=located))


def _check(
    filter_: Filter, mail: Iterable[Labelled], to_text: Callable[[Verdict, Labelled], str], user: str, located: bool
) -> CheckResult:
    messages = list(mail)
    verdicts = deque(filter_.check_many([message.raw for message in messages], user, located=located))
    reason = verdicts[-1].reason if verdicts and verdicts[-1].is_untaught else ""
    # Reasons take much memory. Each verdict is dropped once it is text, so the next uses memory that is in the caches.
    text = "".join([to_text(verdicts.popleft(), message) for message in messages])
    return CheckResult(text, len(messages), reason)


#: A message as a worker returns it: digest, sender, packed features, identity, subject, label and source.
_ReadMessage: TypeAlias = tuple[bytes, str, bytes, bytes, str, str, str]


@dataclass(frozen=True, slots=True)
class MailReader:
    """The work of a worker for a learning process: read mail, extract its features and pack them."""

    spec: Spec
    extras: Extras

    def __call__(self, batch: Batch) -> BatchResult:
        """Read a batch."""
        return process_batch(batch, self._read)

    def _read(self, mail: Iterable[Labelled]) -> list[_ReadMessage]:
        """Read messages in groups, so that only the packed results of earlier groups stay in memory."""
        read: list[_ReadMessage] = []
        for group in in_groups(mail, _raw_bytes, READ_TOGETHER):
            prepared = prepare_many([message.raw for message in group], self.spec, self.extras)
            read += [
                (digest, sender, self._pack(features), identity, subject, message.label, message.source)
                for message, (digest, sender, features, _, identity, subject) in zip(group, prepared, strict=True)
            ]
        return read

    def _pack(self, features: Features) -> bytes:
        return pack_features(features, self.spec.bits)


def to_lessons(groups: Iterable[list[_ReadMessage]], bits: int) -> Iterator[LearnItem]:
    """Yield the lessons in the results of `MailReader`."""
    numbering = ShardNumbering()
    for read in groups:
        for digest, sender, blob, identity, subject, label, source in read:
            message = Prepared(digest, sender, unpack_features(blob, bits), blob, identity, subject=subject)
            yield message, label, numbering.number(source)


def values_in_order(results: Iterable[BatchResult], passed_over: list[str]) -> Iterator[Any]:
    """Yield the values of batch results and collect the files that are not mail; raise at the first error."""
    for result in results:
        passed_over += result.passed_over
        yield result.value
        if result.error:
            raise result.error


def _raw_bytes(message: Labelled) -> int:
    return len(message.raw)
