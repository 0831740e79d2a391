import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_iris

from priory.bayes import CategoricalNB, GaussianNB, HistogramNB, MDLDiscretiser

Floats = NDArray[np.float64]
NAN = math.nan
KINDS = ["uniform", "quantile", "bayesian_blocks", "mdl"]
EDGES = [[0.0, 6.0, 12.0, 18.0, 24.0], [0.0, 10.0, 100.0]]  # o'clock, kilobytes
MAIL = [[1.5, 3.0], [2.5, 200.0], [3.0, 50.0], [23.0, 4.0], [9.0, 5.0], [10.5, 5.0], [16.0, 20.0], [6.0, 10.0]]
LABELS = ["spam"] * 4 + ["ham"] * 4


def drawn(n: int, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Class 1 has two heaps, class 0 one between them."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    heaps = np.where(labels == 1, rng.choice([-4.0, 4.0], n), 0.0)
    return np.column_stack([heaps + rng.normal(size=n), rng.exponential(size=n)]), labels


def test_bins_are_counted_and_smoothed_as_fractions() -> None:
    model = HistogramNB(edges=EDGES).fit(MAIL, LABELS)
    assert [counts.tolist() for counts in model.bin_count_] == [[[1, 2, 1, 0], [3, 0, 0, 1]], [[3, 1], [2, 2]]]
    joint = {
        "ham": Fraction(1, 2) * Fraction(1 + 1, 4 + 4) * Fraction(3 + 1, 4 + 2),
        "spam": Fraction(1, 2) * Fraction(3 + 1, 4 + 4) * Fraction(2 + 1, 4 + 2),
    }
    found = model.predict_joint_log_proba([[5.0, 7.0]])[0]
    assert np.exp(found).tolist() == pytest.approx([float(joint["ham"]), float(joint["spam"])], rel=1e-12)
    assert model.log_evidence([[5.0, 7.0]])[0] == pytest.approx(math.log(sum(joint.values())), abs=1e-12)


def test_without_smoothing_an_empty_bin_is_impossible() -> None:
    model = HistogramNB(edges=EDGES, alpha=0).fit(MAIL, LABELS)
    assert model.predict_proba([[20.0, 5.0]])[0].tolist() == [0.0, 1.0]
    assert model.predict_joint_log_proba([[20.0, 5.0]])[0, 0] == -math.inf


def test_the_probabilities_of_all_bins_sum_to_one() -> None:
    model = HistogramNB(edges=EDGES, alpha=0.3).fit(MAIL, LABELS)
    middles = [[(low + high) / 2 for low, high in pairwise(edges)] for edges in EDGES]
    rows = [[a, b] for a in middles[0] for b in middles[1]]
    assert np.exp(model.log_evidence(rows)).sum() == pytest.approx(1.0, abs=1e-12)


def test_it_is_categorical_naive_bayes_of_the_bins() -> None:
    X, y = drawn(300)
    X[::7, 1] = NAN
    model = HistogramNB(bins=6).fit(X, y)
    codes = np.column_stack([np.searchsorted(e[1:-1], c) for e, c in zip(model.edges_, X.T, strict=True)]).astype(float)
    codes[np.isnan(X)] = NAN
    categorical = CategoricalNB(categories=[range(len(e) - 1) for e in model.edges_]).fit(codes, y)
    assert model.predict_joint_log_proba(X) == pytest.approx(categorical.predict_joint_log_proba(codes), abs=1e-12)


def test_a_value_on_an_edge_belongs_below_and_the_outer_bins_are_open() -> None:
    model = HistogramNB(edges=EDGES).fit(MAIL, LABELS)
    same = [[0.0, 0.0], [-1e300, 10.0], [6.0, -5.0]], [[18.0001, 10.5], [24.0, 100.0], [1e300, 1e300]]
    for rows in same:
        assert np.ptp(model.predict_joint_log_proba(rows), axis=0).tolist() == [0.0, 0.0]


def test_uniform_edges_are_equally_far_apart_from_the_least_to_the_greatest_value() -> None:
    X, y = drawn(100)
    edges = HistogramNB(bins=4).fit(X, y).edges_[0]
    assert edges == pytest.approx(np.linspace(X[:, 0].min(), X[:, 0].max(), 5), abs=1e-12)
    assert (edges[0], edges[-1]) == (X[:, 0].min(), X[:, 0].max())


def test_quantile_bins_have_equally_many_values() -> None:
    X, y = drawn(400)
    model = HistogramNB(bins=8, edges="quantile").fit(X, y)
    for counts in model.bin_count_:
        assert counts.sum(axis=0).tolist() == [50] * 8


def test_many_equal_values_have_a_quantile_bin_of_their_own() -> None:
    X = [[0.0]] * 60 + [[float(x)] for x in range(1, 41)]
    model = HistogramNB(bins=5, edges="quantile").fit(X, [0, 1] * 50)
    assert model.bin_count_[0].sum(axis=0).tolist() == [60, 20, 20]
    drawn_again = model.sample(500, random_state=0)[0]
    assert 0.5 < (drawn_again == 0).mean() < 0.7


def blocks(values: list[float]) -> list[float]:
    """The blocks of a column all of whose rows are of one class."""
    rows = np.array(values, float).reshape(-1, 1)
    model = HistogramNB(edges="bayesian_blocks").partial_fit(rows, ["ham"] * len(values))
    return model.edges_[0].tolist()


def worth(values: list[float], cuts: tuple[float, ...]) -> float:
    """Scargle 2013, eq. 19 with the price of eq. 21, of the division at these places."""
    price = 4 - math.log(73.53 * 0.05 * len(values) ** -0.478)
    ends = [min(values), *cuts, max(values)]
    inside = [sum(a < x <= b or (x == a == ends[0]) for x in values) for a, b in pairwise(ends)]
    return sum(n * math.log(n / (b - a)) - price for n, (a, b) in zip(inside, pairwise(ends), strict=True))


@pytest.mark.slow
@given(st.lists(st.integers(0, 60), min_size=2, max_size=30).filter(lambda found: len(set(found)) in range(2, 9)))
@settings(max_examples=60, deadline=None)
def test_no_other_division_into_blocks_is_worth_more(values: list[int]) -> None:
    numbers = [float(x) for x in values]
    distinct = sorted(set(numbers))
    places = [(a + b) / 2 for a, b in pairwise(distinct)]
    every = (cuts for n in range(len(places) + 1) for cuts in combinations(places, n))
    best = max(worth(numbers, cuts) for cuts in every)
    assert worth(numbers, tuple(blocks(numbers)[1:-1])) == pytest.approx(best, abs=1e-9)


def test_blocks_find_where_the_density_changes_and_leave_an_even_one_whole() -> None:
    rng = np.random.default_rng(0)
    even = rng.uniform(0, 10, 2000)
    assert len(blocks(even.tolist())) == 2
    edges = blocks(np.concatenate([even, rng.uniform(4, 5, 2000)]).tolist())
    assert edges[1:-1] == pytest.approx([4, 5], abs=0.02)


def test_the_blocks_of_every_class_are_kept() -> None:
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.uniform(0, 10, 5000), rng.uniform(0, 10, 50), rng.uniform(2, 3, 100)])[:, None]
    edges = HistogramNB(edges="bayesian_blocks").fit(X, [0] * 5000 + [1] * 150).edges_[0]
    assert edges[1:-1] == pytest.approx([2, 3], abs=0.1)


