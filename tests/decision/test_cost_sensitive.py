"""Any classifier with probabilities decides by costs, by the same rule as the filter does."""

import math
import re
import subprocess
import sys
from copy import deepcopy
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from priory.bayes import BernoulliNB as CountingNB
from priory.bayes.checks.comparison import assert_same_statistics, statistics
from priory.decision import UNSURE, Costs, CostSensitive, decide

#: 340-16: a lost ham costs 100, a missed spam 10.
LECTURE = {"ham": {"spam": 10}, "spam": {"ham": 100}}
TWO = np.array(["ham", "spam"])


class Told(ClassifierMixin, BaseEstimator):
    """A classifier whose rows are the probabilities themselves."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, note: str = "") -> "Told":
        assert len(X) == len(y)
        self.classes_, self.weights_, self.note_ = np.unique(y), sample_weight, note
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.array(X, float)


def classifier(classes: Any, *args: Any, **parameters: Any) -> CostSensitive:
    return CostSensitive(Told(), *args, **parameters).fit(np.eye(len(classes)), classes)


def row(p: Fraction) -> list[float]:
    return [float(1 - p), float(p)]


def test_340_16_at_nine_tenths_spam_is_most_likely_and_ham_is_cheapest() -> None:
    p = Fraction(9, 10)
    expected = [float(cost) for cost in (10 * p, 100 * (1 - p))]
    assert expected == [9, 10]
    model = classifier(TWO, LECTURE)
    assert model.expected_costs([row(p)])[0].tolist() == pytest.approx(expected)
    assert model.predict([row(p)]).tolist() == ["ham"]
    assert classifier(TWO).predict([row(p)]).tolist() == ["spam"]


def test_340_16_spam_is_said_only_beyond_ten_elevenths() -> None:
    model = classifier(TWO, [[0, 10], [100, 0]])
    assert model.thresholds_ == {"spam": pytest.approx(float(Fraction(10, 11)))}
    little = Fraction(1, 10**9)
    beside = [row(Fraction(10, 11) - little), row(Fraction(10, 11) + little)]
    assert model.predict(beside).tolist() == ["ham", "spam"]


@pytest.mark.parametrize(("t", "answer"), [("9/10", 0), ("1/2", 1), ("1/10", 1)])
def test_360_the_threshold_decides_about_the_normalised_joint(t: str, answer: int) -> None:
    """Joint values 0.015 and 0.0718; a threshold t on p(1) is the cost ratio t : 1 - t."""
    threshold, joint = Fraction(t), [Fraction("0.015"), Fraction("0.0718")]
    model = classifier([0, 1], [[0, float(1 - threshold)], [float(threshold), 0]])
    assert model.thresholds_ == {1: pytest.approx(float(threshold))}
    assert model.predict([[float(value / sum(joint)) for value in joint]]).tolist() == [answer]


def test_360_without_enough_confidence_no_label_is_said() -> None:
    model = classifier([0, 1], unsure=0.1)
    assert model.thresholds_ == {-1: pytest.approx(0.1), 1: pytest.approx(0.9)}
    assert model.predict([row(Fraction(p, 100)) for p in (9, 11, 50, 89, 91)]).tolist() == [0, -1, -1, -1, 1]


@pytest.mark.parametrize(("alpha", "answer"), [("1/4", 1), ("2/5", 0), ("1", 0)])
def test_273a_more_alpha_prefers_label_0(alpha: str, answer: int) -> None:
    """Numeric example: p(y=1 | 1, 1) = 1/4. Label 0 if alpha p(0) p(x|0) > p(1) p(x|1), so if alpha > 1/3."""
    rows = ["110", "100", "101", "000", "011", "110", "001", "101"]
    X, y = [[int(a), int(b)] for a, b, _ in rows], [int(each[2]) for each in rows]
    ratio = Fraction(alpha)
    assert (ratio * Fraction(3, 4) > Fraction(1, 4)) is (answer == 0)
    model = CostSensitive(BernoulliNB(alpha=1e-12), [[0, 1], [float(ratio), 0]]).fit(X, y)
    assert model.predict_proba([[1, 1]])[0].tolist() == pytest.approx([3 / 4, 1 / 4])
    assert model.thresholds_ == {1: pytest.approx(float(ratio / (1 + ratio)))}
    assert model.predict([[1, 1]]).tolist() == [answer]


@given(data=st.data(), k=st.integers(2, 5), unsure=st.none() | st.integers(0, 12))
def test_what_is_said_and_its_costs_are_those_of_the_filter(data: st.DataObject, k: int, unsure: int | None) -> None:
    """Sixteenths are exact in floats, so that ties are ties."""
    matrix = data.draw(st.lists(st.lists(st.integers(0, 12), min_size=k, max_size=k), min_size=k, max_size=k))
    bounds = st.lists(st.integers(0, 16), min_size=k - 1, max_size=k - 1).map(sorted)
    rows = [np.diff([0, *each, 16]) / 16 for each in data.draw(st.lists(bounds, min_size=1, max_size=4))]
    labels = tuple("abcde"[:k])
    costs = Costs(labels, tuple(map(tuple, matrix)), math.inf if unsure is None else unsure)
    model = classifier(labels, matrix, unsure=unsure)
    assert model.predict(rows).tolist() == [decide(each, costs) for each in rows]
    expected = [list(costs.expected(each).values()) for each in rows]
    assert model.expected_costs(rows).tolist() == [each[: k + (unsure is not None)] for each in expected]


def test_of_equally_cheap_things_unsure_is_said_then_the_first_label() -> None:
    half = [[0.5, 0.5]]
    assert classifier(TWO, [[0, 2], [2, 0]], unsure=1).predict(half).tolist() == [UNSURE]
    assert classifier(TWO, [[0, 2], [2, 0]], unsure=3).predict(half).tolist() == ["ham"]


def test_more_than_two_labels_have_their_costs_too() -> None:
    costs = {
        "ham": {"news": 2, "phishing": 1000},
        "news": {"ham": 5, "phishing": 1000},
        "phishing": {"ham": 100, "news": 50},
    }
    model = classifier(["ham", "news", "phishing"], costs, unsure=20)
    rows = [[0.9, 0.1, 0], [0.1, 0.9, 0], [0.75, 0.125, 0.125], [0.01, 0, 0.99]]
    assert model.predict(rows).tolist() == ["ham", "news", UNSURE, "phishing"]
    assert model.expected_costs(rows)[2].tolist() == [125.25, 128.75, 81.25, 20]
    assert model.thresholds_ == {}
    assert model.costs_.tolist() == [[0, 2, 1000], [5, 0, 1000], [100, 50, 0]]


def test_without_costs_it_predicts_as_its_estimator_does() -> None:
    X, y = load_iris(return_X_y=True)
    np.testing.assert_array_equal(CostSensitive(GaussianNB()).fit(X, y).predict(X), GaussianNB().fit(X, y).predict(X))


def test_costs_learned_from_real_rows_are_lower_than_those_of_the_most_likely_label() -> None:
    random = np.random.default_rng(7)
    y = random.integers(0, 2, 4000)
    X = (y + random.normal(size=4000)).reshape(-1, 1)
    matrix = [[0, 1], [20, 0]]
    careful = CostSensitive(GaussianNB(), matrix).fit(X[:2000], y[:2000])
    asking = CostSensitive(GaussianNB(), matrix, unsure=0.3).fit(X[:2000], y[:2000])
    likely = GaussianNB().fit(X[:2000], y[:2000]).predict(X[2000:])
    cost_of_likely = np.asarray(matrix)[likely, y[2000:]].mean()
    assert asking.cost(X[2000:], y[2000:]) < careful.cost(X[2000:], y[2000:]) < cost_of_likely / 2
    assert careful.score(X[2000:], y[2000:]) < accuracy_score(y[2000:], likely)


def test_the_cost_is_the_mean_of_what_was_said_and_is_true() -> None:
    model = classifier(TWO, LECTURE, unsure=4)
    rows, true = [row(Fraction(p, 100)) for p in (10, 10, 50, 99)], ["ham", "spam", "ham", "ham"]
    assert model.predict(rows).tolist() == ["ham", "ham", UNSURE, "spam"]
    assert model.cost(rows, true) == (0 + 10 + 4 + 100) / 4
    assert model.cost(rows, true, sample_weight=[1, 2, 1, 0]) == (0 + 20 + 4) / 4
    assert model.score(rows, true) == 1 / 4


def test_what_is_right_may_cost_something_and_then_matters() -> None:
    model = classifier(TWO, {"ham": {"ham": 3, "spam": 4}, "spam": {"ham": 1, "spam": 2}})
    assert model.predict([[0.5, 0.5]]).tolist() == ["spam"]
    assert model.cost([[0.5, 0.5]], ["spam"]) == 2


@pytest.mark.parametrize(
    ("classes", "unsure_label", "answer", "kind"),
    [
        (["ham", "spam"], None, "unsure", "U"),
        (["a", "b"], "don't know", "don't know", "U"),
        (np.array(["ham", "spam"], object), None, "unsure", "O"),
        ([0, 1], None, -1, "i"),
        ([-1, 1], 0, 0, "i"),
        ([0.5, 1.5], None, -1.0, "f"),
        ([0, 1], "unsure", "unsure", "O"),
        (["ham", "spam"], -1, -1, "O"),
    ],
)
def test_unsure_has_a_name_of_the_kind_of_the_labels(classes: Any, unsure_label: Any, answer: Any, kind: str) -> None:
    model = classifier(classes, unsure=0.25, unsure_label=unsure_label)
    said = model.predict([[1, 0], [0.5, 0.5], [0, 1]])
    first, second = classes
    assert said.tolist() == [first, answer, second]
    assert said.dtype.kind == kind
    assert list(model.thresholds_) == [answer, second]


def test_metrics_take_the_unsure_rows_as_a_label_of_its_own() -> None:
    X, y = load_iris(return_X_y=True)
    said = CostSensitive(GaussianNB(), unsure=0.05).fit(X, y).predict(X)
    table = confusion_matrix(y, said, labels=[0, 1, 2, -1])
    assert table[:, 3].tolist() == [0, *(int(((y == k) & (said == -1)).sum()) for k in (1, 2)), 0]
    assert table[0].tolist() == [50, 0, 0, 0]
    assert 0 < table[:, 3].sum() < 20


def test_a_label_may_itself_be_called_unsure_where_nobody_abstains() -> None:
    assert classifier(["sure", "unsure"]).predict([[0.25, 0.75]]).tolist() == ["unsure"]
    with pytest.raises(ValueError, match="unsure_label must be no label that is learned, and 'unsure' is one"):
        classifier(["sure", "unsure"], unsure=1)


def test_a_fitted_estimator_goes_in_frozen_and_is_not_fitted_again() -> None:
    X, y = load_iris(return_X_y=True)
    fitted = GaussianNB().fit(X, y)
    means = fitted.theta_.copy()
    model = CostSensitive(FrozenEstimator(fitted), unsure=0.05).fit(X[:1], y[:1])
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(fitted.theta_, means)
    assert model.classes_.tolist() == [0, 1, 2]
    assert -1 in model.predict(X)


def test_weights_and_other_arguments_reach_the_estimator() -> None:
    model = CostSensitive(Told()).fit(np.eye(2), TWO, sample_weight=[1, 2], note="seen")
    assert (model.estimator_.weights_, model.estimator_.note_) == ([1, 2], "seen")
    assert not hasattr(model.estimator, "classes_")


def test_partial_fit_learns_what_fit_would_learn_at_once() -> None:
    X, y = load_iris(return_X_y=True)
    weights = np.linspace(0.5, 2, 150)
    parts = CostSensitive(GaussianNB(var_smoothing=0), unsure=0.1)
    for rows in (slice(0, 70), slice(70, 150)):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=weights[rows])
    whole = CostSensitive(GaussianNB(var_smoothing=0), unsure=0.1).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(parts.expected_costs(X), whole.expected_costs(X), atol=1e-9)
    assert not hasattr(CostSensitive(LogisticRegression()), "partial_fit")


@pytest.mark.parametrize(
    ("changes", "labels", "classes", "message"),
    [
        ({}, ["news", "ham"], None, "costs lack what it costs to say 'ham' when one of 'news' is true"),
        ({}, ["ham", "ham"], ["ham", "news", "spam"], "costs lack what it costs to say 'ham' when one of 'news'"),
        ({"costs": [[0, 1], [9, 0]]}, ["news", "ham"], None, "costs must be 3 x 3, a row for each label said of"),
        ({"costs": {"ham": {"spam": -1}, "spam": {"ham": 1}}}, ["ham", "spam"], None, "costs must be at least 0"),
        ({"unsure_label": "ham"}, ["ham", "spam"], None, "unsure_label must be no label that is learned"),
        ({"costs": None}, [1, 2], None, "y has labels that cannot be put in order: 'ham', 'spam', 1, 2; use one kind"),
        ({"costs": None}, [], None, "0 sample"),
    ],
)
def test_a_lesson_that_the_costs_refuse_is_not_learned(
    changes: dict[str, Any], labels: list[Any], classes: Any, message: str
) -> None:
    words = np.eye(2)
    model = CostSensitive(CountingNB(), LECTURE, unsure=4).partial_fit(words, TWO)
    before, said = deepcopy(statistics(model)), model.predict(words).tolist()
    with pytest.raises(ValueError, match=re.escape(message)):
        model.set_params(**changes).partial_fit(words[: len(labels)], labels, classes=classes)
    assert_same_statistics(model, statistics(model), before, "a refused lesson changes the model", exact=True)
    assert model.predict(words).tolist() == said
    model.set_params(costs=LECTURE, unsure_label=None).partial_fit(words, TWO)
    assert model.estimator_.class_count_.tolist() == [2, 2]


def test_the_first_lesson_may_be_refused_and_learned_again() -> None:
    model = CostSensitive(CountingNB(), LECTURE)
    with pytest.raises(ValueError, match="costs lack what it costs to say 'ham' when one of 'news' is true"):
        model.partial_fit(np.eye(3), ["ham", "spam", "news"])
    with pytest.raises(ValueError, match="0 sample"):
        model.partial_fit(np.empty((0, 3)), [])
    assert not hasattr(model, "estimator_")
    assert model.partial_fit(np.eye(3)[:2], TWO).classes_.tolist() == ["ham", "spam"]


def test_labels_that_come_later_take_their_costs_with_them() -> None:
    costs = {"ham": {"spam": 1, "news": 1}, "spam": {"ham": 9, "news": 5}, "news": {"ham": 2, "spam": 1}}
    model = CostSensitive(CountingNB()).partial_fit(np.eye(3)[:2], TWO)
    model.set_params(costs=costs).partial_fit(np.eye(3)[2:], ["news"])
    assert model.classes_.tolist() == ["ham", "news", "spam"]
    assert model.costs_.tolist() == [[0, 1, 1], [2, 0, 1], [9, 5, 0]]


def test_text_goes_through_a_pipeline_and_costs_can_be_searched() -> None:
    mail = ["win money now", "money money", "lunch at noon", "see you at noon"] * 5
    labels = ["spam", "spam", "ham", "ham"] * 5
    model = CostSensitive(make_pipeline(CountVectorizer(), MultinomialNB()), LECTURE, unsure=4)
    search = GridSearchCV(
        model,
        {"estimator__multinomialnb__alpha": [0.01, 100]},
        scoring=lambda model, X, y: -model.cost(X, y),
        cv=2,
    )
    assert search.fit(mail, labels).best_params_ == {"estimator__multinomialnb__alpha": 0.01}
    assert search.predict(["money money money", "win lunch"]).tolist() == ["spam", UNSURE]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"costs": [[0, 1, 2], [1, 0, 2]]},
            "costs must be 2 x 2, a row for each label said of 'ham', 'spam', but are 2 x 3",
        ),
        ({"costs": np.zeros((3, 3))}, "costs must be 2 x 2, a row for each label said of 'ham', 'spam', but are 3 x 3"),
        ({"costs": [0, 1]}, "costs must be 2 x 2, a row for each label said of 'ham', 'spam', but are 2"),
        ({"costs": [[0, 1], [1]]}, "costs must be 2 x 2 numbers or a mapping by label, but are [[0, 1], [1]]"),
        (
            {"costs": [[0, "x"], [1, 0]]},
            "costs must be 2 x 2 numbers or a mapping by label, but are [[0, 'x'], [1, 0]]",
        ),
        (
            {"costs": [[0, 1], [-1, 0]]},
            "costs must be at least 0 and finite, but saying 'spam' when 'ham' is true costs -1",
        ),
        ({"costs": [[0, np.nan], [1, 0]]}, "but saying 'ham' when 'spam' is true costs nan"),
        ({"costs": [[0, np.inf], [1, 0]]}, "but saying 'ham' when 'spam' is true costs inf"),
        ({"costs": {"ham": {"spam": 1}}}, "costs lack what it costs to say 'spam' when one of 'ham' is true"),
        (
            {"costs": {"ham": {"spma": 1}, "spam": {"ham": 1}}},
            "costs name labels that are not learned: 'spma'; learned are 'ham', 'spam'",
        ),
        ({"unsure": -1}, "unsure must be a cost of at least 0, not -1; None means never unsure"),
        ({"unsure": math.nan}, "unsure must be a cost of at least 0, not nan; None means never unsure"),
        ({"unsure": 1, "unsure_label": "ham"}, "unsure_label must be no label that is learned, and 'ham' is one"),
    ],
)
def test_wrong_costs_are_refused_and_change_nothing(parameters: dict[str, Any], message: str) -> None:
    model = classifier(TWO, LECTURE, unsure=4)
    with pytest.raises(ValueError, match=re.escape(message)):
        model.set_params(**parameters).fit(np.eye(2), ["ham", "spam"])
    assert model.costs_.tolist() == [[0, 10], [100, 0]]
    assert model.predict([[0.5, 0.5]]).tolist() == [UNSURE]


def test_an_estimator_without_probabilities_is_refused_and_a_calibrated_one_is_not() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(
        TypeError, match="estimator must have predict_proba, which LinearSVC has not: expected costs need"
    ):
        CostSensitive(LinearSVC()).fit(X, y)
    assert CostSensitive(CalibratedClassifierCV(LinearSVC())).fit(X, y).score(X, y) > 0.9


def test_a_label_that_was_not_learned_has_no_cost() -> None:
    with pytest.raises(ValueError, match="y has labels without a cost: 'news'; learned are 'ham', 'spam'"):
        classifier(TWO).cost([[1, 0]], ["news"])


def test_before_it_is_fitted_it_says_so() -> None:
    with pytest.raises(NotFittedError, match="This CostSensitive instance is not fitted yet"):
        CostSensitive(GaussianNB()).predict([[1.0]])


@pytest.mark.slow
def test_the_filter_does_not_load_scikit_learn() -> None:
    code = "import sys, priory.decision as d; d.Costs; assert 'sklearn' not in sys.modules; d.CostSensitive"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(ImportError, match="cannot import name 'Benefits'"):
        from priory.decision import Benefits  # noqa: F401, PLC0415


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:divide by zero encountered in log:RuntimeWarning")  # GaussianNB, of a weight of 0
@parametrize_with_checks([CostSensitive(GaussianNB()), CostSensitive(LogisticRegression())])
def test_it_keeps_the_contract_of_scikit_learn(estimator: CostSensitive, check: Any) -> None:
    check(estimator)
