"""Choosing is judged with the learning: what was seen when choosing is too low, and nested cross-validation is not."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from priory.bayes import BernoulliNB
from priory.lab.error import LabError
from priory.lab.evaluation.cross_validation import Task
from priory.lab.evaluation.nested_cross_validation import Choice, Nested, choose, nested
from priory.lab.measures import brier
from priory.lab.predictions import Predictions
from priory.lab.run import Run
from priory.lab.splits import folds

OUTER = StratifiedKFold(3, shuffle=True, random_state=1)


class Noted(ClassifierMixin, BaseEstimator):
    """A tree that notes how often it was fitted."""

    n_fits = 0

    def __init__(self, depth: int = 1) -> None:
        self.depth = depth

    def fit(self, X, y):
        type(self).n_fits += 1
        self.tree_ = DecisionTreeClassifier(max_depth=self.depth, random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict_proba(self, X):
        return self.tree_.predict_proba(X)


@pytest.fixture
def noise():
    """Words that tell nothing about the labels."""
    random = np.random.default_rng(0)
    return random.random((120, 6)), np.where(np.arange(120) % 2, "spam", "ham")


@pytest.fixture
def mail():
    """Twenty words, of which one is a good sign of spam."""
    random = np.random.default_rng(1)
    y = np.where(random.random(150) < 0.4, "spam", "ham")
    X = (random.random((150, 20)) < 0.3).astype(float)
    X[:, 0] = (y == "spam") ^ (random.random(150) < 0.1)
    return X, y


def test_twenty_depths_by_five_folds_fit_a_hundred_models(noise):
    Noted.n_fits = 0
    choose({f"depth {depth}": Noted(depth) for depth in range(1, 21)}, Task.of(*noise, folds(noise[1], n_folds=5)))
    assert Noted.n_fits == 100


def test_nesting_fits_that_for_each_outer_fold_and_the_winner_once_more(noise):
    Noted.n_fits = 0
    found = nested({f"depth {depth}": Noted(depth) for depth in range(1, 21)}, Task.of(*noise, OUTER))
    assert Noted.n_fits == 3 * (100 + 1)
    assert len(found.choices) == 3
    assert all(len(choice.judged) == 20 for choice in found.choices)


def test_the_error_of_equal_folds_is_the_average_of_their_errors():
    """.1, .2, .2, .1, .2 average .16."""

    class Told(ClassifierMixin, BaseEstimator):
        """Says what the row says."""

        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            return np.stack([1 - X[:, 0], X[:, 0]], axis=1)

    y = np.array([0, 1] * 25)
    splitter = StratifiedKFold(5, shuffle=True, random_state=0)
    said, fold_errors = y.astype(float), []
    for (_, test), n_wrong in zip(splitter.split(y, y), [1, 2, 2, 1, 2], strict=True):
        said[test[:n_wrong]] = 1 - said[test[:n_wrong]]
        fold_errors.append(n_wrong / len(test))
    assert fold_errors == [0.1, 0.2, 0.2, 0.1, 0.2]
    assert choose({"told": Told()}, Task.of(said[:, None], y, splitter)).judged == {"told": pytest.approx(0.16)}


@pytest.mark.slow
def test_nested_error_of_guessing_is_a_half_where_the_chosen_one_looks_better():
    """Labels are noise, candidates many: the best looks better than guessing, the procedure is found out."""
    seen, judged = [], []
    for seed in range(20):
        random = np.random.default_rng(seed)
        X, y = random.random((60, 12)), np.where(random.permutation(60) % 2, "spam", "ham")
        candidates = {f"word {j}": make_pipeline(Only(j), BernoulliNB(binarize=0.5)) for j in range(12)}
        found = nested(candidates, Task.of(X, y, OUTER), partial(_three_folds, y, seed))
        seen += [choice.judged[choice.name] for choice in found.choices]
        judged.append(found.run.predictions.errors.mean())
    assert np.mean(seen) < 0.42
    assert np.mean(judged) == pytest.approx(0.5, abs=0.05)


def _three_folds(y, seed, train):
    return folds(y[train], n_folds=3, seed=seed)


class Only(BaseEstimator):
    """Leaves one column."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X[:, [self.column]]


