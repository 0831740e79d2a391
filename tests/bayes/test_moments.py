from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from priory.bayes.moments import add_moments, log_densities, means_and_variances, moments

Floats = NDArray[np.float64]
NUMBERS = st.floats(-1e12, 1e12, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-12)
WEIGHTS = st.sampled_from([1.0, 2.0, 0.5, 0.1, 1 / 3])


def table(values: list[float], weights: list[float] | None = None) -> Floats:
    """The moments of one column and one class."""
    weights = [1.0] * len(values) if weights is None else weights
    labels = np.zeros(len(values), np.int64)
    return moments(np.array(values, float).reshape(-1, 1), labels, np.array(weights), 1)


def exact(found: Floats) -> list[Fraction]:
    """Weight, sum and sum of squares, each the sum of its three parts."""
    return [sum((Fraction(part) for part in found[m : m + 3].ravel().tolist()), Fraction(0)) for m in (0, 3, 6)]


def fractions(values: list[float], weights: list[float]) -> list[Fraction]:
    pairs = [(Fraction(w), Fraction(x)) for w, x in zip(weights, values, strict=True)]
    return [sum((w * x**power for w, x in pairs), Fraction(0)) for power in (0, 1, 2)]


@given(st.lists(st.tuples(NUMBERS, WEIGHTS), min_size=1, max_size=20))
@settings(deadline=None)
def test_sums_are_those_of_fractions_to_thirty_digits(rows: list[tuple[float, float]]) -> None:
    values, weights = [x for x, _ in rows], [w for _, w in rows]
    size = [Fraction(1), Fraction(max(map(abs, values))), Fraction(max(map(abs, values))) ** 2]
    for found, expected, largest in zip(exact(table(values, weights)), fractions(values, weights), size, strict=True):
        assert abs(found - expected) <= Fraction(1, 10**30) * largest * len(rows)


@given(st.lists(st.integers(-(2**40), 2**40).map(lambda n: n / 2**10), min_size=1, max_size=20))
@settings(deadline=None)
def test_sums_of_numbers_with_few_bits_are_exact(values: list[float]) -> None:
    assert exact(table(values)) == fractions(values, [1.0] * len(values))


@given(st.lists(NUMBERS, min_size=2, max_size=12), st.randoms())
@settings(deadline=None)
def test_order_and_parts_change_nothing(values: list[float], random: "np.random.Generator") -> None:
    shuffled = random.sample(values, len(values))
    cut = len(values) // 2
    whole = means_and_variances(table(values))
    assert means_and_variances(table(shuffled)) == whole
    assert means_and_variances(add_moments(table(shuffled[:cut]), table(shuffled[cut:]))) == whole


@given(st.lists(st.tuples(NUMBERS, WEIGHTS), min_size=1, max_size=8), st.sampled_from([1e10, -3e7, 1e15]))
@settings(deadline=None)
def test_an_outlier_comes_and_goes(rows: list[tuple[float, float]], outlier: float) -> None:
    values, weights = [x for x, _ in rows], [w for _, w in rows]
    largest = max(Fraction(x) ** 2 for x in [*values, outlier])
    before = table(values, weights)
    after = add_moments(add_moments(before, table([outlier], [0.1])), table([outlier], [-0.1]))
    for found, expected in zip(exact(after), exact(before), strict=True):
        assert abs(found - expected) <= Fraction(1, 10**40) * largest


def test_what_plain_sums_lose_is_kept() -> None:
    rows = [1e20, 1.0, -1e20]
    assert sum(rows) == 0.0
    assert exact(table(rows))[1] == 1
    assert exact(table([1e20, 3.0, 1e20], [1.0, 1.0, -1.0]))[1:] == [3, 9]


def test_the_variance_does_not_cancel() -> None:
    far = 1e12
    means, variances = means_and_variances(table([far + 1, far + 2, far + 3]))
    assert means.item() == far + 2
    assert variances.item() == pytest.approx(2 / 3, rel=1e-6)
    assert (far + 1) ** 2 + (far + 2) ** 2 + (far + 3) ** 2 - 3 * (far + 2) ** 2 != pytest.approx(2, rel=1e-3)


def test_constants_have_no_variance() -> None:
    for value in (0.1, 1 / 3, 1e10 / 7, 0.0):
        assert means_and_variances(table([value] * 7))[1].item() == 0.0


def test_missing_values_count_nowhere_and_the_moments_of_nothing_are_unknown() -> None:
    X = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, 5.0]])
    found = moments(X, np.array([0, 0, 1]), np.array([1.0, 1.0, 0.5]), 2)
    assert found[0].tolist() == [[1.0, 0.5], [0.0, 0.5]]
    means, variances = means_and_variances(found)
    assert np.isnan(means).tolist() == np.isnan(variances).tolist() == [[False, False], [True, False]]


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_log_densities_are_the_formula(columns: int) -> None:
    rng = np.random.default_rng(columns)
    X, means, variances = rng.normal(size=(6, columns)), rng.normal(size=(3, columns)), rng.random((3, columns)) + 0.1
    X[1, 0] = X[4] = np.nan
    terms = -0.5 * (np.log(2 * np.pi * variances) + (X[:, None] - means) ** 2 / variances)
    constants = np.stack([means, 1 / variances, -0.5 * np.log(2 * np.pi * variances)])
    assert log_densities(X, constants) == pytest.approx(np.nansum(terms, axis=2), abs=1e-12)


def test_rows_that_do_not_fit_are_refused() -> None:
    X, one = np.ones((2, 1)), np.ones(2)
    with pytest.raises(IndexError, match="label 2 is none of 2 classes"):
        moments(X, np.array([0, 2]), one, 2)
    with pytest.raises(IndexError, match="1 labels and 2 weights for 2 rows"):
        moments(X, np.array([0]), one, 2)
    with pytest.raises(IndexError, match="different columns or classes cannot be added"):
        add_moments(np.zeros((9, 1, 1)), np.zeros((9, 2, 1)))
    with pytest.raises(IndexError, match="has 9 sums, not 3"):
        means_and_variances(np.zeros((3, 1, 1)))
    with pytest.raises(IndexError, match="3 parameters of 2 columns for rows of 1"):
        log_densities(X, np.zeros((3, 2, 2)))
