"""What was found out about the lessons of a filter, kept as long as nobody learns or forgets: to look takes a while.

The workbench, which finds it out, takes a second to load: it is loaded when somebody asks for the first time.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from priory.filter import Filter

if TYPE_CHECKING:
    from priory.lab.cost_trial import CostTrial
    from priory.lab.suspect_lessons import Suspicions
    from priory.lab.track_record import TrackRecord

Found = TypeVar("Found")


class Kept:
    """What was found out about the filter of one thread, and for that thread alone."""

    def __init__(self) -> None:
        self._at: tuple[object, ...] = ()
        self._found: dict[Callable[[Filter], Any], Any] = {}

    def cost_trial(self, filter_: Filter) -> "CostTrial":
        """Return the lessons as costs can be tried on them."""
        from priory.lab.cost_trial import CostTrial  # noqa: PLC0415

        return self._looked_up(CostTrial.of, filter_)

    def suspicions(self, filter_: Filter) -> "Suspicions":
        """Return how probable it is that labels are wrong, those that were confirmed among them."""
        from priory.lab.suspect_lessons import Suspicions  # noqa: PLC0415

        return self._looked_up(Suspicions.of, filter_)

    def track_record(self, filter_: Filter) -> "TrackRecord":
        """Return how good the filter was."""
        from priory.lab.track_record import TrackRecord  # noqa: PLC0415

        return self._looked_up(TrackRecord.of, filter_)

    def used_bytes(self, filter_: Filter) -> int:
        """Return what the lessons take in the journal."""
        return self._looked_up(_used_bytes, filter_)

    def _looked_up(self, find: Callable[[Filter], Found], filter_: Filter) -> Found:
        at = filter_.journal.id, *filter_.journal.position()
        if at != self._at:
            self._at, self._found = at, {}
        if find not in self._found:
            self._found[find] = find(filter_)
        found: Found = self._found[find]
        return found


def _used_bytes(filter_: Filter) -> int:
    return filter_.journal.used_bytes()
