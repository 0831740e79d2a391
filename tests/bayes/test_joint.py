import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.bayes import CategoricalNB, JointBayes
from priory.bayes.joint import log_cell_shares
from priory.bayes.tables import log_shares

#: 273A, contingency table: counts of bad and good credit for three values of one column.
CREDIT = {0: (42, 15), 1: (338, 287), 2: (3, 5)}
#: 273A, joint table for y = 1: counts over (A, B, C) in binary order.
EIGHT = [4, 1, 0, 0, 1, 2, 1, 1]
CELLS = list(product([0, 1], repeat=3))
TABLES = st.lists(st.tuples(*[st.integers(0, 2)] * 3, st.integers(0, 2)), min_size=2, max_size=25)


def credit() -> JointBayes:
    X = [[value] for value in CREDIT for _ in range(2)]
    y = ["bad", "good"] * len(CREDIT)
    return JointBayes(alpha=0).fit(X, y, sample_weight=[n for pair in CREDIT.values() for n in pair])


def eight(alpha: float) -> JointBayes:
    X, y = [*CELLS, *CELLS], [1] * 8 + [0] * 8
    return JointBayes(alpha=alpha).fit(X, y, sample_weight=[*EIGHT, *[1] * 8])


def learned(rows: list[tuple[int, ...]], **settings: Any) -> JointBayes:
    model = JointBayes(categories=[[0, 1, 2]] * 3, **settings)
    return model.partial_fit([row[:3] for row in rows], [row[3] for row in rows], classes=[0, 1, 2])


def test_the_contingency_table_of_273a_has_its_priors_posteriors_and_training_error() -> None:
    model = credit()
    assert np.exp(model.class_log_prior_).tolist() == pytest.approx([383 / 690, 307 / 690], abs=1e-15)
    bad = model.predict_proba([[0], [1], [2]])[:, 0]
    assert bad.tolist() == pytest.approx([42 / 57, 338 / 625, 3 / 8], abs=1e-15)
    assert model.predict([[0], [1], [2]]).tolist() == ["bad", "bad", "good"]
    X, y = [[value] for value in CREDIT for _ in range(2)], ["bad", "good"] * 3
    weights = [n for pair in CREDIT.values() for n in pair]
    assert 1 - model.score(X, y, sample_weight=weights) == pytest.approx((15 + 287 + 3) / 690, abs=1e-15)


def test_the_flu_of_273a_as_a_contingency_table() -> None:
    # p(F) = 1/40, p(H | F) = 1/2, p(H) = 1/10; so p(F, H) = 1/80 and p(not F, H) = 1/10 - 1/80
    table = {("headache", "flu"): Fraction(1, 80), ("none", "flu"): Fraction(1, 40) - Fraction(1, 80)}
    table["headache", "well"] = Fraction(1, 10) - table["headache", "flu"]
    table["none", "well"] = 1 - sum(table.values())
    model = JointBayes(alpha=0).fit([[h] for h, _ in table], [f for _, f in table], [float(p) for p in table.values()])
    assert model.predict_proba([["headache"]])[0, 0] == pytest.approx(1 / 8, abs=1e-15)
    assert np.exp(model.log_evidence([["headache"]])[0]) == pytest.approx(1 / 10, abs=1e-15)


@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1, 100), Fraction(1), Fraction(7, 2)])
def test_the_joint_table_of_273a_is_smoothed_by_eight_pseudo_counts(alpha: Fraction) -> None:
    model = eight(float(alpha))
    found = np.exp(model.predict_joint_log_proba(CELLS)[:, 1] - model.class_log_prior_[1])
    expected = [(n + alpha) / (10 + 8 * alpha) for n in EIGHT]
    assert sum(expected) == 1
    assert found.tolist() == pytest.approx([float(p) for p in expected], abs=1e-15)


def test_the_cells_never_seen_are_told() -> None:
    model = eight(1.0)
    assert (model.n_cells_, model.n_seen_.tolist(), model.n_never_seen_) == (8, [8, 6], [0, 2])
    assert model.n_never_seen_by_any_ == 0
    model = JointBayes(categories=[["a", "b", "c"], ["d", "e"]]).fit([["a", "d"], ["b", "e"]], ["ham", "spam"])
    assert (model.n_cells_, model.n_never_seen_, model.n_never_seen_by_any_) == (6, [5, 5], 4)
    assert {row: counts.tolist() for row, counts in model.cell_count_.items()} == {
        ("a", "d"): [1.0, 0.0],
        ("b", "e"): [0.0, 1.0],
    }


