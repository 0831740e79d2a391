"""The numbers worked out in the five lectures on probabilistic classification, shown by the toolkit's own models."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from priory.bayes import BernoulliNB, CategoricalNB, JointBayes
from priory.decision import Costs, decide, thresholds

#: 340-19, training example: six rows of class 1, four of class 0, two features.
X = [[0, 1], [1, 1], [0, 0], [1, 1], [1, 1], [0, 0], [1, 0], [1, 0], [1, 1], [1, 0]]
Y = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
#: 273A, numeric example: rows x1, x2, y.
ROWS = [[int(digit) for digit in row] for row in ["110", "100", "101", "000", "011", "110", "001", "101"]]


def fractions(logs: Any) -> list[Any]:
    """The probabilities as the simplest fractions within rounding."""
    found = np.exp(np.asarray(logs))
    simplest = [Fraction(float(p)).limit_denominator(100_000) for p in found.ravel()]
    assert found.ravel() == pytest.approx([float(p) for p in simplest], rel=1e-12)
    return np.array(simplest, object).reshape(found.shape).tolist()


@pytest.mark.parametrize("form", [np.array, csr_matrix])
def test_340_19_training_example(form: Any) -> None:
    model = BernoulliNB(alpha=0).fit(form(X), Y)
    assert model.class_count_.tolist() == [4, 6]
    assert fractions(model.feature_log_prob_) == [[1, Fraction(1, 4)], [Fraction(3, 6), Fraction(4, 6)]]
    row = form([[1, 1]])
    assert fractions(model.predict_joint_log_proba(row)) == [[Fraction(1, 10), Fraction(1, 5)]]
    assert fractions(model.log_evidence(row)) == [Fraction(3, 10)]
    assert fractions(model.predict_log_proba(row)) == [[Fraction(1, 3), Fraction(2, 3)]]
    assert model.predict(row).tolist() == [1]
    explained = model.explain(row)[0]
    assert fractions(explained.prior) == [Fraction(4, 10), Fraction(6, 10)]
    assert fractions(explained.terms) == [[1, Fraction(3, 6)], [Fraction(1, 4), Fraction(4, 6)]]


def test_340_19_training_example_with_smoothing() -> None:
    """340-16 and 360: (n_cj + 1)/(n_c + 2), and the class prior (N_c + 1)/(n + K)."""
    model = BernoulliNB(alpha=1, prior="smoothed").fit(X, Y)
    assert fractions(model.feature_log_prob_) == [[Fraction(5, 6), Fraction(2, 6)], [Fraction(4, 8), Fraction(5, 8)]]
    assert fractions(model.class_log_prior_) == [Fraction(5, 12), Fraction(7, 12)]


@pytest.mark.parametrize("classifier", [BernoulliNB, CategoricalNB])
def test_273a_numeric_example(classifier: Any) -> None:
    rows, labels = [row[:2] for row in ROWS], [row[2] for row in ROWS]
    model = classifier(alpha=0).fit(rows, labels)
    ones = [[Fraction(3, 4), Fraction(2, 4)], [Fraction(2, 4), Fraction(1, 4)]]
    assert fractions(model.explain([[1, 1]])[0].terms) == ones
    assert fractions(model.predict_log_proba([[1, 1]])) == [[Fraction(3, 4), Fraction(1, 4)]]
    assert model.predict([[1, 1]]).tolist() == [0]


CONTINGENCY = {0: (42, 15), 1: (338, 287), 2: (3, 5)}


@pytest.mark.parametrize("classifier", [CategoricalNB, JointBayes])
def test_273a_contingency_table(classifier: Any) -> None:
    cells = [
        (value, label, n) for value, ns in CONTINGENCY.items() for label, n in zip(("bad", "good"), ns, strict=True)
    ]
    values, labels, weights = (
        [[value] for value, _, _ in cells],
        [label for _, label, _ in cells],
        [n for *_, n in cells],
    )
    model = classifier(alpha=0).fit(values, labels, sample_weight=weights)
    assert fractions(model.class_log_prior_) == [Fraction(383, 690), Fraction(307, 690)]
    posterior = fractions(model.predict_log_proba([[0], [1], [2]]))
    assert [bad for bad, _ in posterior] == [Fraction(42, 57), Fraction(338, 625), Fraction(3, 8)]
    wrong = sum(n for n, said, true in zip(weights, model.predict(values), labels, strict=True) if said != true)
    assert Fraction(wrong, 690) == Fraction(15 + 287 + 3, 690)


@pytest.mark.parametrize("classifier", [CategoricalNB, JointBayes])
def test_273a_flu(classifier: Any) -> None:
    """p(F) = 1/40, p(H | F) = 1/2, p(H) = 1/10: of 80 people 2 have the flu, 8 a headache, 1 both."""
    people = [("headache", "flu", 1), ("none", "flu", 1), ("headache", "well", 7), ("none", "well", 71)]
    model = classifier(alpha=0).fit(
        [[head] for head, *_ in people], [flu for _, flu, _ in people], [n for *_, n in people]
    )
    assert fractions(model.class_log_prior_) == [Fraction(1, 40), Fraction(39, 40)]
    assert fractions(model.log_evidence([["headache"]])) == [Fraction(1, 10)]
    assert fractions(model.predict_log_proba([["headache"]]))[0][0] == Fraction(1, 8)


#: 273A: how often (A, B, C) = 000, 001, …, 111 was seen under y = 1, of 10.
SEEN = [4, 1, 0, 0, 1, 2, 1, 1]
EVERY = [[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)]


@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1), Fraction(1, 2)])
def test_273a_joint_table(alpha: Fraction) -> None:
    rows, labels, weights = [*EVERY, [0, 0, 0], [1, 1, 1]], [1] * 8 + [0] * 2, [*SEEN, 1, 1]
    model = JointBayes(alpha=float(alpha), prior="uniform").fit(rows, labels, sample_weight=weights)
    given_one = model.predict_joint_log_proba(EVERY)[:, 1] + np.log(2)
    expected = [(n + alpha) / (10 + 8 * alpha) for n in SEEN]
    assert np.exp(given_one) == pytest.approx([float(p) for p in expected], rel=1e-12)
    assert np.isneginf(given_one).tolist() == [p == 0 for p in expected]


def test_273a_factored_table() -> None:
    """p(A=1) = .6, p(B=1) = .3, p(C=1) = .9 give p(0,0,0) = .4 · .7 · .1."""
    rows = [[int(i < 6), int(i < 3), int(i < 9)] for i in range(10)]
    model = BernoulliNB(alpha=0, prior="uniform").fit([*rows, [0, 0, 0]], [1] * 10 + [0])
    joint = model.predict_joint_log_proba([[0, 0, 0]])[0, 1]
    assert fractions([joint]) == [Fraction(1, 2) * Fraction(4, 10) * Fraction(7, 10) * Fraction(1, 10)]


def test_360_joint_values_are_normalised_and_a_threshold_decides() -> None:
    """0.015 and 0.0718, by the division; the notes print 0.16 and 0.84. With t = 0.9 the answer is 0, else 1."""
    zero, one = Fraction(15, 1000), Fraction(718, 10_000)
    model = CategoricalNB(alpha=0, prior=[0.5, 0.5])
    model.fit(
        [["x"], ["other"], ["x"], ["other"]],
        [0, 0, 1, 1],
        [float(2 * p) for p in (zero, 1 / Fraction(2) - zero, one, 1 / Fraction(2) - one)],
    )
    assert fractions(model.predict_joint_log_proba([["x"]])) == [[zero, one]]
    posterior = model.predict_proba([["x"]])[0].tolist()
    assert posterior == pytest.approx([float(zero / (zero + one)), float(one / (zero + one))], rel=1e-12)
    for t, answer in ((0.9, "0"), (0.5, "1"), (0.1, "1")):
        costs = Costs(("0", "1"), ((0, 1 - t), (t, 0)), unsure=1)
        assert thresholds(costs) == pytest.approx({"1": t})
        assert decide(posterior, costs) == answer


def test_340_16_costs_of_mistakes() -> None:
    """C(spam, ham) = 100, C(ham, spam) = 10: spam only if p > 10/11; at p = 0.9 the cheapest is ham."""
    costs = Costs(("ham", "spam"), ((0, 10), (100, 0)), unsure=100)
    assert thresholds(costs)["spam"] == pytest.approx(float(Fraction(10, 11)))
    model = BernoulliNB(alpha=0).fit([[1]] * 10, ["spam"] * 9 + ["ham"])
    assert fractions(model.predict_log_proba([[1]])) == [[Fraction(1, 10), Fraction(9, 10)]]
    assert model.predict([[1]]).tolist() == ["spam"]
    assert decide(model.predict_proba([[1]])[0].tolist(), costs) == "ham"
    assert decide([1 / 12, 11 / 12], costs) == "spam"
