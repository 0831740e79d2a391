"""Promises of sampling: rows that are drawn are like those that were learned."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from priory.bayes.checks.comparison import assert_holds
from priory.bayes.checks.refusal import assert_refuses

#: Rows drawn from a model to be learned again, and how far the posterior may be from the model's, in the mean.
N_DRAWN, DRAWN_BOUND = 10_000, 0.12


def check_samples_have_the_shape_of_what_was_learned(estimator: Any, X: Any, y: Any) -> None:
    """Rows that are drawn have labels and columns of those learned, and depend on the seed alone."""
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
    """A model that learns many rows drawn from another says nearly the same as that one, of rows without gaps."""
    model = clone(estimator).fit(X, y)
    rows, labels = model.sample(N_DRAWN, random_state=0)
    refitted = clone(estimator).fit(type(X)(rows, columns=X.columns) if hasattr(X, "iloc") else rows, labels)
    assert_holds(estimator, refitted.classes_.tolist() == model.classes_.tolist(), "not every class is drawn")
    asked = X[~np.isnan(X).any(axis=1)] if isinstance(X, np.ndarray) and X.dtype.kind == "f" else X
    distance = float(np.abs(refitted.predict_proba(asked) - model.predict_proba(asked)).max(axis=1).mean())
    assert_holds(
        estimator, distance < DRAWN_BOUND, f"a model of {N_DRAWN} drawn rows is {distance:.3f} away from its origin"
    )
