"""Much mail on several cores: other processes read it, and the results are those of one core, in the same order.

Checking is done by the others altogether; each has the filter open for itself. Learning is counting, in order, by this
process alone; the others read, parse, and draw the features. Whatever can be is read where it is needed: files are sent
to another process by name; what passes by as a stream, such as an mbox, by its bytes.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from priory.corpus import Corpus, CorpusError, Labelled, Part, messages
from priory.corpus.error import explained
from priory.features import KINDS, Features, Spec, packed
from priory.filter import MOST_BYTES_TOGETHER, READ_TOGETHER, Filter, Options, Prepared, prepare_many, together
from priory.verdict import Verdict
from priory.workers import Workers

if TYPE_CHECKING:
    from pickle import PickleBuffer

MOST_PARTS: Final = 4 * READ_TOGETHER  #: that go to another process together
Lesson: TypeAlias = tuple[bytes | Prepared, str, str]
_Plain: TypeAlias = tuple[Any, ...]  # a Part as it is sent: a named tuple takes longer


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
            yield _in_order(workers, mail)


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
        spec, named = filter_.spec, filter_.names_letters
        with Workers(jobs, lambda: nullcontext(_on_parts(lambda found: _read(found, spec, named=named)))) as workers:
            yield (lesson for read in _in_order(workers, mail) for lesson in read.lessons())


@contextmanager
def _checking(
    home: Path, options: Options, tell: Callable[[Verdict, Labelled], str], user: str
) -> Iterator[Callable[[list[_Plain]], "_Done"]]:
    with Filter.open(home, options) as filter_:
        yield _on_parts(lambda found: _told(filter_, found, tell, user))


def _told(filter_: Filter, found: Iterable[Labelled], tell: Callable[[Verdict, Labelled], str], user: str) -> Told:
    messages = list(found)
    verdicts = list(filter_.check_many([message.raw for message in messages], user))
    text = "".join(map(tell, verdicts, messages))
    return Told(text, len(verdicts), verdicts[-1].reason if verdicts else "")


class _Read(NamedTuple):
    """What was read of some messages, in few objects, as many small ones take long to send."""

    messages: list[tuple[bytes, str, bytes, bytes, str, str]]  #: digest, sender, packed features, letter, label, source
    buckets: "PickleBuffer"  #: of all messages, one after the other
    offsets: "PickleBuffer"

    def lessons(self) -> Iterator[Lesson]:
        """Yield them one by one."""
        start, n = 0, len(KINDS) + 1
        every, all_offsets = memoryview(self.buckets).cast("I"), memoryview(self.offsets).cast("q")
        for i, (digest, sender, blob, letter, label, source) in enumerate(self.messages):
            offsets = all_offsets[i * n : (i + 1) * n]
            end = start + offsets[-1]
            yield Prepared(digest, sender, Features(every[start:end], offsets), blob, letter), label, source
            start = end


def _read(found: Iterable[Labelled], spec: Spec, *, named: bool) -> _Read:
    from pickle import PickleBuffer  # noqa: PLC0415 - a quick start where there are no other processes

    messages = list(found)
    every = prepare_many([message.raw for message in messages], spec, named=named)
    read = [
        (digest, sender, packed(features, spec.bits), letter, message.label, message.source)
        for message, (digest, sender, features, _, letter) in zip(messages, every, strict=True)
    ]
    buckets = b"".join([each.features.buckets for each in every])
    offsets = b"".join([each.features.offsets for each in every])
    return _Read(read, PickleBuffer(buckets), PickleBuffer(offsets))


class _Done(NamedTuple):
    """What a worker made of some parts of a corpus, as far as they could be read."""

    value: Any
    passed_over: list[str]
    error: CorpusError | None


def _on_parts(work: Callable[[Iterator[Labelled]], Any]) -> Callable[[list[_Plain]], _Done]:
    """Return what a worker does with parts: the work on their messages, until one cannot be read."""

    def done(parts: list[_Plain]) -> _Done:
        passed_over: list[str] = []
        errors: list[CorpusError] = []

        def found() -> Iterator[Labelled]:
            try:
                yield from messages((Part(*part) for part in parts), passed_over)
            except CorpusError as error:
                errors.append(error)

        return _Done(work(found()), passed_over, errors[0] if errors else None)

    return done


def _in_order(workers: "Workers[list[_Plain], _Done]", mail: Corpus) -> Iterator[Any]:
    parts, passed_over = mail.parts()
    for done in workers.ordered(_batches(parts)):
        passed_over += done.passed_over
        yield done.value
        if done.error:
            raise done.error


def _batches(parts: Iterable[Part]) -> Iterator[list[_Plain]]:
    """Put parts together that are sent together; the last batch may be empty: the home is opened nevertheless."""
    for some in together(_to_send(parts), _sent_bytes, MOST_PARTS):
        yield [tuple(part) for part in some]


def _raw_bytes(message: Labelled) -> int:
    return len(message.raw)


def _sent_bytes(part: Part) -> int:
    return len(part.where[1] or b"") if part.reader is _given else 0


def _to_send(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield parts that can be read elsewhere; of those that cannot, the messages."""
    for part in parts:
        if part.holds == "message" or (part.holds == "file" and _is_small(part.where[0])):
            yield part
        else:
            with explained(part.name):
                yield from (Part(part.label, part.name, _given, (source, raw)) for source, raw in part.read())


def _is_small(path: str) -> bool:
    try:
        return os.stat(path).st_size <= MOST_BYTES_TOGETHER  # noqa: PTH116 - a Path for each message would cost too much
    except OSError:
        return True  # who reads it will say what is wrong


def _given(source: str, raw: bytes | None) -> list[tuple[str, bytes | None]]:
    return [(source, raw)]
