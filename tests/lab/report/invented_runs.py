"""Runs whose scores are drawn, for reports."""

import numpy as np

from priory.decision import Costs
from priory.lab.predictions import Predictions
from priory.lab.run import Mistake, Reason, Run, Weight

THREE = ("ham", "newsletter", "spam")
THREE_COSTS = Costs(THREE, ((0, 2, 10), (5, 0, 4), (100, 20, 0)), 3)


def drawn(seed: int, n: int = 600, gap: float = 4.0) -> Predictions:
    """Ham and spam with log-odds that overlap; the same labels whatever the seed."""
    truth = np.random.default_rng(99).integers(0, 2, n)
    log_odds = np.where(truth == 1, gap, -gap) + np.random.default_rng(seed).standard_t(4, n) * gap / 2
    logs = -np.logaddexp(0, np.column_stack([log_odds, -log_odds]))
    return Predictions(("ham", "spam"), truth, logs, tuple(f"inbox.mbox:{i + 1}" for i in range(n)))


def drawn_of_three(n: int = 400) -> Predictions:
    random = np.random.default_rng(3)
    truth = random.integers(0, 3, n)
    logs = random.normal(size=(n, 3)) + 2 * np.eye(3)[truth]
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    return Predictions(THREE, truth, logs, tuple(f"archive.mbox:{i + 1}" for i in range(n)))


def run_of(model: str, said: Predictions, *, feature: str = "word:offer") -> Run:
    wrong = np.flatnonzero(said.errors)[:3]
    reasons = (Reason(feature, 2.5), Reason("word:lunch", -1.5))
    weights = (Weight(feature, 3.0, 40), Weight("word:lunch", -2.0, 25))
    mistakes = tuple(Mistake(int(number), 0.25, reasons) for number in wrong)
    return Run(
        model, said, "5-fold cross-validation, shuffled with seed 1", 1.5, 0.2, 12_000_000, 0.01, mistakes, weights
    )
