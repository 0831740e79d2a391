"""What a classifier says about each example when it has learned only others: the predictions that may be judged."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv

from priory.lab.error import LabError
from priory.lab.judging import Part, Task, judged
from priory.lab.predictions import Predictions
from priory.lab.splits import Folds
from priory.lab.splits import folds as made_folds


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
    fixed = Folds.of(splits(X, labels, folds), len(labels), "by the folds given")
    [run] = judged({type(model).__name__: model}, Task.of(X, labels, fixed, classes, names))
    return run.predictions


def splits(X: Any, y: NDArray[Any], folds: Any) -> list[Part]:
    """Return the training and test numbers of each fold, after checking that no example is tested twice."""
    if isinstance(folds, int):
        folds = made_folds(y, n_folds=folds)
    parts = list(check_cv(folds).split(X, y))
    times = np.bincount(np.concatenate([test for _, test in parts]), minlength=len(y))
    if times.max() > 1:
        raise LabError(
            f"{(times > 1).sum()} examples are tested in several folds, the first is row {int((times > 1).argmax())}: "
            "use folds that test each example once, so that errors are counted once"
        )
    return parts
