"""Models that learn message by message: the filter itself, and any classifier that has `partial_fit`.

All of them get the same features, extracted once.
"""

from dataclasses import replace
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from priory.decision import Costs, cheapest
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.prepare import Prepared
from priory.filter.questions import may_teach_much
from priory.journal.checked import CheckedMessage
from priory.lab.error import LabError
from priory.lab.examples import Example
from priory.lab.models.filter_classifier import temp_home
from priory.lab.predictions import from_log_odds, log_probabilities
from priory.lab.run import LogOddsTerms, Reason

FEWEST_CONCLUDED: Final = 10  #: messages that are concluded together
FOLDED_BITS: Final = 20  #: log2 of the columns for classifiers other than the filter


class Prediction(NamedTuple):
    """The judgement of a model about a message."""

    log_probabilities: NDArray[np.float64]  #: of every label, in order
    decision: str  #: a label, or *unsure*
    is_doubtful: bool  #: whether a label may teach much


class Learner(Protocol):
    """A model in a replay, used as a context manager."""

    decides_itself: bool  #: False if its decisions follow from its probabilities and the costs

    def judge(self, example: Example) -> Prediction:
        """Judge one message."""

    def learn(self, example: Example, label: str) -> None:
        """Learn one message."""

    def conclude(self, example: Example) -> None:
        """Take note that people have had time to speak about a message, whether they did or not."""

    def reasons(self, raw: bytes) -> LogOddsTerms | None:
        """Return the terms of the log-odds of a message; None if the model has none."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


def cheapest_prediction(logs: NDArray[np.float64], costs: Costs) -> Prediction:
    """Return the cheapest decision for these probabilities.

    >>> cheapest_prediction(np.log([0.3, 0.7]), Costs())[1:]
    ('unsure', True)
    """
    expected = costs.expected(np.exp(logs).tolist())
    decision = cheapest(expected)
    return Prediction(logs, decision, may_teach_much(decision, expected))


class FilterLearner:
    """A new filter: every message goes through `Filter.check` and then `Filter.learn`.

    Where people say nothing about much of the mail, the filter also learns from silence. What a daemon concludes once a
    day is concluded here when 2 % more messages wait.

    >>> with FilterLearner(Options()) as learner:
    ...     hello = Example("inbox:1", "ham", learner.filter.prepare(b"Subject: hello"))
    ...     learner.learn(hello, "ham")
    ...     learner.judge(hello).decision
    'unsure'
    """

    def __init__(self, options: Options, *, hears_silence: bool = False) -> None:
        self.decides_itself = options.ham_lost is not None  # a promise about lost ham overrules the costs
        self._home = temp_home()
        self.filter = Filter.open(self._home.name, replace(options, store=None))
        self._hears_silence = hears_silence
        self._checked: dict[bytes, CheckedMessage] = {}  # by digest: messages about which people may still speak
        self._waiting: list[CheckedMessage] = []  # to be concluded
        self._n_concluded = 0
        if hears_silence:
            self.filter.silence.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.filter.__exit__(kind, error, at)
        self._home.cleanup()

    def judge(self, example: Example) -> Prediction:
        """Return the verdict of the filter."""
        verdict = self.filter.check(example.message)
        if self._hears_silence and (checked := self.filter.silence.checked_message(example.message, verdict)):
            self._checked[example.message.digest] = checked
        logs = from_log_odds([claim.log_odds for claim in verdict.claims.values()])
        return Prediction(logs, verdict.label, may_teach_much(verdict.label, verdict.expected_costs))

    def learn(self, example: Example, label: str) -> None:
        """Learn one message."""
        self.filter.learn(example.message, label)

    def conclude(self, example: Example) -> None:
        """Count silence about a message, unless people have spoken about it."""
        checked = self._checked.pop(example.message.digest, None)
        if checked is not None:
            self._waiting.append(checked)
        if len(self._waiting) >= max(FEWEST_CONCLUDED, self._n_concluded // 50):
            self._n_concluded += len(self._waiting)
            self.filter.silence.conclude(self._waiting)
            self._waiting = []

    def reasons(self, raw: bytes) -> LogOddsTerms | None:
        """Return the prior and the readable terms; n-grams are one sum."""
        return reasons(self.filter, raw)


def reasons(filter_: Filter, raw: bytes) -> LogOddsTerms | None:
    """Return the terms of a filter's log-odds for a message; None while it cannot judge."""
    verdict = filter_.check(raw)
    if verdict.is_untaught:
        return None
    named = [Reason(evidence.feature, evidence.term) for evidence in verdict.readable]
    rest = verdict.log_odds - verdict.prior - sum(reason.term for reason in named)
    return LogOddsTerms(verdict.about, verdict.prior, (*named, Reason("grams:all together", rest)))


class PartialFitLearner:
    """Any classifier with `partial_fit` and `predict_proba`, on the filter's features folded to 2^20 columns.

    >>> from priory.bayes import BernoulliNB
    >>> from priory.features import Spec
    >>> from priory.filter.prepare import prepare
    >>> learner = PartialFitLearner(BernoulliNB(), Costs())
    >>> np.exp(learner.judge(Example("inbox:1", "ham", prepare(b"Subject: hello", Spec()))).log_probabilities).tolist()
    [0.5, 0.5]
    """

    decides_itself = False

    def __init__(self, model: Any, costs: Costs) -> None:
        for method in ("partial_fit", "predict_proba"):
            if not hasattr(model, method):
                raise LabError(
                    f"{type(model).__name__} has no {method}: replay learns message by message and ranks by "
                    "probability; choose a model that does, or judge this one with priory lab compare"
                )
        self._model = model
        self._costs = costs
        self._labels = np.array(costs.labels)
        self._taught: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Do nothing: there is nothing to close."""

    def judge(self, example: Example) -> Prediction:
        """Return the cheapest decision; all labels are equally probable until two were taught."""
        if len(self._taught) < 2:
            logs = np.full(len(self._labels), -np.log(len(self._labels)))
        else:
            logs = np.asarray(log_probabilities(self._model, _row(example.message), self._labels.tolist())[0])
        return cheapest_prediction(logs, self._costs)

    def learn(self, example: Example, label: str) -> None:
        """Learn one message."""
        self._model.partial_fit(_row(example.message), [label], classes=np.sort(self._labels))
        self._taught.add(label)

    def conclude(self, example: Example) -> None:
        """Do nothing: silence says nothing to this model."""

    def reasons(self, raw: bytes) -> LogOddsTerms | None:  # noqa: ARG002 - folded columns have no names
        """Return None: folded columns have no names."""
        return None


def _row(message: Prepared) -> csr_matrix:
    columns = np.unique(np.asarray(message.features.buckets) & ((1 << FOLDED_BITS) - 1)).astype(np.int32)
    return csr_matrix((np.ones(len(columns)), columns, [0, len(columns)]), shape=(1, 1 << FOLDED_BITS))