def test_mdl_edges_are_those_of_the_discretiser() -> None:
    X, y = load_iris(return_X_y=True)
    model = HistogramNB(edges="mdl").fit(X, y)
    for edges, cuts in zip(model.edges_, MDLDiscretiser().fit(X, y).cut_points_, strict=True):
        assert edges[1:-1].tolist() == cuts.tolist()
    assert model.score(X, y) > 0.94


def test_heaps_between_heaps_are_seen_where_a_bell_curve_sees_one() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    heaps = np.where(y, rng.choice([-6.0, -1.0, 4.0], 4000), rng.choice([-4.0, 1.0, 6.0], 4000))
    X, test = np.split((heaps + rng.normal(size=4000) / 4)[:, None], 2)
    y, labels = np.split(y, 2)
    scores = {kind: HistogramNB(edges=kind, bins=20).fit(X, y).score(test, labels) for kind in KINDS}
    assert min(scores.values()) > 0.85
    assert GaussianNB().fit(X, y).score(test, labels) < 0.7


@given(st.permutations(range(8)), st.integers(1, 7))
@settings(max_examples=30, deadline=None)
def test_with_given_edges_parts_in_any_order_add_up_to_the_whole(order: list[int], cut: int) -> None:
    rows, labels = np.array(MAIL)[order], np.array(LABELS)[order]
    one = HistogramNB(edges=EDGES).partial_fit(rows[:cut], labels[:cut])
    other = HistogramNB(edges=EDGES).partial_fit(rows[cut:], labels[cut:])
    whole = HistogramNB(edges=EDGES).fit(MAIL, LABELS)
    assert np.array_equal((one + other).counts_, whole.counts_)
    assert np.array_equal(one.partial_fit(rows[cut:], labels[cut:]).counts_, whole.counts_)


