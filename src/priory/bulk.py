"""Much mail on several cores: other processes read it, and the results are those of one core, in the same order.

Checking is done by the others altogether; each has the filter open for itself. Learning is counting, in order, by this
process alone; the others read, parse, and draw the features. Whatever can be is read where it is needed: files are sent
to another process by name; what passes by as a stream, such as an mbox, by its bytes.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from priory.batches import Batch, Done, Sizes, batches, done
from priory.corpus import Corpus, Labelled
from priory.corpus.shards import Numbers
from priory.features import Spec, packed, unpacked
from priory.filter import Filter
from priory.forking import give_way
from priory.options import Options
from priory.reading import READ_TOGETHER, Prepared, prepare_many, together
from priory.verdict import Verdict
from priory.workers import Workers

#: Of those who read for one who learns. They would only get ahead of it, and leave it alone with the rest of the work.
NICENESS: Final = 2
Lesson: TypeAlias = tuple[bytes | Prepared, str, str]


class Told(NamedTuple):
    """What was said about some messages, as text, and why nothing could be said about the last, if so."""

    text: str
    n_messages: int
    reason: str


@contextmanager
def checked(  # noqa: PLR0913, PLR0917 - all that a check is about
    mail: Corpus, home: Path, options: Options, tell: Callable[[Verdict, Labelled], str], jobs: int = 1, user: str = ""
) -> Iterator[Iterator[Told]]:
    """Check mail of a user with the filter of a home; what is told of each is the same on any number of cores.

    Nothing of the home is open in this process if there are others: an open database must not be taken into a fork.

    >>> import tempfile
    >>> from priory.corpus import read
    >>> with tempfile.TemporaryDirectory() as home:
    ...     _ = Path(home, "lunch.eml").write_bytes(b"Subject: lunch?")
    ...     mail = read(Path(home, "lunch.eml"), "")
    ...     with checked(mail, Path(home), Options(), lambda verdict, message: verdict.label) as told:
    ...         list(told)
    [Told(text='unsure', n_messages=1, reason='no ham and no spam has been learned yet')]
    """
    if jobs == 1:
        with Filter.open(home, options) as filter_:
            yield (_told(filter_, some, tell, user) for some in together(mail, _raw_bytes, READ_TOGETHER))
    else:
        with Workers(jobs, lambda: _checking(home, options, tell, user)) as workers:
            parts, passed_over = mail.parts()
            yield in_order(workers.ordered(batches(parts, Sizes())), passed_over)


@contextmanager
def read_ahead(mail: Corpus, filter_: Filter, jobs: int = 1) -> Iterator[Iterator[Lesson]]:
    """Read mail for the filter's `learn_many`, on so many cores beside this one.

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
        reading = Reading(filter_.spec, filter_.names_letters)
        with Workers(jobs, lambda: _reading(reading)) as workers:
            parts, passed_over = mail.parts()
            every = workers.ordered(batches(parts, Sizes(), sharded=True))
            yield lessons_of(in_order(every, passed_over), filter_.spec.bits)


@contextmanager
def _reading(reading: "Reading") -> Iterator[Callable[[Batch], Done]]:
    give_way(NICENESS)
    yield reading


@contextmanager
def _checking(
    home: Path, options: Options, tell: Callable[[Verdict, Labelled], str], user: str
) -> Iterator[Callable[[Batch], Done]]:
    with Filter.open(home, options) as filter_:
        yield partial(done, work=lambda found: _told(filter_, found, tell, user))


def _told(filter_: Filter, found: Iterable[Labelled], tell: Callable[[Verdict, Labelled], str], user: str) -> Told:
    messages = list(found)
    verdicts = list(filter_.check_many([message.raw for message in messages], user))
    text = "".join(map(tell, verdicts, messages))
    return Told(text, len(verdicts), verdicts[-1].reason if verdicts else "")


#: A message that was read: its digest, sender, packed features, letter, label and source.
_Read: TypeAlias = tuple[bytes, str, bytes, bytes, str, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """What others do with mail for who learns it: read it, draw the features and pack them."""

    spec: Spec
    named: bool  #: whether letters are named

    def __call__(self, batch: Batch) -> Done:
        """Read a batch."""
        return done(batch, self._read)

    def _read(self, found: Iterable[Labelled]) -> list[_Read]:
        """Read messages, some after the other: of those that are done, only what is sent is kept."""
        read: list[_Read] = []
        for some in together(found, _raw_bytes, READ_TOGETHER):
            every = prepare_many([message.raw for message in some], self.spec, named=self.named)
            read += [
                (digest, sender, packed(features, self.spec.bits), letter, message.label, message.source)
                for message, (digest, sender, features, _, letter) in zip(some, every, strict=True)
            ]
        return read


def lessons_of(every: Iterable[list[_Read]], bits: int) -> Iterator[Lesson]:
    """Yield the lessons of what was read, one by one."""
    numbers = Numbers()
    for read in every:
        for digest, sender, blob, letter, label, source in read:
            yield Prepared(digest, sender, unpacked(blob, bits), blob, letter), label, numbers.of(source)


def in_order(every: Iterable[Done], passed_over: list[str]) -> Iterator[Any]:
    """Yield what was made of batches, and note what was no mail, until something could not be read."""
    for each in every:
        passed_over += each.passed_over
        yield each.value
        if each.error:
            raise each.error


def _raw_bytes(message: Labelled) -> int:
    return len(message.raw)
