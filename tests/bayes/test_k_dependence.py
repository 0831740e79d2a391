"""KDependenceNB: naive Bayes for k = 0, the lecture's formula for k = 2, and the stored rows."""

import math
import tracemalloc
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from priory.bayes import CategoricalNB, KDependenceNB
from priory.bayes.coding import Coding
from priory.bayes.dependence import PairCounts
from priory.bayes.input import Columns
from priory.bayes.sparse_counts import KeyIndex

VALUE = st.sampled_from([0.0, 1.0, 2.0, math.nan])
KNOWN = st.sampled_from([0.0, 1.0, 2.0])
GAPPY = st.lists(st.tuples(VALUE, VALUE, VALUE, VALUE, st.integers(0, 1)), min_size=1, max_size=20)
WHOLE = st.lists(st.tuples(KNOWN, KNOWN, KNOWN, KNOWN, st.integers(0, 1)), min_size=1, max_size=20)
PROBES = [(0.0, 1.0, 2.0, 0.0), (1.0, math.nan, 5.0, 2.0), (math.nan,) * 4, (2.0, 2.0, math.nan, 1.0)]
ALPHAS = st.sampled_from([0.0, 0.5, 1.0])


def parted(rows: list[tuple[float, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels, with one more row of each label and each value."""
    table = np.array([*rows, *((value,) * 4 + (label,) for value in range(3) for label in (0, 1))], float)
    return table[:, :4], table[:, 4].astype(int)


@settings(max_examples=60, deadline=None)
@given(GAPPY, ALPHAS)
def test_without_dependence_it_is_naive_bayes_bit_for_bit(rows: list[tuple[float, ...]], alpha: float) -> None:
    X, y = parted(rows)
    model, naive = KDependenceNB(k=0, alpha=alpha).fit(X, y), CategoricalNB(alpha=alpha).fit(X, y)
    probes = [*X.tolist(), *PROBES]
    assert model.predict_joint_log_proba(probes).tolist() == naive.predict_joint_log_proba(probes).tolist()


def share(X: np.ndarray, rows: np.ndarray, column: int, value: float) -> Fraction:
    """(n + 1) / (N + m), in the rows where these columns are known."""
    m, n = len(np.unique(X[:, column])), int((rows & (X[:, column] == value)).sum())
    return Fraction(n + 1, int(rows.sum()) + m)


@settings(max_examples=60, deadline=None)
@given(WHOLE)
def test_two_dependences_are_those_of_the_lecture(rows: list[tuple[float, ...]]) -> None:
    """340-19, less naive Bayes: p(y) p(x1|y) p(x2|x1,y) p(x3|x2,x1,y) p(x4|x3,x2,y)."""
    X, y = parted(rows)
    model = KDependenceNB(k=2, order=range(4)).fit(X, y)
    assert model.parents_ == [(), (0,), (1, 0), (2, 1)]
    row = [0.0, 1.0, 1.0, 2.0]
    expected = []
    for label in (0, 1):
        of_class = y == label
        x1, x2, x3 = (X[:, j] == row[j] for j in range(3))
        given_rows = [of_class, of_class & x1, of_class & x1 & x2, of_class & x2 & x3]
        shares = [share(X, known, j, row[j]) for j, known in enumerate(given_rows)]
        expected.append(float(Fraction(int(of_class.sum()), len(y)) * math.prod(shares)))
    assert np.exp(model.predict_joint_log_proba([row]))[0] == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(GAPPY, st.integers(0, 4))
def test_the_order_is_by_what_is_told_about_the_class_and_parents_by_what_they_tell(
    rows: list[tuple[float, ...]], k: int
) -> None:
    X, y = parted(rows)
    model = KDependenceNB(k=k).fit(X, y)
    counts = PairCounts.empty(Coding.from_values([[]] * 4), 2).learn(Columns(X.T), y, np.ones(len(y)))
    told = counts.information()
    order = model.order_.tolist()
    for at, column in enumerate(order):
        parents = model.parents_[column]
        tells = {earlier for earlier in order[:at] if told[column, earlier] > 0}
        assert len(parents) == min(k, len(tells))
        assert set(parents) <= tells
        others = tells - set(parents)
        ranks = [(-told[column, parent], parent) for parent in parents]
        assert ranks == sorted(ranks)
        assert all(max(ranks) < (-told[column, other], other) for other in others if parents)


def test_a_column_that_tells_too_little_is_no_parent() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 3, (2, 500))
    X, y = np.column_stack([a, b, (a + (rng.random(500) < 0.1)) % 3]), (a + rng.integers(0, 2, 500) > 1).astype(int)
    assert sorted(map(len, KDependenceNB(k=2).fit(X, y).parents_)) == [0, 1, 2]
    weak_left_out = KDependenceNB(k=2, min_information=0.1).fit(X, y)
    assert {frozenset((j, *parents)) for j, parents in enumerate(weak_left_out.parents_) if parents} == {
        frozenset((0, 2))
    }


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(WHOLE, ALPHAS, st.integers(0, 3))
def test_the_probabilities_of_all_rows_sum_to_one(rows: list[tuple[float, ...]], alpha: float, k: int) -> None:
    model = KDependenceNB(k=k, alpha=alpha).fit(*parted(rows))
    every = list(product([0.0, 1.0, 2.0], repeat=4))
    assert np.exp(model.predict_joint_log_proba(every)).sum() == pytest.approx(1)


@settings(max_examples=60, deadline=None)
@given(GAPPY, ALPHAS, st.integers(0, 3))
def test_terms_add_up(rows: list[tuple[float, ...]], alpha: float, k: int) -> None:
    model = KDependenceNB(k=k, alpha=alpha).fit(*parted(rows))
    for terms, joint in zip(model.explain(PROBES), model.predict_joint_log_proba(PROBES), strict=True):
        np.testing.assert_allclose(terms.joint, joint, rtol=1e-12)


def test_a_missing_value_is_summed_out_of_the_counts_and_parents_never_seen_say_nothing() -> None:
    X = [["html", "link", "noon"], ["html", "none", "night"], ["text", "link", "night"], ["html", "link", "night"]]
    model = KDependenceNB(k=2, order=[0, 1, 2]).fit([*X, ["text", "none", "noon"]], ["spam"] * 4 + ["ham"])
    rows = [["html", "link", "noon"], ["html", None, "noon"], [None, None, "noon"], ["mime", "link", "noon"]]
    rows += [["html", "link", "dawn"], ["html", "link", None]]
    shares = [np.exp(terms.terms[2, 1]) for terms in model.explain(rows)]
    expected = [
        Fraction(1 + 1, 2 + 2),
        Fraction(1 + 1, 3 + 2),
        Fraction(1 + 1, 4 + 2),
        Fraction(1, 2),
        Fraction(1, 4),
        1,
    ]
    assert shares == pytest.approx([float(value) for value in expected])


def test_a_parent_of_which_nothing_was_ever_known_says_nothing() -> None:
    X, y = [[None, "html"], [None, "text"], [None, "html"]], ["spam", "ham", "ham"]
    probes = [["link", "html"], [None, "text"]]
    ordered, naive = KDependenceNB(k=1, order=[0, 1]).fit(X, y), CategoricalNB().fit(X, y)
    assert ordered.predict_proba(probes)[1].tolist() == naive.predict_proba(probes)[1].tolist()
    assert ordered.predict_proba(probes)[0] == pytest.approx([2 / 3, 1 / 3])  # html under a parent never seen: one half
    assert KDependenceNB(k=1).fit(X, y).predict_proba(probes).tolist() == naive.predict_proba(probes).tolist()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(GAPPY, GAPPY)
def test_merging_is_learning_both_and_forgetting_gives_the_structure_back(
    some: list[tuple[float, ...]], more: list[tuple[float, ...]]
) -> None:
    (X, y), (X_more, y_more) = parted(some), parted(more)
    X_more, y_more = X_more - 1, y_more + 1  # bring a value and a label of their own
    one, other = KDependenceNB().fit(X, y), KDependenceNB().fit(X_more, y_more)
    probes = np.vstack([X, X_more])
    both = KDependenceNB().fit(probes, np.append(y, y_more))
    for model in (one + other, KDependenceNB().fit(X, y).partial_fit(X_more, y_more)):
        assert model.parents_ == both.parents_
        assert model.predict_joint_log_proba(probes).tolist() == both.predict_joint_log_proba(probes).tolist()
    both.forget(X_more, y_more)
    assert [values.tolist() for values in both.categories_] == [values.tolist() for values in one.categories_]
    assert both.parents_ == one.parents_
    assert both.predict_joint_log_proba(probes)[:, :2].tolist() == one.predict_joint_log_proba(probes).tolist()
    assert len(both.rows_.codes_and_weights()[0]) == len(one.rows_.codes_and_weights()[0])


@pytest.mark.parametrize("row", [["html", "none"], ["mime", "link"], ["html", None], [None, None]])
def test_rows_that_were_never_learned_are_not_forgotten(row: list[str | None]) -> None:
    """All rows are kept, so an unlearned row is detected even if its values were learned."""
    model = KDependenceNB().fit([["html", "link"], ["text", "none"], ["text", "none"]], ["spam", "ham", "spam"])
    for rows, label in (([row], "spam"), ([["html", "link"]] * 2, "spam"), ([["html", "link"]], "ham")):
        before = [part.tolist() for part in model.rows_.codes_and_weights()]
        with pytest.raises(ValueError, match=r"never learned, or were forgotten already|only 1 were learned"):
            model.forget(rows, [label] * len(rows))
        assert [part.tolist() for part in model.rows_.codes_and_weights()] == before


def test_a_value_that_comes_back_after_it_was_forgotten_is_learned_again() -> None:
    model = KDependenceNB().fit([["noon"], ["night"]], ["ham", "spam"])
    model.forget([["noon"]], ["ham"]).partial_fit([["dawn"], ["noon"]], ["ham", "ham"])
    assert model.categories_[0].tolist() == ["dawn", "night", "noon"]
    expected = KDependenceNB().fit([["night"], ["dawn"], ["noon"]], ["spam", "ham", "ham"])
    probes = [["dawn"], ["noon"], ["night"]]
    assert model.predict_proba(probes).tolist() == expected.predict_proba(probes).tolist()


def test_weights_that_are_no_whole_numbers_are_taken_back_without_a_trace() -> None:
    X, y = [["noon"], ["noon"], ["night"]], ["ham", "spam", "spam"]
    model = KDependenceNB().fit(X, y, sample_weight=[0.1, 0.2, 1])
    for weight in (0.1, 0.2):  # which is a little more than 0.3
        model.partial_fit([["dusk"]], ["ham"], sample_weight=[weight])
    model.forget([["dusk"]], ["ham"], sample_weight=[0.3])
    assert model.categories_[0].tolist() == ["night", "noon"]
    assert model.rows_.codes_and_weights()[1].tolist() == [[0.1, 0.2], [0.0, 1.0]]


def test_only_combinations_that_occur_take_memory() -> None:
    """Three parents of 50 values have 125,000 combinations, with the column's own 6 million for each class."""
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 50, (2000, 6)), rng.integers(0, 2, 2000)
    tracemalloc.start()
    model = KDependenceNB(k=3, order=range(6)).fit(X, y)
    model.predict_proba(X)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000
    (terms,) = model.explain(X[:1])
    assert np.exp(terms.terms[3, y[0]]) == pytest.approx(2 / 51)  # seen once, and its parents together too
    assert np.exp(terms.terms[3, 1 - y[0]]) == pytest.approx(1 / 50)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 90_000), max_size=40), st.lists(st.integers(-5, 90_000), max_size=20))
