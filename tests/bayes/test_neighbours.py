import pickle
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import norm
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from priory.bayes import NearestNeighbours, neighbour_search

METRICS = ["euclidean", "manhattan", "cosine", "jaccard"]
FORMS: dict[str, Callable[[Any], Any]] = {"dense": np.asarray, "array": sparse.csr_array, "matrix": sparse.csr_matrix}
#: Four messages, five words.
WORDS = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 0, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]])
LABELS = np.array(["spam", "spam", "ham", "ham"])


def drawn(n: int, d: int, seed: int, density: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < density)


def by_definition(metric: str, x: np.ndarray, z: np.ndarray) -> float:
    if metric == "jaccard":
        one, two = set(np.flatnonzero(x)), set(np.flatnonzero(z))
        return float(1 - Fraction(len(one & two), len(one | two))) if one | two else 0.0
    if metric == "cosine":
        lengths = np.linalg.norm(x) * np.linalg.norm(z)
        return 1 - x @ z / lengths if lengths else 1.0
    return float(np.linalg.norm(x - z, {"euclidean": 2, "manhattan": 1}[metric]))


def nearest_by_definition(metric: str, rows: np.ndarray, x: np.ndarray, k: int) -> list[int]:
    distances = [by_definition(metric, x, row) for row in rows]
    return sorted(range(len(rows)), key=lambda i: (distances[i], i))[:k]


