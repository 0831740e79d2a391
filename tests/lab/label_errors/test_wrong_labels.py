from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.special import expit, softmax

from priory.bayes import BernoulliNB
from priory.corpus import trec
from priory.features.vectorizer import MailVectorizer
from priory.lab.error import LabError
from priory.lab.evaluation.cross_validation import out_of_fold
from priory.lab.label_errors.confident_learning import confident_learning
from priory.lab.label_errors.wrong_labels import _Fit, _Question, conflicts, suspects
from priory.lab.predictions import Predictions

HAM_SPAM = ["ham", "spam"]


def _drawn(n: int, n_classes: int, slip_rate: float, sharpness: float, seed: int) -> tuple[Predictions, np.ndarray]:
    """Draw what a classifier says, the classes as it says, and labels with slips; overstate by `sharpness`."""
    random = np.random.default_rng(seed)
    scores = random.normal(0, 4, (n, n_classes))
    truth = np.array([random.choice(n_classes, p=p) for p in softmax(scores, axis=1)])
    slipped = random.random(n) < slip_rate
    labels = np.where(slipped, (truth + random.integers(1, n_classes, n)) % n_classes, truth)
    probabilities = softmax(scores * sharpness, axis=1)
    return Predictions.of(range(n_classes), labels.tolist(), probabilities), slipped


def _plainly(predictions: Predictions, slip_rate: float, groups=None):
    """The posterior for a classifier that is believed as it is."""
    fit = _Fit(1.0, np.zeros(predictions.n_classes), slip_rate)
    return expit(_Question.of(predictions, groups).slips(fit)[0])


def test_the_probability_of_a_slip_is_bayes_rule() -> None:
    predictions = Predictions.of(HAM_SPAM, ["ham", "spam"], [[0.1, 0.9], [0.1, 0.9]])
    slip, right = Fraction(2, 100) * Fraction(9, 10), Fraction(98, 100) * Fraction(1, 10)
    not_slip, sure = Fraction(2, 100) * Fraction(1, 10), Fraction(98, 100) * Fraction(9, 10)
    expected = [slip / (slip + right), not_slip / (not_slip + sure)]
    assert _plainly(predictions, 0.02).tolist() == pytest.approx([float(p) for p in expected], abs=1e-12)


def test_with_three_classes_a_slip_goes_to_either_of_two() -> None:
    predictions = Predictions.of("abc", "a", [[0.2, 0.3, 0.5]])
    slip, right = Fraction(1, 10) / 2 * Fraction(8, 10), Fraction(9, 10) * Fraction(2, 10)
    assert _plainly(predictions, 0.1).tolist() == pytest.approx([float(slip / (slip + right))], abs=1e-12)


def test_copies_have_one_class_and_each_label_is_a_witness() -> None:
    predictions = Predictions.of(HAM_SPAM, ["spam", "spam", "ham", "ham"], [[0.5, 0.5]] * 4)
    odd_one = Fraction(9, 10) / (
        Fraction(9, 10) + Fraction(1, 10)
    )  # two spams and a ham: 0.9² · 0.1 against 0.1² · 0.9
    expected = [1 - odd_one, 1 - odd_one, odd_one, Fraction(1, 10)]
    assert _plainly(predictions, 0.1, [5, 5, 5, 9]).tolist() == pytest.approx([float(p) for p in expected], abs=1e-12)


def test_what_copies_say_counts_once() -> None:
    copies = Predictions.of(HAM_SPAM, ["ham"] * 3, [[0.3, 0.7]] * 3)
    twice = _plainly(copies, 0.1, [0, 0, 0])
    joint = np.array([0.3 * 0.9**3, 0.7 * 0.1**3])
    assert twice.tolist() == pytest.approx([joint[1] / joint.sum()] * 3, abs=1e-12)


@pytest.mark.parametrize(("n_classes", "sharpness"), [(2, 1.0), (2, 8.0), (2, 0.5), (4, 3.0)])
def test_slips_are_counted_right_however_much_the_classifier_overstates(n_classes, sharpness) -> None:
    predictions, slipped = _drawn(6000, n_classes, 0.03, sharpness, seed=1)
    ranking = suspects(predictions)
    assert ranking.slip_rate == pytest.approx(slipped.mean(), abs=0.008)
    assert ranking.temperature == pytest.approx(sharpness, rel=0.15)
    for n in (50, 100, 200, None):
        assert ranking.expected_wrong(n) == pytest.approx(slipped[ranking.order[:n]].sum(), rel=0.25)


