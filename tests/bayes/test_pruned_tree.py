import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.model_selection import PredefinedSplit, ShuffleSplit
from sklearn.tree import DecisionTreeClassifier, export_text
from sklearn.utils.estimator_checks import parametrize_with_checks

from priory.bayes import PrunedTree
from priory.bayes.pruning import pruning_strengths

ROWS_AND_FOLDS = "folds are of rows: one row of weight 2 is in one fold, the same row given twice can be in two"


def unchecked(model: PrunedTree) -> dict[str, str]:
    names = ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"]
    return dict.fromkeys(names, ROWS_AND_FOLDS) if model.choose == "splits" else {}


@pytest.mark.slow
@parametrize_with_checks(  # test_contract.py has the defaults
    [
        PrunedTree(choose="depth", cv="validation", random_state=0),
        PrunedTree(choose="depth", max_depth=3, cv=2, rule="one_se", random_state=0),
        PrunedTree(choose="splits", random_state=0),
    ],
    expected_failed_checks=unchecked,
)
def test_it_keeps_the_contract_of_scikit_learn(estimator: PrunedTree, check: Any) -> None:
    check(estimator)


def mail(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three measures of a mail without ties, two of which decide, and one label in six wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(((X[:, 0] > 0) & (X[:, 1] > -0.5)) ^ (rng.random(n) < 1 / 6), "spam", "ham")
    return X, y


def test_twenty_depths_and_five_folds_are_the_hundred_models_of_340_19_and_their_errors_average_to_0_16() -> None:
    wrong = [1, 2, 2, 1, 2]  # of ten mails per fold
    rows = [(i % 2, i % 2 ^ (i < n_wrong), fold) for fold, n_wrong in enumerate(wrong) for i in range(10)]
    offer, spam, folds = np.transpose(rows)
    model = PrunedTree(choose="depth", max_depth=20, cv=PredefinedSplit(folds)).fit(offer[:, None], spam)
    assert model.n_models_ == 100
    assert model.depths_.tolist() == list(range(1, 21))
    assert model.fold_errors_[0].tolist() == [0.1, 0.2, 0.2, 0.1, 0.2]
    assert model.validation_error_ == pytest.approx(float(Fraction(sum(wrong), 50)), abs=1e-15)
    assert Fraction(sum(wrong), 50) == Fraction(16, 100)
    # Variance of the five errors (2 · .06² + 3 · .04²)/4 = .003, over five folds .0006.
    assert model.validation_standard_error_ == pytest.approx(0.0006**0.5)
    assert model.best_depth_ == 1


@pytest.mark.slow
@pytest.mark.parametrize("cv", [5, ShuffleSplit(1, test_size=0.3, random_state=3), ShuffleSplit(3, random_state=1)])
@pytest.mark.parametrize("choose", ["depth", "pruning"])
def test_the_curve_read_off_one_tree_is_that_of_separate_fits(choose: str, cv: Any) -> None:
    X, y = mail()
    X = X[:, :1] if choose == "depth" else X  # equally good splits by two features are drawn by lot
    model = PrunedTree(choose=choose, cv=cv, random_state=0).fit(X, y)
    seed = model.estimator_.random_state
    candidates = model.depths_ if choose == "depth" else model.alphas_
    parameter = "max_depth" if choose == "depth" else "ccp_alpha"
    splits = model._splits(np.unique(y, return_inverse=True)[1], seed)
    for i, candidate in enumerate(candidates):
        errors = []
        for rows, held_out in splits:
            tree = DecisionTreeClassifier(random_state=seed, **{parameter: candidate}).fit(X[rows], y[rows])
            errors.append([1 - tree.score(X[rows], y[rows]), 1 - tree.score(X[held_out], y[held_out])])
        assert model.fold_errors_[i] == pytest.approx([held for _, held in errors], abs=1e-12)
        assert model.training_error_[i] == pytest.approx(np.mean([trained for trained, _ in errors]), abs=1e-12)
    assert model.n_models_ == len(candidates) * len(splits)


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40), n_labels=st.integers(2, 4))
def test_the_strengths_are_those_of_scikit_learns_pruning_path(seed: int, n: int, n_labels: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (n, 3)), rng.integers(0, n_labels, n)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    strengths = pruning_strengths(tree.tree_)
    inner = tree.tree_.children_left >= 0
    assert (strengths[~inner] == -np.inf).all()
    assert (strengths[inner] > 0).all()  # with α = 0 nothing is pruned, not even a split that gains nothing
    path = tree.cost_complexity_pruning_path(X, y).ccp_alphas
    for found in strengths[inner & np.isfinite(strengths)]:
        assert np.abs(path - found).min() < 1e-12
    for alpha in path[1:]:
        assert np.abs(strengths[inner] - alpha).min() < 1e-12


