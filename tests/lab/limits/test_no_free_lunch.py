from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from priory.bayes import BernoulliNB, JointBayes, NearestNeighbours, TreeAugmentedNB
from priory.lab.error import LabError
from priory.lab.limits.no_free_lunch import Lunch, cube, labellings, n_better, no_free_lunch

CLASSIFIERS = [
    BernoulliNB(),
    JointBayes(),
    NearestNeighbours(k=1),
    TreeAugmentedNB(),
    DecisionTreeClassifier(random_state=0),
    LogisticRegression(),  # refuses a single class
    MultinomialNB(),
    KNeighborsClassifier(1),
    DummyClassifier(),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: f"{type(model).__module__}.{type(model).__name__}")
def test_every_classifier_errs_on_half_of_what_it_has_not_seen(model) -> None:
    assert no_free_lunch(model, n_features=3, seen=[0, 3, 5, 6, 7]).average() == Fraction(1, 2)


@pytest.mark.parametrize("model", [BernoulliNB(), NearestNeighbours(k=1), DecisionTreeClassifier(random_state=0)])
def test_with_three_classes_it_is_two_thirds(model) -> None:
    assert no_free_lunch(model, n_features=2, seen=[1, 2, 3], n_classes=3).average() == Fraction(2, 3)
    assert no_free_lunch(model, n_features=3, seen=[0, 3, 5, 6], n_classes=3).average() == Fraction(2, 3)


class Parity(ClassifierMixin, BaseEstimator):
    """Says whatever a fixed function of lesson and row gives: no classifier at all, and no worse than others."""

    def fit(self, X, y):
        self.lesson = int(np.dot(np.arange(1, len(y) + 1), y))
        return self

    def predict(self, X):
        return (self.lesson + X.sum(axis=1)) % 2


def test_nonsense_does_as_well_as_sense() -> None:
    nonsense = no_free_lunch(Parity(), n_features=3, seen=[0, 3, 5, 6])
    sense = no_free_lunch(NearestNeighbours(k=3), n_features=3, seen=[0, 3, 5, 6])
    assert nonsense.average() == sense.average() == Fraction(1, 2)
    assert nonsense.average(odds=3) > sense.average(odds=3)


def _any_lunch(n_classes: int, seen: tuple[int, ...], random: int) -> Lunch:
    """What some function says: any function at all."""
    unseen = tuple(corner for corner in range(8) if corner not in seen)
    said = np.random.default_rng(random).integers(n_classes, size=(n_classes ** len(seen), len(unseen)))
    return Lunch(3, n_classes, seen, unseen, said)


@given(st.integers(2, 3), st.sets(st.integers(0, 7), min_size=1, max_size=7), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_the_theorem_holds_for_any_function_of_the_lesson(n_classes, seen, random) -> None:
    assert _any_lunch(n_classes, tuple(seen), random).average() == Fraction(n_classes - 1, n_classes)


@given(st.integers(2, 3), st.sets(st.integers(0, 7), min_size=1, max_size=7), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_of_two_classifiers_each_is_better_on_equally_many_labellings(n_classes, seen, random) -> None:
    one, other = (_any_lunch(n_classes, tuple(seen), seed) for seed in (random, random + 1))
    better, worse = n_better(one, other)
    assert better == worse


def test_what_is_right_here_is_wrong_in_the_counterpart() -> None:
    lunch = no_free_lunch(NearestNeighbours(k=1), n_features=3, seen=[0, 7])
    for seen in range(4):
        for unseen in range(64):
            here, there = lunch.counterparts(seen, unseen)
            assert here + there == 1
            assert here == Fraction(int(lunch.n_wrong[seen, unseen]), 6)
    three = no_free_lunch(NearestNeighbours(k=1), n_features=2, seen=[0, 3], n_classes=3)
    assert {sum(three.counterparts(4, unseen)) for unseen in range(9)} == {2}


@pytest.mark.slow
def test_in_a_smooth_world_neighbours_are_worth_asking() -> None:
    lunch = no_free_lunch(NearestNeighbours(k=1), n_features=2, seen=[0, 3])
    for odds in (Fraction(1, 3), 1, 2, 3, 10):  # a square: both unseen corners touch both seen ones
        assert lunch.average(odds) == Fraction(1 + 3 * odds**2, (1 + odds**2) ** 2 + 4 * odds**2)
    assert lunch.average(Fraction(1, 3)) > Fraction(1, 2)  # where neighbours tend to differ, they mislead
    averages = [no_free_lunch(NearestNeighbours(k=1), n_features=4, seen=range(8)).average(odds) for odds in (1, 2, 4)]
    assert averages[0] == Fraction(1, 2)
    assert averages[2] < averages[1] < Fraction(9, 20)


def test_weights_are_those_of_the_labellings_counted_one_by_one() -> None:
    seen, unseen, odds = (1, 4, 6), (0, 2, 3, 5, 7), 3
    lunch = no_free_lunch(BernoulliNB(), n_features=3, seen=seen)
    total = wrong = 0
    for i, known in enumerate(labellings(3, 2)):
        for hidden in labellings(5, 2):
            label = dict(zip(seen + unseen, [*known, *hidden], strict=True))
            weight = odds ** sum(label[a] == label[b] for a in range(8) for b in range(a) if (a ^ b) in (1, 2, 4))
            total += 5 * weight
            wrong += weight * int((lunch.predicted[i] != hidden).sum())
    assert lunch.average(odds) == Fraction(wrong, total)


def test_the_cube_has_all_rows_in_binary_order() -> None:
    assert cube(3).tolist() == [[n >> 2 & 1, n >> 1 & 1, n & 1] for n in range(8)]


def test_a_classifier_is_fitted_once_for_each_lesson() -> None:
    lunch = no_free_lunch(BernoulliNB(), n_features=3, seen=[0, 1, 2])
    assert lunch.predicted.shape == (8, 5)
    assert lunch.n_wrong.shape == (8, 32)


def test_a_lesson_of_one_class_is_believed() -> None:
    lunch = no_free_lunch(LogisticRegression(), n_features=2, seen=[0, 3])
    assert lunch.predicted[0].tolist() == [0, 0]
    assert lunch.predicted[3].tolist() == [1, 1]


class Broken(BaseEstimator):
    def fit(self, X, y):
        raise ValueError("out of order")


def test_an_error_that_has_nothing_to_do_with_one_class_is_passed_on() -> None:
    with pytest.raises(ValueError, match="out of order"):
        no_free_lunch(Broken(), n_features=2, seen=[0, 3])


def test_questions_without_an_answer_are_refused() -> None:
    with pytest.raises(
        LabError, match=r"2 classes on a cube of 5 features have 2\^32 labellings: .* at most 1,048,576"
    ):
        no_free_lunch(BernoulliNB(), n_features=5, seen=[0])
    with pytest.raises(LabError, match="take two classes or more"):
        no_free_lunch(BernoulliNB(), n_features=2, seen=[0], n_classes=1)
    for seen in ([], [0, 1, 2, 3], [1, 1], [4], [-1]):
        with pytest.raises(LabError, match=r"distinct numbers from 0 to 3, at least one and not all of them, not \["):
            no_free_lunch(BernoulliNB(), n_features=2, seen=seen)
    with pytest.raises(LabError, match="the odds for equal labels of neighbours must be above 0, not 0"):
        no_free_lunch(BernoulliNB(), n_features=2, seen=[0]).average(odds=0)
    one, other = (no_free_lunch(BernoulliNB(), n_features=2, seen=seen) for seen in ([0], [1]))
    with pytest.raises(LabError, match="only on the same cube with the same seen corners"):
        n_better(one, other)
