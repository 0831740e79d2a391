"""Shares of errors, from tables that were computed by hand."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented import HAM_OR_SPAM, some_predictions, unhurried, with_probabilities
from sklearn.metrics import accuracy_score, jaccard_score, precision_score, recall_score

from priory.lab.error import LabError
from priory.lab.measures import Confusion, confusion, rates
from priory.lab.measures.interval import share

TABLE = Confusion(HAM_OR_SPAM, HAM_OR_SPAM, np.array([[90, 10], [5, 45]]))
WITH_UNSURE = Confusion(HAM_OR_SPAM, (*HAM_OR_SPAM, "unsure"), np.array([[90, 2, 8], [5, 35, 10]]))


@pytest.mark.parametrize(
    ("table", "name", "k", "n"),
    [
        (TABLE, "false_positive_rate", 10, 100),
        (TABLE, "false_negative_rate", 5, 50),
        (TABLE, "precision", 45, 55),
        (TABLE, "recall", 45, 50),
        (TABLE, "jaccard", 45, 60),
        (TABLE, "accuracy", 135, 150),
        (TABLE, "unsure", 0, 150),
        (WITH_UNSURE, "false_positive_rate", 2, 100),
        (WITH_UNSURE, "false_negative_rate", 5, 50),
        (WITH_UNSURE, "precision", 35, 37),
        (WITH_UNSURE, "recall", 35, 50),
        (WITH_UNSURE, "jaccard", 35, 52),
        (WITH_UNSURE, "accuracy", 125, 150),
        (WITH_UNSURE, "unsure", 18, 150),
    ],
)
def test_each_share_is_its_fraction_with_the_exact_interval(table: Confusion, name: str, k: int, n: int):
    found = getattr(rates(table), name)
    assert found.estimate == float(Fraction(k, n))
    assert found == share(k, n)


def test_of_three_classes_one_is_taken_against_the_rest():
    table = Confusion(("ham", "phish", "spam"), ("ham", "phish", "spam"), np.array([[8, 1, 1], [2, 5, 3], [0, 4, 6]]))
    phish = rates(table, about=1)
    assert phish.false_positive_rate.estimate == float(Fraction(1 + 4, 20))
    assert phish.false_negative_rate.estimate == float(Fraction(2 + 3, 10))
    assert phish.precision.estimate == float(Fraction(5, 10))
    assert phish.jaccard.estimate == float(Fraction(5, 15))
    assert phish.accuracy.estimate == float(Fraction(19, 30))


@pytest.mark.slow
@unhurried
@given(some_predictions(3), st.integers(0, 2))
def test_shares_are_those_of_scikit_learn(predictions, about: int):
    found = rates(confusion(predictions), about)
    truth, said = predictions.truth == about, predictions.likeliest == about
    assert found.recall.estimate == pytest.approx(recall_score(truth, said), abs=1e-12)
    assert found.jaccard.estimate == pytest.approx(jaccard_score(truth, said), abs=1e-12)
    assert found.accuracy.estimate == pytest.approx(accuracy_score(predictions.truth, predictions.likeliest), abs=1e-12)
    if said.any():
        assert found.precision.estimate == pytest.approx(precision_score(truth, said), abs=1e-12)
    else:
        assert np.isnan(found.precision.estimate)


@unhurried
@given(some_predictions(2))
def test_where_the_classes_swap_roles_so_do_the_errors(predictions):
    one, other = rates(confusion(predictions), 1), rates(confusion(predictions), 0)
    assert one.false_positive_rate == other.false_negative_rate
    assert one.false_negative_rate == other.false_positive_rate
    assert one.accuracy == other.accuracy


def test_one_class_alone_is_refused_with_what_is_missing():
    with pytest.raises(LabError, match="no spam among 120 examples: figures about one class against another"):
        rates(confusion(with_probabilities([0.1] * 120, [])))
    with pytest.raises(LabError, match="no ham among 3 examples"):
        rates(confusion(with_probabilities([], [0.1] * 3)))


def test_a_class_that_is_not_there_is_refused():
    with pytest.raises(LabError, match="there is no class 2: the classes ham, spam are 0 to 1"):
        rates(TABLE, about=2)