def test_there_is_one_candidate_for_each_tree_of_the_pruning_path() -> None:
    X, y = mail()
    model = PrunedTree(random_state=0).fit(X, y)
    trees = [DecisionTreeClassifier(random_state=0, ccp_alpha=alpha).fit(X, y) for alpha in model.alphas_]
    sizes = [tree.get_n_leaves() for tree in trees]
    assert sizes[0] == DecisionTreeClassifier(random_state=0).fit(X, y).get_n_leaves()
    assert all(larger > smaller for larger, smaller in pairwise(sizes))
    assert sizes[-1] == 1


@pytest.mark.parametrize("choose", ["depth", "pruning"])
def test_the_chosen_tree_is_the_simplest_of_the_best_grown_from_all_rows(choose: str) -> None:
    X, y = mail()
    model = PrunedTree(choose=choose, random_state=0).fit(X, y)
    best = np.flatnonzero(np.isclose(model.validation_error_, model.validation_error_.min(), atol=1e-12))
    assert model.best_index_ == (best[0] if choose == "depth" else best[-1])
    seed = model.estimator_.random_state
    if choose == "depth":
        expected = DecisionTreeClassifier(max_depth=model.best_depth_, random_state=seed).fit(X, y)
        assert model.depths_[model.best_index_] == model.best_depth_
    else:
        expected = DecisionTreeClassifier(ccp_alpha=model.best_alpha_, random_state=seed).fit(X, y)
        assert model.alphas_[model.best_index_] == model.best_alpha_
    assert model.predict_proba(X).tolist() == expected.predict_proba(X).tolist()


def test_a_deeper_tree_fits_its_own_rows_better_and_at_some_point_others_worse() -> None:
    model = PrunedTree(choose="depth", random_state=0).fit(*mail())
    assert all(deeper <= shallower for shallower, deeper in pairwise(model.training_error_))
    assert model.training_error_[-1] == 0
    assert model.validation_error_[-1] > model.validation_error_[model.best_index_] + 0.03


@pytest.mark.parametrize("seed", range(5))
def test_labels_that_nothing_explains_get_a_tree_of_one_leaf(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(200, 3)), np.where(rng.random(200) < 0.2, "spam", "ham")
    assert PrunedTree(rule="one_se", random_state=0).fit(X, y).explain(X[:1]) == [
        f"always -> ham (p = {(y == 'ham').mean():.3g})"
    ]


@pytest.mark.parametrize("cv", [5, "validation"])
@pytest.mark.parametrize("choose", ["depth", "pruning"])
def test_one_standard_error_allows_a_simpler_tree_and_no_more(choose: str, cv: Any) -> None:
    X, _ = mail(600)
    y = X @ [1, 1, 0.5] + np.random.default_rng(5).logistic(size=600) > 0  # no rule is exact, many help a little
    best, simpler = (
        PrunedTree(choose=choose, cv=cv, rule=rule, random_state=0).fit(X, y) for rule in ("best", "one_se")
    )
    limit = best.validation_error_[best.best_index_] + best.validation_standard_error_[best.best_index_]
    assert simpler.n_leaves_ < best.n_leaves_
    assert simpler.validation_error_[simpler.best_index_] <= limit
    next_simpler = (
        simpler.validation_error_[: simpler.best_index_]
        if choose == "depth"
        else simpler.validation_error_[simpler.best_index_ + 1 :]
    )
    assert (next_simpler > limit).all()


def test_the_error_of_one_held_out_set_is_binomial() -> None:
    X, y = mail(200)
    model = PrunedTree(cv="validation", random_state=0).fit(X, y)
    error = model.validation_error_
    assert model.fold_errors_.shape == (len(error), 1)
    assert (error * 40).round(9).tolist() == (error * 40).round().tolist()  # a fifth of 200 rows
    assert model.validation_standard_error_ == pytest.approx(np.sqrt(error * (1 - error) / 40))