@pytest.mark.slow
def test_a_classifiers_own_mistakes_are_not_taken_for_slips() -> None:
    for sharpness in (0.3, 6.0, 200.0):  # as sure as naive Bayes is of thousands of features
        predictions, _ = _drawn(6000, 2, 0.0, sharpness, seed=2)
        assert predictions.errors.mean() > 0.05
        assert suspects(predictions).expected_wrong() < 10


@given(st.integers(0, 1000), st.floats(0.001, 0.4))
@settings(max_examples=10, deadline=None)
def test_order_does_not_matter_and_probabilities_fall(seed, rate) -> None:
    predictions, _ = _drawn(60, 3, 0.1, 1.0, seed)
    assume(len(np.unique(predictions.truth)) > 1)
    ranking = suspects(predictions, slip_rate=rate)
    turned = suspects(predictions.take(slice(None, None, -1)), slip_rate=rate)
    assert (np.diff(ranking.probabilities) <= 0).all()
    assert sorted(ranking.order.tolist()) == list(range(60))
    assert ranking.probabilities == pytest.approx(turned.probabilities, abs=1e-3)
    assert (ranking.rather != predictions.truth[ranking.order]).all()


def test_the_rest_tells_when_to_stop() -> None:
    predictions, _ = _drawn(2000, 2, 0.05, 1.0, seed=3)
    ranking = suspects(predictions)
    n = ranking.n_to_find(0.8)
    assert ranking.expected_wrong(n) >= 0.8 * ranking.expected_wrong() > ranking.expected_wrong(n - 1)
    assert ranking.n_to_find(1.0) == 2000
    worth = ranking.n_above(0.25)
    assert ranking.probabilities[worth - 1] > 0.25 >= ranking.probabilities[worth]


def test_what_is_held_impossible_is_the_first_suspect() -> None:
    p = expit(np.linspace(-9, 9, 80))
    probabilities = np.column_stack([1 - p, p]).tolist()
    mail = Predictions.of(HAM_SPAM, ["ham"] * 40 + ["spam"] * 40 + ["ham"], [*probabilities, [0.0, 1.0]])
    first = suspects(mail).first(1)[0]
    assert (first.number, first.name, first.label, first.rather) == (80, "row 80", "ham", "spam")
    assert first.probability > 0.9


def test_a_classifier_that_says_yes_and_no_needs_the_share_of_slips() -> None:
    predictions = Predictions.of(HAM_SPAM, ["ham"] * 50 + ["spam"] * 50, [[1.0, 0.0]] * 52 + [[0.0, 1.0]] * 48)
    with pytest.raises(
        LabError, match="only 2 different probabilities: its mistakes cannot be distinguished from slips"
    ):
        suspects(predictions)
    ranking = suspects(predictions, slip_rate=0.01)
    assert ranking.order[:2].tolist() == [50, 51]
    assert ranking.expected_wrong() == pytest.approx(1, abs=0.5)


