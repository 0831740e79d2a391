from array import array

from typing_extensions import Buffer

class FeatureIndex:
    bits: int
    one_in: int
    n_features: int
    def __init__(self, bits: int, one_in: int = 1) -> None: ...
    def __len__(self) -> int: ...
    def append(self, buckets: Buffer, offsets: Buffer, named: int) -> None: ...
    def thin(self) -> None: ...
    def overlap(
        self,
        buckets: Buffer,
        offsets: Buffer,
        named: int,
        is_with_nameless: bool,
        weights: Buffer,
        labels: Buffer,
        corrections: Buffer,
        corrected: Buffer,
    ) -> tuple[array[float], array[float]]: ...
    def earliest(
        self, buckets: Buffer, offsets: Buffer, named: int, is_with_nameless: bool, times: Buffer
    ) -> list[float | None]: ...

def n_in_common(one: Buffer, one_offsets: Buffer, other: Buffer, other_offsets: Buffer) -> int: ...
def largest(values: Buffer, most: int) -> list[int]: ...