def least_error(tree: Any, errors: np.ndarray, node: int = 0) -> list[tuple[float, int]]:
    """Error and number of leaves of every tree that pruning can leave below a node."""
    leaf = [(float(errors[node]), 1)]
    if tree.children_left[node] < 0:
        return leaf
    lefts, rights = (least_error(tree, errors, child[node]) for child in (tree.children_left, tree.children_right))
    return leaf + [(a + b, m + n) for a, m in lefts for b, n in rights]


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_of_all_prunings_the_kept_splits_have_the_least_error_on_the_held_out_rows_and_then_the_fewest_leaves(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 3, (40, 2)), rng.integers(0, 2, 40)
    cv = PredefinedSplit(np.where(np.arange(40) < 20, 0, -1))
    model = PrunedTree(choose="splits", max_depth=3, cv=cv, random_state=0).fit(X, y)
    held, rest = np.arange(20), np.arange(20, 40)
    whole = DecisionTreeClassifier(max_depth=3, random_state=model.estimator_.random_state).fit(X[rest], y[rest])
    path = whole.decision_path(X[held]).toarray()
    said = whole.classes_[whole.tree_.value[:, 0].argmax(axis=1)]
    errors = (path * (said[None, :] != y[held][:, None])).sum(axis=0)
    error, leaves = min(least_error(whole.tree_, errors))
    assert 1 - model.score(X[held], y[held]) == pytest.approx(error / 20)
    assert model.validation_error_ == pytest.approx([error / 20])
    assert model.training_error_ == pytest.approx([1 - model.score(X[rest], y[rest])])
    assert model.n_leaves_ == leaves
    assert model.n_models_ == whole.get_n_leaves()  # one per split and one, as many as leaves


def test_a_split_that_pays_only_together_with_the_next_is_kept() -> None:
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 10)
    y = X[:, 0] ^ X[:, 1]
    model = PrunedTree(choose="splits", random_state=0).fit(X, y)
    assert model.score(X, y) == 1
    assert model.n_leaves_ == 4


def test_a_stump_asks_one_question() -> None:
    X, y = mail()
    model = PrunedTree(choose="depth", max_depth=1, random_state=0).fit(X, y)
    assert model.n_leaves_ == 2
    assert model.depths_.tolist() == [1]


@pytest.mark.parametrize("choose", ["depth", "pruning", "splits"])
def test_the_explanation_is_true_of_the_row_and_ends_in_its_prediction(choose: str) -> None:
    X, y = mail()
    table = pd.DataFrame(X, columns=["offer", "links", "length"])
    model = PrunedTree(choose=choose, random_state=0).fit(table, y)
    assert len(model.text().splitlines()) == 3 * model.n_leaves_ - 2  # one for each leaf, two for each split
    for row, words, label, p in zip(
        table.to_dict("records"), model.explain(table), model.predict(table), model.predict_proba(table), strict=True
    ):
        way, said = words.split(" -> ")
        assert said == f"{label} (p = {p.max():.3g})"
        for step in way.split(" and "):
            name, sign, threshold = re.fullmatch(r"(offer|links|length) (<=|>) (\S+)", step).groups()
            slack = 1e-3 if sign == "<=" else -1e-3  # four digits of the threshold are shown
            assert (row[name] <= float(threshold) + slack) == (sign == "<=")


def test_the_drawing_has_names_and_labels() -> None:
    table = pd.DataFrame({"offer": [0, 0, 0, 1, 1, 1] * 4})
    model = PrunedTree(random_state=0).fit(table, ["ham", "ham", "ham", "spam", "spam", "spam"] * 4)
    assert model.text() == ("|--- offer <= 0.50\n|   |--- class: ham\n|--- offer >  0.50\n|   |--- class: spam\n")
    assert PrunedTree(random_state=0).fit(table.to_numpy(), [0, 0, 0, 1, 1, 1] * 4).explain([[0]]) == [
        "x0 <= 0.5 -> 0 (p = 1)"
    ]


@pytest.mark.parametrize(
    "parameters", [{"choose": "depth"}, {"max_depth": 4, "rule": "one_se"}, {"criterion": "entropy"}]
)
def test_the_drawing_is_that_of_scikit_learn(parameters: dict[str, Any]) -> None:
    X, y = mail(600)
    model = PrunedTree(random_state=0, **parameters).fit(X, y)
    assert model.n_leaves_ == model.estimator_.get_n_leaves() > 2
    assert model.text() == export_text(model.estimator_, feature_names=["x0", "x1", "x2"], max_depth=100)


def test_rows_end_in_the_leaf_above_the_splits_that_were_taken_back() -> None:
    X, y = mail()
    model = PrunedTree(choose="splits", random_state=0).fit(X, y)
    assert 1 < model.n_leaves_ < model.estimator_.get_n_leaves()
    ends = model.leaf_of_[model.estimator_.apply(X)]
    assert set(ends) <= set(model.leaf_of_)
    assert model.estimator_.decision_path(X)[np.arange(len(X)), ends].all()  # it is on the way of the row
    assert (model.leaf_of_[ends] == ends).all()
    assert model.predict_proba(X).tolist() == model.estimator_.tree_.value[ends, 0].tolist()


def fitted_attributes(model: PrunedTree) -> set[str]:
    return {name for name in vars(model) if name.endswith("_")}