def test_one_candidate_is_plain_cross_validation(mail):
    X, y = mail
    found = nested({"bernoulli": BernoulliNB()}, Task.of(X, y, OUTER))
    plain = cross_val_predict(BernoulliNB(), X, y, cv=OUTER, method="predict_proba")
    assert np.abs(found.run.predictions.probabilities - plain).max() < 1e-12
    assert (found.run.predictions.classes, found.warning) == (("ham", "spam"), None)


def test_the_better_one_is_chosen_by_any_figure_and_on_sparse_rows(mail):
    X, y = mail
    candidates = {"certain": BernoulliNB(prior=[1, 0]), "fitted": BernoulliNB()}
    task = Task.of(csr_matrix(X), y, OUTER, names=[f"inbox:{i}" for i in range(len(y))])
    found = nested(candidates, task, figure=lambda predictions: brier(predictions).estimate)
    assert [choice.name for choice in found.choices] == ["fitted"] * 3
    assert found.run.predictions.names[:2] == ("inbox:0", "inbox:1")
    assert found.run.predictions.errors.mean() < 0.2


def test_of_equals_the_first_named_wins(mail):
    assert choose({"b": BernoulliNB(), "a": BernoulliNB()}, Task.of(*mail, OUTER)).name == "b"


def test_inner_folds_keep_groups_together(mail):
    X, y = mail
    groups = np.arange(len(y)) // 5
    together = []

    class Watching(BernoulliNB):
        def fit(self, X, y):
            together.append(set(X[:, 20].tolist()))
            return super().fit(X[:, :20], y)

        def predict_log_proba(self, X):
            assert not together[-1] & set(X[:, 20].tolist())
            return super().predict_log_proba(X[:, :20])

    task = Task.of(np.column_stack([X, groups]), y, folds(y, n_folds=3, groups=groups), groups=groups)
    nested({"one": Watching()}, task)
    assert len(together) == 3 * (5 + 1)


def test_inner_folds_can_be_made_otherwise(mail):
    X, y = mail
    parts = []

    def by_time(train):
        parts.append(train)
        return folds(y[train], "time", n_folds=2)

    found = nested({"bernoulli": BernoulliNB()}, Task.of(X, y, OUTER), by_time)
    assert len(found.run.predictions) == len(y)
    assert [len(part) for part in parts] == [100, 100, 100]


def test_winners_that_differ_are_warned_of():
    said = Predictions.of(["ham", "spam"], ["ham"], [[1.0, 0.0]])
    choices = tuple(Choice(name, {}) for name in ("tree", "bernoulli", "tree"))
    assert Nested(Run("best", said, "by hand"), choices).warning == (
        "the winner differs between the 3 outer folds (tree in 2, bernoulli in 1): this much mail hardly "
        "distinguishes the candidates; the error is that of choosing among them, not that of any one"
    )


@pytest.mark.slow
@pytest.mark.parametrize("model", [LinearSVC(), make_pipeline(MaxAbsScaler(), LinearSVC())])
def test_a_model_without_probabilities_is_refused_with_the_remedy(mail, model):
    with pytest.raises(LabError, match=r"svm \(LinearSVC\) predicts no probabilities.* CalibratedClassifierCV"):
        nested({"svm": model}, Task.of(*mail, OUTER))
    found = nested({"svm": CalibratedClassifierCV(LinearSVC(), cv=3)}, Task.of(*mail, OUTER))
    assert found.run.predictions.errors.mean() < 0.3


def test_bad_input_is_named(mail):
    X, y = mail
    with pytest.raises(LabError, match="there are no candidates: name at least one model"):
        nested({}, Task.of(X, y, OUTER))
    few = np.array(["spam"] * 6 + ["ham"] * 144)
    with pytest.raises(LabError, match="spam has 4 of 100 examples, too few for 5 folds"):
        nested({"bernoulli": BernoulliNB()}, Task.of(X, few, OUTER))
    with pytest.raises(LabError, match="fold 1 of 2 has no spam to learn from: take fewer folds, or stratified ones"):
        nested({"bernoulli": BernoulliNB()}, Task.of(X, few, KFold(2)))
    with pytest.raises(LabError, match="the task has no folds"):
        nested({"bernoulli": BernoulliNB()}, Task.of(X, y, NoFolds()))


class NoFolds:
    def split(self, X, y=None, groups=None):
        return iter(())
