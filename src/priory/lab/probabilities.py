"""Asks a classifier for its probabilities, as exactly as it can tell them, and refuses what cannot be judged."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit
from sklearn.pipeline import Pipeline

from priory.lab.error import LabError


def require_probabilities(model: Any, name: str | None = None) -> None:
    """Refuse a classifier that only says which class it is.

    >>> from sklearn.svm import LinearSVC
    >>> require_probabilities(LinearSVC(), "my model")
    Traceback (most recent call last):
    priory.lab.error.LabError: my model (LinearSVC) gives no probabilities, which every judgement here needs: ...
    """
    if not (hasattr(model, "predict_proba") or hasattr(model, "predict_log_proba")):
        kind = type(model.steps[-1][1] if isinstance(model, Pipeline) else model).__name__
        which = kind if name in (None, kind) else f"{name} ({kind})"
        raise LabError(
            f"{which} gives no probabilities, which every judgement here needs: wrap it in scikit-learn's "
            "CalibratedClassifierCV, or choose a model that has predict_proba"
        )


def log_probabilities(model: Any, X: Any, classes: Sequence[Any], name: str | None = None) -> NDArray[np.float64]:
    """Return a fitted classifier's log p for every row and class, in the order asked for; refuse what is no number.

    Logarithms straight from the model keep apart what is nearly certain; of their exponentials all would be 1.
    """
    require_probabilities(model, name)
    with np.errstate(divide="ignore", invalid="ignore"):
        if hasattr(model, "predict_log_proba"):
            logs = np.asarray(model.predict_log_proba(X), np.float64)
        else:
            logs = np.log(np.asarray(model.predict_proba(X), np.float64))
    with np.errstate(over="ignore"):
        off = np.isnan(logs).any(axis=1) | (np.abs(np.exp(logs).sum(axis=1) - 1) > 1e-3)
    wrong = np.flatnonzero(off)
    if len(wrong):
        raise LabError(
            f"{name or type(model).__name__} gave what are no probabilities for {len(wrong)} of {len(logs)} examples, "
            f"the first is number {wrong[0]} of those it was asked about: it must give numbers from 0 to 1 that sum to "
            "1; look for gaps in its input"
        )
    known = [str(label) for label in model.classes_]
    return logs[:, [known.index(str(label)) for label in classes]]


def from_log_odds(log_odds: ArrayLike) -> NDArray[np.float64]:
    """Return log p of what has these log-odds.

    >>> np.exp(from_log_odds([0.0, 50.0])).tolist()
    [0.5, 1.0]
    """
    return np.asarray(log_expit(np.asarray(log_odds, np.float64)))
