"""What was said beside what is true."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented import HAM_OR_SPAM, some_predictions, unhurried, with_probabilities
from sklearn.metrics import confusion_matrix

from priory.decision import UNSURE, Costs, decide
from priory.lab.error import LabError
from priory.lab.measures import confusion, said
from priory.lab.predictions import Predictions

prices = st.sampled_from([0.0, 0.5, 1.0, 4.0, 10.0, 100.0])


@st.composite
def some_costs(draw: st.DrawFn, n_classes: int) -> Costs:
    matrix = tuple(tuple(0.0 if i == j else draw(prices) for i in range(n_classes)) for j in range(n_classes))
    return Costs(tuple("abcdef"[:n_classes]), matrix, draw(prices))


@unhurried
@given(st.data(), st.integers(2, 4))
def test_what_is_said_is_what_decide_says_about_each_example(data: st.DataObject, n_classes: int):
    predictions, costs = data.draw(some_predictions(n_classes)), data.draw(some_costs(n_classes))
    answers = (*predictions.classes, UNSURE)
    expected = [decide(row.tolist(), costs) for row in predictions.probabilities]
    assert [answers[code] for code in said(predictions, costs)] == expected


def test_without_costs_the_most_probable_class_is_said():
    assert said(with_probabilities([0.1, 0.9], [0.5]), None).tolist() == [0, 1, 0]


def test_at_nine_tenths_spam_the_cheapest_word_is_ham_when_a_lost_ham_costs_ten_missed_spams():
    """340-16: C(spam, ham) = 100, C(ham, spam) = 10, so spam only if p > 10/11."""
    costs = Costs(unsure=1000)
    just_below, just_above = float(Fraction(10, 11)) - 1e-9, float(Fraction(10, 11)) + 1e-9
    predictions = with_probabilities([], [0.9, just_below, just_above])
    assert said(predictions, costs).tolist() == [0, 0, 1]
    assert said(predictions, None).tolist() == [1, 1, 1]


def test_the_table_counts_rows_of_the_truth_and_columns_of_what_was_said():
    predictions = with_probabilities([0.1, 0.5, 0.97], [0.2, 0.5, 0.99, 1.0])
    table = confusion(predictions, Costs())
    assert table.classes == HAM_OR_SPAM
    assert table.said == (*HAM_OR_SPAM, UNSURE)
    assert table.counts.tolist() == [[1, 1, 1], [1, 2, 1]]
    assert table.by_row.tolist() == [[1 / 3, 1 / 3, 1 / 3], [1 / 4, 1 / 2, 1 / 4]]
    assert table.as_dict() == {
        "classes": ["ham", "spam"],
        "said": ["ham", "spam", "unsure"],
        "counts": [[1, 1, 1], [1, 2, 1]],
    }


@unhurried
@given(st.data(), st.integers(2, 5))
def test_without_costs_the_table_is_that_of_scikit_learn(data: st.DataObject, n_classes: int):
    predictions = data.draw(some_predictions(n_classes))
    table = confusion(predictions)
    assert table.said == predictions.classes
    assert np.array_equal(
        table.counts, confusion_matrix(predictions.truth, predictions.likeliest, labels=range(n_classes))
    )


def test_a_class_without_examples_has_a_row_of_zeros_and_no_shares():
    table = confusion(with_probabilities([], [0.9]))
    assert table.counts.tolist() == [[0, 0], [0, 1]]
    assert np.isnan(table.by_row[0]).all()


def test_nothing_at_all_has_no_table():
    nothing = Predictions.of(HAM_OR_SPAM, [], np.empty((0, 2)))
    with pytest.raises(LabError, match="there are no examples to judge"):
        confusion(nothing)


def test_costs_for_other_labels_are_refused():
    text = "the costs are about ham, spam, the predictions about a, b: give costs for these classes, in this order"
    with pytest.raises(LabError, match=text):
        confusion(Predictions.of("ab", "ab", [[1, 0], [0, 1]]), Costs())
