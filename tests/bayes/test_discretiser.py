"""Cuts equal Fayyad and Irani's rule in exact arithmetic, and known cuts of tables."""

import math
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline

import fimdlp
import tables
from priory.bayes import MDLDiscretiser

ROWS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 2)), min_size=1, max_size=14)


def cuts(values: object, labels: object) -> list[float]:
    (found,) = MDLDiscretiser().fit(np.reshape(values, (-1, 1)), labels).cut_points_
    return found.tolist()


def two_to_the_bits(labels: list[int]) -> Fraction:
    """2 to the N times H(S): N^N over the product of each count to its own power, a fraction."""
    counts = [labels.count(label) for label in set(labels)]
    return Fraction(len(labels) ** len(labels), math.prod(count**count for count in counts))


def pays(whole: list[int], left: list[int], right: list[int]) -> bool:
    """The rule of the paper as an inequality of fractions: 2 to the power of both sides, times all three sizes."""
    sizes = [len(part) for part in (whole, left, right)]
    a, a_left, a_right = (two_to_the_bits(part) for part in (whole, left, right))
    every = math.prod(sizes)
    saved = (a / a_left / a_right) ** every
    k, k_left, k_right = (
        len(set(part)) * every // size for part, size in zip((whole, left, right), sizes, strict=True)
    )
    price = ((sizes[0] - 1) * (3 ** len(set(whole)) - 2)) ** every * a_left**k_left * a_right**k_right / a**k
    return saved > price


def cuts_by_the_paper(rows: list[tuple[int, int]]) -> list[float]:
    """All places between two values are tried; of the equally good ones the lowest is taken."""
    values = sorted({value for value, _ in rows})
    candidates = []
    for low, high in pairwise(values):
        left, right = ([label for value, label in rows if (value <= low) is below] for below in (True, False))
        candidates.append((two_to_the_bits(left) * two_to_the_bits(right), (low + high) / 2, left, right))
    if not candidates:
        return []
    _, cut, left, right = min(candidates, key=lambda candidate: candidate[:2])
    if not pays([label for _, label in rows], left, right):
        return []
    below, above = ([row for row in rows if (row[0] < cut) is side] for side in (True, False))
    return [*cuts_by_the_paper(below), cut, *cuts_by_the_paper(above)]


def test_a_worked_example_saves_eight_bits_for_three_point_six() -> None:
    """Four and four: 8 bits of labels become 0; the price is log2(7) + log2(3^2 - 2) - 2 bits."""
    whole, left, right = [0] * 4 + [1] * 4, [0] * 4, [1] * 4
    assert two_to_the_bits(whole) == Fraction(2**8)
    assert two_to_the_bits(left) == two_to_the_bits(right) == 1
    assert Fraction(2**8) > Fraction(7 * 7, 4)
    assert pays(whole, left, right)
    assert cuts(range(8), whole) == [3.5]


def test_a_worked_example_that_saves_less_than_it_takes() -> None:
    """Labels 0, 1, 0, 1: the best cut saves 4 - 3 log2(3) + 2 bits = 1.2, and takes 4.2."""
    assert two_to_the_bits([1, 0, 1]) == Fraction(27, 4)
    assert not pays([0, 1, 0, 1], [0], [1, 0, 1])
    assert cuts([1, 2, 3, 4], [0, 1, 0, 1]) == []


