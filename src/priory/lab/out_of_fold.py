"""What a classifier says about each example when it has learned only others: the predictions that may be judged."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing

from priory.lab.error import LabError
from priory.lab.predictions import Predictions

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def out_of_fold(  # noqa: PLR0913 - all but three have a default
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    folds: Any = 5,
    classes: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
) -> Predictions:
    """Learn all folds but one, predict that one, in turn; return the predictions in the order of the examples.

    `folds` is a number, for stratified folds that are shuffled once; or any splitter of scikit-learn's protocol, or a
    list of training and test numbers, that tests no example twice. Those never tested are left out. `classes` may give
    the order of the labels, which is alphabetical otherwise.

    >>> from priory.bayes import BernoulliNB
    >>> mail = [[1, 0], [1, 1], [1, 0], [0, 1], [0, 0], [0, 1]]                 # has "offer", has "lunch"
    >>> out_of_fold(BernoulliNB(), mail, ["spam"] * 3 + ["ham"] * 3, folds=3).errors.tolist()
    [False, False, False, False, False, False]
    """
    labels = np.asarray(y)
    order = tuple(np.unique(labels)) if classes is None else tuple(classes)
    parts = splits(X, labels, folds)
    logs = np.full((len(labels), len(order)), np.nan)
    for train, test in parts:
        _check_classes(labels, train, order)
        fitted = clone(model).fit(_safe_indexing(X, train), labels[train])
        columns = [fitted.classes_.tolist().index(label) for label in order]
        logs[test] = log_probabilities(fitted, _safe_indexing(X, test))[:, columns]
    tested = np.sort(np.concatenate([test for _, test in parts]))
    named = [f"row {i}" for i in tested] if names is None else [names[i] for i in tested]
    known = {label: code for code, label in enumerate(order)}
    truth = np.array([known[label] for label in labels[tested].tolist()], np.int64)
    return Predictions(tuple(map(str, order)), truth, logs[tested], tuple(named))


def splits(X: Any, y: NDArray[Any], folds: Any) -> list[Split]:
    """Return the training and test numbers of each fold, after checking that no example is tested twice."""
    if isinstance(folds, int):
        labels, sizes = np.unique(y, return_counts=True)
        if len(labels) < 2:
            raise LabError(f"{len(y)} examples have {len(labels)} classes: a classifier is judged by two or more")
        if not 2 <= folds <= sizes.min():
            raise LabError(
                f"{folds} folds were asked for, and the class {labels[sizes.argmin()]} has {sizes.min()} examples: "
                "take at least 2 folds, and no more than the smallest class has examples"
            )
        folds = StratifiedKFold(folds, shuffle=True, random_state=0)
    parts = list(check_cv(folds).split(X, y))
    times = np.bincount(np.concatenate([test for _, test in parts]), minlength=len(y))
    if times.max() > 1:
        raise LabError(
            f"{(times > 1).sum()} examples are tested in several folds, the first is row {int((times > 1).argmax())}: "
            "use folds that test each example once, so that errors are counted once"
        )
    return parts


def log_probabilities(fitted: Any, X: Any) -> NDArray[np.float64]:
    """Return log p of each class, as exactly as the classifier can tell it."""
    with np.errstate(divide="ignore"):
        if hasattr(fitted, "predict_log_proba"):
            return np.asarray(fitted.predict_log_proba(X), np.float64)
        if hasattr(fitted, "predict_proba"):
            return np.asarray(np.log(fitted.predict_proba(X)), np.float64)
    raise LabError(
        f"{type(fitted).__name__} gives no probabilities: wrap it in sklearn.calibration.CalibratedClassifierCV"
    )


def _check_classes(labels: NDArray[Any], train: NDArray[np.intp], order: Sequence[Any]) -> None:
    given, learned = set(labels.tolist()), set(labels[train].tolist())
    if given != set(order):
        raise LabError(
            f"the labels are {', '.join(sorted(map(str, given)))}, but the classes named are "
            f"{', '.join(map(str, order))}: they must be the same"
        )
    if missing := given - learned:
        raise LabError(f"a fold has no {min(map(str, missing))} to learn from: take fewer folds, or stratified ones")
