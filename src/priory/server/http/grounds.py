"""Keeps what is known of the lessons of a filter as long as nobody learns or forgets: to read 100,000 takes a while."""

import weakref
from typing import TYPE_CHECKING

from priory.filter import Filter

if TYPE_CHECKING:
    from priory.server.http.known import Known


class Grounds:
    """What is known of the lessons of the filter that was asked last; for the thread alone that asks it."""

    def __init__(self) -> None:
        self._of: weakref.ref[Filter] | None = None
        self._at: tuple[object, ...] = ()
        self._known: Known | None = None

    def known(self, filter_: Filter) -> "Known":
        """Return what is known just now."""
        from priory.server.http.known import Known  # noqa: PLC0415 - to load it takes a second

        at = (filter_.journal.version(), filter_.journal.position())
        if self._known is None or self._of is None or self._of() is not filter_ or self._at != at:
            self._known, self._at, self._of = Known.of(filter_), at, weakref.ref(filter_)
        return self._known
