"""The filter as one more classifier on scikit-learn's contract, so that it is judged exactly as all others are."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from priory.decision import Costs
from priory.features import KINDS, Features
from priory.filter import Filter
from priory.lab.fleeting import fleeting_folder
from priory.lab.probabilities import from_log_odds
from priory.options import Options
from priory.reading import Prepared
from priory.scoring import calibrations, scores


class FilterClassifier(ClassifierMixin, BaseEstimator):
    """Priory's filter on rows of presence, as `Mail` has them.

    To fit is to teach a filter in a folder of its own, message by message in the order of the rows, calibration
    included; its counts are kept and the folder is removed.

    >>> from priory.features import Spec
    >>> from priory.features.vectorizer import MailVectorizer
    >>> mail = [b"Subject: Lunch?\\n\\nAt noon.", b"Subject: Hurry\\n\\nCheap pills!", b"\\n\\nCheap pills, hurry!"]
    >>> X = MailVectorizer().transform(mail)
    >>> model = FilterClassifier().fit(X[:2], ["ham", "spam"])
    >>> model.predict(X[2:]).tolist()
    ['spam']
    """

    def __init__(
        self, columns: NDArray[np.int64] | None = None, options: Options | None = None, bits: int = 22
    ) -> None:
        self.columns = columns
        self.options = options
        self.bits = bits

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes it another model: how it reads mail, not the columns that happened to be in it, nor the costs."""
        return filter_identity(self.options or Options())

    def fit(self, X: Any, y: Any) -> Self:
        """Teach a new filter these messages."""
        self.classes_ = np.unique(y)
        options = _labelled(self.options or Options(), tuple(map(str, self.classes_)))
        options = replace(options, spec=replace(options.spec, bits=self.bits))
        with taught(self._rows(X), y, options) as filter_:
            self.counts_ = filter_.counts
        self.order_ = [options.labels.index(str(label)) for label in self.classes_]
        self.model_ = options.model
        self.lines_ = calibrations(self.counts_)
        return self

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of the probability of every label."""
        check_is_fitted(self)
        log_odds = np.array([self._log_odds(row.features) for row in self._rows(X)]).reshape(-1, len(self.classes_))
        return from_log_odds(log_odds[:, self.order_])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every label."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label."""
        return np.asarray(self.classes_[self.predict_log_proba(X).argmax(axis=1)])

    def _log_odds(self, features: Features) -> list[float]:
        return [score.log_odds for score in scores(features, self.counts_, self.model_, self.lines_)]

    def _rows(self, X: Any) -> Iterator[Prepared]:
        return rows_of(csr_matrix(X), self.columns, self.bits)


def rows_of(X: Any, columns: NDArray[np.int64] | None, bits: int) -> Iterator[Prepared]:
    """Give each row its features back; its name is its number, so that equal rows count as often as they come."""
    names = np.arange(X.shape[1]) if columns is None else columns
    edges = np.arange(len(KINDS) + 1) << bits
    for i in range(X.shape[0]):
        present = np.sort(names[X.indices[X.indptr[i] : X.indptr[i + 1]]])
        buckets = (present & ((1 << bits) - 1)).astype(np.uint32)
        yield Prepared(i.to_bytes(32), "", Features(buckets.data, np.searchsorted(present, edges).data))


@contextmanager
def taught(messages: Iterable[Prepared], labels: Iterable[Any], options: Options) -> Iterator[Filter]:
    """Teach a filter in a folder of its own, which is removed in the end."""
    with fleeting_folder() as home, Filter.open(home, replace(options, store=None)) as filter_:
        lessons = ((message, str(label), "") for message, label in zip(messages, labels, strict=True))
        for _ in filter_.learn_many(lessons):
            pass
        yield filter_


def filter_identity(options: Options) -> tuple[Any, ...]:
    """What tells one filter from another when it is judged: all that its probabilities depend on."""
    return "filter", options.spec, options.weights, options.smoothing


def _labelled(options: Options, labels: tuple[str, ...]) -> Options:
    """The options for these labels: what was set for them where it was, else the usual costs."""
    if set(options.labels) == set(labels):
        return options
    matrix = tuple(tuple(0 if said == true else 1 for true in labels) for said in labels)
    return replace(options, costs=Costs(labels, matrix, 1))