@pytest.mark.parametrize("kind", KINDS)
def test_edges_stay_as_the_first_rows_set_them_until_all_is_forgotten(kind: str) -> None:
    X, y = drawn(120)
    model = HistogramNB(edges=kind).fit(X[:60], y[:60])
    edges = [found.copy() for found in model.edges_]
    counts = model.counts_.copy()
    model.partial_fit(X[60:] * 2, y[60:])
    assert all(map(np.array_equal, model.edges_, edges))
    model.forget(X[60:] * 2, y[60:])
    assert np.array_equal(model.counts_, counts)
    model.forget(X[:60], y[:60]).partial_fit(X[:60] + 100, y[:60])
    assert model.edges_[0] == pytest.approx(edges[0] + 100)


def test_edges_of_one_model_can_be_given_to_another_and_both_add_up() -> None:
    X, y = drawn(100)
    first = HistogramNB(edges="quantile", bins=3).fit(X[:50], y[:50])
    second = HistogramNB(edges=first.edges_, bins=3).fit(X[50:], y[50:])
    assert np.array_equal((first + second).counts_, first.partial_fit(X[50:], y[50:]).counts_)


def test_models_with_different_edges_are_not_added() -> None:
    X, y = drawn(100)
    first, second = HistogramNB().fit(X[:50], y[:50]), HistogramNB().fit(X[50:], y[50:])
    with pytest.raises(
        ValueError, match="different edges_ cannot be added: to learn in parts, give all of them the same"
    ):
        first + second
    with pytest.raises(ValueError, match="different alpha cannot be added"):
        first + HistogramNB(edges=first.edges_, alpha=2.0).fit(X, y)


