"""Counts of pairs, conditional mutual information, and published figures of models based on them."""

import math
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, cross_val_score

import fimdlp
import tables
from priory.bayes import AveragedOneDependence, CategoricalNB, KDependenceNB, TreeAugmentedNB
from priory.bayes.coding import Coding, draw_codes
from priory.bayes.dependence import PairCounts, class_information, spanning_tree
from priory.bayes.input import Columns
from priory.bayes.pairs import add_pairs, average_parents, tree_terms

#: Rows of three columns with up to three values or none, a label, and a weight.
VALUES = st.sampled_from([0.0, 1.0, 2.0, math.nan])
ROWS = st.lists(st.tuples(VALUES, VALUES, VALUES, st.integers(0, 1), st.integers(1, 3)), min_size=1, max_size=20)


def columns_of(rows: list[tuple]) -> tuple[Columns, np.ndarray, np.ndarray]:
    *columns, labels, weights = (np.array(column) for column in zip(*rows, strict=True))
    return Columns(columns), labels, weights.astype(float)


def counted(rows: list[tuple]) -> PairCounts:
    columns, labels, weights = columns_of(rows)
    return PairCounts.empty(Coding.from_values([[]] * len(columns)), 2).learn(columns, labels, weights)


def share(rows: list[tuple], **fixed: float) -> float:
    """The weight of the rows that have these values at these places."""
    return float(sum(row[-1] for row in rows if all(row[int(place[1:])] == value for place, value in fixed.items())))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_each_pair_of_known_values_is_counted_once(rows: list[tuple]) -> None:
    counts = counted(rows)
    for i, j in combinations(range(3), 2):
        table = counts.between(i, j)
        np.testing.assert_array_equal(table, counts.between(j, i).transpose(1, 0, 2))
        both_ways = counts.both_ways()[counts.coding.offsets[j] :, counts.coding.offsets[i] :]
        np.testing.assert_array_equal(table, both_ways[: table.shape[1], : table.shape[0]].transpose(1, 0, 2))
        for (a, left), (b, right) in product(
            enumerate(counts.coding.categories[i]), enumerate(counts.coding.categories[j])
        ):
            assert table[a, b].tolist() == [share(rows, **{f"_{i}": left, f"_{j}": right, "_3": c}) for c in (0, 1)]
    for j, values in enumerate(counts.coding.categories):
        expected = [[share(rows, **{f"_{j}": value, "_3": c}) for c in (0, 1)] for value in values]
        assert counts.of(j).tolist() == [*expected, [0, 0]]
    assert np.diagonal(counts.both_ways()).T.tolist() == counts.single.tolist()


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_conditional_mutual_information_is_the_sum_of_the_formula_over_the_rows_where_both_are_known(
    rows: list[tuple],
) -> None:
    found = counted(rows).information()
    for i, j in combinations(range(3), 2):
        known = [row for row in rows if not math.isnan(row[i]) and not math.isnan(row[j])]
        total = 0.0
        for a, b, c in {(row[i], row[j], row[3]) for row in known}:
            both, of_class = share(known, **{f"_{i}": a, f"_{j}": b, "_3": c}), share(known, _3=c)
            of_first, of_second = share(known, **{f"_{i}": a, "_3": c}), share(known, **{f"_{j}": b, "_3": c})
            total += both / share(known) * math.log(both * of_class / of_first / of_second)
        assert found[i, j] == found[j, i] == pytest.approx(total, abs=1e-9)
    assert np.diagonal(found).tolist() == [0, 0, 0]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_information_about_the_class_is_that_of_scikit_learn(rows: list[tuple]) -> None:
    columns, labels, weights = columns_of(rows)
    counts = counted(rows)
    for column, found in zip(columns, class_information(counts.single, counts.coding), strict=True):
        known = np.repeat(np.column_stack([column, labels]), weights.astype(int), axis=0)
        known = known[~np.isnan(known[:, 0])]
        assert found == pytest.approx(mutual_info_score(*known.T) if len(known) else 0.0, abs=1e-9)


