"""Checks of refusal: invalid input raises an error that names the cause and leaves the model unchanged."""

import re
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from priory.bayes.checks.comparison import assert_holds, assert_same_statistics, name_of, scores, statistics
from priory.bayes.checks.data import by_class, learned, pick, with_value


def check_an_unknown_label_is_not_forgotten(estimator: Any, X: Any, y: Any) -> None:
    """A label that was never learned cannot be forgotten; the error names y."""
    known = by_class(y)
    model = learned(estimator, X, y, *known[:-1])
    assert_refuses(model, "forget", *pick(X, y, known[-1]), names=r"\by\b", what="an unknown label")


def check_what_was_never_learned_is_not_forgotten(estimator: Any, X: Any, y: Any) -> None:
    """More rows than were learned cannot be forgotten, not even in part; the error names X or y."""
    model = clone(estimator).fit(X, y)
    twice = np.concatenate([np.arange(len(y)), [0]])
    assert_refuses(model, "forget", *pick(X, y, twice), names=r"\b[Xy]\b", what="more than was learned")


def check_one_class_is_refused(estimator: Any, X: Any, y: Any) -> None:
    """A single class cannot be learned; the error names y."""
    model, rows = clone(estimator).fit(X, y), by_class(y)[0]
    assert_refuses(model, "fit", *pick(X, y, rows), names=r"\by\b.*class|class.*\by\b", what="one class")


def check_no_rows_are_refused(estimator: Any, X: Any, y: Any) -> None:
    """An empty table cannot be learned; the error names X, or says "0 samples" as scikit-learn does."""
    model, nothing = clone(estimator).fit(X, y), pick(X, y, np.arange(0))
    for act in ("fit", "partial_fit", "forget"):
        assert_refuses(model, act, *nothing, names=r"\b[Xy]\b|\b0 sample", what="no rows")


def check_another_number_of_columns_is_refused(estimator: Any, X: Any, y: Any) -> None:
    """A fitted model refuses tables with fewer columns; the error names X or the missing columns."""
    model, narrow = clone(estimator).fit(X, y), _safe_indexing(X, [0], axis=1)
    for act in ("predict", "predict_joint_log_proba", "log_evidence", "explain"):
        assert_refuses(model, act, narrow, names=r"\bX\b|feature names", what="fewer columns")
    for act in ("partial_fit", "forget"):
        assert_refuses(model, act, narrow, y, names=r"\bX\b|feature names", what="fewer columns")


def check_gaps_are_refused(estimator: Any, X: Any, y: Any) -> None:
    """A model that does not take missing values refuses them; the error names X."""
    _assert_value_refused(estimator, X, y, np.nan, "a gap")


def check_infinity_is_refused(estimator: Any, X: Any, y: Any) -> None:
    """Infinity cannot be learned; the error names X."""
    _assert_value_refused(estimator, X, y, np.inf, "infinity")


def check_values_below_zero_are_refused(estimator: Any, X: Any, y: Any) -> None:
    """A model of counts refuses values below zero; the error names X."""
    _assert_value_refused(estimator, X, y, -1.0, "values below zero")


def check_a_gap_in_the_labels_is_refused(estimator: Any, X: Any, y: Any) -> None:
    """A row without a label cannot be learned; the error names y."""
    labels = np.unique(y, return_inverse=True)[1].astype(float)
    labels[-1] = np.nan
    model = clone(estimator).fit(X, y)
    for act in ("fit", "partial_fit", "forget"):
        assert_refuses(model, act, X, labels, names=r"\by\b", what="a label that is NaN")


def check_weights_below_zero_are_refused(estimator: Any, X: Any, y: Any) -> None:
    """Negative weights are refused; the error names sample_weight."""
    model, weights = clone(estimator).fit(X, y), np.ones(len(y))
    weights[-1] = -1.0
    for act in ("fit", "partial_fit", "forget"):
        assert_refuses(model, act, X, y, names="(?i)weight", what="a weight below zero", sample_weight=weights)


def assert_refuses(model: Any, act: str, *arguments: Any, names: str, what: str, **more: Any) -> None:
    """Raise AssertionError unless the method raises ValueError, names the cause, and leaves the model unchanged.

    A method that the model does not have is skipped.
    """
    if not hasattr(model, act):
        return
    before = deepcopy(statistics(model))
    try:
        getattr(model, act)(*arguments, **more)
    except ValueError as error:
        message = str(error)
    except Exception as error:
        raise AssertionError(f"{name_of(model)}: {act}: {what} raises {error!r} and not ValueError") from error
    else:
        raise AssertionError(f"{name_of(model)}: {act}: {what} is not refused")
    assert_holds(
        model, re.search(names, message, re.DOTALL), f"{act}: {what} is refused, but not by name ({names}): {message}"
    )
    complaint = f"{act}: {what} is refused, but changes the model"
    assert_same_statistics(model, statistics(model), before, complaint, exact=True)


def _assert_value_refused(estimator: Any, X: Any, y: Any, value: float, what: str) -> None:
    """Raise AssertionError unless every way of learning refuses a table with this value, without effect."""
    model, wrong = clone(estimator).fit(X, y), with_value(X, value)
    scores_before = scores(model, X)
    for act in ("fit", "partial_fit", "forget"):
        assert_refuses(model, act, wrong, y, names=r"\bX\b", what=what)
    assert_holds(
        model, np.array_equal(scores(model, X), scores_before), f"{what} is refused, but the model says something else"
    )
