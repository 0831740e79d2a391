"""Promises of prediction: probabilities, the labels that go with them, and the terms that explain them."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from priory.bayes.checks.comparison import assert_alike, assert_holds
from priory.bayes.checks.lessons import pick


def check_probabilities_sum_to_one(estimator: Any, X: Any, y: Any) -> None:
    """The probabilities of all classes sum to one, and none is below zero."""
    found = clone(estimator).fit(X, y).predict_proba(X)
    assert_holds(estimator, (found >= 0).all() and not np.isnan(found).any(), "probabilities are below zero, or NaN")
    assert_alike(estimator, found.sum(axis=1), np.ones(len(found)), "probabilities do not sum to one")


def check_the_most_probable_class_is_predicted(estimator: Any, X: Any, y: Any) -> None:
    """No class is more probable than the one that is predicted."""
    model = clone(estimator).fit(X, y)
    found = model.predict_proba(X)
    chosen = found[np.arange(len(found)), np.searchsorted(model.classes_, model.predict(X))]
    assert_alike(estimator, chosen, found.max(axis=1), "predict does not name the most probable class")


def check_the_posterior_is_joint_over_evidence(estimator: Any, X: Any, y: Any) -> None:
    """log p(x, class) - log p(x) = log p(class given x), and it is never NaN."""
    model = clone(estimator).fit(X, y)
    joint, evidence = model.predict_joint_log_proba(X), model.log_evidence(X)
    assert_holds(estimator, not (np.isnan(joint).any() or np.isnan(evidence).any()), "the joint or the evidence is NaN")
    possible = np.isfinite(evidence)
    posterior = model.predict_log_proba(X)[possible]
    assert_alike(
        estimator, joint[possible] - evidence[possible, None], posterior, "joint - evidence is not the posterior"
    )
    assert_alike(estimator, np.exp(posterior), model.predict_proba(X)[possible], "predict_log_proba is another")


def check_terms_add_up_to_the_joint(estimator: Any, X: Any, y: Any) -> None:
    """The prior and the terms of an explanation add up to log p(x, class)."""
    model = clone(estimator).fit(X, y)
    some = _safe_indexing(X, np.arange(min(12, len(y))))
    explained = np.array([terms.joint for terms in model.explain(some)])
    assert_alike(estimator, explained, model.predict_joint_log_proba(some), "the terms do not add up to the joint")


def check_labels_may_be_strings(estimator: Any, X: Any, y: Any) -> None:
    """Names as labels make the same model as numbers in the same order."""
    _, codes = np.unique(y, return_inverse=True)
    names = np.array([f"class {code:03}" for code in range(codes.max() + 1)])
    numbered, named = clone(estimator).fit(X, codes), clone(estimator).fit(X, names[codes])
    assert_alike(estimator, named.predict_proba(X), numbered.predict_proba(X), "names of labels have an influence")
    assert_holds(estimator, set(named.predict(X)) <= set(names), "predict returns labels that were never learned")


def check_there_may_be_any_number_of_classes(estimator: Any, X: Any, y: Any) -> None:
    """From two classes up, each has its column of probabilities."""
    classes = np.unique(y)
    for n in range(2, len(classes) + 1):
        model = clone(estimator).fit(*pick(X, y, np.flatnonzero(np.isin(y, classes[:n]))))
        assert_holds(estimator, model.classes_.tolist() == classes[:n].tolist(), f"classes_ are not the {n} of y")
        shape = model.predict_proba(X).shape
        assert_holds(estimator, shape == (len(y), n), f"probabilities of {n} classes have the shape {shape}")
