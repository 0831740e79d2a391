r"""Let any classifier with probabilities decide by the costs of its mistakes, and abstain where that is cheaper.

The expected cost of saying label $j$ about a row $x$ is $\sum_i p(i \mid x)\,c_{ji}$; the cheapest is chosen. If
*unsure* has a cost, it is chosen wherever every label would cost more.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, column_or_1d, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from priory.decision.costs import UNSURE, Costs, thresholds


def _learns_in_parts(model: "CostSensitive") -> bool:
    """Tell whether the estimator has partial_fit; raise AttributeError otherwise."""
    return bool(model.estimator.partial_fit)


class CostSensitive(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that gives the answer of least expected cost, for any number of labels, or says that it is unsure.

    Use it when mistakes differ in cost, or when a person can look at doubtful rows. The costs are only right if the
    probabilities are: calibrate an overconfident estimator. Wrap one that is already fitted in
    `sklearn.frozen.FrozenEstimator(model)`; `fit` then only reads the costs.

    Parameters: `estimator`, with `predict_proba`; `costs[said][true]`, a square matrix in the order of `classes_` or a
    mapping (or pandas frame) by label, in which correct answers may be left out and cost 0 (None: every mistake costs
    1); `unsure`, the cost of abstaining (None: never abstain); `unsure_label`, what `predict` returns then (None:
    "unsure" where labels are text, -1 where they are numbers; text among numbers makes an object array).

    Attributes: `estimator_`, fitted; `classes_`; `costs_`, the matrix; `thresholds_`, for two labels the probability of
    the second from which on each answer is given, empty for more. `score`, the accuracy, counts *unsure* as a mistake.

    >>> from sklearn.naive_bayes import BernoulliNB
    >>> words, labels = [[1, 0], [1, 1], [0, 1], [0, 1]], ["spam", "spam", "ham", "ham"]
    >>> model = CostSensitive(BernoulliNB(), {"ham": {"spam": 10}, "spam": {"ham": 100}}, unsure=4).fit(words, labels)
    >>> model.thresholds_
    {'unsure': 0.4, 'spam': 0.96}
    >>> model.predict([[1, 0], [0, 1]]).tolist()         # the first is spam with 86 %, which is not enough
    ['unsure', 'ham']
    >>> model.expected_costs([[1, 0], [0, 1]]).round(1)  # of saying ham, spam, unsure
    array([[ 8.6, 14.3,  4. ],
           [ 1.8, 81.8,  4. ]])

    C. Elkan: The foundations of cost-sensitive learning. IJCAI 2001, 973-978. C. K. Chow: On optimum recognition error
    and reject tradeoff. IEEE Transactions on Information Theory 16, 1970, 41-46.
    """

    def __init__(
        self,
        estimator: Any,
        costs: ArrayLike | Mapping[Any, Mapping[Any, float]] | None = None,
        unsure: float | None = None,
        unsure_label: Any = None,
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.unsure = unsure
        self.unsure_label = unsure_label

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit a clone of the estimator; weights and further arguments are passed on to it."""
        self._check_parameters()
        estimator = clone(self.estimator)
        estimator.fit(X, column_or_1d(y, warn=True), **_drop_none(sample_weight=sample_weight), **fit_params)
        return self._take(estimator)

    @available_if(_learns_in_parts)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Let the estimator learn more rows, if it can; the first call starts with a clone.

        Labels that come later need costs, and all labels in `costs` must be known from the first call on: name them in
        `classes`.
        """
        self._check_parameters()
        estimator = self.estimator_ if hasattr(self, "estimator_") else clone(self.estimator)
        labels = column_or_1d(y, warn=True)
        known = _all_labels(getattr(estimator, "classes_", ()), labels, () if classes is None else classes)
        if len(known):  # check the costs before the estimator learns in place; it refuses empty input itself
            self._read(known)
        estimator.partial_fit(X, labels, **_drop_none(classes=classes, sample_weight=sample_weight))
        return self._take(estimator)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the cheapest answer; of equally cheap ones *unsure*, then the first label."""
        places = self._answer_places(X)
        return np.asarray(self._answers[places])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the estimator's probabilities, in the order of `classes_`."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(X))

    def expected_costs(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the expected cost of each label, [row, label]; *unsure*, if it has a cost, is the last column."""
        probabilities = self.predict_proba(X)
        expected = _costs(self.costs_, self._unsure).expected(list(probabilities.T))
        columns = list(expected.values())[: len(self._answers)]
        return np.column_stack(np.broadcast_arrays(*columns)).astype(np.float64)

    def cost(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean cost of the predictions over the rows when y is true."""
        decisions = self._answer_places(X)
        places = {label: place for place, label in enumerate(self.classes_.tolist())}
        labels = column_or_1d(y).tolist()
        if unknown := set(labels) - set(places):
            raise ValueError(
                f"y has labels without a cost: {_list_labels(unknown)}; learned are {_list_labels(places)}"
            )
        priced = self.costs_ if self._unsure is None else np.vstack([self.costs_, np.full(len(places), self._unsure)])
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        return float(np.average(priced[decisions, [places[label] for label in labels]], weights=weights))

    def _answer_places(self, X: ArrayLike) -> NDArray[np.intp]:
        """Return the place of the answer as `cheapest` chooses it: of equals *unsure*, at place -1, then the first."""
        expected = self.expected_costs(X)
        if self._unsure is None:
            return np.asarray(expected.argmin(axis=1))
        return np.asarray(np.roll(expected, 1, axis=1).argmin(axis=1) - 1)

    def _check_parameters(self) -> None:
        if not hasattr(self.estimator, "predict_proba"):
            name = type(self.estimator).__name__
            raise TypeError(
                f"estimator must have predict_proba, which {name} has not: expected costs need probabilities; "
                "wrap it in sklearn.calibration.CalibratedClassifierCV"
            )
        if self.unsure is not None and not 0 <= self.unsure < math.inf:
            raise ValueError(f"unsure must be a cost of at least 0, not {self.unsure}; None means never unsure")

    def _take(self, estimator: Any) -> Self:
        """Take over the fitted estimator and the costs in the order of its classes; an error changes nothing."""
        classes = np.asarray(estimator.classes_)
        self.costs_, self._answers, self.thresholds_ = self._read(classes)
        self.estimator_, self.classes_, self._unsure = estimator, classes, self.unsure
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    def _read(self, classes: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[Any], dict[Any, float]]:
        """Return the cost matrix, the answers and the thresholds for these classes; ValueError if wrong."""
        matrix = _matrix(self.costs, classes)
        answers = classes if self.unsure is None else _with_unsure(classes, self.unsure_label)
        named = {str(place): answer for place, answer in enumerate(answers.tolist())} | {UNSURE: answers.tolist()[-1]}
        limits = thresholds(_costs(matrix, self.unsure))
        return matrix, answers, {named[verdict]: p for verdict, p in limits.items()}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_class = inner.classifier_tags is None or inner.classifier_tags.multi_class
        return tags


def _drop_none(**arguments: object) -> dict[str, object]:
    """Return the arguments that are not None: not every estimator accepts all of them."""
    return {name: value for name, value in arguments.items() if value is not None}


def _all_labels(known: ArrayLike, learned: ArrayLike, named: ArrayLike) -> NDArray[Any]:
    """Return the sorted labels that a model knows after learning these, including the named ones."""
    labels = set().union(*(np.asarray(labels_of).tolist() for labels_of in (known, learned, named)))
    try:
        return np.array(sorted(labels))
    except TypeError as error:
        raise ValueError(
            f"y has labels that cannot be put in order: {_list_labels(labels)}; use one kind of them"
        ) from error


def _costs(matrix: NDArray[np.float64], unsure: float | None) -> Costs:
    """Return the costs with places instead of labels, so that labels may have any type and name."""
    places = tuple(str(place) for place in range(len(matrix)))
    return Costs(places, tuple(map(tuple, matrix.tolist())), math.inf if unsure is None else unsure)


def _with_unsure(classes: NDArray[Any], unsure_label: Any) -> NDArray[Any]:
    """Return the labels and then the label for *unsure*; as an object array if their types differ."""
    is_text = isinstance(classes.tolist()[0], str)
    label = (UNSURE if is_text else -1) if unsure_label is None else unsure_label
    if label in classes.tolist():
        raise ValueError(f"unsure_label must be no label that is learned, and {label!r} is one: choose another")
    return np.append(classes if isinstance(label, str) == is_text else classes.astype(object), label)


def _matrix(costs: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the costs as a matrix in the order of the classes; raise ValueError if they are wrong."""
    n = len(classes)
    if costs is None:
        return 1 - np.eye(n)
    if hasattr(costs, "iterrows"):  # a pandas frame with labels on both axes
        costs = {answer: dict(row) for answer, row in costs.iterrows()}
    if isinstance(costs, Mapping):
        costs = _by_label(costs, classes.tolist())
    try:
        matrix = np.array(costs, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"costs must be {n} x {n} numbers or a mapping by label, but are {costs!r}") from error
    if matrix.shape != (n, n):
        shape = " x ".join(map(str, matrix.shape))
        raise ValueError(
            f"costs must be {n} x {n}, a row for each label said of {_list_labels(classes.tolist())}, but are {shape}"
        )
    wrong = np.argwhere(~((matrix >= 0) & (matrix < np.inf)))
    if len(wrong):
        answer, true = (classes.tolist()[place] for place in wrong[0])
        cost = matrix[tuple(wrong[0])]
        raise ValueError(
            f"costs must be at least 0 and finite, but saying {answer!r} when {true!r} is true costs {cost}"
        )
    return matrix


def _by_label(costs: Mapping[Any, Mapping[Any, float]], labels: Sequence[Any]) -> list[list[float]]:
    """Return the rows of a mapping {said: {true: cost}}."""
    named = set(costs).union(*costs.values())
    if unknown := named - set(labels):
        raise ValueError(
            f"costs name labels that are not learned: {_list_labels(unknown)}; learned are {_list_labels(labels)}"
        )
    for answer in labels:
        if missing := set(labels) - set(costs.get(answer, ())) - {answer}:
            raise ValueError(f"costs lack what it costs to say {answer!r} when one of {_list_labels(missing)} is true")
    return [[costs.get(answer, {}).get(true, 0.0) for true in labels] for answer in labels]


def _list_labels(labels: Iterable[Any]) -> str:
    return ", ".join(sorted(map(repr, labels)))
