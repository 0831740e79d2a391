"""One model, judged: what it predicted, how that came about, and what it took."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from priory.lab.predictions import Predictions

MOST_REASONS: Final = 12  #: that are kept of a mistake
MOST_MISTAKES: Final = 20  #: of a run that are kept with their reasons, the worst


@dataclass(frozen=True, slots=True)
class Reason:
    """One feature of an example and what it adds to the log-odds."""

    feature: str
    term: float


@dataclass(frozen=True, slots=True)
class Mistake:
    """An example that was misjudged, and why: the prior and the weightiest terms of the log-odds of one class."""

    number: int  #: its place in the predictions
    prior: float
    reasons: tuple[Reason, ...]
    about: str = ""  #: the class that the terms speak for; none without reasons


@dataclass(frozen=True, slots=True)
class Weight:
    """What a feature adds to the log-odds where it occurs, on average, and in how many examples it does."""

    feature: str
    mean_term: float
    n_examples: int


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One model's predictions under a protocol.

    `protocol` says for people how the predictions came about: "replay in order, feedback at once", "5-fold
    cross-validation, shuffled with seed 1". `train_error` is the share of the training examples that were misjudged
    after they had been learned, where that was looked at.
    """

    model: str
    predictions: Predictions
    protocol: str
    seconds_learning: float = 0.0
    seconds_predicting: float = 0.0
    peak_bytes: int | None = None  #: memory that learning and predicting took beyond the examples, at its highest
    train_error: float | None = None
    mistakes: tuple[Mistake, ...] = ()
    weights: tuple[Weight, ...] = ()


def weightiest(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Return the few reasons that say most."""
    return tuple(sorted(reasons, key=lambda reason: -abs(reason.term))[:MOST_REASONS])


def worst(predictions: Predictions) -> list[int]:
    """Return the places of the misjudged examples whose true class was held the least probable, the worst first."""
    wrong = np.flatnonzero(predictions.errors)
    held = predictions.log_probabilities[wrong, predictions.truth[wrong]]
    return [int(place) for place in wrong[held.argsort(kind="stable")][:MOST_MISTAKES]]
