"""Which mail is judged by: labelled files, or what the filter of a home was taught."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from priory.corpus import Corpus, CorpusError, Labelled
from priory.filter import Filter
from priory.lab.error import LabError
from priory.lab.example import Example, examples, lessons
from priory.lab.hands import Hands
from priory.lab.mail import by_time
from priory.options import Options

T = TypeVar("T")
_MOST_KEPT = 64 * 1024  #: bytes of a message that is kept while messages are put in order


@dataclass(frozen=True, slots=True)
class Source:
    """Mail that can be gone through again and again, and the options of the filter it is judged with."""

    name: str
    options: Options
    bits: int
    n_messages: int
    in_order: bool  #: whether the mail comes in an order that means something
    read: Callable[[Hands], Iterator[Example]]  #: with so many processes, or by others
    raw: Callable[[], Iterator[Labelled]] | None  #: None where only features are left


def from_corpora(name: str, corpora: Sequence[Corpus], options: Options, *, in_order: bool) -> Source:
    """Take mail that is in files."""

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
        raise LabError(f"{error}; the workbench goes through mail more than once, so it must be in files") from None


def from_journal(home: Path, options: Options, advice: str = "teach it with: priory learn") -> Source:
    """Take what people have taught the filter of a home; `advice` is for who has taught it nothing."""
    if not home.is_dir():
        raise LabError(f"there is no filter in {home}: {advice}")
    with Filter.open(home, options) as filter_:
        bits, (every, automatic, _) = filter_.journal.bits, filter_.journal.tallies()
    n = sum(every.values()) - sum(automatic.values())
    if n == 0:
        raise LabError(f"the filter in {home} was taught nothing yet: {advice}")
    options = replace(options, spec=replace(options.spec, bits=bits))

    def reading(_jobs: Hands) -> Iterator[Example]:
        with Filter.open(home, options) as filter_:
            yield from lessons(filter_.journal)

    return Source(f"what {home} was taught", options, bits, n, True, reading, None)


def in_order(mail: Iterable[Example]) -> list[Example]:
    """Put messages in the order in which they came; those that do not say when come first.

    All are in memory for that, so large ones are kept by their features alone, and will have no reasons.
    """
    kept = [each if each.raw is None or len(each.raw) <= _MOST_KEPT else replace(each, raw=None) for each in mail]
    return [kept[i] for i in by_time([each.time for each in kept])]


def counted(things: Iterable[T], progressed: Callable[[int], None]) -> Iterator[T]:
    """Pass things on, and say so."""
    for thing in things:
        yield thing
        progressed(1)