def test_a_table_too_large_for_any_memory_or_float_is_learned_and_read() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (40, 600))
    X[:10] = np.arange(10)[:, None]  # every column has ten values: 10^600 cells
    y = np.arange(40) % 2
    model = JointBayes().fit(X, y)
    assert model.n_cells_ == 10**600
    assert model.n_never_seen_by_any_ == 10**600 - 40
    assert model.predict(X).tolist() == y.tolist()
    joint = model.predict_joint_log_proba(X[:3])
    # (1 + 1) / (20 + 10^600) where seen, else 1 / (20 + 10^600), and the prior 1/2
    assert joint[0].tolist() == pytest.approx([-600 * math.log(10), -600 * math.log(10) - math.log(2)], rel=1e-12)
    assert [terms.joint.tolist() for terms in model.explain(X[:3])] == [pytest.approx(row.tolist()) for row in joint]


def test_an_empty_cell_is_what_an_unseen_combination_and_an_unseen_value_fall_into() -> None:
    model = JointBayes().fit([["stranger", "link"], ["friend", "plain"], ["friend", "plain"]], ["spam", "ham", "ham"])
    found = np.exp(model.predict_joint_log_proba([["stranger", "plain"], ["robot", "link"]]))
    empty = [2 / 3 * 1 / (2 + 4), 1 / 3 * 1 / (1 + 4)]
    assert found.tolist() == [pytest.approx(empty, abs=1e-15)] * 2


@given(rows=TABLES, alpha=st.sampled_from([0.0, 0.5, 1.0]), gaps=st.lists(st.booleans(), min_size=3, max_size=3))
def test_missing_values_are_summed_out_over_all_completions(
    rows: list[tuple[int, ...]], alpha: float, gaps: list[bool]
) -> None:
    model = learned(rows, alpha=alpha)
    row = np.where(gaps, np.nan, rows[0][:3])
    completions = list(
        product(*[[0, 1, 2] if gap else [int(value)] for gap, value in zip(gaps, rows[0], strict=False)])
    )
    expected = np.exp(model.predict_joint_log_proba(completions)).sum(axis=0)
    assert np.exp(model.predict_joint_log_proba([row])[0]).tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_missing_values_beside_an_unseen_value_leave_the_mass_of_empty_cells() -> None:
    model = JointBayes().fit([["stranger", "link"], ["friend", "plain"]], ["spam", "ham"])
    # a robot, with a link or without: two of the empty cells
    assert np.exp(model.predict_joint_log_proba([["robot", None]])[0]).tolist() == pytest.approx([1 / 2 * 2 / 5] * 2)


@given(
    rows=TABLES,
    alpha=st.sampled_from([0.0, 0.25, 1.0]),
    asked=st.tuples(*[st.sampled_from([0.0, 1.0, 2.0, 7.0, math.nan])] * 3),
)
def test_terms_are_the_chain_rule_and_add_up_to_the_joint(
    rows: list[tuple[int, ...]], alpha: float, asked: tuple[float, ...]
) -> None:
    model = learned(rows, alpha=alpha, prior="smoothed")
    (said,) = model.explain([asked])
    (joint,) = model.predict_joint_log_proba([asked])
    assert said.joint.tolist() == pytest.approx(joint.tolist(), abs=1e-9)
    assert not np.isnan(said.terms).any()
    gaps = np.isnan(asked)
    assert not said.terms[gaps].any()
    if not gaps.any():
        first = learned(rows, alpha=alpha, prior="smoothed").predict_joint_log_proba([[asked[0], math.nan, math.nan]])
        assert (said.prior + said.terms[0]).tolist() == pytest.approx(first[0].tolist(), abs=1e-9)


@given(
    counts=st.lists(st.integers(0, 50), min_size=1, max_size=5),
    more=st.integers(0, 5),
    cells=st.integers(1, 10),
    alpha=st.sampled_from([0.0, 0.01, 1.0]),
)
def test_the_formula_in_logarithms_is_the_one_of_all_tables(
    counts: list[int], more: int, cells: int, alpha: float
) -> None:
    total, n_cells = sum(counts) + more, len(counts) + cells
    found = log_cell_shares(np.array(counts, float), float(total), 0.0, math.log(n_cells), alpha)
    expected = log_shares(counts, total, n_cells, alpha)
    assert np.exp(found).tolist() == pytest.approx(np.exp(expected).tolist(), abs=1e-14)


def test_with_one_column_it_is_categorical_naive_bayes() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 5, (200, 1)), rng.integers(0, 3, 200)
    joint = JointBayes(alpha=0.3).fit(X, y).predict_joint_log_proba([[0], [4], [9], [math.nan]])
    naive = CategoricalNB(alpha=0.3).fit(X, y).predict_joint_log_proba([[0], [4], [9], [math.nan]])
    np.testing.assert_allclose(joint, naive, atol=1e-12)


