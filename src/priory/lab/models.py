"""Models for mail by name: the filter, the toolkit's, and scikit-learn's, all on the same features.

Naive Bayes and linear models take every feature that at least two training messages have. Models whose cost grows with
the square of the features, or that need a table with its zeros written out, take the features that tell most about the
label in the training messages (χ²). Either is chosen anew within each fold: the test part has no say in it.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectKBest, SelectorMixin, chi2
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from priory.features import KINDS
from priory.lab.catalogue import MODELS
from priory.lab.error import LabError
from priory.lab.filter_classifier import FilterClassifier
from priory.lab.learner import FilterLearner, Learner, PartialFitLearner
from priory.lab.mail import Mail
from priory.options import Options

N_INFORMATIVE: Final = 300  #: features for models that cannot take all


class Seen(SelectorMixin, BaseEstimator):
    """Leave out the features that fewer than `least` of the training examples have: nothing is known of them.

    >>> Seen(least=2).fit_transform(np.array([[1, 1], [1, 0], [0, 0]])).tolist()
    [[1], [1], [0]]
    """

    def __init__(self, least: int = 2) -> None:
        self.least = least

    def fit(self, X: Any, y: Any = None) -> "Seen":  # noqa: ARG002 - scikit-learn's contract
        """Count the examples that have each feature."""
        self.n_features_in_ = X.shape[1]
        self.n_examples_ = np.asarray((X != 0).sum(axis=0)).ravel()
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return np.asarray(self.n_examples_ >= self.least)


class Chosen(SelectorMixin, BaseEstimator):
    """Keep the features with these numbers, whatever the examples are.

    >>> Chosen([1]).fit_transform(np.array([[1, 2], [3, 4]])).tolist()
    [[2], [4]]
    """

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers

    def fit(self, X: Any, y: Any = None) -> "Chosen":  # noqa: ARG002 - scikit-learn's contract
        """Look at nothing but the number of features."""
        self.n_features_in_ = X.shape[1]
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return np.isin(np.arange(self.n_features_in_), self.numbers)


def _all(model: Any) -> Any:
    return make_pipeline(Seen(), model)


def _informative(model: Any) -> Any:
    return make_pipeline(
        Seen(), SelectKBest(chi2, k=N_INFORMATIVE), FunctionTransformer(dense, accept_sparse=True), model
    )


def dense(X: Any) -> Any:
    """Return a table with its zeros written out."""
    return X.toarray()


def _bayes(name: str, **settings: Any) -> Any:
    return getattr(import_module("priory.bayes"), name)(**settings)


def _sklearn(module: str, name: str, **settings: Any) -> Any:
    return getattr(import_module(f"sklearn.{module}"), name)(**settings)


_MADE: Final[Mapping[str, Callable[[], Any]]] = {
    "bernoulli": lambda: _all(_bayes("BernoulliNB", alpha=0.01)),
    "multinomial": lambda: _all(_bayes("MultinomialNB", alpha=0.01)),
    "complement": lambda: _all(_bayes("ComplementNB", alpha=0.01)),
    "neighbours": lambda: _all(_bayes("NearestNeighbours", k=5, metric="jaccard", weights="distance")),
    "tan": lambda: _informative(_bayes("TreeAugmentedNB")),
    "aode": lambda: _informative(_bayes("AveragedOneDependence")),
    "kdb": lambda: _informative(_bayes("KDependenceNB")),
    "tree": lambda: _informative(_bayes("PrunedTree", random_state=0)),
    "logistic": lambda: _all(_sklearn("linear_model", "LogisticRegression", C=1.0, max_iter=200)),
    "forest": lambda: _all(_sklearn("ensemble", "RandomForestClassifier", n_estimators=200, random_state=0)),
    "boosting": lambda: _informative(_sklearn("ensemble", "HistGradientBoostingClassifier", random_state=0)),
    "sklearn-multinomial": lambda: _all(_sklearn("naive_bayes", "MultinomialNB", alpha=0.01)),
}


def model_named(name: str, mail: Mail, options: Options) -> Any:
    """Return a model by its name, or one of yours as `module:name`.

    >>> model_named("naive", None, Options())
    Traceback (most recent call last):
    priory.lab.error.LabError: there is no model 'naive'; there are filter, bernoulli, multinomial, complement, \
neighbours, tan, aode, kdb, tree, logistic, forest, boosting, sklearn-multinomial, and your own as module:name
    """
    if name == "filter":
        return FilterClassifier(mail.columns, options, mail.bits)
    if name in _MADE:
        return _MADE[name]()
    if ":" in name:
        return _own(name)
    raise LabError(f"there is no model {name!r}; there are {', '.join(MODELS)}, and your own as module:name")


def model_without(name: str, mail: Mail, options: Options, kinds: Iterable[str]) -> Any:
    """Return a model that is not shown some kinds of features.

    Which features may be used is not only a question of accuracy: what a model should not judge by, it must not know.
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise LabError(f"there is no kind of features {unknown[0]!r}; there are {', '.join(KINDS)}")
    kept = np.flatnonzero(~np.isin(mail.kinds, [KINDS.index(kind) for kind in kinds]))
    if not len(kept):
        raise LabError("without these kinds of features, none are left to judge by")
    seen = replace(mail, X=mail.X[:, kept], columns=mail.columns[kept])
    return make_pipeline(Chosen(kept), model_named(name, seen, options))


_LEARNERS: Final[Mapping[str, Callable[[], Any]]] = {
    "bernoulli": lambda: _bayes("BernoulliNB", alpha=0.01),
    "multinomial": lambda: _bayes("MultinomialNB", alpha=0.01),
    "complement": lambda: _bayes("ComplementNB", alpha=0.01),
    "logistic": lambda: _sklearn("linear_model", "SGDClassifier", loss="log_loss", random_state=0),
}


def learner_named(name: str, options: Options) -> Learner:
    """Return a model for a replay by its name, or one of yours with `partial_fit` as `module:name`."""
    if name == "filter":
        return FilterLearner(options)
    if name in _LEARNERS:
        return PartialFitLearner(_LEARNERS[name](), options.labels)
    if ":" in name:
        return PartialFitLearner(_own(name), options.labels)
    known = ", ".join(("filter", *_LEARNERS))
    raise LabError(f"there is no model {name!r} that learns message by message; there are {known}, and module:name")


def _own(name: str) -> Any:
    """A classifier of the user's, or a function that makes one."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # so that a file in this folder is found, also by other processes
    try:
        found = getattr(import_module(module.removesuffix(".py")), attribute)
        model = found() if callable(found) else found
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it is somebody else's code
        raise LabError(
            f"the model {name} cannot be had: {type(error).__name__}: {error}; name a module in this folder or on "
            "PYTHONPATH, and in it a classifier or a function that makes one"
        ) from None
    if not hasattr(model, "fit"):
        raise LabError(f"{name} is no classifier: it has no fit")
    return model
