"""What was said about examples with known labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priory.lab.error import LabError
from priory.lab.predictions import Predictions

HAM_OR_SPAM = ("ham", "spam")


def test_labels_become_places_among_the_classes():
    seen = Predictions.of(HAM_OR_SPAM, ["spam", "ham"], [[0.25, 0.75], [1, 0]])
    assert seen.truth.tolist() == [1, 0]
    assert seen.names == ("row 0", "row 1")
    assert seen.log_odds().tolist() == [pytest.approx(np.log(3)), -np.inf]
    assert seen.log_odds(0).tolist() == [pytest.approx(-np.log(3)), np.inf]


def test_of_equally_probable_classes_the_first_is_the_likeliest():
    seen = Predictions.of(HAM_OR_SPAM, ["spam", "spam"], [[0.5, 0.5], [0.1, 0.9]])
    assert seen.likeliest.tolist() == [0, 1]
    assert seen.errors.tolist() == [True, False]


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any), min_size=1, max_size=8))
def test_log_odds_are_those_of_one_class_against_all_others(weights):
    rows = np.array(weights, float)
    p = rows / rows.sum(axis=1, keepdims=True)
    seen = Predictions.of("abc", ["a"] * len(p), p)
    for about in range(3):
        with np.errstate(divide="ignore"):
            expected = np.log(rows[:, about]) - np.log(rows.sum(axis=1) - rows[:, about])
        assert seen.log_odds(about) == pytest.approx(expected, abs=1e-9)


def test_some_are_taken_by_number_or_mask():
    seen = Predictions.of(HAM_OR_SPAM, ["ham", "spam", "ham"], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]], ["a", "b", "c"])
    assert seen.take([2, 0]).names == ("c", "a")
    few = seen.take(np.array([False, True, True]))
    assert (few.names, few.truth.tolist(), len(few)) == (("b", "c"), [1, 0], 2)
    assert few.probabilities[:, 1] == pytest.approx([0.8, 0.7])


def test_groups_go_where_their_examples_go():
    seen = Predictions.of(HAM_OR_SPAM, ["ham", "spam", "ham"], [[1, 0], [0, 1], [1, 0]], groups=[4, 7, 4])
    assert seen.groups.dtype == np.int64
    assert seen.take([2, 1]).groups.tolist() == [4, 7]
    assert Predictions.of(HAM_OR_SPAM, ["ham"], [[1, 0]]).take([0]).groups is None


def test_groups_of_other_examples_are_refused():
    text = r"2 labels and groups of shape \(3,\) do not belong together: give one number for each example"
    with pytest.raises(LabError, match=text):
        Predictions.of(HAM_OR_SPAM, ["ham", "spam"], [[1, 0], [0, 1]], groups=[1, 2, 3])


def test_the_error_rate_is_the_share_of_errors():
    seen = Predictions.of(HAM_OR_SPAM, ["ham", "spam", "ham"], [[1, 0], [0, 1], [0, 1]])
    assert seen.error_rate == pytest.approx(1 / 3)


def test_what_does_not_belong_together_is_refused():
    text = r"2 labels, 1 names and probabilities of shape \(2, 2\) do not belong together: give one row of 2"
    with pytest.raises(LabError, match=text):
        Predictions.of(HAM_OR_SPAM, ["ham", "spam"], [[1, 0], [0, 1]], ["inbox:1"])
    with pytest.raises(LabError, match=r"probabilities of shape \(2, 3\)"):
        Predictions.of(HAM_OR_SPAM, ["ham", "spam"], np.eye(3)[:2])


def test_a_probability_that_is_not_a_number_is_refused_with_its_example():
    with pytest.raises(LabError, match="1 of 2 examples have a probability that is not a number, the first is inbox:2"):
        Predictions.of(HAM_OR_SPAM, ["ham", "spam"], [[1, 0], [np.nan, 1]], ["inbox:1", "inbox:2"])


def test_what_is_no_probability_is_refused():
    with pytest.raises(LabError, match=r"probabilities are from 0 to 1, but -1 to 2 were given"):
        Predictions.of(HAM_OR_SPAM, ["ham"], [[-1, 2]])


def test_strange_labels_are_refused_by_name():
    with pytest.raises(LabError, match="the labels junk, odd are not among the classes ham, spam"):
        Predictions.of(HAM_OR_SPAM, ["odd", "ham", "junk"], np.eye(3)[:, :2])


def test_probabilities_that_do_not_sum_to_one_are_refused():
    with pytest.raises(LabError, match=r"1 of 2 do not, the first is row 1 with 0.5"):
        Predictions.of(["ham", "spam"], ["ham", "spam"], [[0.5, 0.5], [0.5, 0.0]])
