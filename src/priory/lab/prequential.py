"""How a filter fared while it learned: each lesson was predicted just before it was learned, and then came the label.

Such predictions are as honest as any test: none of them has seen its own message. They come with the lessons, so
nothing need be learned anew for them (Dawid 1984 calls this prequential).

A. Dawid: Present position and potential developments: the prequential approach. Journal of the Royal Statistical
Society A 147, 1984, 278-292.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from priory.lab.interval import Interval, share
from priory.lab.predictions import Predictions
from priory.predicted import Predicted

_FEWEST: Final = 25  # lessons of the first stretch


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some lessons that follow each other, and how many of them came as a surprise: another label was more probable."""

    begin: int
    end: int
    wrong: Interval

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {"begin": self.begin, "end": self.end, "wrong": self.wrong.as_dict()}


def predictions_of(lessons: Predicted, labels: Sequence[str]) -> Predictions:
    """Return the lessons of a filter as they are judged, in the order in which they were learned."""
    return Predictions(tuple(labels), lessons.labels, lessons.log_probabilities, ("",) * len(lessons.labels))


def by_doubling(predictions: Predictions) -> list[Stretch]:
    """Return the errors in stretches, each as long as all before it: what each doubling of the lessons has brought.

    The last one has what is left, if that is at least half of what it should be; or else it goes with the one before.

    >>> wrong_at_first = [[0.1, 0.9]] * 50 + [[0.9, 0.1]] * 90
    >>> seen = Predictions.of(["ham", "spam"], ["ham"] * 140, wrong_at_first)
    >>> [(each.begin, each.end, each.wrong.estimate) for each in by_doubling(seen)]
    [(0, 25, 1.0), (25, 50, 1.0), (50, 140, 0.0)]
    """
    n = len(predictions)
    edges = [0]
    while edges[-1] < n:
        end = 2 * edges[-1] or _FEWEST
        edges.append(n if end + end // 2 > n else end)
    errors = predictions.errors
    return [Stretch(begin, end, share(int(errors[begin:end].sum()), end - begin)) for begin, end in pairwise(edges)]
