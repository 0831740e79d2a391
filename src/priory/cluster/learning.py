"""Learning on a cluster: its workers read mail and draw the features, this process scores and counts, in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain

from priory.batches import Batch, Done, batches, carried
from priory.bulk import Lesson, Reading, in_order, lessons_of
from priory.cluster.cluster import Cluster
from priory.corpus import Corpus, Part
from priory.filter import Filter


@contextmanager
def read_ahead(mail: Corpus, filter_: Filter, cluster: Cluster) -> Iterator[Iterator[Lesson]]:
    """Read mail for the filter's `learn_many` on the workers of a cluster."""
    reading = Reading(filter_.spec, filter_.names_letters)
    with ExitStack() as stack:
        parts, passed_over = mail.parts()
        every = _done(lambda those: stack.enter_context(cluster.ordered(reading, those)), cluster, parts)
        yield lessons_of(in_order(every, passed_over), filter_.spec.bits)


def _done(
    begin: Callable[[Iterable[Batch]], Iterator[Done]], cluster: Cluster, parts: Iterable[Part]
) -> Iterator[Done]:
    """Yield what is made of parts; if the workers turn out to be elsewhere, what cannot be read there is carried."""
    under_way: deque[Batch] = deque()
    rest = batches(parts, cluster.sizes, sharded=True)

    def noted(those: Iterable[Batch]) -> Iterator[Batch]:
        for batch in those:
            under_way.append(batch)
            yield batch

    results = begin(noted(rest))
    for each in results:
        if each.is_elsewhere:
            break
        under_way.popleft()
        yield each
    else:
        return
    yield from begin(carried(chain(under_way, rest), cluster.sizes))
