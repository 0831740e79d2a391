"""The probability of each class before a row is seen.

| prior | $p(c)$ | |
|---|---|---|
| `"fitted"` | $N_c / n$ | the share of the class among the learned rows |
| `"smoothed"` | $(N_c + 1) / (n + K)$ | the same, with one more row of each class |
| `"uniform"` | $1 / K$ | the same for all $K$ classes |
| a mapping or a sequence | as probabilities | by label, or in the order of `classes_` |
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from priory.bayes.tables import log_shares

Prior: TypeAlias = str | Mapping[Any, float] | Sequence[float] | NDArray[np.float64]
_PSEUDO_COUNTS = {"fitted": 0.0, "smoothed": 1.0}


def log_prior(prior: Prior, class_count: NDArray[np.float64], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the log-probability of each class.

    >>> np.exp(log_prior("smoothed", np.array([6.0, 2.0]), np.array(["ham", "spam"]))).round(9).tolist()
    [0.7, 0.3]
    """
    if not isinstance(prior, str):
        return _log_of_values(prior, classes)
    if prior == "uniform":
        return np.full(len(classes), -np.log(len(classes)))
    if prior not in _PSEUDO_COUNTS:
        raise ValueError(f'prior must be "fitted", "smoothed", "uniform" or probabilities, not {prior!r}')
    return log_shares(class_count, class_count.sum(), len(classes), _PSEUDO_COUNTS[prior])


def _log_of_values(prior: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    if isinstance(prior, Mapping) or hasattr(prior, "to_dict"):
        prior = dict(prior if isinstance(prior, Mapping) else prior.to_dict())
        missing = [label for label in classes.tolist() if label not in prior]
        if missing:
            raise ValueError(f"prior has no probability for the class {missing[0]!r}")
        prior = [prior[label] for label in classes.tolist()]
    try:
        probabilities = np.asarray(prior, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f'prior must be "fitted", "smoothed", "uniform" or probabilities, not {prior!r}') from error
    if probabilities.shape != classes.shape:
        raise ValueError(f"prior has {probabilities.size} probabilities for {len(classes)} classes")
    if not ((probabilities >= 0).all() and np.isclose(probabilities.sum(), 1.0)):
        raise ValueError(f"prior must be probabilities that sum to 1, not {probabilities.tolist()}")
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities / probabilities.sum()), np.float64)
