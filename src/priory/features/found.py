"""Where the features of one kind were found in one section of a message."""

from collections.abc import Callable
from typing import NamedTuple

from priory.features.sections import Section
from priory.kernels import Buckets, Positions


class Found(NamedTuple):
    """Occurrences: the bucket of each, and the bytes of the section it covers. A feature may occur many times."""

    section: Section
    buckets: Buckets
    starts: Positions
    ends: Positions
    value: Callable[[int], str]  #: the readable value of occurrence i
