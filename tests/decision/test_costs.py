from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from priory.decision import UNSURE, Costs, decide, thresholds

#: 340-16: a lost ham costs 100, a missed spam 10; *unsure* is too dear to be said.
LECTURE = Costs(unsure=1000)
COST = st.fractions(0, 100, max_denominator=20)
PROBABILITY = st.fractions(0, 1, max_denominator=50)


def two_labels(missed: Fraction, lost: Fraction, unsure: Fraction) -> Costs:
    return Costs(matrix=((0, missed), (lost, 0)), unsure=unsure)


def said_at(p: Fraction, costs: Costs) -> str:
    return decide([1 - p, p], costs)


def test_340_16_spam_is_said_only_beyond_ten_elevenths() -> None:
    assert thresholds(Costs(unsure=Fraction(1000), matrix=((0, Fraction(10)), (Fraction(100), 0)))) == {
        "spam": Fraction(10, 11)
    }
    little = Fraction(1, 10**9)
    assert said_at(Fraction(10, 11) - little, LECTURE) == "ham"
    assert said_at(Fraction(10, 11), LECTURE) == "ham"
    assert said_at(Fraction(10, 11) + little, LECTURE) == "spam"


def test_340_16_at_nine_tenths_spam_is_most_likely_and_ham_is_cheapest() -> None:
    p = Fraction(9, 10)
    assert LECTURE.expected([1 - p, p]) == {"ham": 9, "spam": 10, UNSURE: 1000}
    assert max(("ham", 1 - p), ("spam", p), key=lambda label: label[1])[0] == "spam"
    assert said_at(p, LECTURE) == "ham"


@pytest.mark.parametrize(("t", "answer"), [("9/10", "0"), ("1/2", "1"), ("1/10", "1")])
def test_360_the_threshold_decides_about_the_normalised_joint(t: str, answer: str) -> None:
    """Joint values 0.015 and 0.0718; a threshold t on p(1) is the cost ratio t : 1 - t."""
    threshold = Fraction(t)
    joint = [Fraction("0.015"), Fraction("0.0718")]
    p = [value / sum(joint) for value in joint]
    assert p == [Fraction("0.015") / Fraction("0.0868"), Fraction("0.0718") / Fraction("0.0868")]
    costs = Costs(("0", "1"), ((0, 1 - threshold), (threshold, 0)), unsure=1)
    assert thresholds(costs) == {"1": threshold}
    assert decide(p, costs) == answer


def test_360_without_enough_confidence_no_label_is_said() -> None:
    costs = Costs(unsure=Fraction(1, 10), matrix=((0, 1), (1, 0)))
    assert thresholds(costs) == {UNSURE: Fraction(1, 10), "spam": Fraction(9, 10)}
    assert [said_at(Fraction(p, 100), costs) for p in (9, 10, 50, 90, 91)] == ["ham", *[UNSURE] * 3, "spam"]


def test_the_defaults_are_unsure_between_four_tenths_and_96_hundredths() -> None:
    costs = two_labels(Fraction(10), Fraction(100), Fraction(4))
    assert thresholds(costs) == {UNSURE: Fraction(2, 5), "spam": Fraction(24, 25)}
    assert thresholds(Costs()) == {UNSURE: 0.4, "spam": 0.96}


@given(missed=COST, lost=COST, unsure=COST)
@example(missed=Fraction(0), lost=Fraction(1), unsure=Fraction(1))
@example(missed=Fraction(1), lost=Fraction(0), unsure=Fraction(1))
@example(missed=Fraction(0), lost=Fraction(0), unsure=Fraction(0))
@example(missed=Fraction(10), lost=Fraction(100), unsure=Fraction(100, 11))
@example(missed=Fraction(10), lost=Fraction(100), unsure=Fraction(0))
def test_the_thresholds_are_where_the_cheapest_thing_to_say_changes(
    missed: Fraction, lost: Fraction, unsure: Fraction
) -> None:
    costs = two_labels(missed, lost, unsure)
    found = thresholds(costs)
    assert all(0 <= begin <= 1 for begin in found.values())
    begins = sorted({Fraction(0), Fraction(1), *found.values()})
    for begin, end in pairwise(begins):
        current = max((p, order, said) for order, (said, p) in enumerate([("ham", -1), *found.items()]) if p <= begin)
        for i in range(1, 20):
            assert said_at(begin + (end - begin) * Fraction(i, 20), costs) == current[2]