def test_what_is_equal_is_equal_however_it_is_rounded() -> None:
    """Every combination of values comes once: nothing tells about anything, exactly."""
    X = np.array(list(product(range(3), range(5), range(7), range(2))))
    labels, weights = np.zeros(len(X), int), np.full(len(X), 1 / 3)
    assert (
        not PairCounts.empty(Coding.from_values([[]] * 4), 1).learn(Columns(X.T), labels, weights).information().any()
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=10, max_size=10), st.integers(0, 4))
def test_no_tree_weighs_more(numbers: list[int], root: int) -> None:
    weights = np.zeros((5, 5))
    weights[np.triu_indices(5, 1)] = numbers
    weights += weights.T
    order, parents = spanning_tree(weights, root)
    assert order[0] == root
    assert parents[root] == -1
    assert all(parent < 0 or parent in order[:at] for at, parent in enumerate(parents[order]))
    heaviest = max(
        sum(weights[edge] for edge in edges)
        for edges in combinations(combinations(range(5), 2), 4)
        if is_connected(edges)
    )
    assert sum(weights[column, parents[column]] for column in order if parents[column] >= 0) == heaviest


def is_connected(edges: tuple[tuple[int, int], ...]) -> bool:
    reached = {0}
    for _ in edges:
        reached |= {column for edge in edges if reached & set(edge) for column in edge}
    return len(reached) == 5


def test_of_equal_edges_the_lower_column_joins_first_and_to_the_parent_that_joined_first() -> None:
    order, parents = spanning_tree(np.ones((4, 4)), root=2)
    assert order.tolist() == [2, 0, 1, 3]
    assert parents.tolist() == [2, 2, -1, 2]


def test_codes_are_drawn_as_often_as_they_are_probable() -> None:
    logs = np.log(np.tile([0.5, 0.125, 0.375], (40_000, 1)))
    drawn = np.bincount(draw_codes(logs, np.random.default_rng(1))) / 40_000
    assert drawn == pytest.approx([0.5, 0.125, 0.375], abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("model", [TreeAugmentedNB(), AveragedOneDependence(), KDependenceNB(k=1)])
def test_columns_that_name_their_row_are_refused_and_the_model_stays_as_it_was(model: TreeAugmentedNB) -> None:
    names = [[f"message {i}"] for i in range(17_000)]
    model.fit([["night"], ["noon"]], ["spam", "ham"])
    with pytest.raises(ValueError, match=r"X has 17000 values in all its columns.* 4 GB\. Leave out columns that name"):
        model.fit(names, ["ham", "spam"] * 8_500)
    assert model.categories_[0].tolist() == ["night", "noon"]
    assert model.predict([["noon"]]).tolist() == ["ham"]


@pytest.mark.parametrize("model", [TreeAugmentedNB(), AveragedOneDependence()])
@pytest.mark.parametrize(
    ("row", "label"),
    [(["html", "none"], "spam"), (["html", None], "spam"), (["mime", None], "spam"), (["html", "link"], "ham")],
)
def test_rows_that_were_never_learned_are_not_forgotten(model: TreeAugmentedNB, row: list, label: str) -> None:
    model.fit([["html", "link"], ["text", "none"], ["text", "none"]], ["spam", "ham", "spam"])
    before = model.pairs_.table.copy()
    with pytest.raises(ValueError, match="never learned, or were forgotten already: nothing was changed"):
        model.forget([row], [label])
    assert model.pairs_.table.tolist() == before.tolist()
    assert model.class_count_.tolist() == [1, 2]


ONE = np.zeros((1, 2, 2))
TREE = (np.zeros((6, 1)), np.array([0, 2]), np.array([2, 2]), np.array([-1, 0]), np.array([0, 1]))


@pytest.mark.parametrize(
    ("act", "complaint"),
    [
        (lambda: add_pairs(ONE, cells([[0, 2]]), np.array([0]), np.ones(1)), "cell 2 is not in a table of 2"),
        (lambda: add_pairs(ONE, cells([[-2, 0]]), np.array([0]), np.ones(1)), "cell -2 is not in a table of 2"),
        (lambda: add_pairs(ONE, cells([[0, 1]]), np.array([1]), np.ones(1)), "label 1 is not in a table of 1"),
        (lambda: add_pairs(ONE, cells([[0, 1]]), np.array([0]), np.ones(2)), "do not describe the same 1 rows"),
        (lambda: average_parents(ONE, np.ones(1, np.uint8), cells([[0]])), "a table of 1 × 2 does not fit 1 cells"),
        (lambda: average_parents(ONE.T.copy(), np.ones(2, np.uint8), cells([[2]])), "cell 2 is not in a table of 2"),
        (lambda: tree_terms(*TREE, cells([[0, 2]])), "code 2 is not in a table of 2"),
        (lambda: tree_terms(*TREE, cells([[0]])), "do not describe 1 columns"),
        (lambda: tree_terms(*TREE[:3], np.array([-1, 2]), TREE[4], cells([[0, 1]])), "column 1 has no place in a tree"),
        (lambda: tree_terms(*TREE[:4], np.array([1, 0]), cells([[0, 1]])), "column 1 comes before its parent"),
        (lambda: tree_terms(TREE[0][:5], *TREE[1:], cells([[0, 1]])), "column 1 does not lie within 5 entries"),
    ],
)
def test_what_lies_outside_of_a_table_is_refused(act: Callable[[], object], complaint: str) -> None:
    with pytest.raises(IndexError, match=complaint):
        act()
    assert not ONE.any()


def cells(rows: list[list[int]]) -> np.ndarray:
    return np.array(rows, np.int32)


# What others publish. bnclassify (R), tests/testthat: test-learn-chowliu.R, test-learn-aode.r, test-cv.R.


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("name", "pair", "information", "n_arcs"),
    [
        ("car", ("buying", "maint"), 0.07199921, 5),
        ("vote", ("water-project-cost-sharing", "crime"), 0.003924715, 15),  # with missing values
    ],
)
def test_information_is_that_of_bnclassify(
    name: str, pair: tuple[str, str], information: float, n_arcs: int, corpora: Path
) -> None:
    table = tables.load(corpora, name)
    model = TreeAugmentedNB().fit(table.X, table.y)
    i, j = (table.feature_names.index(column) for column in pair)
    assert model.information_[i, j] == pytest.approx(information, rel=1e-6)
    assert len(model.edges_) == n_arcs


