"""Lessons looked through: by selection, page by page, with how certain of each the filter would have been."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from priory.journal import EVERYTHING, Selection
from priory.memory.memory import Memory

if TYPE_CHECKING:
    from priory.listed import Listed, Page
    from priory.predicted import Predicted


class Lessons:
    """The lessons of a memory, to look at."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._listing = memory.journal.listing
        self._predicted: tuple[int, Predicted] | None = None  # and the generation of the counts that it is of

    def predicted(self) -> "Predicted":
        """Return what was predicted of each lesson just before it was learned, as scores are read today."""
        from priory.predicted import predicted  # noqa: PLC0415 - a quick start where no one looks

        memory = self._memory
        memory.view.refresh()
        if self._predicted is None or self._predicted[0] != memory.view.generation:
            found = predicted(memory.journal, memory.labels, memory.calibrations)
            self._predicted = memory.view.generation, found
        return self._predicted[1]

    def page(self, selection: Selection = EVERYTHING, most: int = 100, after: str | None = None) -> "Page":
        """Return a page of the lessons of a selection, the latest first; `after` is the page's before.

        Nothing is held open between two pages: others may learn and forget.
        """
        from priory.listed import page_of  # noqa: PLC0415 - a quick start where no one looks

        self._memory.view.refresh()
        found = self._listing.page(self.resolved(selection), most + 1, after)
        return page_of(found, most, self._memory.labels, self._memory.calibrations)

    def learned_by(self, changes: Sequence[int]) -> "dict[int, Listed]":
        """Return the lessons that some changes have learned, by the numbers of these, but for those that are gone."""
        page = self.page(Selection(changes=tuple(changes)), len(changes))
        return {each.change: each for each in page.lessons}

    def n_of(self, selection: Selection = EVERYTHING) -> int:
        """Return how many lessons a selection has."""
        return self._listing.n_of(self.resolved(selection))

    def changes_of(self, selection: Selection) -> list[int]:
        """Return the numbers of the changes that learned the lessons of a selection, in order."""
        return self._listing.changes_of(self.resolved(selection))

    def resolved(self, selection: Selection) -> Selection:
        """Return a selection that the journal understands, which knows no certainties: those of now are looked up."""
        if not selection.is_by_certainty:
            return selection
        changes = self.predicted().changes_of(selection)
        if selection.changes is not None:
            changes = tuple(sorted({*changes} & {*selection.changes}))
        return replace(selection, certainty_below=None, certainty_above=None, changes=changes)
