"""Models by folds: predictions of what was not learned, the same side by side and alone, kept and gone on with."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.svm import LinearSVC

from priory.bayes import BernoulliNB
from priory.lab.cache import FoldCache
from priory.lab.error import LabError
from priory.lab.evaluation.cross_validation import Task, judged, prediction_origins
from priory.lab.splits import Folds, folds

RANDOM = np.random.default_rng(1)
X = RANDOM.integers(0, 2, (200, 6))
Y = np.where(X[:, 0] + X[:, 1] + RANDOM.normal(0, 0.4, 200) > 1, "spam", "ham")
FOLDS = folds(Y, n_folds=4, seed=3)
TASK = Task.of(X, Y, FOLDS)


def test_predictions_are_those_of_scikit_learn():
    [run] = judged({"logistic": LogisticRegression()}, TASK)
    expected = cross_val_predict(LogisticRegression(), X, Y, cv=FOLDS, method="predict_log_proba")
    assert run.predictions.log_probabilities == pytest.approx(expected, abs=1e-12)
    assert run.predictions.names[:2] == ("row 0", "row 1")
    assert run.protocol == "4 folds, stratified, shuffled with seed 3"
    assert run.seconds_learning > 0
    assert run.seconds_predicting > 0


@pytest.mark.slow
def test_two_processes_give_the_same_as_one():
    models = {"bernoulli": BernoulliNB(), "logistic": LogisticRegression()}
    for one, two in zip(judged(models, TASK), judged(models, TASK, jobs=2), strict=True):
        assert one.model == two.model
        assert np.array_equal(one.predictions.log_probabilities, two.predictions.log_probabilities)


def test_the_classes_are_in_the_order_that_was_asked_for():
    [run] = judged({"bernoulli": BernoulliNB()}, Task.of(X, Y, FOLDS, ["spam", "ham"]))
    [usual] = judged({"bernoulli": BernoulliNB()}, TASK)
    assert run.predictions.classes == ("spam", "ham")
    assert run.predictions.log_odds() == pytest.approx(-usual.predictions.log_odds(), abs=1e-9)


def test_the_training_error_is_that_of_what_was_learned():
    [run] = judged({"bernoulli": BernoulliNB()}, TASK, with_train_error=True)
    errors = [np.mean(BernoulliNB().fit(X[train], Y[train]).predict(X[train]) != Y[train]) for train, _ in FOLDS]
    assert run.train_error == pytest.approx(np.mean(errors), abs=1e-12)


def test_an_example_is_judged_once_however_many_folds_test_it():
    many = folds(Y, "random", n_folds=20, seed=1, share=0.5)
    task = Task.of(X, Y, many)
    [run] = judged({"bernoulli": BernoulliNB()}, task)
    assert len(run.predictions) == len(set(run.predictions.names)) == 200
    assert run.protocol.endswith("each example judged once")
    example, fold, _ = prediction_origins(task.folds)
    train, _ = list(task.folds)[fold[7]]
    model = BernoulliNB().fit(X[train], Y[train])
    expected = model.predict_log_proba(X[[example[7]]])[0]
    assert run.predictions.log_probabilities[7] == pytest.approx(expected, abs=1e-12)


class _Counting(ClassifierMixin, BaseEstimator):
    """Counts how often it is fitted, and stops when told."""

    n_fits = 0
    stop_at = 10**9

    def fit(self, X, y):
        type(self).n_fits += 1
        if self.n_fits > self.stop_at:
            raise KeyboardInterrupt
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def test_what_was_kept_is_not_done_again(tmp_path, monkeypatch):
    monkeypatch.setattr(_Counting, "n_fits", 0)
    monkeypatch.setattr(_Counting, "stop_at", 2)
    models = {"counting": _Counting()}
    cells = FoldCache.of(tmp_path / "cells", models, TASK, "these examples")
    with pytest.raises(KeyboardInterrupt):
        judged(models, TASK, cache=cells)
    monkeypatch.setattr(_Counting, "stop_at", 10**9)
    done = []
    first = judged(models, TASK, cache=cells, done=lambda *each: done.append(each))
    assert _Counting.n_fits == 3 + 2
    assert done == [("counting", fold) for fold in range(4)]
    renamed = {"same": _Counting(), "other": _Counting()}
    again = judged({"same": _Counting()}, TASK, cache=FoldCache.of(tmp_path / "cells", renamed, TASK, "these examples"))
    assert _Counting.n_fits == 5
    judged(models, TASK, cache=FoldCache.of(tmp_path / "cells", models, TASK, "other examples"))
    assert _Counting.n_fits == 9
    judged(models, TASK, cache=FoldCache.of(tmp_path / "cells", models, TASK, "these examples", fresh=True))
    assert _Counting.n_fits == 13
    assert np.array_equal(first[0].predictions.log_probabilities, again[0].predictions.log_probabilities)


def test_memory_is_what_the_model_took(tmp_path):
    class Greedy(_Counting):
        def fit(self, X, y):
            np.ones(20_000_000)
            return super().fit(X, y)

    freed = [bytes(100_000) for _ in range(4_000)]  # which stay with the process, but for the last
    kept = freed.pop()
    del freed
    small, greedy = judged({"small": _Counting(), "greedy": Greedy()}, TASK)
    assert greedy.peak_bytes - small.peak_bytes > 100e6 > len(kept)


class _Broken(_Counting):
    def predict_proba(self, X):
        found = super().predict_proba(X)
        found[2] = np.nan
        return found


def test_models_that_cannot_be_judged_are_named():
    with pytest.raises(LabError, match=r"svm \(LinearSVC\) predicts no probabilities.*CalibratedClassifierCV"):
        judged({"svm": LinearSVC()}, TASK)
    [run] = judged({"svm": CalibratedClassifierCV(LinearSVC())}, TASK)
    assert len(run.predictions) == 200
    with pytest.raises(LabError, match="broken predicted invalid probabilities for 1 of 50 examples"):
        judged({"broken": _Broken()}, TASK)


def test_folds_may_be_a_number_or_must_be_able_to_split():
    assert len(Task.of(X, Y, 3).folds) == 3
    with pytest.raises(LabError, match="None is no splitter: give a number of folds, or a splitter"):
        Task.of(X, Y, None)


def test_a_fold_that_cannot_learn_a_class_is_named():
    y = np.array(["ham", "spam"] * 99 + ["news", "news"])
    last = Folds.of([(np.arange(198), np.array([198, 199]))], 200, "by hand")
    with pytest.raises(LabError, match="fold 1 of 1 has no news to learn from: take fewer folds, or stratified ones"):
        Task.of(X, y, last)


def test_labels_reach_the_model_as_they_are():
    numbers = np.where(Y == "spam", 1, 0)

    class Numeric(_Counting):
        def fit(self, X, y):
            assert y.dtype == numbers.dtype
            return super().fit(X, y)

    [run] = judged({"numeric": Numeric()}, Task.of(X, numbers, FOLDS))
    assert run.predictions.classes == ("0", "1")
    assert np.array_equal(run.predictions.truth, numbers)


def test_examples_that_cannot_be_judged_by_are_named():
    with pytest.raises(LabError, match="the examples have only 'ham' for a label"):
        Task.of(X, ["ham"] * 200, FOLDS)
    with pytest.raises(LabError, match="the examples have none at all for a label"):
        Task.of(X[:0], [], FOLDS)
    with pytest.raises(LabError, match="the labels are ham, spam, but the classes named are ham, junk"):
        Task.of(X, Y, FOLDS, ["ham", "junk"])
    with pytest.raises(LabError, match="these folds are for 200 examples, but 100 were given"):
        judged({"bernoulli": BernoulliNB()}, Task.of(X[:100], Y[:100], FOLDS))
