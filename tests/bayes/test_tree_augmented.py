"""Naive Bayes with a tree: its shares as fractions, missing values against the sum over all completions."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from priory.bayes import KDependenceNB, TreeAugmentedNB

#: The second column repeats the first, but for one message.
MAIL = [
    ["html", "link"], ["html", "link"], ["html", "none"], ["text", "none"],
    ["text", "none"], ["text", "none"], ["html", "link"],
]  # fmt: skip
LABELS = ["spam", "spam", "spam", "spam", "ham", "ham", "ham"]
VALUE = st.integers(0, 2)
ROWS = st.lists(st.tuples(VALUE, VALUE, VALUE, VALUE, st.integers(0, 1)), min_size=1, max_size=20)
GAPPY = st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, math.nan]), min_size=4, max_size=4)  # 3 is a value never seen
ALPHAS = st.sampled_from([0.0, 0.5, 1.0])


def parted(rows: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels, with one more row of each label and each value."""
    table = np.array([*rows, *((value,) * 4 + (label,) for value in range(3) for label in (0, 1))])
    return table[:, :4].astype(float), table[:, 4]


def test_a_worked_example_in_fractions() -> None:
    """spam has html 3 of 4, with it link 2 of 3; ham has html 1 of 3, with it link 1 of 1."""
    model = TreeAugmentedNB(alpha=1.0).fit(MAIL, LABELS)
    assert model.parents_.tolist() == [-1, 0]
    spam = Fraction(4, 7) * Fraction(3 + 1, 4 + 2) * Fraction(2 + 1, 3 + 2)
    ham = Fraction(3, 7) * Fraction(1 + 1, 3 + 2) * Fraction(1 + 1, 1 + 2)
    assert np.exp(model.predict_joint_log_proba([["html", "link"]]))[0] == pytest.approx([float(ham), float(spam)])
    assert model.predict_proba([["html", "link"]])[0, 1] == pytest.approx(float(spam / (spam + ham)))


def test_without_smoothing_what_was_not_seen_is_impossible_and_a_parent_never_seen_says_nothing() -> None:
    model = TreeAugmentedNB(alpha=0.0).fit(MAIL, LABELS)
    joint = model.predict_joint_log_proba([["html", "none"], ["text", "link"]])
    assert joint[0].tolist() == [-math.inf, pytest.approx(math.log(4 / 7 * 3 / 4 * 1 / 3))]
    assert joint[1].tolist() == [-math.inf, -math.inf]
    assert model.predict_proba([["text", "link"]])[0] == pytest.approx([3 / 7, 4 / 7])  # the prior
    smoothed = TreeAugmentedNB(alpha=1.0).fit(MAIL, LABELS).explain([["mime", "link"], ["html", "image"]])
    assert np.exp(smoothed[0].terms[1]) == pytest.approx([1 / 2, 1 / 2])  # one of two values
    assert np.exp(smoothed[1].terms[1]) == pytest.approx([1 / 3, 1 / 5])  # (0 + 1) / (n + 2)


def test_a_pair_counts_where_both_are_known_and_shares_are_of_those_rows() -> None:
    X = [["html", "link"], ["html", None], ["html", "none"], [None, "link"], ["text", "none"], ["text", "none"]]
    model = TreeAugmentedNB(alpha=0.0).fit(X, ["spam"] * 5 + ["ham"])
    (terms,) = model.explain([["html", "link"]])
    assert np.exp(terms.terms[:, 1]) == pytest.approx([3 / 4, 1 / 2])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(ROWS, ALPHAS, st.integers(0, 3))
def test_the_probabilities_of_all_rows_sum_to_one(rows: list[tuple[int, ...]], alpha: float, root: int) -> None:
    model = TreeAugmentedNB(alpha=alpha, root=root).fit(*parted(rows))
    every = np.array(list(product(range(3), repeat=4)), float)
    assert np.exp(model.predict_joint_log_proba(every)).sum() == pytest.approx(1)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(ROWS, st.lists(GAPPY, min_size=1, max_size=5), ALPHAS, st.integers(0, 3))
