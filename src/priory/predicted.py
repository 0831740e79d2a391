"""What was predicted of each lesson just before it was learned, all at once, read with the lines of today.

This is `priory.scoring.certainty` for many: one by one takes ten times as long.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from priory.bayes import Calibration
from priory.bayes.counts import PREDICTION_BYTES
from priory.journal import Journal, Selection

_PREDICTION = np.dtype([("score", "<f4"), ("correction", "i1")])
_LEAST = 1e-12  # that a label can have where each is scored against the rest


class Predicted(NamedTuple):
    """Lessons of which something was predicted, in the order in which they were learned."""

    changes: NDArray[np.int64]  #: that learned them
    labels: NDArray[np.int64]  #: that they were given, by number
    log_probabilities: NDArray[np.float64]  #: [lesson, label]

    @property
    def certainties(self) -> NDArray[np.float64]:
        """The probability that each label had which a lesson was given."""
        return np.asarray(np.exp(self.log_probabilities[np.arange(len(self.labels)), self.labels]))

    def changes_of(self, selection: Selection) -> tuple[int, ...]:
        """Return the changes that learned the lessons whose certainty a selection means."""
        below = np.inf if selection.certainty_below is None else selection.certainty_below
        above = -np.inf if selection.certainty_above is None else selection.certainty_above
        certainties = self.certainties
        return tuple(self.changes[(certainties < below) & (certainties > above)].tolist())


def predicted(journal: Journal, labels: Sequence[str], lines: Sequence[Calibration]) -> Predicted:
    """Return what was predicted of the lessons of a journal; the lines are those of the calibration of today."""
    changes, given, scores = [], [], []
    for number, label in enumerate(labels):
        found, held_out = journal.listing.predicted(label, PREDICTION_BYTES * len(lines))
        changes.append(np.asarray(found, np.int64))
        given.append(np.full(len(found), number))
        scores.append(np.frombuffer(held_out, _PREDICTION)["score"].reshape(-1, len(lines)))
    learned = np.concatenate(changes)
    order = np.argsort(learned)
    logs = _log_probabilities(np.concatenate(scores)[order].astype(np.float64), lines)
    return Predicted(learned[order], np.concatenate(given)[order], logs)


def _log_probabilities(scores: NDArray[np.float64], lines: Sequence[Calibration]) -> NDArray[np.float64]:
    """Return [lesson, label] for the scores [lesson, contrast]."""
    log_odds = scores * [line.slope for line in lines] + [line.intercept for line in lines]
    if len(lines) == 1:
        return np.asarray(-np.logaddexp(0, np.hstack([log_odds, -log_odds])))
    claimed = np.maximum(1 / (1 + np.exp(-np.clip(log_odds, -700, 700))), _LEAST)
    return np.asarray(np.log(claimed / claimed.sum(axis=1, keepdims=True)))