@pytest.mark.corpora
def test_averaged_one_dependence_is_that_of_bnclassify_and_weka(corpora: Path) -> None:
    car = tables.load(corpora, "car")
    model = AveragedOneDependence(prior="smoothed").fit(car.X, car.y)
    probability = dict(zip(model.classes_, model.predict_proba(car.X[11:12])[0], strict=True))["unacc"]
    assert probability == pytest.approx(0.793, abs=0.001)
    assert np.exp(model.predict_joint_log_proba(car.X)).sum() == pytest.approx(1, abs=1e-9)  # car has all 1728 rows


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("model", "n_folds", "accuracy", "tolerance"),
    [
        (CategoricalNB(prior="smoothed"), 10, 0.8582, 0.01),
        (KDependenceNB(k=0, prior="smoothed"), 10, 0.8582, 0.01),
        (AveragedOneDependence(alpha=0.01), 2, 0.9057, 0.015),
    ],
)
def test_accuracy_on_car_is_that_of_bnclassify(
    model: CategoricalNB, n_folds: int, accuracy: float, tolerance: float, corpora: Path
) -> None:
    """The folds are drawn by chance there as here: ten of them move the accuracy by a point, two by more."""
    car = tables.load(corpora, "car")
    folds = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=4, random_state=0)
    assert cross_val_score(model, car.codes(), car.y, cv=folds).mean() == pytest.approx(accuracy, abs=tolerance)
    assert np.mean(car.y == "unacc") == pytest.approx(0.7002, abs=1e-4)