def test_missing_values_are_summed_out_and_the_terms_add_up(
    rows: list[tuple[int, ...]], gappy: list[list[float]], alpha: float, root: int
) -> None:
    model = TreeAugmentedNB(alpha=alpha, root=root).fit(*parted(rows))
    joint = model.predict_joint_log_proba(gappy)
    for row, found, terms in zip(gappy, joint, model.explain(gappy), strict=True):
        completions = product(*[[0.0, 1.0, 2.0] if math.isnan(value) else [value] for value in row])
        expected = np.exp(model.predict_joint_log_proba(np.array(list(completions)))).sum(axis=0)
        assert np.exp(found) == pytest.approx(expected)
        np.testing.assert_allclose(terms.joint, found, rtol=1e-12)


def test_a_missing_column_says_what_is_known_below_it_and_nothing_if_nothing_is() -> None:
    model = TreeAugmentedNB().fit(MAIL, LABELS)
    hidden_root, hidden_leaf = model.explain([[None, "link"], ["html", None]])
    assert (hidden_root.terms[1] == 0).all()
    assert np.exp(hidden_root.terms[0]) == pytest.approx([2 / 5 * 2 / 3 + 3 / 5 * 1 / 4, 4 / 6 * 3 / 5 + 2 / 6 * 1 / 3])
    assert (hidden_leaf.terms[1] == 0).all()
    assert np.exp(hidden_leaf.terms[0]) == pytest.approx([2 / 5, 4 / 6])


@pytest.mark.parametrize("root", [0, 1])
def test_a_column_of_which_nothing_was_ever_known_says_nothing(root: int) -> None:
    X = [[None, "html"], [None, "text"], [None, "html"]]
    model, without = TreeAugmentedNB(root=root, alpha=0.0), TreeAugmentedNB(alpha=0.0)
    joint = model.fit(X, ["spam", "ham", "ham"]).predict_joint_log_proba([["link", "html"], [None, "text"]])
    alone = without.fit([row[1:] for row in X], ["spam", "ham", "ham"])
    assert joint == pytest.approx(alone.predict_joint_log_proba([["html"], ["text"]]))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_without_smoothing_any_column_may_be_the_root(rows: list[tuple[int, ...]]) -> None:
    X, y = parted(rows)
    models = [TreeAugmentedNB(alpha=0.0, root=root).fit(X, y) for root in range(4)]
    undirected = [{frozenset(edge[:2]) for edge in model.edges_} for model in models]
    assume(all(edges == undirected[0] for edges in undirected))  # of equally heavy trees each may grow another
    for model in models[1:]:
        np.testing.assert_allclose(model.predict_joint_log_proba(X), models[0].predict_joint_log_proba(X), rtol=1e-9)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(ROWS, ALPHAS)
def test_with_two_columns_it_is_one_dependence_in_order(rows: list[tuple[int, ...]], alpha: float) -> None:
    X, y = parted(rows)
    tree = TreeAugmentedNB(alpha=alpha).fit(X[:, :2], y)
    assume(tree.edges_)
    ordered = KDependenceNB(k=1, order=[0, 1], alpha=alpha).fit(X[:, :2], y)
    every = list(product([0.0, 1.0, 2.0, 3.0], repeat=2))
    np.testing.assert_allclose(tree.predict_joint_log_proba(every), ordered.predict_joint_log_proba(every), rtol=1e-12)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(ROWS, ROWS)
def test_merging_is_learning_both_and_forgetting_gives_the_tree_back(
    some: list[tuple[int, ...]], more: list[tuple[int, ...]]
) -> None:
    (X, y), (X_more, y_more) = parted(some), parted(more)
    X_more = X_more + 1  # brings a value of its own
    one, other = TreeAugmentedNB().fit(X, y), TreeAugmentedNB().fit(X_more, y_more)
    both = TreeAugmentedNB().fit(np.vstack([X, X_more]), np.append(y, y_more))
    merged = one + other
    assert merged.edges_ == both.edges_
    probes = np.vstack([X, X_more])
    assert merged.predict_joint_log_proba(probes).tolist() == both.predict_joint_log_proba(probes).tolist()
    both.forget(X_more, y_more)
    assert both.edges_ == one.edges_
    assert both.predict_joint_log_proba(probes).tolist() == one.predict_joint_log_proba(probes).tolist()


