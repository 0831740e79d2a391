"""A learning curve tells a model that is too simple from one that has too little to learn from."""

import json
from math import sqrt

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.tree import DecisionTreeClassifier

from priory.bayes import BernoulliNB
from priory.lab.error import LabError
from priory.lab.evaluation.learning_curve import LearningCurve, Point, learning_curve
from priory.lab.measures.interval import Interval, share


@pytest.fixture
def mail():
    """Thirty words, of which ten are each a weak sign of spam."""
    random = np.random.default_rng(0)
    spam = random.random(600) < 0.4
    X = random.random((600, 30)) < 0.3
    X[:, :10] = random.random((600, 10)) < np.where(spam, 0.5, 0.25)[:, None]
    return X.astype(float), np.where(spam, "spam", "ham")


def test_the_last_errors_are_those_of_cross_validation(mail):
    X, y = mail
    found = learning_curve(BernoulliNB(), X, y, shares=[0.25, 1.0], seed=3)
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    plain = cross_validate(BernoulliNB(), X, y, cv=cv, return_train_score=True)
    assert [point.n_examples for point in found.points] == [120, 480]
    assert found.points[-1].train.estimate == pytest.approx(1 - plain["train_score"].mean(), abs=1e-12)
    assert found.points[-1].validation == share(round(600 * (1 - plain["test_score"].mean())), 600)


def test_the_first_few_examples_have_every_class_in_its_share():
    seen = []

    class Watching(BernoulliNB):
        def fit(self, X, y):
            seen.append((len(y), int((y == "spam").sum())))
            return super().fit(X, y)

    X, y = np.random.default_rng(1).random((500, 3)), np.array(["spam"] * 50 + ["ham"] * 450)
    learning_curve(Watching(), X, y, shares=[0.05, 0.5, 1.0])
    assert set(seen) == {(20, 2), (200, 20), (400, 40)}
    assert len(seen) == 15


def test_a_deep_tree_has_it_by_heart_and_what_would_help_depends_on_the_slope(mail):
    found = learning_curve(DecisionTreeClassifier(random_state=0), *mail)
    last = found.points[-1]
    assert last.train.estimate < 0.05 < last.gap.low
    half, whole = Interval(0.2, 0.19, 0.21), Interval(0.0, 0.0, 0.01)
    falls = LearningCurve((Point(50, whole, half), Point(100, whole, Interval(0.1, 0.09, 0.11))))
    still, no_longer = "more data would help, or a simpler model", "a simpler model or other features would help"
    assert falls.words.endswith(f"most of which is the gap, and the gap still falls: {still}")
    flat = LearningCurve((Point(50, whole, half), Point(100, whole, half)))
    assert flat.words.endswith(f"most of which is the gap, and the gap no longer falls: {no_longer}")
    assert "most of which is the gap" in found.words


def test_a_model_that_is_too_simple_has_hardly_a_gap(mail):
    found = learning_curve(DummyClassifier(), *mail)
    assert found.words.endswith("hardly a gap: more data would not help; if that is too much, the model is too simple")
    assert found.words.startswith(f"{100 * found.points[-1].train.estimate:.2f} % wrong in training and ")


def test_a_model_that_makes_no_error_has_nothing_to_gain():
    X = np.array([[1.0, 0.0], [0.0, 1.0]] * 30)
    found = learning_curve(BernoulliNB(), X, ["spam", "ham"] * 30)
    assert found.words.endswith("these examples show nothing left to gain")


def test_a_gap_beside_a_larger_training_error_asks_for_a_richer_model():
    point = Point(1000, Interval(0.2, 0.18, 0.22), Interval(0.3, 0.28, 0.32))
    assert LearningCurve((point,)).words.endswith("a richer model would help more than more data")


def test_the_gap_is_the_difference_with_newcombes_interval():
    """56/70 - 48/80 is his first example; he has 0.0524 to 0.3339 from Wilson's limits, which are narrower."""
    validation, train = share(56, 70), share(48, 80)
    gap = Point(80, train, validation).gap
    assert gap.estimate == pytest.approx(0.2)
    assert gap.low == pytest.approx(0.2 - sqrt((0.8 - validation.low) ** 2 + (train.high - 0.6) ** 2))
    assert gap.high == pytest.approx(0.2 + sqrt((validation.high - 0.8) ** 2 + (0.6 - train.low) ** 2))
    assert 0.03 < gap.low < 0.0524
    assert 0.3339 < gap.high < 0.35


def test_the_validation_error_of_equal_folds_is_the_average_of_theirs():
    """.1, .2, .2, .1, .2 average .16."""
    y = np.array([0, 1] * 25)
    splitter = StratifiedKFold(5, shuffle=True, random_state=0)
    shown = y.astype(float)
    for (_, test), n_wrong in zip(splitter.split(y, y), [1, 2, 2, 1, 2], strict=True):
        shown[test[:n_wrong]] = 1 - shown[test[:n_wrong]]
    found = learning_curve(BernoulliNB(binarize=0.5), shown[:, None], y, folds=splitter, shares=[1.0])
    assert found.points[0].validation.estimate == pytest.approx(0.16)


def test_values_are_plain(mail):
    found = json.loads(json.dumps(learning_curve(BernoulliNB(), *mail, shares=[0.5, 1]).as_dict(), allow_nan=False))
    assert [point["n_examples"] for point in found["points"]] == [240, 480]
    assert set(found["points"][0]) == {"n_examples", "train", "validation", "gap"}


def test_shares_that_come_to_the_same_number_are_one_point(mail):
    X, y = mail
    assert len(learning_curve(BernoulliNB(), X, y, shares=[0.5, 0.5001]).points) == 1


@pytest.mark.parametrize("shares", [[], [0.0, 1.0], [0.5, 2]])
def test_shares_are_shares(mail, shares):
    with pytest.raises(LabError, match="shares of the training part must be above 0 and at most 1"):
        learning_curve(BernoulliNB(), *mail, shares=shares)


def test_bad_input_is_named(mail):
    X, y = mail
    with pytest.raises(LabError, match="all 600 examples are ham"):
        learning_curve(BernoulliNB(), X, ["ham"] * 600)
    with pytest.raises(LabError, match=r"LogisticRegression cannot learn from 1 of these examples: .*larger share"):
        learning_curve(LogisticRegression(), X, y, shares=[0.001, 1.0])
    broken = X.copy()
    broken[3, 4] = np.nan
    with pytest.raises(LabError, match=r"LogisticRegression cannot learn from .* NaN"):
        learning_curve(LogisticRegression(), broken, y)
