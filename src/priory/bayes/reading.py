"""Arguments as arrays: X, y and weights, checked.

scikit-learn's own checks take some hundred microseconds, whatever the size: more than learning a row does. So what
already is an array of the right type and shape is checked here for what may be wrong with its values, and everything
else is handed to scikit-learn, which knows frames, lists and what to say of them.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, csr_matrix
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from priory.bayes.frames import is_missing

Floats = NDArray[np.float64]
_PLAIN = (np.ndarray, csr_matrix, csr_array)


def read_matrix(estimator: Any, X: Any, *, reset: bool, sparse: bool = False, missing: bool = False) -> Any:
    """Return X as numbers, dense or (if allowed) CSR, with the columns the estimator knows; NaN only if allowed."""
    if not reset and is_ready(estimator, X, sparse=sparse) and _is_finite(X, missing):
        return X
    finite = "allow-nan" if missing else True
    numbers = validate_data(
        estimator, X, reset=reset, accept_sparse="csr" if sparse else False, dtype=np.float64, ensure_all_finite=finite
    )
    return numbers if type(numbers) is np.ndarray else _with_one_index_type(numbers)


def _with_one_index_type(X: Any) -> Any:
    """Return a CSR matrix whose places and row ends have the same type, as the kernels want them."""
    if X.indices.dtype == X.indptr.dtype:
        return X
    return csr_matrix((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape)


def is_ready(estimator: Any, X: Any, *, sparse: bool = False) -> bool:
    """Whether X is an array that needs no conversion, and the estimator does not expect names of columns."""
    return (
        type(X) in _PLAIN
        and X.dtype == np.float64
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
        and (type(X) is np.ndarray or (sparse and X.indices.dtype == X.indptr.dtype))
    )


def _is_finite(X: Any, missing: bool) -> bool:
    values = X if type(X) is np.ndarray else X.data
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()) or (missing and not np.isinf(values).any()))


def read_labels(estimator: Any, y: Any, X: Any) -> NDArray[Any]:
    """Return y as an array of labels, one for each row of X."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    labels = np.asarray(y) if type(y) in (list, np.ndarray) else y
    if not (type(labels) is np.ndarray and labels.ndim == 1 and labels.dtype.kind in "biuU"):
        labels = np.asarray(column_or_1d(y, warn=True))
        if labels.dtype.kind == "O" and any(is_missing(label) for label in labels):
            raise ValueError("y has a gap (None or NaN): every row needs a label")
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
    if not (type(X) in _PLAIN and X.shape[0] == len(labels)):
        check_consistent_length(X, labels)
    return labels


def read_weights(sample_weight: ArrayLike | None, labels: NDArray[Any]) -> Floats:
    """Return one weight for each label: 1 if none are given."""
    if sample_weight is None:
        return np.ones(len(labels))
    weights = _check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
    return np.asarray(weights, np.float64)
