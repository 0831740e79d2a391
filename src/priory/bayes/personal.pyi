from array import array
from collections.abc import Iterable

from typing_extensions import Buffer

class PersonalBayes:
    def __init__(
        self,
        one_in: Iterable[int],
        weights: Iterable[float],
        damping: float,
        smoothing: float,
        doubt: float,
        trust: float,
    ) -> None: ...
    def rows(self, buckets: Buffer, offsets: Buffer, key: int, bits: int, extra: int = 0) -> array[int]: ...
    def totals(self, rows: Buffer, key: int) -> list[int]: ...
    def add_terms(
        self, terms: Buffer, rows: Buffer, buckets: Buffer, offsets: Buffer, key: int, label: int, extra: int = 0
    ) -> float: ...