@parametrize_with_checks(  # test_contract.py has the defaults
    [NearestNeighbours(metric=metric) for metric in METRICS[1:]] + [NearestNeighbours(weights="distance")],
    expected_failed_checks=lambda model: (
        {"check_classifiers_train": "wants accuracy on rows without zeros, which are all alike to Jaccard"}
        if model.metric == "jaccard"
        else {}
    ),
)
def test_the_contract_of_scikit_learn_is_kept(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.parametrize("form", FORMS)
def test_340_16_jaccard_is_ones_in_both_by_ones_in_either(form: str) -> None:
    model = NearestNeighbours(k=4, metric="jaccard").fit(FORMS[form](WORDS), LABELS)
    distances, places = model.kneighbors(FORMS[form]([[1, 1, 0, 0, 0]]))
    similarities = [Fraction(2, 3), Fraction(2, 3), Fraction(0, 4), Fraction(0, 5)]
    assert distances.tolist() == [[float(1 - similarity) for similarity in similarities]]
    assert places.tolist() == [[0, 1, 2, 3]]


def test_two_empty_rows_have_jaccard_distance_0_and_an_empty_one_has_1_to_all_others() -> None:
    model = NearestNeighbours(k=3, metric="jaccard").fit([[1, 1], [0, 0], [0, 3]], [0, 1, 0])
    distances, places = model.kneighbors([[0, 0], [0, -7]])
    assert distances.tolist() == [[0, 1, 1], [0, 0.5, 1]]
    assert places.tolist() == [[1, 0, 2], [2, 0, 1]]


def test_a_row_of_zeros_has_cosine_distance_1_to_everything() -> None:
    model = NearestNeighbours(k=3, metric="cosine").fit([[0.0, 0.0], [0.0, 2.0], [-1.0, 0.0]], [0, 1, 0])
    distances, places = model.kneighbors([[0.0, 0.0], [1.0, 0.0]])
    assert distances.tolist() == [[1, 1, 1], [1, 1, 2]]
    assert places.tolist() == [[0, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize(("d", "density"), [(2, 1.0), (20, 1.0), (40, 0.2)])
@pytest.mark.parametrize("form", FORMS)
def test_distances_and_probabilities_are_those_of_scikit_learn(
    metric: str, weights: str, d: int, density: float, form: str
) -> None:
    X, queries = FORMS[form](drawn(300, d, 1, density)), FORMS[form](drawn(150, d, 2, density))
    y = np.random.default_rng(3).integers(0, 3, 300)
    ours = NearestNeighbours(7, metric, weights).fit(X, y)
    theirs = KNeighborsClassifier(7, metric=metric, weights=weights, algorithm="brute").fit(X, y)
    for found, expected in zip(ours.kneighbors(queries), theirs.kneighbors(queries), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(queries), theirs.predict_proba(queries), atol=1e-9)


def test_jaccard_distances_are_those_of_scikit_learn_on_dense_booleans() -> None:
    X, queries = drawn(200, 30, 1, 0.2) != 0, drawn(100, 30, 2, 0.2) != 0
    y = np.arange(200) % 2
    ours = NearestNeighbours(6, "jaccard").fit(sparse.csr_array(X), y)
    theirs = KNeighborsClassifier(6, metric="jaccard", algorithm="brute").fit(X, y)
    np.testing.assert_allclose(ours.kneighbors(queries)[0], theirs.kneighbors(queries)[0], atol=1e-12)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    metric=st.sampled_from(["euclidean", "manhattan", "jaccard"]),
    form=st.sampled_from(sorted(FORMS)),
    shape=st.tuples(st.integers(1, 30), st.integers(1, 4)),
    k=st.integers(1, 30),
    seed=st.integers(0, 2**32 - 1),
)
def test_with_ties_the_neighbours_are_those_of_the_definition_and_the_first_learned(
    metric: str, form: str, shape: tuple[int, int], k: int, seed: int
) -> None:
    (n, d), k = shape, min(k, shape[0])
    rng = np.random.default_rng(seed)
    X, queries = rng.integers(0, 3, (n, d)).astype(float), rng.integers(0, 3, (5, d)).astype(float)
    model = NearestNeighbours(k, metric).fit(FORMS[form](X), np.arange(n) % 2)
    distances, places = model.kneighbors(FORMS[form](queries))
    assert places.tolist() == [nearest_by_definition(metric, X, x, k) for x in queries]
    assert distances[0, 0] == pytest.approx(by_definition(metric, queries[0], X[places[0, 0]]), abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", FORMS)
def test_pieces_and_blocks_do_not_show(metric: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, queries = FORMS[form](drawn(100, 12, 1, 0.3).round()), FORMS[form](drawn(10, 12, 2, 0.3).round())
    y = np.arange(100) % 3
    whole = NearestNeighbours(6, metric).fit(X, y).kneighbors(queries)
    monkeypatch.setattr(neighbour_search, "ROWS", 23)
    monkeypatch.setattr(neighbour_search, "QUERIES", 3)
    parts = NearestNeighbours(6, metric).fit(X, y).kneighbors(queries)
    assert whole[0].tolist() == parts[0].tolist()
    assert whole[1].tolist() == parts[1].tolist()


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("form", FORMS)
def test_rows_far_from_the_origin_are_told_apart_where_the_identity_cancels(offset: float, d: int, form: str) -> None:
    X, queries = drawn(300, d, 1) + offset, drawn(20, d, 2) + offset
    model = NearestNeighbours(3).fit(FORMS[form](X), np.arange(300) % 2)
    distances, places = model.kneighbors(FORMS[form](queries))
    exact = np.sqrt(((queries[:, None] - X) ** 2).sum(axis=2))
    assert places.tolist() == np.argsort(exact, axis=1, kind="stable")[:, :3].tolist()
    np.testing.assert_allclose(distances, np.sort(exact, axis=1)[:, :3], rtol=1e-12)


@pytest.mark.parametrize("d", [2, 10])
def test_a_query_beyond_all_measure_is_still_answered_by_the_definition(d: int) -> None:
    X = drawn(50, d, 1)
    X[7] = 100
    model = NearestNeighbours(1).fit(X, np.arange(50) % 2)
    assert model.kneighbors(np.full((1, d), 1e13), return_distance=False).tolist() == [[7]]
    assert model.kneighbors(np.full((1, d), 1e100))[0] == pytest.approx(np.sqrt(d) * 1e100)
    close = NearestNeighbours(1).fit(X * 1e-200, np.arange(50) % 2)
    assert close.kneighbors(np.full((1, d), 1e140))[0] == pytest.approx(np.sqrt(d) * 1e140)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", FORMS)
def test_rows_that_are_all_the_same_are_taken_in_the_order_of_learning(metric: str, form: str) -> None:
    model = NearestNeighbours(3, metric).fit(FORMS[form](np.full((90, 9), 0.1)), np.arange(90) % 2)
    assert model.kneighbors(FORMS[form](drawn(2, 9, 1)), return_distance=False).tolist() == [[0, 1, 2]] * 2


def test_a_model_that_forgot_everything_can_learn_again() -> None:
    model = NearestNeighbours(k=1).fit(WORDS, LABELS).forget(WORDS, LABELS)
    with pytest.raises(ValueError, match="n_samples = 0 rows are learned"):
        model.predict(WORDS)
    assert model.partial_fit(WORDS, LABELS).predict(WORDS).tolist() == LABELS.tolist()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", FORMS)
def test_a_learned_row_is_its_own_neighbour_at_distance_exactly_0(metric: str, form: str) -> None:
    X = FORMS[form](drawn(80, 30, 1, 0.4))
    distances, places = NearestNeighbours(1, metric).fit(X, np.arange(80) % 2).kneighbors(X)
    assert not distances.any()
    assert places.ravel().tolist() == list(range(80))


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("density", [0.02, 1.0])
def test_memory_does_not_grow_with_queries_times_rows(
    metric: str, density: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbour_search, "WORKERS", 4)
    n, d = 20_000, 20
    X, queries = drawn(n, d, 1, density), drawn(2000, d, 2, density)
    if density < 1:
        X, queries = sparse.csr_array(X), sparse.csr_array(queries)
    model = NearestNeighbours(3, metric).fit(X, np.arange(n) % 2)
    model.predict(queries[:2])  # builds the index
    tracemalloc.start()
    model.predict(queries[:256])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20 < n * queries.shape[0] * 8


def test_a_tied_vote_goes_to_the_more_frequent_class_and_then_to_the_first() -> None:
    model = NearestNeighbours(k=2).fit([[0.0], [2.0], [9.0]], ["a", "b", "b"])
    assert model.predict_proba([[1.0]]).tolist() == [[0.5, 0.5]]
    assert model.predict([[1.0]]).tolist() == ["b"]
    assert model.forget([[9.0]], ["b"]).predict([[1.0]]).tolist() == ["a"]


def test_shares_are_weighted_by_one_over_the_distance() -> None:
    model = NearestNeighbours(k=3, weights="distance").fit([[1.0], [2.0], [-4.0]], ["spam", "ham", "ham"])
    assert model.predict_proba([[0.0]]).tolist() == [[float(Fraction(3, 7)), float(Fraction(4, 7))]]
    assert model.predict_proba([[2.0]]).tolist() == [[1, 0]]  # an exact match outvotes the rest
    (explained,) = model.explain([[0.0]])
    assert [(n.row, n.label, n.distance) for n in explained] == [(0, "spam", 1), (1, "ham", 2), (2, "ham", 4)]
    assert [n.share for n in explained] == pytest.approx([4 / 7, 2 / 7, 1 / 7])


def test_weights_may_be_a_function_of_the_distances() -> None:
    model = NearestNeighbours(k=3, weights=lambda d: np.exp(-d)).fit([[1.0], [2.0], [4.0]], [0, 1, 1])
    votes = np.exp([-1.0, -2.0, -4.0])
    assert model.predict_proba([[0.0]])[0].tolist() == pytest.approx(
        [votes[0] / votes.sum(), votes[1:].sum() / votes.sum()]
    )


@pytest.mark.parametrize("weights", ["uniform", "distance", np.exp])
@pytest.mark.parametrize("metric", METRICS)
def test_shares_of_the_explanation_add_up_to_the_probabilities(metric: str, weights: Any) -> None:
    X, y = drawn(60, 8, 1, 0.5), np.arange(60) % 3
    model = NearestNeighbours(9, metric, weights).fit(X, y)
    queries = drawn(10, 8, 2, 0.5)
    for explained, probabilities in zip(model.explain(queries), model.predict_proba(queries), strict=True):
        summed = [sum(n.share for n in explained if n.label == label) for label in model.classes_]
        assert summed == pytest.approx(probabilities.tolist())
        assert sum(probabilities) == pytest.approx(1)


@settings(max_examples=25, deadline=None)
@given(
    metric=st.sampled_from(["euclidean", "manhattan", "cosine"]),
    weights=st.sampled_from(["uniform", "distance"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_order_of_learning_does_not_matter_when_distances_differ(metric: str, weights: str, seed: int) -> None:
    X, queries, y = drawn(40, 5, seed), drawn(10, 5, seed + 1), np.arange(40) % 3
    order = np.random.default_rng(seed).permutation(40)
    one, two = (
        NearestNeighbours(5, metric, weights).fit(X, y),
        NearestNeighbours(5, metric, weights).fit(X[order], y[order]),
    )
    np.testing.assert_allclose(one.predict_proba(queries), two.predict_proba(queries), atol=1e-9)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", FORMS)
def test_learning_in_parts_and_joining_models_equal_learning_at_once(metric: str, form: str) -> None:
    X, y = FORMS[form](drawn(90, 6, 1, 0.5)), np.array(["ham", "spam", "list"])[np.arange(90) // 30]
    queries = drawn(20, 6, 2, 0.5)
    whole = NearestNeighbours(4, metric).fit(X, y)
    parts = NearestNeighbours(4, metric).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    joined = NearestNeighbours(4, metric).fit(X[:50], y[:50]) + NearestNeighbours(4, metric).fit(X[50:], y[50:])
    for model in (parts, joined):
        assert model.classes_.tolist() == ["ham", "list", "spam"]
        assert model.class_count_.tolist() == [30, 30, 30]
        assert model.predict_proba(queries).tolist() == whole.predict_proba(queries).tolist()
        assert model.kneighbors(queries)[1].tolist() == whole.kneighbors(queries)[1].tolist()


@pytest.mark.parametrize("form", FORMS)
def test_forgetting_undoes_learning(form: str) -> None:
    X, y = FORMS[form](drawn(60, 4, 1, 0.5).round()), np.arange(60) % 2
    model = NearestNeighbours(3).fit(X[:40], y[:40])
    before = model.kneighbors(X)
    model.partial_fit(X[40:], y[40:])
    assert model.kneighbors(X)[0].tolist() != before[0].tolist()
    model.forget(X[40:], y[40:])
    assert [part.tolist() for part in model.kneighbors(X)] == [part.tolist() for part in before]
    assert model.class_count_.tolist() == [20, 20]


def test_a_class_whose_rows_are_all_forgotten_stays_with_no_votes() -> None:
    model = NearestNeighbours(k=1).partial_fit([[0.0], [1.0]], ["ham", "spam"]).forget([[1]], ["spam"])
    assert model.classes_.tolist() == ["ham", "spam"]
    assert model.predict_proba([[1.0]]).tolist() == [[1, 0]]


def test_classes_may_be_named_before_they_are_seen() -> None:
    model = NearestNeighbours(k=1).partial_fit([[0.0]], ["ham"], classes=["ham", "spam"])
    assert model.predict_proba([[1.0]]).tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("x", "label"), [([1, 1, 1, 0, 0], "ham"), ([1, 1, 1, 1, 1], "spam"), ([1, 1, 1, 0, 0], "list")]
)
@pytest.mark.parametrize("form", FORMS)
def test_forgetting_what_was_never_learned_is_refused_and_changes_nothing(x: list[int], label: str, form: str) -> None:
    model = NearestNeighbours(k=2).fit(FORMS[form](WORDS), LABELS)
    before = pickle.dumps(model)
    with pytest.raises(
        ValueError, match="1 of the 2 rows of X to forget were not learned with their labels in y: forget"
    ):
        model.forget(np.array([WORDS[2], x]), ["ham", label])
    assert pickle.dumps(model) == before


def test_a_row_learned_once_cannot_be_forgotten_twice() -> None:
    model = NearestNeighbours(k=1).fit(WORDS, LABELS)
    with pytest.raises(ValueError, match="1 of the 2 rows"):
        model.forget(WORDS[[0, 0]], LABELS[[0, 0]])
    assert len(model.labels_) == 4


def test_dense_rows_may_meet_sparse_ones() -> None:
    dense, thin = NearestNeighbours(k=1).fit(WORDS, LABELS), NearestNeighbours(k=1).fit(sparse.csr_array(WORDS), LABELS)
    expected = dense.predict(WORDS).tolist()
    assert dense.predict(sparse.csr_array(WORDS)).tolist() == thin.predict(WORDS).tolist() == expected
    assert sparse.issparse((dense + thin).rows_)
    assert sparse.issparse(dense.partial_fit(sparse.csr_array(WORDS), LABELS).rows_)
    assert thin.forget(WORDS[:1], LABELS[:1]).class_count_.tolist() == [2, 1]


def test_stored_zeros_and_entries_stored_in_parts_are_no_different() -> None:
    odd = sparse.csr_array(([1.0, 1.0, 0.0, 5.0], [1, 1, 2, 0], [0, 3, 4]), shape=(2, 3))
    for metric in METRICS:
        one = NearestNeighbours(2, metric).fit(odd, ["ham", "spam"])
        two = NearestNeighbours(2, metric).fit([[0, 2, 0], [5, 0, 0]], ["ham", "spam"])
        assert one.kneighbors(odd)[0].tolist() == two.kneighbors(odd.toarray())[0].tolist()
        one.forget([[0, 2, 0]], ["ham"])
    assert odd.nnz == 4


def test_the_model_keeps_its_own_copy_of_the_rows() -> None:
    X = WORDS.astype(float)
    model = NearestNeighbours(k=1).fit(X, LABELS)
    X[:] = 0
    assert model.rows_.tolist() == WORDS.tolist()


@pytest.mark.slow
def test_340_16_the_error_of_one_neighbour_is_below_twice_the_bayes_error() -> None:
    rng = np.random.default_rng(340)
    y, asked = rng.integers(0, 2, 20_000), rng.integers(0, 2, 20_000)
    X, queries = rng.normal(2.0 * y)[:, None], rng.normal(2.0 * asked)[:, None]
    least = norm.cdf(-1)  # two Gaussians, two deviations apart
    errors = {k: np.mean(NearestNeighbours(k).fit(X, y).predict(queries) != asked) for k in (1, 201)}
    deviation = np.sqrt(least * (1 - least) / len(asked))
    assert least + 5 * deviation < errors[1] < 2 * least
    assert errors[201] == pytest.approx(least, abs=5 * deviation)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, not 0"),
        ({"k": 2.0}, "k must be a whole number of at least 1, not 2.0"),
        ({"k": True}, "k must be a whole number of at least 1, not True"),
        ({"metric": "hamming"}, "metric must be one of euclidean, manhattan, cosine, jaccard, not 'hamming'"),
        ({"weights": "rank"}, "weights must be 'uniform', 'distance' or a function, not 'rank'"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NearestNeighbours(**parameters).fit(WORDS, LABELS)


def test_more_neighbours_than_rows_are_refused() -> None:
    model = NearestNeighbours(k=5).fit(WORDS, LABELS)
    with pytest.raises(
        ValueError, match="k = 5 neighbours were asked for, but n_samples = 4 rows are learned: learn more"
    ):
        model.predict(WORDS)
    assert model.kneighbors(WORDS, k=4, return_distance=False).shape == (4, 4)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (lambda d: d - 10, "weights must give one finite number of at least 0 for each distance"),
        (lambda d: d[0], "weights must give one finite number of at least 0 for each distance"),
        (lambda d: 0 * d, "weights gave 0 to all neighbours of a row"),
    ],
)
def test_weights_that_make_no_vote_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NearestNeighbours(k=2, weights=weights).fit(WORDS, LABELS).predict(WORDS[:2])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "NaN"), (np.inf, "infinity"), (-1e200, "X has values beyond 1e150, whose squares")]
)
def test_values_without_a_distance_are_refused_and_change_nothing(form: str, value: float, message: str) -> None:
    model = NearestNeighbours(k=1).fit(pd.DataFrame(WORDS, columns=list("abcde")), LABELS)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.fit(FORMS[form](np.where(WORDS == 1, value, 0)), LABELS)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(pd.DataFrame(np.where(WORDS == 1, value, 0), columns=list("abcde")), LABELS)
    assert pickle.dumps(model) == before


def test_models_that_differ_are_not_joined() -> None:
    model = NearestNeighbours(k=1).fit(WORDS, LABELS)
    with pytest.raises(ValueError, match="models with different k cannot be added: 1 and 2"):
        model + NearestNeighbours(k=2).fit(WORDS, LABELS)
    with pytest.raises(ValueError, match="models of different features cannot be added"):
        model + NearestNeighbours(k=1).fit(WORDS[:, :3], LABELS)
    named = [
        NearestNeighbours(k=1).fit(pd.DataFrame(WORDS, columns=list(names)), LABELS) for names in ("abcde", "edcba")
    ]
    for one, two in (named, [model, named[0]]):
        with pytest.raises(ValueError, match="models of different features cannot be added"):
            one + two
    with pytest.raises(TypeError):
        model + 1


@pytest.mark.parametrize("form", list(FORMS))
def test_parameters_that_are_changed_after_learning_are_obeyed(form: str) -> None:
    rows = FORMS[form](WORDS * [[1], [3], [1], [2]])
    model = NearestNeighbours(k=3).fit(rows, LABELS)
    answers = []
    for metric in (*METRICS, "euclidean"):
        changed = model.set_params(metric=metric).kneighbors(rows)
        expected = NearestNeighbours(k=3, metric=metric).fit(rows, LABELS).kneighbors(rows)
        assert [part.tolist() for part in changed] == [part.tolist() for part in expected]
        answers.append(changed[0].tolist())
    assert all(answers[i] != answers[j] for i in range(len(METRICS)) for j in range(i))
    model.set_params(metric="jaccard").partial_fit(rows, LABELS)
    assert model.kneighbors(rows, k=2)[0].tolist() == [[0, 0]] * 4


def test_labels_of_another_kind_are_refused_and_change_nothing() -> None:
    model = NearestNeighbours(k=1).fit(WORDS, LABELS)
    with pytest.raises(ValueError, match="Mix of label input types"):
        model.partial_fit(WORDS, [0, 1, 0, 1])
    assert model.labels_.tolist() == LABELS.tolist()
