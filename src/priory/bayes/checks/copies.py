"""Promises of copies: a model that was pickled is the same, and a clone has learned nothing."""

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone

from priory.bayes.checks.comparison import assert_alike, assert_holds, assert_same_statistics, scores
from priory.bayes.checks.statistics import statistics


def check_a_pickled_model_is_the_same(estimator: Any, X: Any, y: Any) -> None:
    """A model that was written and read again has learned and says the same."""
    model = clone(estimator).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert_same_statistics(estimator, statistics(copied), statistics(model), "pickling changes a model", exact=True)
    assert_holds(estimator, np.array_equal(scores(copied, X), scores(model, X)), "pickling changes what a model says")


def check_a_clone_has_learned_nothing(estimator: Any, X: Any, y: Any) -> None:
    """A clone has the parameters and nothing that was learned, and learns the same again."""
    model = clone(estimator).fit(X, y)
    fresh = clone(model)
    assert_holds(estimator, not statistics(fresh), "a clone has learned something")
    assert_holds(estimator, repr(fresh) == repr(estimator), f"a clone has other parameters: {fresh!r}")
    assert_alike(estimator, scores(fresh.fit(X, y), X), scores(model, X), "a clone learns something else")