def test_unsure_is_always_said_when_it_is_free_and_never_when_it_is_dear() -> None:
    free, dear = Costs(unsure=0), Costs(unsure=10)
    for i in range(101):
        assert said_at(Fraction(i, 100), free) == UNSURE
        assert said_at(Fraction(i, 100), dear) != UNSURE
    assert thresholds(free) == {UNSURE: 0, "spam": 1}
    assert thresholds(dear) == {"spam": 100 / 110}


def test_of_equally_cheap_things_unsure_is_said_then_the_label_named_first() -> None:
    level = Costs(matrix=((0, 2), (2, 0)), unsure=1)
    assert said_at(Fraction(1, 2), level) == UNSURE
    assert said_at(Fraction(1, 2), Costs(matrix=((0, 2), (2, 0)), unsure=3)) == "ham"
    three = Costs(("b", "a", "c"), ((0, 1, 1), (1, 0, 1), (1, 1, 0)), unsure=9)
    assert decide([Fraction(1, 3)] * 3, three) == "b"


PHISHING = Costs(
    ("ham", "newsletter", "phishing"), ((0, 2, 1000), (5, 0, 1000), (100, 50, 0)), unsure=20
)  # cost[said][true]


@pytest.mark.parametrize(
    ("p", "expected", "said"),
    [
        (("9/10", "1/10", "0"), ("1/5", "9/2", "95"), "ham"),
        (("1/10", "9/10", "0"), ("9/5", "1/2", "55"), "newsletter"),
        (("49/50", "0", "1/50"), ("20", "249/10", "98"), UNSURE),
        (("1/100", "0", "99/100"), ("990", "19801/20", "1"), "phishing"),
        (("1/3", "1/3", "1/3"), ("334", "335", "50"), UNSURE),
    ],
)
def test_three_labels_are_decided_by_their_expected_costs(
    p: tuple[str, ...], expected: tuple[str, ...], said: str
) -> None:
    probabilities = [Fraction(each) for each in p]
    costs = [Fraction(each) for each in expected]
    assert PHISHING.expected(probabilities) == {**dict(zip(PHISHING.labels, costs, strict=True)), UNSURE: 20}
    assert decide(probabilities, PHISHING) == said
    assert thresholds(PHISHING) == {}


@pytest.mark.slow
@given(data=st.data(), k=st.integers(2, 5))
def test_whatever_is_said_nothing_else_is_cheaper(data: st.DataObject, k: int) -> None:
    row = st.lists(COST, min_size=k, max_size=k)
    matrix = tuple(tuple(each) for each in data.draw(st.lists(row, min_size=k, max_size=k)))
    weights = data.draw(st.lists(st.integers(0, 100), min_size=k, max_size=k))
    assume(sum(weights))
    p = [Fraction(weight, sum(weights)) for weight in weights]
    costs = Costs(tuple("abcde"[:k]), matrix, data.draw(COST))
    said = decide(p, costs)
    brute = {
        label: sum((cost * chance for cost, chance in zip(matrix[j], p, strict=True)), Fraction(0))
        for j, label in enumerate(costs.labels)
    }
    brute[UNSURE] = costs.unsure
    assert costs.expected(p) == brute
    assert brute[said] == min(brute.values())
    assert said == UNSURE or brute[UNSURE] > brute[said]


@given(p=PROBABILITY)
def test_as_many_probabilities_as_labels_are_needed(p: Fraction) -> None:
    with pytest.raises(ValueError, match="1 probabilities for 2 labels"):
        decide([p], Costs())
