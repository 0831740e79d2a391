"""Checks of prediction and sampling: probabilities, labels, explanations, and rows drawn from a model."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from priory.bayes.checks.comparison import assert_alike, assert_holds
from priory.bayes.checks.data import pick
from priory.bayes.checks.refusal import assert_refuses

#: Number of drawn rows that another model learns, and the largest mean difference of its posterior.
N_DRAWN, DRAWN_BOUND = 10_000, 0.12


def check_probabilities_sum_to_one(estimator: Any, X: Any, y: Any) -> None:
    """The probabilities of all classes sum to one, and none is negative."""
    probabilities = clone(estimator).fit(X, y).predict_proba(X)
    assert_holds(
        estimator,
        (probabilities >= 0).all() and not np.isnan(probabilities).any(),
        "probabilities are below zero, or NaN",
    )
    assert_alike(estimator, probabilities.sum(axis=1), np.ones(len(probabilities)), "probabilities do not sum to one")


def check_the_most_probable_class_is_predicted(estimator: Any, X: Any, y: Any) -> None:
    """No class is more probable than the predicted one."""
    model = clone(estimator).fit(X, y)
    probabilities = model.predict_proba(X)
    chosen = probabilities[np.arange(len(probabilities)), np.searchsorted(model.classes_, model.predict(X))]
    assert_alike(estimator, chosen, probabilities.max(axis=1), "predict does not name the most probable class")


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
    first = _safe_indexing(X, np.arange(min(12, len(y))))
    explained = np.array([terms.joint for terms in model.explain(first)])
    assert_alike(estimator, explained, model.predict_joint_log_proba(first), "the terms do not add up to the joint")


def check_labels_may_be_strings(estimator: Any, X: Any, y: Any) -> None:
    """String labels give the same model as numbers in the same order."""
    _, codes = np.unique(y, return_inverse=True)
    names = np.array([f"class {code:03}" for code in range(codes.max() + 1)])
    numbered, named = clone(estimator).fit(X, codes), clone(estimator).fit(X, names[codes])
    assert_alike(estimator, named.predict_proba(X), numbered.predict_proba(X), "names of labels have an influence")
    assert_holds(estimator, set(named.predict(X)) <= set(names), "predict returns labels that were never learned")


def check_there_may_be_any_number_of_classes(estimator: Any, X: Any, y: Any) -> None:
    """With two or more classes, each has its column of probabilities."""
    classes = np.unique(y)
    for n in range(2, len(classes) + 1):
        model = clone(estimator).fit(*pick(X, y, np.flatnonzero(np.isin(y, classes[:n]))))
        assert_holds(estimator, model.classes_.tolist() == classes[:n].tolist(), f"classes_ are not the {n} of y")
        shape = model.predict_proba(X).shape
        assert_holds(estimator, shape == (len(y), n), f"probabilities of {n} classes have the shape {shape}")


def check_samples_have_the_shape_of_what_was_learned(estimator: Any, X: Any, y: Any) -> None:
    """Drawn rows have learned labels and columns, and depend only on the seed."""
    model = clone(estimator).fit(X, y)
    (rows, labels), (again, same), (_, other) = (model.sample(100, random_state=seed) for seed in (7, 7, 8))
    n_rows = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    assert_holds(estimator, n_rows == len(labels) == 100, f"100 rows were to be drawn, but {n_rows} came")
    assert_holds(estimator, np.isin(labels, model.classes_).all(), "sample draws labels that were never learned")
    columns = getattr(model, "n_features_in_", None)
    if columns is not None:
        assert_holds(estimator, rows.shape[1] == columns, f"{rows.shape[1]} columns are drawn, {columns} were learned")
        assert_holds(
            estimator, issparse(rows) == issparse(X), "rows are drawn dense though learned sparse, or the reverse"
        )
    drawn, drawn_again = (table.toarray() if issparse(table) else np.asarray(table) for table in (rows, again))
    assert_holds(estimator, (drawn == drawn_again).all() and (labels == same).all(), "the same seed draws other rows")
    assert_holds(estimator, (labels != other).any(), "another seed draws the same labels")
    assert_holds(estimator, np.shape(model.sample()[1]) == (1,), "sample() does not draw one row")
    assert_refuses(model, "sample", 0, names="n_samples", what="to draw no rows")


def check_what_is_drawn_teaches_the_same(estimator: Any, X: Any, y: Any) -> None:
    """A model that learns many rows drawn from another predicts nearly the same, on rows without gaps."""
    model = clone(estimator).fit(X, y)
    rows, labels = model.sample(N_DRAWN, random_state=0)
    refitted = clone(estimator).fit(type(X)(rows, columns=X.columns) if hasattr(X, "iloc") else rows, labels)
    assert_holds(estimator, refitted.classes_.tolist() == model.classes_.tolist(), "not every class is drawn")
    asked = X[~np.isnan(X).any(axis=1)] if isinstance(X, np.ndarray) and X.dtype.kind == "f" else X
    distance = float(np.abs(refitted.predict_proba(asked) - model.predict_proba(asked)).max(axis=1).mean())
    assert_holds(
        estimator, distance < DRAWN_BOUND, f"a model of {N_DRAWN} drawn rows is {distance:.3f} away from its origin"
    )
