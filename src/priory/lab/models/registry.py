"""Models for mail by name: the filter, the toolkit's and scikit-learn's, all on the same features.

Naive Bayes and linear models take every feature that at least two training messages have. Models whose cost grows with
the square of the features, or that need a dense table, take the features that are most informative about the label in
the training messages (χ²). Features are selected within each fold, without its test part.
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
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from priory.features import KINDS
from priory.filter.options import Options
from priory.lab.error import LabError
from priory.lab.mail import Mail
from priory.lab.models import MODELS, dense
from priory.lab.models.filter_classifier import FilterClassifier
from priory.lab.models.learner import FilterLearner, Learner, PartialFitLearner
from priory.lab.models.program import ProgramLearner

PROGRAM: Final = "program:"  #: precedes the command of another program
N_INFORMATIVE: Final = 300  #: features for models that cannot take all


class FrequentFeatures(SelectorMixin, BaseEstimator):
    """Select the features that at least `least` training examples have.

    >>> FrequentFeatures(least=2).fit_transform(np.array([[1, 1], [1, 0], [0, 0]])).tolist()
    [[1], [1], [0]]
    """

    def __init__(self, least: int = 2) -> None:
        self.least = least

    def fit(self, X: Any, y: Any = None) -> "FrequentFeatures":  # noqa: ARG002 - scikit-learn's contract
        """Count the examples that have each feature."""
        self.n_features_in_ = X.shape[1]
        self.n_examples_ = np.asarray((X != 0).sum(axis=0)).ravel()
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return np.asarray(self.n_examples_ >= self.least)


class SelectedFeatures(SelectorMixin, BaseEstimator):
    """Select the features with these numbers.

    >>> SelectedFeatures([1]).fit_transform(np.array([[1, 2], [3, 4]])).tolist()
    [[2], [4]]
    """

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers

    def fit(self, X: Any, y: Any = None) -> "SelectedFeatures":  # noqa: ARG002 - scikit-learn's contract
        """Remember the number of features."""
        self.n_features_in_ = X.shape[1]
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return np.isin(np.arange(self.n_features_in_), self.numbers)


def _all(model: Any) -> Any:
    return _pipeline("seen", FrequentFeatures(), model)


def _informative(model: Any) -> Any:
    informative = SelectKBest(chi2, k=N_INFORMATIVE)
    return _pipeline("seen", FrequentFeatures(), informative, FunctionTransformer(dense, accept_sparse=True), model)


def _pipeline(name: str, selection: Any, *steps: Any) -> Any:
    """Return a pipeline with a named first step; its name is part of the digests in the log of attempts."""
    return Pipeline([(name, selection), *make_pipeline(*steps).steps])


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
    priory.lab.error.LabError: unknown model 'naive'; choose one of filter, bernoulli, multinomial, complement, \
neighbours, tan, aode, kdb, tree, logistic, forest, boosting, sklearn-multinomial, or your own as module:name
    """
    if name == "filter":
        return FilterClassifier(mail.columns, options, mail.bits)
    if name in _MADE:
        return _MADE[name]()
    if ":" in name:
        return _own(name)
    raise LabError(f"unknown model {name!r}; choose one of {', '.join(MODELS)}, or your own as module:name")


def model_without(name: str, mail: Mail, options: Options, kinds: Iterable[str]) -> Any:
    """Return a model without some kinds of features.

    Which features may be used is not only a question of accuracy: a model must not know what it should not judge by.
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise LabError(f"there is no kind of features {unknown[0]!r}; there are {', '.join(KINDS)}")
    columns = np.flatnonzero(~np.isin(mail.kinds, [KINDS.index(kind) for kind in kinds]))
    if not len(columns):
        raise LabError("excluding these kinds leaves no features: exclude fewer")
    reduced = replace(mail, X=mail.X[:, columns], columns=mail.columns[columns])
    return _pipeline("chosen", SelectedFeatures(columns), model_named(name, reduced, options))


_LEARNERS: Final[Mapping[str, Callable[[], Any]]] = {
    "bernoulli": lambda: _bayes("BernoulliNB", alpha=0.01),
    "multinomial": lambda: _bayes("MultinomialNB", alpha=0.01),
    "complement": lambda: _bayes("ComplementNB", alpha=0.01),
    "logistic": lambda: _sklearn("linear_model", "SGDClassifier", loss="log_loss", random_state=0),
}


def learner_named(name: str, options: Options, *, hears_silence: bool = False) -> Learner:
    """Return a model for a replay by its name, one of yours with `partial_fit`, or a program as `program:COMMAND`.

    Only the filter can hear silence.
    """
    if name == "filter":
        return FilterLearner(options, hears_silence=hears_silence)
    if name.startswith(PROGRAM):
        return ProgramLearner(name.removeprefix(PROGRAM), options.costs)
    if name in _LEARNERS:
        return PartialFitLearner(_LEARNERS[name](), options.costs)
    if ":" in name:
        return PartialFitLearner(_own(name), options.costs)
    known = ", ".join(("filter", *_LEARNERS))
    raise LabError(f"unknown model {name!r} for a replay; choose one of {known}, or your own as module:name")


def _own(name: str) -> Any:
    """Import a classifier of the user's, or call the function that returns one."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # so that a file in this folder is found, by other processes, too
    try:
        value = getattr(import_module(module.removesuffix(".py")), attribute)
        model = value() if callable(value) else value
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it is the user's code
        raise LabError(
            f"cannot load the model {name}: {type(error).__name__}: {error}; name a module in this folder or on "
            "PYTHONPATH, and in it a classifier or a function that returns one"
        ) from None
    if not hasattr(model, "fit"):
        raise LabError(f"{name} is no classifier: it has no fit")
    return model