def test_a_model_that_has_learned_nothing_adds_nothing() -> None:
    X, y = drawn(50)
    model = HistogramNB().fit(X, y)
    empty = HistogramNB().fit(X + 3, y).forget(X + 3, y)
    for merged in (model + empty, empty + model):
        assert np.array_equal(merged.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_weight_do_not_set_edges(kind: str) -> None:
    X, y = drawn(80)
    model = HistogramNB(edges=kind).fit(np.vstack([X, X * 50]), np.append(y, y), sample_weight=[1.0] * 80 + [0.0] * 80)
    assert all(map(np.array_equal, model.edges_, HistogramNB(edges=kind).fit(X, y).edges_))


@pytest.mark.parametrize("kind", KINDS)
def test_missing_constant_and_unknown_columns_do_no_harm(kind: str) -> None:
    X, y = drawn(90)
    X = np.column_stack([X, np.full(90, 0.1), np.full(90, NAN), X[:, 0] > 0])
    X[::5, 1] = NAN
    model = HistogramNB(edges=kind).fit(X, y)
    assert [len(edges) for edges in model.edges_[2:4]] == [2, 2]
    rows = np.vstack([X, np.full(5, NAN), np.full(5, 1e308), np.full(5, -1e308)])
    assert not np.isnan(model.predict_proba(rows)).any()
    assert model.log_evidence(rows)[90] == pytest.approx(0.0, abs=1e-12)
    for terms, joint in zip(model.explain(rows[80:]), model.predict_joint_log_proba(rows[80:]), strict=True):
        assert terms.joint == pytest.approx(joint, abs=1e-12)


def test_neighbouring_numbers_can_be_learned_and_a_single_row_makes_no_edges() -> None:
    X = np.array([[1.0], [np.nextafter(1.0, 2)], [1.0], [np.nextafter(1.0, 2)]])
    for kind in KINDS:
        assert HistogramNB(edges=kind).fit(X, [0, 1, 0, 1]).predict_proba(X).shape == (4, 2)
        with pytest.raises(ValueError, match="from which no edges can be found: learn many rows at first, or give the"):
            HistogramNB(edges=kind).partial_fit([[5.0]], ["ham"])
    model = HistogramNB(edges=[[0, 4, 9]]).partial_fit([[5.0]], ["ham"])
    assert model.predict([[7.0]]).tolist() == ["ham"]


def test_a_class_without_rows_has_even_bins() -> None:
    model = HistogramNB(edges=EDGES, alpha=0, prior="uniform").partial_fit(MAIL, LABELS, classes=["ham", "spam", "zzz"])
    assert np.exp(model.bin_log_prob_[0][2]).tolist() == pytest.approx([0.25] * 4)


def test_what_is_drawn_falls_into_the_bins_as_often_as_the_model_says() -> None:
    X, y = drawn(500)
    model = HistogramNB(bins=5, edges="quantile").fit(X, y)
    rows, labels = model.sample(40_000, random_state=0)
    again = HistogramNB(edges=model.edges_).fit(rows, labels)
    for mine, drawn_bins, edges, column in zip(
        model.bin_log_prob_, again.bin_log_prob_, model.edges_, rows.T, strict=True
    ):
        assert np.exp(drawn_bins) == pytest.approx(np.exp(mine), abs=0.015)
        assert edges[0] < column.min()
        assert column.max() <= edges[-1]


def test_forgetting_what_was_never_learned_changes_nothing() -> None:
    model = HistogramNB(edges=EDGES).fit(MAIL, LABELS)
    before = model.counts_.copy()
    with pytest.raises(ValueError, match="never learned, or were forgotten already: nothing was changed"):
        model.forget([[8.0, 5.0]], ["spam"])
    assert np.array_equal(model.counts_, before)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bins": 0}, "bins must be a whole number from 1 up, not 0"),
        ({"bins": 2.5}, "bins must be a whole number from 1 up, not 2.5"),
        ({"alpha": -1}, "alpha must be a number from 0 up, not -1"),
        ({"edges": "round"}, "edges must be one of uniform, quantile, bayesian_blocks, mdl, or edges for each column"),
        ({"edges": EDGES[:1]}, "edges are for 1 columns, but X has 2 columns"),
        ({"edges": [[0, 1], [2, 2]]}, r"edges of column 1 must be two or more ascending numbers, not \[2, 2\]"),
        ({"edges": [[0], [0, 1]]}, r"edges of column 0 must be two or more ascending numbers, not \[0\]"),
        ({"edges": [[0, math.inf], [0, 1]]}, "edges of column 0 must be two or more ascending numbers"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HistogramNB(**parameters).fit(MAIL, LABELS)
