r"""What every generative classifier can do once its rows can be counted and its counts can be read.

A generative classifier models how rows come about: first a class is drawn, then the row given the class. It keeps
additive statistics of what it has learned. So learning is addition and rows can be learned one by one; forgetting is
subtraction; two models of the same kind add up to the model of the joined data; and the order of rows does not matter.
From $p(x, c)$ Bayes' rule gives the posterior,

$$ p(c \mid x) = \frac{p(x, c)}{\sum_{c'} p(x, c')} $$

The denominator is the evidence $p(x)$, which tells how unusual a row is. Drawing a class and then a row gives new rows.

A model supplies these methods, and `GenerativeMixin` the rest:

| method | |
|---|---|
| `_rows(X, reset)` | X, validated and in the form the model counts |
| `_start(rows, n_classes)` | set up empty statistics |
| `_add(rows, labels, weights)` | add rows to the statistics; negative weights subtract, or raise without effect |
| `_estimate()` | the parameters, from the statistics; `_parameters()` caches them until the model changes |
| `_log_likelihood(rows)` | log p(x given class), [row, class] |
| `_terms(rows)` | the same sum by feature: for each row the listed columns, their terms [column, class], and the rest |
| `_draw(labels, rng)` | one row for each label |

The statistics are arrays named in `_statistics`, whose last axis is the class. A model with other statistics overrides
`_spread` and `_join`. A model of models may override `_widen`; one whose rows are not a table, `_names`; and one whose
learned state goes beyond its parameters, `_check_joinable`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from inspect import signature
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priory.bayes.estimator import check_count, check_joinable
from priory.bayes.input import nearest, read_labels, read_weights, same_kind, union
from priory.bayes.kernels import log_posterior, posterior
from priory.bayes.prior import Prior, log_prior
from priory.bayes.tables import SLACK, Floats, Labels, settle, spread
from priory.bayes.terms import Terms, joint

Rows: TypeAlias = Any
_PARAMETER_NAMES: dict[type, tuple[str, ...]] = {}


class GenerativeMixin(ABC):
    """Learning, forgetting, merging, prediction, explanation and sampling for a model of p(x, class)."""

    _statistics: ClassVar[tuple[str, ...]]
    prior: Prior
    classes_: NDArray[Any]
    class_count_: Floats

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch; an error leaves the model unchanged."""
        with self._unchanged_on_error():
            for name in [name for name in vars(self) if name.endswith("_") or name == "_cache"]:
                delattr(self, name)
            self.partial_fit(X, y, sample_weight=sample_weight)
            if len(self.classes_) < 2:
                label = self.classes_.tolist()[0]
                raise ValueError(
                    f"y has one class only, {label!r}: a classifier needs two or more classes. "
                    "If others come later, use partial_fit"
                )
            log_prior(self.prior, self.class_count_, self.classes_)
            self._parameters()
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn more rows; the cost does not depend on how many were learned before.

        New classes may come at any time, which rebuilds the tables; `classes` can name them in advance.
        """
        with self._unchanged_on_error():
            first = not hasattr(self, "classes_")
            rows = self._rows(X, reset=first)
            labels = read_labels(self, y, X)
            weights = read_weights(sample_weight, labels)
            self._know(labels if classes is None else union(np.asarray(classes), labels), rows)
            codes = np.searchsorted(self.classes_, labels)
            self._add(rows, codes, weights)
            self._count(codes, weights)
        return self

    def forget(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Remove rows that were learned: the exact inverse of `partial_fit`.

        Rows that were never learned raise ValueError, and nothing changes.
        """
        check_is_fitted(self)
        with self._unchanged_on_error():
            rows = self._rows(X, reset=False)
            labels = read_labels(self, y, X)
            weights = read_weights(sample_weight, labels)
            codes = self._learned_codes(labels, weights)
            self._add(rows, codes, -weights)
            self._count(codes, -weights)
        return self

    def __add__(self, other: Self) -> Self:
        """Return the model of the joined data."""
        if type(other) is not type(self):
            return NotImplemented
        self._check_joinable(other)
        merged, added = deepcopy(self), deepcopy(other)
        classes = union(merged.classes_, added.classes_)
        merged._widen(classes)
        added._widen(classes)
        merged._join(added)
        merged.class_count_ = merged.class_count_ + added.class_count_
        merged._cache.clear()
        return merged

    def __radd__(self, other: Any) -> Self:
        """Let `sum` of models start from 0."""
        return deepcopy(self) if isinstance(other, int) and other == 0 else NotImplemented

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log p(x, class) for each row and class, in the order of `classes_`."""
        return self._joint(self._known_rows(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log p(class given x); a row that is impossible under every class gets the prior."""
        return log_posterior(self.predict_joint_log_proba(X), self.class_log_prior_)

    def predict_proba(self, X: Any) -> Floats:
        """Return p(class given x) for each row and class, in the order of `classes_`."""
        return posterior(self.predict_joint_log_proba(X), self.class_log_prior_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row; the first of equals."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def log_evidence(self, X: Any) -> Floats:
        """Return log p(x): how usual each row is, whatever its class."""
        joint = self.predict_joint_log_proba(X)
        return np.asarray(logsumexp(joint, axis=1), np.float64)

    def explain(self, X: Any) -> list[Terms]:
        """Return for each row the prior and one term per feature, which add up to each class's log p(x, class)."""
        rows = self._known_rows(X)
        prior = self.class_log_prior_
        return [
            Terms(self.classes_, prior, self._names(columns), terms, rest) for columns, terms, rest in self._terms(rows)
        ]

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, NDArray[Any]]:
        """Draw labelled rows from the model: first the class, then the row given the class."""
        check_is_fitted(self)
        check_count("n_samples", n_samples)
        if not self.class_count_.any():
            raise ValueError("nothing can be drawn: the model has learned no rows, or has forgotten all of them")
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1, size=4))
        labels = rng.choice(len(self.classes_), size=n_samples, p=np.exp(self.class_log_prior_))
        return self._draw(labels, rng), self.classes_[labels]

    @property
    def class_log_prior_(self) -> Floats:
        """log p(class), in the order of `classes_`."""
        check_is_fitted(self, "classes_")
        prior, logs = self._cache.get("prior", (None, None))
        if logs is None or prior is not self.prior:
            logs = log_prior(self.prior, self.class_count_, self.classes_)
            logs.flags.writeable = False
            self._cache["prior"] = self.prior, logs
        return np.asarray(logs)

    @abstractmethod
    def _rows(self, X: Any, *, reset: bool) -> Rows:
        """Return X, validated and in the form the model counts."""

    @abstractmethod
    def _start(self, rows: Rows, n_classes: int) -> None:
        """Set up empty statistics."""

    @abstractmethod
    def _add(self, rows: Rows, labels: Labels, weights: Floats) -> None:
        """Add rows to the statistics, or subtract them if weights are negative."""

    @abstractmethod
    def _estimate(self) -> Any:
        """Return the parameters, from the statistics."""

    @abstractmethod
    def _log_likelihood(self, rows: Rows) -> Floats:
        """Return log p(x given class), [row, class]."""

    @abstractmethod
    def _terms(self, rows: Rows) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        """Yield for each row the listed columns, their terms [column, class], and the rest [class]."""

    @abstractmethod
    def _draw(self, labels: Labels, rng: np.random.Generator) -> Any:
        """Return one row for each label."""

    def _spread(self, where: NDArray[np.int64], n_classes: int) -> None:
        """Move the classes of the statistics to new places among more classes."""
        for name in self._statistics:
            setattr(self, name, spread(getattr(self, name), where, n_classes))

    def _join(self, other: Self) -> None:
        """Add the statistics of a model with the same classes."""
        for name in self._statistics:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def _parameters(self) -> Any:
        """Return the result of `_estimate`, cached until the model learns or a parameter of its constructor changes."""
        if not self._is_estimated():
            self._cache["parameters"], self._cache["settings"] = self._estimate(), self._settings()
        return self._cache["parameters"]

    def _is_estimated(self) -> bool:
        """Tell whether the cached `_parameters` are still valid."""
        before = self._cache.get("settings")
        return before is not None and all(was is now for was, now in zip(before, self._settings(), strict=True))

    def _settings(self) -> list[Any]:
        """Return the values of the constructor's parameters, which may change after learning."""
        return [getattr(self, name) for name in parameter_names(type(self))]

    def _known_rows(self, X: Any) -> Rows:
        check_is_fitted(self, "classes_")
        return self._rows(X, reset=False)

    def _joint(self, rows: Rows) -> Floats:
        return joint(self._log_likelihood(rows), self.class_log_prior_)

    def _learned_codes(self, labels: NDArray[Any], weights: Floats) -> Labels:
        """Return the class numbers of the labels; raise ValueError if there are more rows than were learned."""
        unknown = np.setdiff1d(labels, self.classes_) if same_kind(labels, self.classes_) else labels
        if len(unknown):
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which was never learned; "
                f"the classes are {self.classes_.tolist()}"
            )
        codes = np.searchsorted(self.classes_, labels)
        taken = np.bincount(codes, weights, minlength=len(self.classes_))
        for label, n_taken, n_learned in zip(self.classes_.tolist(), taken, self.class_count_, strict=True):
            if n_taken > n_learned * (1 + SLACK):
                raise ValueError(f"y has {n_taken:g} rows of {label!r}, but only {n_learned:g} were learned")
        return np.asarray(codes, np.int64)

    def _know(self, labels: NDArray[Any], rows: Rows) -> None:
        """Add the classes of these labels to the model."""
        if not hasattr(self, "classes_"):
            self.classes_ = np.unique(labels)
            self.class_count_ = np.zeros(len(self.classes_))
            self._cache: dict[str, Any] = {}
            self._start(rows, len(self.classes_))
        elif not (same_kind(labels, self.classes_) and (nearest(self.classes_, labels) == labels).all()):
            self._widen(union(self.classes_, labels))

    def _widen(self, classes: NDArray[Any]) -> None:
        where = np.searchsorted(classes, self.classes_)
        self._spread(where, len(classes))
        self.class_count_ = spread(self.class_count_, where, len(classes))
        self.classes_ = classes

    def _count(self, codes: Labels, weights: Floats) -> None:
        counts = self._n_rows(codes, weights)
        self.class_count_ = settle(self.class_count_, counts) if (weights < 0).any() else counts
        self._cache.clear()

    def _n_rows(self, labels: Labels, weights: Floats) -> Floats:
        """Return the number of rows of each class including these, [class]."""
        return self.class_count_ + np.bincount(labels, weights, minlength=len(self.classes_))

    def _names(self, columns: NDArray[np.int64]) -> tuple[str, ...]:
        given = getattr(self, "feature_names_in_", None)
        return tuple(f"x{column}" for column in columns) if given is None else tuple(given[columns])

    def _check_joinable(self, other: Self) -> None:
        check_joinable(self, other)

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise


def parameter_names(model: type) -> tuple[str, ...]:
    """Return the names of a constructor's parameters."""
    if model not in _PARAMETER_NAMES:
        _PARAMETER_NAMES[model] = tuple(signature(model).parameters)
    return _PARAMETER_NAMES[model]