def test_it_learns_exclusive_or_which_naive_bayes_cannot() -> None:
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 5, ["ham", "spam", "spam", "ham"] * 5
    assert JointBayes().fit(X, y).score(X, y) == 1.0
    assert CategoricalNB().fit(X, y).score(X, y) == 0.5


@pytest.mark.slow
@given(first=TABLES, then=TABLES)
def test_forgetting_undoes_learning_with_all_that_came_with_it(
    first: list[tuple[int, ...]], then: list[tuple[int, ...]]
) -> None:
    def teach(act: Any, rows: list[tuple[int, ...]]) -> Any:
        return act([row[:3] for row in rows], [row[3] for row in rows])

    model, alone = (teach(JointBayes().partial_fit, first) for _ in range(2))
    teach(model.partial_fit, then)
    teach(model.forget, then)
    assert {row: n.sum() for row, n in model.cell_count_.items()} == {
        row: n.sum() for row, n in alone.cell_count_.items()
    }
    assert [values.tolist() for values in model.categories_] == [values.tolist() for values in alone.categories_]
    assert model.n_cells_ == alone.n_cells_


def test_a_row_never_learned_is_not_forgotten_though_all_its_values_were() -> None:
    model = JointBayes().fit([["stranger", "link"], ["friend", "plain"], ["friend", "link"]], ["spam", "spam", "ham"])
    before = model.predict_joint_log_proba([["friend", "link"]]).tolist()
    with pytest.raises(ValueError, match="X and y hold rows that were never learned, or were forgotten already"):
        model.forget([["stranger", "link"], ["friend", "link"]], ["spam", "spam"])
    assert model.predict_joint_log_proba([["friend", "link"]]).tolist() == before
    assert model.n_seen_.tolist() == [1, 2]


def test_a_row_with_gaps_is_not_learned() -> None:
    model = JointBayes().fit([["stranger", "link"], ["friend", "plain"]], ["spam", "ham"])
    for act in (model.fit, model.partial_fit, model.forget):
        with pytest.raises(ValueError, match="a row with gaps names no cell of the joint table and cannot be learned"):
            act([["stranger", None], ["friend", "plain"]], ["spam", "ham"])
    assert model.class_count_.tolist() == [1.0, 1.0]
    assert model.n_cells_ == 4
    with pytest.raises(ValueError, match="a row with gaps names no cell"):
        JointBayes().fit([[1.0, 2.0], [math.nan, 2.0]], ["spam", "ham"])
    model.partial_fit([["stranger", None], ["robot", "plain"]], ["spam", "ham"], sample_weight=[0, 1])
    assert sorted(model.cell_count_) == [("friend", "plain"), ("robot", "plain"), ("stranger", "link")]


def test_categories_must_be_given_for_every_column() -> None:
    with pytest.raises(ValueError, match="categories has the values of 1 columns, but X has 2 columns"):
        JointBayes(categories=[["a"]]).fit([["a", "b"], ["b", "a"]], [0, 1])


def test_rows_are_drawn_from_seen_cells_and_with_their_share_from_empty_ones() -> None:
    model = eight(1.0)
    X, y = model.sample(40_000, random_state=0)
    rows, counts = np.unique(X[y == 1], axis=0, return_counts=True)
    assert rows.tolist() == [list(cell) for cell in CELLS]
    assert (counts / counts.sum()).tolist() == pytest.approx([(n + 1) / 18 for n in EIGHT], abs=0.01)
    X, y = eight(0.0).sample(2_000, random_state=0)
    assert {tuple(row) for row in X[y == 1].tolist()} == {cell for cell, n in zip(CELLS, EIGHT, strict=True) if n}


def test_names_are_drawn_as_names() -> None:
    model = JointBayes().fit([["stranger", "link"], ["friend", "plain"]], ["spam", "ham"])
    X, _ = model.sample(50, random_state=1)
    assert {tuple(row) for row in X.tolist()} <= set(product(["stranger", "friend"], ["link", "plain"]))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_class_without_rows_has_all_combinations_alike(alpha: float) -> None:
    model = JointBayes(alpha=alpha, prior="uniform").partial_fit([["a", "d"], ["b", "e"]], [0, 1], classes=[0, 1, 2])
    assert np.exp(model.predict_joint_log_proba([["a", "e"]])[0, 2]) == pytest.approx(1 / 3 * 1 / 4)
    X, y = model.sample(3_000, random_state=0)
    _, counts = np.unique(["".join(row) for row in X[y == 2]], return_counts=True)
    assert (counts / counts.sum()).tolist() == pytest.approx([1 / 4] * 4, abs=0.04)