@example([], [-1])
def test_keys_are_found_in_a_small_table_as_in_a_large_one(keys: list[int], probes: list[int]) -> None:
    """Keys below 60,000 have a table of all possible ones, the others are searched for."""
    for most in (60_000, 90_001):
        some, asked = (np.array([key for key in each if key < most], np.int64) for each in (keys, probes + keys))
        numbers = KeyIndex.of(some, most)
        assert (numbers.places is None) == (most == 90_001)
        order = sorted(set(some.tolist()))
        assert numbers.find(asked).tolist() == [order.index(key) if key in order else -1 for key in asked.tolist()]


def test_what_is_drawn_has_the_same_shares() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 2, (2, 2000))
    either = np.where(rng.random(2000) < 0.9, a ^ b, 1)  # tells nothing with one parent, all with two
    X, y = np.column_stack([a, b, either]).astype(str), np.where(rng.random(2000) < 0.3 + 0.4 * a, "spam", "ham")
    model = KDependenceNB(k=2, order=[0, 1, 2]).fit(X, y)
    drawn = KDependenceNB(k=2, order=[0, 1, 2]).fit(*model.sample(50_000, random_state=1))
    every = list(product("01", repeat=3))
    joint, again = (np.exp(each.predict_joint_log_proba(every)) for each in (model, drawn))
    assert joint == pytest.approx(again, abs=0.006)
    assert joint.max() > 10 * joint.min()


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"k": -1}, "k must be a whole number from 0 to 60, not -1"),
        ({"k": 1.5}, "k must be a whole number from 0 to 60, not 1.5"),
        (
            {"order": "size"},
            'order must be "mutual information" or have the numbers of all 2 columns once each, not .size',
        ),
        ({"order": [0, 0]}, r"order must be .* not \[0, 0\]"),
        ({"order": [0, 1, 2]}, r"order must be .* not \[0, 1, 2\]"),
        ({"order": None}, "order must be .* not None"),
        ({"min_information": -0.1}, "min_information must be a number from 0 up, not -0.1"),
        ({"alpha": math.nan}, "alpha must be a number from 0 up, not nan"),
    ],
)
def test_what_cannot_be_is_refused(parameters: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        KDependenceNB(**parameters).fit([["html", "link"], ["text", "none"]], ["spam", "ham"])