@pytest.mark.parametrize("choose", ["depth", "pruning", "splits"])
@pytest.mark.parametrize("before", ["depth", "pruning", "splits"])
def test_a_tree_fitted_again_keeps_nothing_of_another_choice(before: str, choose: str) -> None:
    X, y = mail(60)
    model = PrunedTree(choose=before, random_state=0).fit(pd.DataFrame(X, columns=["offer", "links", "length"]), y)
    model.set_params(choose=choose).fit(X, y)
    assert fitted_attributes(model) == fitted_attributes(PrunedTree(choose=choose, random_state=0).fit(X, y))
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("choose", ["depth", "pruning", "splits"])
def test_missing_values_are_learned_from_and_named(choose: str) -> None:
    offer = np.array([0, 0, np.nan, np.nan] * 10)[:, None]
    model = PrunedTree(choose=choose, random_state=0).fit(offer, ["ham", "ham", "spam", "spam"] * 10)
    assert model.predict([[0], [np.nan]]).tolist() == ["ham", "spam"]
    assert "(missing) -> spam" in model.explain([[np.nan]])[0]
    assert "missing" not in model.explain([[0]])[0]


@pytest.mark.parametrize("choose", ["depth", "pruning", "splits"])
def test_a_sparse_table_gives_the_same_tree(choose: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.poisson(0.5, (200, 5)), rng.integers(0, 3, 200)
    y[X[:, 0] > 0] = 2
    dense, sparse = (PrunedTree(choose=choose, random_state=0).fit(table, y) for table in (X, csr_array(X)))
    assert sparse.text() == dense.text()
    assert sparse.explain(csr_array(X)) == dense.explain(X)


@pytest.mark.parametrize("choose", ["depth", "pruning", "splits"])
def test_heavier_rows_count_more_in_growing_and_in_judging(choose: str) -> None:
    X = np.array([[0], [0], [0], [1], [1], [1]] * 10)
    y = np.array(["ham", "ham", "spam", "spam", "spam", "ham"] * 10)
    weight = np.where(y == "spam", 5.0, 1.0)
    model = PrunedTree(choose=choose, cv="validation", random_state=0).fit(X, y, weight)
    assert model.predict([[0], [1]]).tolist() == ["spam", "spam"]  # 10 ham against 10/2 · 5 spam
    assert PrunedTree(choose=choose, random_state=0).fit(X, y).predict([[0], [1]]).tolist() == ["ham", "spam"]
    held = model._splits(np.unique(y, return_inverse=True)[1], model.estimator_.random_state)[0][1]
    error = weight[held] @ (y[held] != "spam") / weight[held].sum()
    assert model.validation_error_[model.best_index_] == pytest.approx(error)


@pytest.mark.slow
def test_a_label_seen_once_is_known_even_if_its_row_was_held_out() -> None:
    X, y = np.arange(40)[:, None], np.array(["ham"] * 39 + ["spam"])
    for seed in range(10):
        for choose in ("depth", "pruning", "splits"):
            model = PrunedTree(choose=choose, random_state=seed).fit(X, y)
            assert model.classes_.tolist() == ["ham", "spam"]
            assert model.predict_proba(X).shape == (40, 2)


@pytest.mark.parametrize("cv", [3, "validation"])
def test_the_same_random_state_gives_the_same_folds(cv: Any) -> None:
    X, y = mail()
    one, same, other = (PrunedTree(cv=cv, random_state=seed).fit(X, y).fold_errors_.tolist() for seed in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"choose": "size"}, "choose must be one of pruning, depth, splits, not 'size'"),
        ({"rule": "two_se"}, "rule must be one of best, one_se, not 'two_se'"),
        ({"cv": "loo"}, "cv must be a number of folds, 'validation' or a splitter, not 'loo'"),
        ({"cv": 1}, "cv must be at least 2 folds, not 1: each is held out from the others"),
        (
            {"choose": "splits", "cv": 5},
            "cv must hold out one set of rows for choose='splits', not 5: use cv='validation'",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_the_model_as_it_was(parameters: dict[str, Any], text: str) -> None:
    X, y = mail(60)
    model = PrunedTree(random_state=0).fit(X, y)
    before = model.text()
    with pytest.raises(ValueError, match=re.escape(text)):
        model.set_params(**parameters).fit(X, np.where(y == "ham", "good", "bad"))
    assert model.text() == before
    assert model.classes_.tolist() == ["ham", "spam"]


def test_a_fold_that_weighs_nothing_is_refused_and_changes_nothing() -> None:
    X, y = mail(60)
    model = PrunedTree(cv=PredefinedSplit(np.arange(60) // 20), random_state=0).fit(X[:, :2], y)
    before = model.text()
    with pytest.raises(ValueError, match="sample_weight is 0 for every row of a fold: use fewer folds, or leave"):
        model.fit(X, y, np.where(np.arange(60) < 20, 0.0, 1.0))
    assert model.text() == before
    assert model.n_features_in_ == 2
