"""Models that learn message by message: the filter itself, and any classifier that has `partial_fit`.

All of them see the same features, drawn once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from priory.filter import Filter
from priory.lab.error import LabError
from priory.lab.fleeting import fleeting_folder
from priory.lab.probabilities import from_log_odds, log_probabilities
from priory.lab.run import Mistake, Reason, weightiest
from priory.options import Options
from priory.reading import Prepared

FOLDED_BITS: Final = 20  #: columns that classifiers other than the filter are given


@dataclass(frozen=True, slots=True)
class Said:
    """The log-odds of a class as a sum: the prior and a term for every reason."""

    about: str
    prior: float
    reasons: tuple[Reason, ...]

    def mistake(self, number: int) -> Mistake:
        """Return the mistake that this was, with the weightiest reasons."""
        return Mistake(number, self.prior, weightiest(self.reasons), self.about)


class Learner(Protocol):
    """What a replay needs of a model; it is closed by leaving its `with`."""

    def log_probabilities(self, message: Prepared) -> NDArray[np.float64]:
        """Return log p for every label, in their order."""

    def learn(self, message: Prepared, label: str) -> None:
        """Take in one message."""

    def reasons(self, raw: bytes) -> Said | None:
        """Return why a message is judged as it is; None if the model gives no reasons."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


class FilterLearner:
    """A fresh installation of the filter: every message goes through `Filter.check` and then `Filter.learn`.

    >>> with FilterLearner(Options()) as learner:
    ...     learner.learn(learner.filter.prepare(b"Subject: hello"), "ham")
    ...     np.exp(learner.log_probabilities(learner.filter.prepare(b"Subject: hello"))).tolist()
    [0.5, 0.5]
    """

    def __init__(self, options: Options) -> None:
        self._home = fleeting_folder()
        self.filter = Filter.open(self._home.name, replace(options, store=None))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.filter.__exit__(kind, error, at)
        self._home.cleanup()

    def log_probabilities(self, message: Prepared) -> NDArray[np.float64]:
        """Return log p for every label, in their order."""
        return from_log_odds([claim.log_odds for claim in self.filter.check(message).claims.values()])

    def learn(self, message: Prepared, label: str) -> None:
        """Take in one message."""
        self.filter.learn(message, label)

    def reasons(self, raw: bytes) -> Said | None:
        """Return the prior and the terms that mean something to a person; n-grams are one sum."""
        return reasons(self.filter, raw)


def reasons(filter_: Filter, raw: bytes) -> Said | None:
    """Return what a filter has to say about a message; None while it can say nothing."""
    verdict = filter_.check(raw)
    if verdict.reason:
        return None
    named = [Reason(each.feature, each.term) for each in verdict.readable]
    rest = verdict.log_odds - verdict.prior - sum(each.term for each in named)
    return Said(verdict.about, verdict.prior, (*named, Reason("grams:all together", rest)))


class PartialFitLearner:
    """Any classifier with `partial_fit` and `predict_proba`, on the filter's features folded to 2^20 columns.

    >>> from priory.bayes import BernoulliNB
    >>> from priory.features import Spec
    >>> from priory.reading import prepare
    >>> learner = PartialFitLearner(BernoulliNB(), ("ham", "spam"))
    >>> np.exp(learner.log_probabilities(prepare(b"Subject: hello", Spec()))).tolist()
    [0.5, 0.5]
    """

    def __init__(self, model: Any, labels: Sequence[str]) -> None:
        for method in ("partial_fit", "predict_proba"):
            if not hasattr(model, method):
                raise LabError(
                    f"{type(model).__name__} has no {method}: replay learns message by message and ranks by "
                    "probability; choose a model that does, or judge this one by cross-validation with: compare"
                )
        self._model = model
        self._labels = np.array(labels)
        self._taught: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """There is nothing to close."""

    def log_probabilities(self, message: Prepared) -> NDArray[np.float64]:
        """Return log p for every label; all the same while fewer than two were taught."""
        if len(self._taught) < 2:
            return np.full(len(self._labels), -np.log(len(self._labels)))
        return np.asarray(log_probabilities(self._model, _row(message), self._labels.tolist())[0])

    def learn(self, message: Prepared, label: str) -> None:
        """Take in one message."""
        self._model.partial_fit(_row(message), [label], classes=np.sort(self._labels))
        self._taught.add(label)

    def reasons(self, raw: bytes) -> Said | None:  # noqa: ARG002 - folded columns have no names
        """Return nothing: the columns are folded, so their terms have no names."""
        return None


def _row(message: Prepared) -> csr_matrix:
    columns = np.unique(np.asarray(message.features.buckets) & ((1 << FOLDED_BITS) - 1)).astype(np.int32)
    return csr_matrix((np.ones(len(columns)), columns, [0, len(columns)]), shape=(1, 1 << FOLDED_BITS))