def test_the_tree_follows_what_is_learned() -> None:
    a, b, c = np.random.default_rng(3).integers(0, 2, (3, 100))
    y = np.arange(100) % 2
    model = TreeAugmentedNB().fit(np.column_stack([a, a, b]), y)
    assert model.edges_[0] == (0, 1, pytest.approx(math.log(2), abs=0.05))
    model.partial_fit(np.column_stack([b, c, b]).repeat(4, axis=0), y.repeat(4))
    assert model.edges_[0][:2] == (0, 2)


def test_an_edge_that_tells_nothing_is_left_out() -> None:
    X = list(product(["html", "text"], ["link", "none"], ["noon", "night"]))
    twice = [[*row, row[1]] for row in X]
    model = TreeAugmentedNB(root=2).fit(twice + twice, ["spam"] * 8 + ["ham"] * 8)
    assert model.parents_.tolist() == [-1, -1, -1, 1]
    assert model.text().splitlines() == ["x2", "x0", "x1", "└─ x3  0.693"]
    assert model.to_dot().splitlines()[-2:] == ['  "x1" -> "x3" [label="0.693"];', "}"]


def test_the_tree_is_drawn_with_the_names_of_the_columns() -> None:
    a, b = np.random.default_rng(0).integers(0, 2, (2, 400))
    flip = np.arange(400) % 10 == 0
    frame = pd.DataFrame({"hour": a, 'the "link"': np.where(flip, 1 - a, a), "size": b, "day": a, "attachment": b})
    model = TreeAugmentedNB().fit(frame, np.arange(400) % 2)
    lines = model.text().splitlines()
    assert [line.split("  ")[0] for line in lines if not line.startswith(" ")] == [
        "hour",
        "├─ day",
        '├─ the "link"',
        "└─ size",
    ]
    assert lines[-1] == "   └─ attachment  0.692"
    assert model.to_dot().splitlines()[:3] == ["digraph {", '  "hour";', '  "the \\"link\\"";']
    assert '  "size" -> "attachment" [label="0.692"];' in model.to_dot().splitlines()
    assert model.information_[2, 4] == pytest.approx(0.692, abs=1e-3)


def test_what_is_drawn_has_the_same_tree_and_shares() -> None:
    rng = np.random.default_rng(5)
    first = rng.integers(0, 3, 3000)
    second = np.where(rng.random(3000) < 0.7, first, rng.integers(0, 3, 3000))
    X = np.column_stack([second, rng.integers(0, 2, 3000), first]).astype(str)
    X[:, 1] = np.where(rng.random(3000) < 0.8, X[:, 2], X[:, 1])
    model = TreeAugmentedNB().fit(X, np.where(first + rng.integers(0, 2, 3000) > 1, "spam", "ham"))
    drawn = TreeAugmentedNB().fit(*model.sample(60_000, random_state=0))
    assert drawn.parents_.tolist() == model.parents_.tolist()
    every = list(product("012", repeat=3))
    joint, again = (np.exp(each.predict_joint_log_proba(every)) for each in (model, drawn))
    assert joint == pytest.approx(again, abs=0.005)


@pytest.mark.parametrize("root", [2, -1, "html"])
def test_a_root_that_is_no_column_is_refused(root: object) -> None:
    with pytest.raises(ValueError, match=r"root must be the number of a column, 0 to 1, not "):
        TreeAugmentedNB(root=root).fit(MAIL, LABELS)


def test_a_smoothing_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="alpha must be a number from 0 up, not -1"):
        TreeAugmentedNB(alpha=-1).fit(MAIL, LABELS)
