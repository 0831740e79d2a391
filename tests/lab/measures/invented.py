"""Invented predictions for the tests of the measures."""

from collections.abc import Sequence

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy.special import log_expit

from priory.lab.predictions import Predictions

HAM_OR_SPAM = ("ham", "spam")
unhurried = settings(deadline=None, max_examples=40)


def with_log_odds(log_odds: Sequence[float] | np.ndarray, truth: Sequence[int] | np.ndarray) -> Predictions:
    """Log-odds of spam, and 1 for what is spam."""
    odds = np.asarray(log_odds, float)
    logs = np.column_stack([log_expit(-odds), log_expit(odds)])
    return Predictions(HAM_OR_SPAM, np.asarray(truth, np.int64), logs, tuple(f"inbox:{i}" for i in range(len(odds))))


def with_probabilities(ham: Sequence[float], spam: Sequence[float]) -> Predictions:
    """Probabilities of being spam, of ham and of spam."""
    truth = ["ham"] * len(ham) + ["spam"] * len(spam)
    return Predictions.of(HAM_OR_SPAM, truth, [[1 - p, p] for p in (*ham, *spam)])


@st.composite
def some_predictions(draw: st.DrawFn, n_classes: int = 2, max_size: int = 40) -> Predictions:
    """Every class at least twice; ties, certainty and impossibility among the probabilities."""
    truth = draw(st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=max_size)) + [*range(n_classes)] * 2
    weights = st.lists(st.sampled_from([0, 0, 1, 2, 3, 10, 1000]), min_size=n_classes, max_size=n_classes).filter(any)
    rows = np.array([draw(weights) for _ in truth], float)
    return Predictions.of("abcdef"[:n_classes], ["abcdef"[code] for code in truth], rows / rows.sum(1, keepdims=True))


def normal_world(
    random: np.random.Generator, n_ham: int, n_spam: int, distance: float, shift: float = 0.0
) -> Predictions:
    """Ham from N(0, 1), spam from N(distance, 1), and what Bayes' rule says, but for a shift of the log-odds."""
    truth = np.repeat([0, 1], [n_ham, n_spam])
    x = random.normal(distance * truth)
    return with_log_odds(distance * x - distance**2 / 2 + np.log(n_spam / n_ham) + shift, truth)