@pytest.mark.corpora
@pytest.mark.parametrize("model", [CategoricalNB(), TreeAugmentedNB(), AveragedOneDependence(), KDependenceNB()])
@pytest.mark.parametrize("name", ["car", "vote"])
def test_the_accuracies_of_the_documentation_are_true(model: CategoricalNB, name: str, corpora: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "toolkit" / "averaged-one-dependence.md").read_text(encoding="utf-8")
    (line,) = (line for line in page.splitlines() if line.startswith(f"| {name} |"))
    naive, tree, averaged, _, two = (float(cell) for cell in line.split("|")[3:-1])
    said = {CategoricalNB: naive, TreeAugmentedNB: tree, AveragedOneDependence: averaged, KDependenceNB: two}
    table = tables.load(corpora, name)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    found = cross_val_score(model, table.codes(), table.y, cv=folds).mean()
    assert round(100 * found, 1) == said[type(model)]


# Doctorado-ML/BayesNet (C++), tests/TestBayesModels.cc, on rows cut by its own discretiser. Its counts are in units of
# 1/n, and so is its smoothing of 1/n: that is alpha = 1, also for the classes.

ROWS_RIGHT = {  # of TAN, KDB with k = 2, SPODE with column 1, AODE
    "diabetes": (631, 655, 616, 631),
    "ecoli": (300, 299, 296, 299),
    "glass": (177, 177, 166, 170),
    "iris": (146, 146, 146, 146),
}


def codes_of_bayesnet(name: str, corpora: Path) -> tuple[np.ndarray, np.ndarray]:
    table = tables.load(corpora, name)
    X, y = fimdlp.codes(table.X, table.y)
    return X, y


def tree_of_bayesnet(X: np.ndarray, y: np.ndarray) -> TreeAugmentedNB:
    """There the root is the column that tells most about the class."""
    counts = TreeAugmentedNB().fit(X, y).pairs_
    root = int(class_information(counts.single, counts.coding).argmax())
    return TreeAugmentedNB(prior="smoothed", root=root).fit(X, y)


def posteriors_by_parent(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """p(class given row) under each model that AODE averages, [parent, row, class]."""
    model = AveragedOneDependence(prior="smoothed").fit(X, y)
    average, rows = model._parameters(), model.pairs_.coding.cells(Columns(X.T))
    found = []
    for start, n in zip(average.coding.offsets, average.coding.n_values, strict=True):
        parent = np.zeros(average.coding.n_cells, np.uint8)
        parent[start : start + n] = 1
        joint = average_parents(average.logs, parent, rows) + model.class_log_prior_
        found.append(np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None]))
    return np.array(found)


@pytest.mark.corpora
@pytest.mark.parametrize("name", ROWS_RIGHT)
def test_as_many_rows_are_right_as_in_bayesnet(name: str, corpora: Path) -> None:
    """All to the row. AODE there is the mean of the posteriors of its models, here, as in the paper, that of their
    joint probabilities, so it is compared by its models."""
    X, y = codes_of_bayesnet(name, corpora)
    two_parents = KDependenceNB(k=2, min_information=0.03, prior="smoothed").fit(X, y)
    posteriors = posteriors_by_parent(X, y)
    predicted = (
        tree_of_bayesnet(X, y).predict(X),
        two_parents.predict(X),
        posteriors[1].argmax(axis=1),
        posteriors.mean(axis=0).argmax(axis=1),
    )
    assert tuple(int((each == y).sum()) for each in predicted) == ROWS_RIGHT[name]


@pytest.mark.corpora
def test_the_probabilities_of_bayesnet(corpora: Path) -> None:
    X, y = codes_of_bayesnet("iris", corpora)
    model = tree_of_bayesnet(X, y)
    assert model.parents_.tolist() == [2, 0, -1, 1]  # petal length, sepal length, sepal width, petal width
    published = [[0.00375671, 0.994457, 0.00178621], [0.00137462, 0.992734, 0.00589123]]
    published += [[0.00494209, 0.0978534, 0.897205], [0.000860806, 0.996922, 0.00221698]]
    assert model.predict_proba(X[[78, 79, 83, 86]]) == pytest.approx(np.array(published), rel=1e-5)
    X, y = codes_of_bayesnet("glass", corpora)
    assert posteriors_by_parent(X, y).mean(axis=0)[67, 0] == pytest.approx(0.702184, rel=1e-5)
    few_parents = KDependenceNB(k=3, min_information=0.7, prior="smoothed").fit(X, y)
    assert few_parents.score(X, y) == pytest.approx(0.761682, abs=1e-6)
