"""The predictions stored with all lessons, as probabilities by today's calibration.

This is `priory.filter.scoring.certainty` in NumPy: ten times as fast as one lesson at a time.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from priory.bayes import Calibration
from priory.bayes.counts import PREDICTION_BYTES
from priory.journal import Journal, Selection

_PREDICTION = np.dtype([("score", "<f4"), ("correction", "i1")])
_LEAST = 1e-12  # the least probability of a label that is scored against the rest


class LessonPredictions(NamedTuple):
    """The lessons that were scored before they were learned, in the order of learning."""

    changes: NDArray[np.int64]  #: that learned them
    labels: NDArray[np.int64]  #: that they were given, by number
    log_probabilities: NDArray[np.float64]  #: [lesson, label]

    @property
    def certainties(self) -> NDArray[np.float64]:
        """The probability of the label that each lesson was given."""
        return np.asarray(np.exp(self.log_probabilities[np.arange(len(self.labels)), self.labels]))

    def changes_of(self, selection: Selection) -> tuple[int, ...]:
        """Return the changes that learned the lessons within a selection's limits of certainty."""
        below = np.inf if selection.certainty_below is None else selection.certainty_below
        above = -np.inf if selection.certainty_above is None else selection.certainty_above
        certainties = self.certainties
        return tuple(self.changes[(certainties < below) & (certainties > above)].tolist())


def lesson_predictions(journal: Journal, labels: Sequence[str], lines: Sequence[Calibration]) -> LessonPredictions:
    """Return the predictions for the lessons of a journal, under these calibrations."""
    changes, given, scores = [], [], []
    for number, label in enumerate(labels):
        learned, held_out = journal.queries.predictions(label, PREDICTION_BYTES * len(lines))
        changes.append(np.asarray(learned, np.int64))
        given.append(np.full(len(learned), number))
        scores.append(np.frombuffer(held_out, _PREDICTION)["score"].reshape(-1, len(lines)))
    every_change = np.concatenate(changes)
    order = np.argsort(every_change)
    logs = _log_probabilities(np.concatenate(scores)[order].astype(np.float64), lines)
    return LessonPredictions(every_change[order], np.concatenate(given)[order], logs)


def _log_probabilities(scores: NDArray[np.float64], lines: Sequence[Calibration]) -> NDArray[np.float64]:
    """Return [lesson, label] for the scores [lesson, contrast]."""
    log_odds = scores * [line.slope for line in lines] + [line.intercept for line in lines]
    log_odds *= np.where(log_odds > 0, [line.caution for line in lines], 1.0)
    if len(lines) == 1:
        return np.asarray(-np.logaddexp(0, np.hstack([log_odds, -log_odds])))
    claimed = np.maximum(1 / (1 + np.exp(-np.clip(log_odds, -700, 700))), _LEAST)
    return np.asarray(np.log(claimed / claimed.sum(axis=1, keepdims=True)))
