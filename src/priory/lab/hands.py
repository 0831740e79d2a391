"""Who does the workbench's work: so many processes here, or others elsewhere, such as the workers of a cluster."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias, TypeVar

Batch = TypeVar("Batch")
Result = TypeVar("Result")


class Crew(Protocol):
    """Others who work; `priory.cluster.Cluster` is one. What they are given, and give back, is pickled."""

    def ordered(
        self, work: Callable[[Batch], Result], these: Iterable[Batch], /
    ) -> AbstractContextManager[Iterator[Result]]:
        """Yield the result of each batch, in their order."""

    def unordered(
        self, work: Callable[[Batch], Result], these: Iterable[Batch], /
    ) -> AbstractContextManager[Iterator[Result]]:
        """Yield the result of each batch as soon as it is there."""


Hands: TypeAlias = int | Crew