@given(ROWS)
@example([(0, 0), (1, 1)])
@example([(0, 0), (0, 1), (0, 1)])
@example([(value, value // 3) for value in range(9)])
@example([(0, 0)] * 4 + [(1, 0)] * 4 + [(2, 1)] * 4 + [(3, 0)] * 4)
def test_the_cuts_are_those_of_the_paper(rows: list[tuple[int, int]]) -> None:
    values, labels = zip(*rows, strict=True)
    assert cuts(values, labels) == cuts_by_the_paper(rows)


@given(ROWS, st.randoms(use_true_random=False))
def test_cuts_part_labels_and_depend_neither_on_the_order_of_rows_nor_on_the_names_of_labels(
    rows: list[tuple[int, int]], random: np.random.Generator
) -> None:
    values, labels = zip(*rows, strict=True)
    found = cuts(values, labels)
    for cut in found:
        below = max(value for value in values if value < cut)
        above = min(value for value in values if value > cut)
        assert len({label for value, label in rows if value in (below, above)}) > 1
    random.shuffle(rows)
    values, labels = zip(*rows, strict=True)
    assert cuts(values, [["spam", "ham", "news"][label] for label in labels]) == found


@given(ROWS)
def test_codes_depend_on_the_order_of_the_values_only(rows: list[tuple[int, int]]) -> None:
    values, labels = (np.array(each) for each in zip(*rows, strict=True))
    codes = [MDLDiscretiser().fit_transform(f(values).reshape(-1, 1), labels) for f in (np.array, np.exp, np.cbrt)]
    assert codes[0].tolist() == codes[1].tolist() == codes[2].tolist()


def test_iris_is_cut_as_by_mdlp_of_the_r_package_discretization() -> None:
    """Cuts and rows per bin as in the documentation of arulesCBA, discretizeDF.supervised."""
    X, y = load_iris(return_X_y=True)
    bins = MDLDiscretiser().fit(X, y)
    known = [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]
    assert [found.tolist() for found in bins.cut_points_] == [pytest.approx(cuts) for cuts in known]
    rows = [np.bincount(column).tolist() for column in bins.transform(X).T]
    assert rows == [[59, 36, 55], [57, 56, 37], [50, 45, 55], [50, 54, 46]]


@pytest.mark.corpora
def test_diabetes_is_cut_as_by_the_supervised_filter_of_weka(corpora: Path) -> None:
    table = tables.load(corpora, "diabetes")
    cuts = [found.round(9).tolist() for found in MDLDiscretiser().fit(table.X, table.y).cut_points_]
    assert cuts == [[6.5], [99.5, 127.5, 154.5], [], [], [14.5, 121.0], [27.85], [0.5275], [28.5]]


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("name", "n_bins"),
    [("ecoli", [3, 2, 2, 1, 3, 3, 2]), ("glass", [3, 2, 2, 3, 1, 4, 4, 2, 1])],
)
def test_the_bins_of_real_tables(name: str, n_bins: list[int], corpora: Path) -> None:
    table = tables.load(corpora, name)
    assert MDLDiscretiser().fit(table.X, table.y).n_bins_.tolist() == n_bins


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("name", "n_bins", "n_states"),
    [
        ("iris", [3, 6, 4, 3], 19),
        ("diabetes", [12, 4, 7, 3, 3, 2, 2, 10], 45),
        ("ecoli", [3, 3, 2, 2, 3, 3, 2], 26),
        ("glass", [3, 2, 3, 3, 1, 6, 4, 3, 2], 33),
    ],
)
def test_the_variant_of_bayesnet_has_the_states_that_its_own_tests_expect(
    name: str, n_bins: list[int], n_states: int, corpora: Path
) -> None:
    """Doctorado-ML/BayesNet, tests/data/golden/golden_TAN.json: `states`, of all columns and of the label."""
    table = tables.load(corpora, name)
    codes, labels = fimdlp.codes(table.X, table.y)
    assert (codes.max(axis=0) + 1).tolist() == n_bins
    assert sum(n_bins) + labels.max() + 1 == n_states


def test_noise_gets_one_bin_and_what_tells_the_labels_apart_gets_more() -> None:
    random = np.random.default_rng(4)
    y = random.integers(0, 2, 2000)
    X = np.column_stack([random.normal(size=2000), y + random.normal(size=2000) / 2])
    bins = MDLDiscretiser().fit(X, y)
    assert bins.n_bins_[0] == 1
    assert bins.n_bins_[1] > 1
    assert set(bins.transform(X)[:, 0]) == {0}


def test_missing_values_stay_missing_and_do_not_move_the_cuts() -> None:
    X = np.array([[1.0], [2], [3], [7], [8], [9]])
    y = [0, 0, 0, 1, 1, 1]
    gaps = MDLDiscretiser().fit(np.vstack([X, [[np.nan]] * 3]), [*y, 1, 0, 1])
    assert gaps.cut_points_[0].tolist() == cuts(X, y) == [5.0]
    codes = gaps.transform([[4.0], [np.nan], [6.0]])
    assert codes.dtype == np.float64
    np.testing.assert_array_equal(codes, [[0], [np.nan], [1]])
    assert gaps.transform(X).dtype == np.int64


def test_a_column_with_nothing_in_it_or_with_one_label_has_one_bin() -> None:
    bins = MDLDiscretiser().fit([[np.nan, 1.0], [np.nan, 1.0], [np.nan, 1.0]], ["ham", "spam", "ham"])
    assert bins.n_bins_.tolist() == [1, 1]
    assert cuts([1, 2, 3], ["ham"] * 3) == []


def test_the_outer_bins_are_open_and_a_cut_belongs_to_the_bin_below() -> None:
    bins = MDLDiscretiser().fit([[1.0], [2], [3], [7], [8], [9]], [0, 0, 0, 1, 1, 1])
    assert bins.transform([[-1e300], [5.0], [math.nextafter(5.0, 6)], [1e300]]).ravel().tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("low", [0.0, 1.0, 1 + 2**-52, -1.0, 5e-324, 1.7e308])
def test_neighbouring_floats_can_be_parted(low: float) -> None:
    X = np.array([[low], [math.nextafter(low, math.inf)]] * 10)
    assert MDLDiscretiser().fit_transform(X, [0, 1] * 10).ravel().tolist() == [0, 1] * 10


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names(frame: type) -> None:
    X = frame({"words": [1.0, 2, 3, 7, 8, 9], "links": [0.0, 1, 0, 1, 0, 1]})
    y = ["ham"] * 3 + ["spam"] * 3
    bins = MDLDiscretiser().fit(X, y)
    assert bins.get_feature_names_out().tolist() == ["words", "links"]
    assert bins.n_bins_.tolist() == [2, 1]
    coded = bins.set_output(transform="pandas").transform(X)
    assert coded["words"].tolist() == [0, 0, 0, 1, 1, 1]


def test_in_a_pipeline_a_model_for_named_values_learns_numbers_that_have_no_bell_shape() -> None:
    """Mail sent at night is spam, but for the hour when the newsletters go out."""
    hours = np.random.default_rng(2).uniform(0, 24, (2000, 1))
    y = np.where((hours > 6) | ((hours > 2) & (hours < 3)), "ham", "spam").ravel()
    binned = make_pipeline(MDLDiscretiser(), CategoricalNB()).fit(hours[:1000], y[:1000])
    assert binned.score(hours[1000:], y[1000:]) > 0.99
    assert GaussianNB().fit(hours[:1000], y[:1000]).score(hours[1000:], y[1000:]) < 0.96


def test_many_labels_have_a_finite_price() -> None:
    labels = np.repeat(np.arange(700), 3)
    assert len(cuts(labels, labels)) == 699


def test_numbers_are_no_labels() -> None:
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        MDLDiscretiser().fit([[1.0], [2.0], [3.0]], [0.1, 0.2, 0.3])
