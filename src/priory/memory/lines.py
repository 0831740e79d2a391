"""The lines from scores to log-odds, drawn from the counts as often as they must be: to draw them takes long."""

from priory.bayes import Calibration
from priory.bayes.counts import contrasts
from priory.bayes.line import n_outcomes
from priory.journal import View
from priory.scoring import calibrations


class Lines:
    """The line of every contrast, as the counts of a view have it or had it not long ago."""

    def __init__(self, view: View, n_labels: int) -> None:
        self._view = view
        self.last = [Calibration(0.0, 0.0)] * len(contrasts(n_labels))  #: those drawn last
        self._drawn_at = -1  # the generation of the counts that they were drawn from,
        self._drawn_from = 0  # and the outcomes in them

    def newest(self) -> list[Calibration]:
        """Return the lines of the counts as they are."""
        if self._drawn_at != self._view.generation:
            self.draw()
        return self.last

    def draw(self) -> None:
        """Draw the lines anew."""
        counts = self._view.counts
        self.last, self._drawn_at = calibrations(counts, self._view.by_people), self._view.generation
        self._drawn_from = sum(n_outcomes(counts.outcomes(0)))

    @property
    def recent_for(self) -> int:
        """How many more changes the lines may be older than, a hundredth of the outcomes in them; negative: too old."""
        return self._drawn_from // 100 - (self._view.generation - self._drawn_at)
