"""Where the features of one kind were found in one section of a message."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from priory.features.sections import Section

if TYPE_CHECKING:
    from array import array

Numbers: TypeAlias = "array[int] | memoryview[int]"  #: of buckets, or of bytes


class Found(NamedTuple):
    """Occurrences: the bucket of each, and the bytes of the section it covers. A feature may occur many times."""

    section: Section
    buckets: Numbers
    starts: Numbers
    ends: Numbers
    value: Callable[[int], str]  #: the readable value of occurrence i
