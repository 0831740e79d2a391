"""The filter as a classifier for scikit-learn, and filters in temporary homes."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from priory.decision import Costs
from priory.features import KINDS, Features
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.prepare import Prepared
from priory.filter.scoring import calibrations, scores
from priory.lab.predictions import from_log_odds
from priory.native.table import bits_of_names

_PREFIX: Final = "priory-lab-"


class FilterClassifier(ClassifierMixin, BaseEstimator):
    """Priory's filter on rows of presence, as in `Mail`.

    Fitting teaches a filter in a temporary folder, message by message in the order of the rows, including calibration.
    Its counts are kept and the folder is removed.

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
        """The settings that identify the model, without the columns of this mail and the costs."""
        return filter_identity(self.options or Options())

    def fit(self, X: Any, y: Any) -> Self:
        """Teach a new filter these messages."""
        self.classes_ = np.unique(y)
        options = _options_for(self.options or Options(), tuple(map(str, self.classes_)))
        options = replace(options, spec=replace(options.spec, bits=self.bits))
        with taught_filter(self._rows(X), y, options) as filter_:
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
    """Yield the features of each row, with its number as digest, so that equal rows count as often as they occur."""
    names = np.arange(X.shape[1]) if columns is None else columns
    width = bits_of_names(bits)
    edges = np.arange(len(KINDS) + 1) << width
    for i in range(X.shape[0]):
        present = np.sort(names[X.indices[X.indptr[i] : X.indptr[i + 1]]])
        buckets = (present & ((1 << width) - 1)).astype(np.uint32)
        yield Prepared(i.to_bytes(32), "", Features(buckets.data, np.searchsorted(present, edges).data))


@contextmanager
def taught_filter(messages: Iterable[Prepared], labels: Iterable[Any], options: Options) -> Iterator[Filter]:
    """Teach a filter in a temporary folder."""
    with temp_home() as home, Filter.open(home, replace(options, store=None)) as filter_:
        lessons = ((message, str(label), "") for message, label in zip(messages, labels, strict=True))
        for _ in filter_.learn_many(lessons):
            pass
        yield filter_


def filter_identity(options: Options) -> tuple[Any, ...]:
    """Return the settings that the probabilities of a filter depend on."""
    return "filter", options.spec, options.weights, options.smoothing


def _options_for(options: Options, labels: tuple[str, ...]) -> Options:
    """Return the options for these labels, with default costs if the options are for others."""
    if set(options.labels) == set(labels):
        return options
    matrix = tuple(tuple(0 if decision == true else 1 for true in labels) for decision in labels)
    return replace(options, costs=Costs(labels, matrix, 1))


def temp_home() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder that is removed on leaving its `with`; remove folders that killed processes left behind, too.

    >>> with temp_home() as folder:
    ...     Path(folder).is_dir()
    True
    >>> Path(folder).is_dir()
    False
    """
    # Every lesson is synced to disk. Nothing here has to survive, and in memory a sync costs nothing.
    shared = Path("/dev/shm")  # noqa: S108
    root = shared if shared.is_dir() else Path(tempfile.gettempdir())
    for folder in root.glob(f"{_PREFIX}*"):
        with suppress(ValueError, OSError):
            if not _is_alive(int(folder.name.removeprefix(_PREFIX).partition("-")[0])):
                shutil.rmtree(folder)
    return tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", dir=root)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # another user's process
    return True
