import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counted import ALL_NAMED, features_of
from priory.bayes import Counts, PresenceBayes
from priory.bayes.counts import pack_predictions
from priory.bayes.presence import DOUBT, UNIT, correction

#: 340-19, training example: six messages of label 1, four of label 0, two features.
X = [[0, 1], [1, 1], [0, 0], [1, 1], [1, 1], [0, 0], [1, 0], [1, 0], [1, 1], [1, 0]]
Y = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
#: 273A, numeric example: rows x1, x2, y.
ROWS = ["110", "100", "101", "000", "011", "110", "001", "101"]
WORKED = {"340-19": (X, Y), "273A": ([[int(a), int(b)] for a, b, _ in ROWS], [int(y) for *_, y in ROWS])}


@pytest.fixture(params=[0, ALL_NAMED], ids=["buckets", "names"])
def named(request: pytest.FixtureRequest) -> int:
    """The groups whose features have names."""
    groups: int = request.param
    return groups


def counted(rows: list[list[int]], labels: list[int], named: int, n_labels: int = 2) -> Counts:
    counts = Counts.empty(bits=4, n_labels=n_labels)
    for row, label in zip(rows, labels, strict=True):
        counts.add(features_of(np.flatnonzero(row), named=named), label)
    return counts


def messages(counts: Counts, feature: int) -> tuple[int, ...]:
    """How many messages of each label had a feature, whether it has a name or not."""
    return counts.messages_with(feature, 0, 0 if counts.names.nameless else ALL_NAMED)


def term(counts: Counts, feature: int, label: int, smoothing: Fraction) -> Fraction:
    """The ratio whose logarithm is a term, written down as in the docstring of the model, in fractions."""
    counted = messages(counts, feature)
    own, n_own = counted[label], counts.totals[label]
    rest, n_rest = sum(counted) - own, sum(counts.totals) - n_own
    return ((own + smoothing) / (n_own + 2 * smoothing)) / ((rest + smoothing) / (n_rest + 2 * smoothing))


def test_the_worked_example_of_340_19_has_its_counts_and_ratios(named: int) -> None:
    counts = counted(X, Y, named)
    assert counts.totals.tolist() == [4, 6]
    assert [messages(counts, feature) for feature in (0, 1)] == [(4, 3), (1, 4)]
    # p(x1=1 | 1) = 3/6, p(x1=1 | 0) = 1; p(x2=1 | 1) = 4/6, p(x2=1 | 0) = 1/4
    assert term(counts, 0, 1, Fraction(0)) == Fraction(3, 6)
    assert term(counts, 1, 1, Fraction(0)) == Fraction(4, 6) / Fraction(1, 4)
    joint = {1: Fraction(3, 6) * Fraction(4, 6) * Fraction(6, 10), 0: 1 * Fraction(1, 4) * Fraction(4, 10)}
    assert joint == {1: Fraction(1, 5), 0: Fraction(1, 10)}
    odds = Fraction(6, 4) * term(counts, 0, 1, Fraction(0)) * term(counts, 1, 1, Fraction(0))
    assert odds == joint[1] / joint[0]
    assert odds / (1 + odds) == Fraction(2, 3)


def test_the_worked_example_of_273a_has_its_counts_and_posterior(named: int) -> None:
    counts = counted(*WORKED["273A"], named)
    assert counts.totals.tolist() == [4, 4]
    assert [messages(counts, feature) for feature in (0, 1)] == [(3, 2), (2, 1)]
    odds = Fraction(4, 4) * term(counts, 0, 1, Fraction(0)) * term(counts, 1, 1, Fraction(0))
    assert odds / (1 + odds) == Fraction(1, 4)


@pytest.mark.parametrize("example", WORKED)
@pytest.mark.parametrize("smoothing", [Fraction(1), Fraction(1, 2), Fraction(1, 100)])
@pytest.mark.parametrize("label", [0, 1])
def test_the_terms_are_the_logarithms_of_the_smoothed_fractions(
    example: str, smoothing: Fraction, label: int, named: int
) -> None:
    counts = counted(*WORKED[example], named)
    model = PresenceBayes(weights=(2.0,), smoothing=float(smoothing), damping=0.0)
    terms = model.terms(features_of([0, 1], named=named), counts, label)
    assert terms.tolist() == pytest.approx([math.log(term(counts, f, label, smoothing)) for f in (0, 1)], abs=1e-12)


def test_with_nearly_no_smoothing_the_score_approaches_the_unsmoothed_posterior(named: int) -> None:
    counts = counted(X, Y, named)
    model = PresenceBayes(weights=(2.0,), smoothing=1e-9, damping=0.0)
    log_odds = math.log(6 / 4) + sum(model.terms(features_of([0, 1], named=named), counts, 1))
    assert 1 / (1 + math.exp(-log_odds)) == pytest.approx(2 / 3, abs=1e-6)


def test_a_feature_never_seen_says_nothing(named: int) -> None:
    model = PresenceBayes(weights=(1.0,))
    terms = model.terms(features_of([1, 9], named=named), counted(X, Y, named), 1)
    assert terms[0] > 0
    assert terms[1] == 0


def test_a_feature_seen_equally_often_in_both_says_nothing_when_both_are_equally_many(
    named: int,
) -> None:
    counts = counted([[1], [1], [0], [0]], [0, 1, 0, 1], named)
    assert PresenceBayes(weights=(1.0,)).terms(features_of([0], named=named), counts, 1).tolist() == [0]


