"""Edge cases of the contract: rounding beside large weights, forgotten gaps, parameters changed after learning."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from priory.bayes import (
    AveragedOneDependence,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    HistogramNB,
    JointBayes,
    MAPRegression,
    MarkovBayes,
    MDLDiscretiser,
    MixedNB,
    MultinomialNB,
    NearestNeighbours,
    PoissonNB,
    TreeAugmentedNB,
)
from priory.bayes.tables import settle
from priory.decision import CostSensitive

NAN = float("nan")


@pytest.mark.parametrize("model", [MultinomialNB(), PoissonNB()])
def test_forgetting_a_huge_row_leaves_small_ones_as_they_were(model: Any) -> None:
    small = type(model)().partial_fit([[0, 1], [5, 1]], [0, 1])
    model.fit([[1e9, 1], [0, 1], [5, 1]], [0, 0, 1]).forget([[1e9, 1]], [0])
    assert (model.feature_count_ == small.feature_count_).all()
    assert model.class_count_.tolist() == [1, 1]


def test_forgetting_a_huge_weight_leaves_small_ones_as_they_were() -> None:
    model = CategoricalNB().fit([["a"], ["b"], ["c"]], [0, 0, 1], sample_weight=[1e9, 1, 1])
    model.forget([["a"]], [0], sample_weight=[1e9])
    assert model.class_count_.tolist() == [1, 1]
    assert [values.tolist() for values in model.categories_] == [["b", "c"]]


def test_rows_of_real_weights_are_forgotten_in_parts() -> None:
    rng = np.random.default_rng(0)
    X, y, weights = rng.integers(0, 2, (20_000, 3)), rng.integers(0, 2, 20_000), rng.random(20_000) / 10
    for model in (BernoulliNB(), MultinomialNB(), CategoricalNB(), GaussianNB(), PoissonNB()):
        model.fit(X, y, sample_weight=weights)
        for part in np.array_split(rng.permutation(len(y)), 20):
            model.forget(X[part], y[part], sample_weight=weights[part])
        assert model.class_count_ == pytest.approx([0, 0], abs=1e-9)


def test_whole_counts_are_exact_and_others_may_round() -> None:
    with pytest.raises(ValueError, match="never learned"):
        settle(np.array([1e15]), np.array([-1.0]))
    with pytest.raises(ValueError, match="never learned"):
        settle(np.array([0.5]), np.array([-0.1]))
    assert settle(np.array([0.3]), np.array([-1e-17])).tolist() == [0]
    assert settle(np.array([1e15]), np.array([1.0])).tolist() == [1]


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (GaussianNB(), [[1.0], [2.0], [5.0], [6.0]]),
        (BernoulliNB(), [[1.0], [0.0], [1.0], [0.0]]),
        (PoissonNB(), [[1.0], [2.0], [5.0], [6.0]]),
        (HistogramNB(edges=[[0, 3, 9]]), [[1.0], [2.0], [5.0], [6.0]]),
        (CategoricalNB(), [[1.0], [2.0], [1.0], [2.0]]),
        (TreeAugmentedNB(), [[1.0], [2.0], [1.0], [2.0]]),
        (AveragedOneDependence(), [[1.0], [2.0], [1.0], [2.0]]),
        (MixedNB(), [[1.0], [2.0], [5.0], [6.0]]),
    ],
)
def test_a_gap_that_was_never_learned_is_not_forgotten(model: Any, rows: list[list[float]]) -> None:
    model.fit(rows, list("aabb"))
    before = model.predict_joint_log_proba(rows)
    with pytest.raises(ValueError, match="never learned"):
        model.forget([[NAN], [NAN]], ["a", "a"])
    assert (model.predict_joint_log_proba(rows) == before).all()
    assert model.forget(rows[:2], ["a", "a"]).class_count_.tolist() == [0, 2]


def test_columns_whose_spans_add_up_to_more_than_an_integer_holds_are_read() -> None:
    X = np.zeros((3, 1025), np.int64)
    X[0, :1024], X[1, :1024], X[0, 1024] = 2**53 - 1, -(2**53 - 1), 1124
    assert CategoricalNB().fit(X, [0, 1, 0]).predict(X).tolist() == [0, 1, 0]


def test_spread_out_numbers_in_many_columns_need_no_table_of_all() -> None:
    X = np.array([[-4_000_000] * 20, [4_000_000] * 20])
    model = CategoricalNB().fit(X, [0, 1])
    assert model.coding_._spans is None
    assert model.predict(X).tolist() == [0, 1]


def test_known_names_are_learned_without_making_the_table_again() -> None:
    model = CategoricalNB().fit([["ann"], ["shop"]], ["ham", "spam"])
    table = model.counts_
    assert model.partial_fit([["ann"], [None]], ["ham", "spam"]).counts_ is table


def test_a_sum_of_one_model_is_another_model() -> None:
    one = MultinomialNB().fit([[1, 0], [0, 1]], [0, 1])
    total = sum([one])
    total.partial_fit([[1, 0]], [0])
    assert one.class_count_.tolist() == [1, 1]


def test_models_of_different_kinds_do_not_add_up() -> None:
    X, y = [[1, 0], [0, 1]], [0, 1]
    for one, other in ((MultinomialNB(), ComplementNB()), (ComplementNB(), MultinomialNB())):
        with pytest.raises(TypeError, match="unsupported operand"):
            one.fit(X, y) + other.fit(X, y)


def test_an_attribute_of_the_users_does_no_harm() -> None:
    model = GaussianNB().fit([[1.0], [2.0]], [0, 1])
    model.note = "of last week"
    assert model.predict([[1.0]]).tolist() == [0]


@pytest.mark.parametrize("alpha", [0.0, 7.0])
def test_a_mixed_table_is_read_with_the_alpha_that_is_set(alpha: float) -> None:
    X, y = [[1.0, 3], [2.0, 4], [9.0, 4], [7.0, 3]], list("aabb")
    changed = MixedNB(densities={1: "categorical"}).fit(X, y).set_params(alpha=alpha)
    expected = MixedNB(densities={1: "categorical"}, alpha=alpha).fit(X, y)
    assert (changed.predict_joint_log_proba(X) == expected.predict_joint_log_proba(X)).all()


def test_what_was_counted_with_one_order_is_not_read_with_another() -> None:
    model = MarkovBayes(order=1).fit(["aab", "bba"], ["x", "y"]).set_params(order=3)
    with pytest.raises(ValueError, match="order is 3, but the model has counted with order 1: fit it again"):
        model.predict(["aab"])


def test_a_prior_is_taken_by_label_from_a_series() -> None:
    model = CategoricalNB(prior=pd.Series({"y": 0.3, "x": 0.7})).fit([["a"], ["b"]], ["x", "y"])
    assert model.predict_proba([[None]])[0].tolist() == pytest.approx([0.7, 0.3])


def test_a_prior_that_sums_to_one_but_for_rounding_can_be_drawn_from() -> None:
    _, y = CategoricalNB(prior=[0.33333] * 3).fit([["a"], ["b"], ["c"]], [0, 1, 2]).sample(5, random_state=0)
    assert set(y) <= {0, 1, 2}


@pytest.mark.parametrize("classifier", [CategoricalNB, JointBayes])
@pytest.mark.parametrize("categories", [{"x": ["a", "b"]}, ["ab"], "ab"])
def test_categories_that_are_no_list_of_values_are_refused(classifier: Any, categories: Any) -> None:
    with pytest.raises(ValueError, match="categories must be a list with the values of each column"):
        classifier(categories=categories).fit(pd.DataFrame({"x": ["a", "b"]}), ["p", "q"])


@pytest.mark.parametrize("column", [pd.date_range("2020", periods=4), pd.to_timedelta([1, 2, 3, 4], "h")])
def test_times_are_refused_also_when_more_is_learned_or_asked(column: Any) -> None:
    model = MixedNB().fit(pd.DataFrame({"d": [1.0, 2, 3, 4]}), list("abab"))
    for act in (model.predict, lambda X: model.partial_fit(X, list("abab"))):
        with pytest.raises(ValueError, match="X has in d neither numbers, names nor booleans"):
            act(pd.DataFrame({"d": column}))


@pytest.mark.parametrize(
    "y",
    [["a", "b", None, "a"], pd.array(["a", "b", pd.NA, "a"], dtype="string"), np.array(["a", "b", None, "a"], object)],
)
def test_a_label_that_is_missing_is_refused(y: Any) -> None:
    with pytest.raises(ValueError, match="y has a missing value"):
        GaussianNB().fit([[1.0], [2], [3], [4]], y)


def test_numbers_beside_digits_are_a_mixture() -> None:
    with pytest.raises(ValueError, match="column 0 of X mixes numbers with other values: make it all strings"):
        CategoricalNB().fit(np.array([[1], ["2"]], object), [0, 1])


def test_features_called_prior_and_rest_are_told_apart_from_those_parts_of_the_sum() -> None:
    mail = pd.DataFrame({"prior": [1, 1, 0], "rest": [0, 1, 1]})
    terms = BernoulliNB().fit(mail, ["spam", "spam", "ham"]).explain(mail[:1])[0]
    said = terms.log_odds("spam")
    assert set(said) == {"prior", "prior (feature)", "rest (feature)"}
    assert sum(said.values()) == pytest.approx(terms.joint[1] - terms.joint[0])


def test_a_sparse_row_that_names_a_feature_twice_is_explained_once() -> None:
    model = MultinomialNB().fit([[3, 0], [0, 3]], ["spam", "ham"])
    twice = csr_matrix((np.ones(2), [0, 0], [0, 2]), (1, 2))
    (terms,) = model.explain(twice)
    assert terms.names == ("x0",)
    assert terms.joint.tolist() == pytest.approx(model.predict_joint_log_proba(twice)[0].tolist())


def test_sparse_rows_with_indices_of_two_types_are_learned() -> None:
    X = csr_matrix(np.eye(2))
    X.indptr = X.indptr.astype(np.int64)
    assert MultinomialNB().fit(X, [0, 1]).partial_fit(X, [0, 1]).class_count_.tolist() == [2, 2]


def test_nothing_can_be_drawn_from_nothing() -> None:
    model = CategoricalNB().fit([["u"], ["v"]], ["a", "b"]).forget([["u"], ["v"]], ["a", "b"])
    with pytest.raises(ValueError, match="nothing can be drawn"):
        model.sample(2)


def test_a_column_that_was_never_known_is_drawn_as_missing() -> None:
    X, _ = CategoricalNB().fit([["u", None], ["v", None]], ["a", "b"]).sample(3, random_state=0)
    assert pd.isna(X[:, 1]).all()


def test_a_model_keeps_nothing_of_the_table_it_learned() -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    assert MixedNB().fit(X, np.arange(100) % 2)._template.base is None


@pytest.mark.parametrize(("shift", "target"), [(5.0, 0.0), (100.0, 1e6)])
def test_a_regression_forgets_no_row_that_would_leave_less_than_nothing(shift: float, target: float) -> None:
    Z = np.random.default_rng(0).normal(size=(30, 3))
    model = MAPRegression().fit(Z, Z @ [1, 2, 3])
    before = model.coef_.tolist()
    with pytest.raises(ValueError, match="never learned"):
        model.forget(Z[:1] + shift, [target])
    assert model.coef_.tolist() == before


@pytest.mark.parametrize("model", [MAPRegression(), NearestNeighbours(k=1)])
def test_models_that_keep_rows_or_moments_can_be_summed(model: Any) -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    parts = [clone(model).fit(X[at::2], np.array(y)[at::2]) for at in (0, 1)]
    assert sum(parts).predict(X).tolist() == pytest.approx(clone(model).fit(X, y).predict(X).tolist())


def test_a_discretiser_that_cannot_be_fitted_stays_as_it_was() -> None:
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4]})
    cutter = MDLDiscretiser().fit(frame, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="infinity"):
        cutter.fit(pd.DataFrame({"z": [1.0, np.inf, 3, 4]}), [0, 0, 1, 1])
    assert cutter.feature_names_in_.tolist() == ["a"]


def test_costs_in_a_frame_go_by_label() -> None:
    costs = pd.DataFrame([[0, 1], [100, 0]], index=["y", "x"], columns=["y", "x"])  # saying x when y is true: 100
    fitted = CostSensitive(GaussianNB(), costs).fit([[1.0], [2.0], [1.1], [2.2]], list("xyxy"))
    assert fitted.costs_.tolist() == [[0, 100], [1, 0]]