@pytest.mark.parametrize("slip_rate", [None, 0.05])
def test_the_gradient_is_that_of_the_surprise(slip_rate) -> None:
    predictions, _ = _drawn(90, 3, 0.1, 2.0, seed=4)
    question = _Question.of(predictions, np.arange(90) // 2)
    at = np.array([0.4, 0.3, -0.7, -3.0])
    slope = approx_fprime(at, lambda free: question.surprise(free, slip_rate)[0], 1e-7)
    assert question.surprise(at, slip_rate)[1] == pytest.approx(slope, abs=1e-5)


def test_copies_with_different_labels_are_listed() -> None:
    predictions = Predictions.of(HAM_SPAM, ["ham", "spam", "ham", "ham", "spam"], [[0.5, 0.5]] * 5)
    conflicting = conflicts(predictions, [3, 1, 1, 3, 8])
    assert {group: numbers.tolist() for group, numbers in conflicting.items()} == {1: [1, 2]}


def test_bad_questions_are_refused() -> None:
    predictions = Predictions.of(HAM_SPAM, ["ham", "ham"], [[0.9, 0.1]] * 2)
    with pytest.raises(LabError, match="all 2 labels are the same: add examples with another label"):
        suspects(predictions)
    with pytest.raises(LabError, match="all 0 labels are the same"):
        suspects(predictions.take([]))
    mixed = Predictions.of(HAM_SPAM, ["ham", "spam"], [[0.9, 0.1]] * 2)
    for rate in (0, 0.5, -1, float("nan")):
        with pytest.raises(LabError, match=r"the share of slips lies between 0 and 0\.5, not at"):
            suspects(mixed, slip_rate=rate)
    with pytest.raises(LabError, match=r"2 examples need a group number each; groups have the shape \(3,\)"):
        suspects(mixed, slip_rate=0.1, groups=[1, 2, 3])


def test_confident_learning_counts_by_thresholds() -> None:
    p = [[0.9, 0.1], [0.5, 0.5], [0.25, 0.75], [0.2, 0.8], [0.4, 0.6], [0.7, 0.3], [0.1, 0.9]]
    predictions = Predictions.of(HAM_SPAM, ["ham"] * 3 + ["spam"] * 4, p)
    # thresholds: ham (0.9 + 0.5 + 0.25) / 3 = 0.55, spam (0.8 + 0.6 + 0.3 + 0.9) / 4 = 0.65
    ranking = confident_learning(predictions)
    assert ranking.counts.tolist() == [[1, 1], [1, 2]]
    assert ranking.order.tolist() == [2, 5]  # margins 0.25 - 0.75 and 0.3 - 0.7


def test_confident_learning_suspects_nothing_of_a_class_that_no_label_names() -> None:
    predictions = Predictions.of("abc", "aabb", [[0.5, 0.1, 0.4], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1], [0.1, 0.9, 0.0]])
    assert confident_learning(predictions).counts[:, 2].tolist() == [0, 0, 0]


def _with_slips(labels: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Give so many labels to another class."""
    random = np.random.default_rng(0)
    classes, codes = np.unique(labels, return_inverse=True)
    slipped = np.zeros(len(labels), bool)
    slipped[random.choice(len(labels), int(share * len(labels)), replace=False)] = True
    moved = (codes + random.integers(1, len(classes), len(labels))) % len(classes)
    return classes[np.where(slipped, moved, codes)], slipped


def _mail(corpora: Path):
    entries = list(trec.entries(corpora / "spamassassin" / "index"))
    rows = MailVectorizer(bits=16).transform([trec.load(entry) for entry in entries])
    return rows[:, np.flatnonzero(rows.getnnz(axis=0) > 1)], entries


@pytest.mark.corpora
def test_slips_in_real_mail_are_found_and_counted(corpora: Path) -> None:
    rows, entries = _mail(corpora)
    labels, slipped = _with_slips(np.array([entry.label for entry in entries]), 0.02)
    predictions = out_of_fold(BernoulliNB(alpha=0.1), rows, labels)
    ranking, n = suspects(predictions), int(slipped.sum())
    right = np.cumsum(slipped[ranking.order])
    assert right[49] >= 49  # precision of the first 50
    assert right[n - 1] >= 0.8 * n  # precision and recall of as many as there are
    assert right[2 * n - 1] >= 0.94 * n
    for k in (50, 100, n, 2 * n, len(slipped)):
        assert ranking.expected_wrong(k) == pytest.approx(right[k - 1], rel=0.08)
    other = confident_learning(predictions).order
    assert slipped[other[:n]].sum() <= right[n - 1]
    assert suspects(out_of_fold(BernoulliNB(alpha=0.1), rows, [e.label for e in entries])).expected_wrong() < 20


@pytest.mark.corpora
def test_slips_among_three_kinds_of_real_mail_are_found(corpora: Path) -> None:
    rows, entries = _mail(corpora)
    kinds = np.array(["hard ham" if "hard_ham" in e.name else e.label for e in entries])
    labels, slipped = _with_slips(kinds, 0.02)
    ranking = suspects(out_of_fold(BernoulliNB(alpha=0.1), rows, labels))
    n = int(slipped.sum())
    assert slipped[ranking.order[:50]].sum() >= 44
    assert slipped[ranking.order[: 2 * n]].sum() >= 0.85 * n