def test_each_group_enters_by_its_weighted_and_damped_mean(named: int) -> None:
    counts = Counts.empty(bits=4, n_labels=2)
    for (one, two), label in zip(X, Y, strict=True):
        counts.add(features_of(np.flatnonzero([one, two]), [], [1] * two, named=named), label)
    model = PresenceBayes(weights=(3.0, 7.0, 5.0), smoothing=1.0, damping=4.0)
    terms = model.terms(features_of([0, 1], [], [1], named=named), counts, 1)
    one, two = (math.log(term(counts, f, 1, Fraction(1))) for f in (0, 1))
    assert terms.tolist() == pytest.approx([3 / 6 * one, 3 / 6 * two, 5 / 5 * two])


def test_more_smoothing_means_milder_terms(named: int) -> None:
    counts = counted([[1]] * 10 + [[0]] * 10, [1] * 10 + [0] * 10, named)
    feature = features_of([0], named=named)
    terms = [
        float(PresenceBayes((1.0,), smoothing).terms(feature, counts, 1)[0])
        for smoothing in (0.001, 0.01, 0.1, 1.0, 10.0)
    ]
    assert all(milder < stronger for stronger, milder in pairwise(terms))
    assert terms[-1] > 0


@pytest.mark.parametrize("smoothing", [0.0, -1.0, math.nan])
def test_a_model_without_smoothing_is_refused(smoothing: float) -> None:
    with pytest.raises(ValueError, match="smoothing must be above 0, not"):
        PresenceBayes((1.0,), smoothing)


def test_counts_beyond_the_table_of_logarithms_are_computed() -> None:
    counts = Counts.empty(bits=4, n_labels=2)
    np.asarray(counts.rows)[3, :2] = [4095, 4_000_000_000]
    np.asarray(counts.totals)[:] = [5000, 4_100_000_000]
    model = PresenceBayes((1.0,), smoothing=1.0, damping=0.0)
    (found,) = model.terms(features_of([3]), counts, 1)
    own, rest = Fraction(4_000_000_001, 4_100_000_002), Fraction(4096, 5002)
    assert found == pytest.approx(math.log(own / rest), abs=1e-12)


def test_how_much_was_learned_makes_no_difference_to_the_logarithm_of_a_count() -> None:
    """The larger a filter, the more logarithms it keeps; they are those that a smaller one computes, bit for bit."""
    counts = Counts.empty(bits=14, n_labels=2)
    rows = np.asarray(counts.rows)
    rows[:, 0], rows[:, 1] = np.arange(1 << 14), np.arange(1 << 14)[::-1] * 15
    every = features_of(range(1 << 14))
    found = []
    for n in (2000, 200_000):
        np.asarray(counts.totals)[:] = n  # as many of each: nothing else depends on it
        found.append(PresenceBayes((1.0,)).terms(every, counts, 1).tobytes())
    assert found[0] == found[1]


def test_a_message_with_a_million_features_has_a_finite_score(named: int) -> None:
    counts = Counts.empty(bits=20, n_labels=2)
    every = features_of(range(1 << 20), named=named)
    counts.add(every, 1)
    counts.add(features_of(range(10), named=named), 0)
    terms = PresenceBayes((1.0,)).terms(every, counts, 1)
    assert 0 < sum(terms) < math.log(1.02 / 0.01 + 1)


@given(
    rows=st.lists(st.lists(st.integers(0, 1), min_size=6, max_size=6), min_size=1, max_size=12),
    seed=st.integers(0, 2**32 - 1),
    n_labels=st.integers(2, 4),
    smoothing=st.sampled_from([0.01, 0.5, 1.0]),
    kind=st.sampled_from([0, ALL_NAMED]),
)
def test_the_kernel_gives_the_formula_in_fractions(
    rows: list[list[int]], seed: int, n_labels: int, smoothing: float, kind: int
) -> None:
    labels = np.random.default_rng(seed).integers(0, n_labels, len(rows)).tolist()
    counts = counted(rows, labels, kind, n_labels)
    for label in range(n_labels):
        terms = PresenceBayes((1.5,), smoothing, 3.0).terms(features_of(range(6), named=kind), counts, label)
        for feature, found in enumerate(terms):
            seen = any(messages(counts, feature))
            expected = 1.5 / 9 * math.log(term(counts, feature, label, Fraction(smoothing))) if seen else 0.0
            assert found == pytest.approx(expected, abs=1e-9)


def test_with_two_labels_the_terms_of_one_are_the_negated_terms_of_the_other(named: int) -> None:
    counts = counted(X, Y, named)
    counts.add(features_of([1], named=named), 1, pack_predictions([(0.2, 7)]))
    features, model = features_of([0, 1], named=named), PresenceBayes((1.0,))
    assert model.terms(features, counts, 1)[1] > PresenceBayes((1.0,), rate=0).terms(features, counts, 1)[1]
    ham, spam = (model.terms(features, counts, label) for label in (0, 1))
    assert ham.tolist() == pytest.approx([-term for term in spam])


@pytest.mark.parametrize(
    "probability", [Fraction(1, 1000), Fraction(1, 20), Fraction(1, 5), Fraction(1, 2), Fraction(9, 10)]
)
def test_a_correction_is_the_surprise_times_the_probability_that_the_label_is_no_slip(probability: Fraction) -> None:
    exact = UNIT * (1 - probability) * probability / (probability + Fraction(str(DOUBT)))
    assert correction(float(probability)) == round(exact)


def test_what_was_known_corrects_nothing_and_neither_does_what_cannot_be() -> None:
    assert correction(1.0) == correction(0.999) == 0
    assert correction(0.0) == correction(0.0001) == 0


def test_a_near_miss_corrects_more_than_what_looks_like_a_wrong_label() -> None:
    assert correction(0.4) > 2 * correction(0.01) > 0


@given(st.floats(0, 1))
def test_a_correction_fits_the_byte_in_which_it_is_stored(probability: float) -> None:
    assert 0 <= correction(probability) <= UNIT < 128
