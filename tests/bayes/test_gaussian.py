import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import norm
from sklearn import naive_bayes
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from priory.bayes import GaussianNB

Floats = NDArray[np.float64]
NAN = math.nan
#: size in kilobytes and share of capitals of six messages
MAIL = [[2.0, 0.25], [4.0, 0.5], [6.0, 0.75], [1.0, 0.0], [3.0, 1.0], [3.0, 0.5]]
LABELS = ["spam", "spam", "spam", "ham", "ham", "ham"]
TABLES = {"iris": load_iris, "wine": load_wine, "breast": load_breast_cancer, "digits": load_digits}


def drawn(n: int, n_columns: int = 3, n_classes: int = 3, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    return rng.normal(size=(n, n_columns)) * rng.uniform(0.5, 3, n_columns) + labels[:, None], labels


def test_means_and_variances_are_those_of_fractions() -> None:
    model = GaussianNB(var_smoothing=0).fit(MAIL, LABELS)
    spam = [Fraction(2), Fraction(4), Fraction(6)]
    mean = sum(spam) / 3
    assert model.theta_[1, 0] == mean == 4
    assert model.var_[1, 0] == pytest.approx(
        float(sum((x - mean) ** 2 for x in spam) / 3), rel=1e-15
    )  # 1/m, not 1/(m-1)
    assert model.var_[1, 0] == pytest.approx(8 / 3, rel=1e-15)
    assert model.var_[0].tolist() == pytest.approx([8 / 9, 1 / 6], rel=1e-15)


def test_the_posterior_is_that_of_two_bell_curves() -> None:
    model = GaussianNB(var_smoothing=0).fit([[0.0], [2.0], [5.0], [9.0]], [0, 0, 1, 1])
    curves = norm([1.0, 7.0], [1.0, 2.0])
    for x in (-3.0, 1.0, 3.5, 4.0, 20.0):
        joint = 0.5 * curves.pdf(x)
        assert model.predict_joint_log_proba([[x]])[0] == pytest.approx(np.log(0.5) + curves.logpdf(x), abs=1e-12)
        assert model.predict_proba([[x]])[0] == pytest.approx(joint / joint.sum(), abs=1e-12)
        assert model.log_evidence([[x]])[0] == pytest.approx(np.log(joint.sum()), abs=1e-9)


def test_of_two_equally_wide_curves_the_boundary_lies_in_the_middle_and_moves_by_the_prior() -> None:
    X, y = [[-1.0], [1.0], [3.0], [5.0]], [0, 0, 1, 1]  # means 0 and 4, both of variance 1
    even = GaussianNB(var_smoothing=0).fit(X, y)
    assert even.predict_proba([[2.0]])[0] == pytest.approx([0.5, 0.5], abs=1e-12)
    assert even.predict([[1.999], [2.001]]).tolist() == [0, 1]
    uneven = GaussianNB(var_smoothing=0, prior=[0.9, 0.1]).fit(X, y)
    boundary = 2 + math.log(9) / 4  # (x - 2) · 4 = log(p0 / p1)
    assert uneven.predict([[boundary - 1e-6], [boundary + 1e-6]]).tolist() == [0, 1]


def test_the_bayes_error_of_two_curves_is_the_area_under_the_lower_one() -> None:
    model = GaussianNB(var_smoothing=0).fit([[-1.0], [1.0], [1.0], [3.0]], [0, 0, 1, 1])  # means 0 and 2
    lower = quad(lambda x: math.exp(model.predict_joint_log_proba([[x]]).min()), -8, 10, points=[1.0])[0]
    assert lower == pytest.approx(norm.cdf(-1), abs=1e-9)
    X, y = model.sample(40_000, random_state=0)
    assert (model.predict(X) != y).mean() == pytest.approx(lower, abs=0.006)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_scikit_learn_finds_the_same(name: str) -> None:
    X, y = TABLES[name](return_X_y=True)
    ours, theirs = GaussianNB().fit(X, y), naive_bayes.GaussianNB().fit(X, y)
    assert ours.theta_ == pytest.approx(theirs.theta_, rel=1e-12, abs=1e-12)
    assert ours.var_ == pytest.approx(theirs.var_, rel=1e-9)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-9)
    joint = theirs.predict_joint_log_proba(X)
    assert ours.predict_joint_log_proba(X) == pytest.approx(joint, rel=1e-9)


@pytest.mark.parametrize(("name", "accuracy"), [("iris", 0.960), ("digits", 0.858), ("wine", 0.989), ("breast", 0.942)])
def test_training_accuracies_are_those_mixed_naive_bayes_reports(name: str, accuracy: float) -> None:
    X, y = TABLES[name](return_X_y=True)
    assert GaussianNB().fit(X, y).score(X, y) == pytest.approx(accuracy, abs=6e-4)


def test_in_parts_scikit_learn_finds_the_same_but_for_the_smoothing_that_there_is_of_the_last_part() -> None:
    X, y = drawn(400)
    ours, theirs = GaussianNB(), naive_bayes.GaussianNB()
    for part in np.array_split(np.arange(400), 7):
        ours.partial_fit(X[part], y[part])
        theirs.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-7)
    assert np.array_equal(ours.var_, GaussianNB().fit(X, y).var_)


@given(st.permutations(range(12)))
@settings(max_examples=30, deadline=None)
def test_the_order_of_rows_changes_no_bit(order: list[int]) -> None:
    X, y = drawn(12, n_columns=2, n_classes=2)
    X *= [1e6, 1e-3]
    whole, shuffled = GaussianNB().fit(X, y), GaussianNB()
    for i in order:
        shuffled.partial_fit(X[[i]], y[[i]])
    assert np.array_equal(shuffled.theta_, whole.theta_)
    assert np.array_equal(shuffled.var_, whole.var_)


@pytest.mark.parametrize("outlier", [1e6, 1e10, -1e15])
def test_an_outlier_that_is_forgotten_leaves_no_trace(outlier: float) -> None:
    X, y = drawn(200)
    model = GaussianNB().fit(X, y)
    theta, var = model.theta_, model.var_
    rows = np.full((2, 3), outlier)
    model.partial_fit(rows, [0, 2])
    assert abs(model.theta_[0, 0]) > 1e3
    model.forget(rows, [0, 2])
    assert model.theta_ == pytest.approx(theta, rel=1e-12, abs=1e-12)
    assert model.var_ == pytest.approx(var, rel=1e-12)


def test_an_outlier_in_the_midst_of_others_can_be_forgotten_alone() -> None:
    X, y = drawn(300, n_classes=2)
    X[150] = 1e10
    others = np.arange(300) != 150
    left, clean = GaussianNB().fit(X, y).forget(X[[150]], y[[150]]), GaussianNB().fit(X[others], y[others])
    assert left.theta_ == pytest.approx(clean.theta_, rel=1e-12)
    assert left.var_ == pytest.approx(clean.var_, rel=1e-12)


def test_far_from_zero_the_variance_is_still_right() -> None:
    X = np.array([[1e9 + 1], [1e9 + 2], [1e9 + 4], [1e9 + 8]])
    assert GaussianNB(var_smoothing=0).fit(X, [0, 0, 1, 1]).var_.ravel().tolist() == [0.25, 4.0]


def test_halves_that_are_added_up_are_the_whole_to_the_last_bit() -> None:
    X, y = drawn(101)
    halves = [GaussianNB().partial_fit(X[part], y[part]) for part in (slice(40), slice(40, None))]
    whole = GaussianNB().fit(X, y)
    assert np.array_equal(sum(halves).predict_joint_log_proba(X), whole.predict_joint_log_proba(X))


def test_weights_are_repetitions() -> None:
    X, y = drawn(30, n_classes=2)
    times = np.arange(30) % 4
    weighted = GaussianNB().fit(X, y, sample_weight=times)
    repeated = GaussianNB().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.var_ == pytest.approx(repeated.var_, rel=1e-14)
    assert weighted.theta_ == pytest.approx(repeated.theta_, rel=1e-14)


def test_weights_that_are_no_whole_numbers_do_not_cancel_far_from_zero() -> None:
    X, y = [[1e9], [1e9 + 1], [5.0], [6.0]], [0, 0, 1, 1]
    model = GaussianNB(var_smoothing=0).fit(X, y, sample_weight=[0.1, 0.1, 0.1, 0.1])
    assert model.var_.ravel().tolist() == pytest.approx([0.25, 0.25], rel=1e-9)


def test_a_row_without_weight_is_not_there_however_large() -> None:
    X, y = drawn(20, n_classes=2)
    plain = GaussianNB().fit(X, y)
    model = GaussianNB().fit([*X.tolist(), [1e200] * 3], [*y, 0], sample_weight=[1.0] * 20 + [0.0])
    assert np.array_equal(model.var_, plain.var_)


def test_missing_values_are_summed_out_in_learning_and_in_prediction() -> None:
    X = [[1.0, 5.0], [3.0, NAN], [NAN, 7.0], [10.0, 0.0], [12.0, 2.0]]
    model = GaussianNB(var_smoothing=0).fit(X, [0, 0, 0, 1, 1])
    assert model.theta_.tolist() == [[2.0, 6.0], [11.0, 1.0]]
    assert model.var_.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    second = GaussianNB(var_smoothing=0).fit([[5.0], [7.0], [0.0], [2.0]], [0, 0, 1, 1])
    second.prior = model.prior = [0.5, 0.5]
    assert np.allclose(model.predict_proba([[NAN, 4.0]]), second.predict_proba([[4.0]]))
    assert model.predict_proba([[NAN, NAN]])[0].tolist() == [0.5, 0.5]
    assert model.log_evidence([[NAN, NAN]])[0] == pytest.approx(0.0, abs=1e-12)


def test_terms_add_up_to_the_joint_with_missing_values_and_impossible_ones() -> None:
    X, y = drawn(50)
    X[:, 1] = y  # constant under each class
    rows = np.array([[0.5, 1.0, 2.0], [NAN, 1.0, 2.0], [NAN, NAN, NAN], [1e200, 0.3, -5.0]])
    for smoothing in (1e-9, 0.0):
        model = GaussianNB(var_smoothing=smoothing).fit(X, y)
        joint = model.predict_joint_log_proba(rows)
        for terms, expected in zip(model.explain(rows), joint, strict=True):
            assert terms.joint == pytest.approx(expected, rel=1e-12)
        assert not np.isnan(model.predict_proba(rows)).any()


def test_a_constant_column_says_nothing_and_does_no_harm() -> None:
    X, y = drawn(60, n_columns=2, n_classes=2)
    constant = np.column_stack([X, np.full(60, 1 / 3)])
    model, plain = GaussianNB().fit(constant, y), GaussianNB().fit(X, y)
    assert model.predict_proba(constant) == pytest.approx(plain.predict_proba(X), abs=1e-9)
    assert model.predict_proba(np.column_stack([X, np.zeros(60)])) == pytest.approx(plain.predict_proba(X), abs=1e-6)


def test_if_all_columns_are_constant_the_prior_remains() -> None:
    model = GaussianNB().fit([[0.1, 5.0]] * 4, [0, 0, 0, 1])
    assert model.predict_proba([[0.1, 5.0], [0.3, 7.0]]) == pytest.approx(np.array([[0.75, 0.25]] * 2), abs=1e-6)


def test_without_smoothing_only_the_class_with_that_constant_is_possible() -> None:
    model = GaussianNB(var_smoothing=0).fit([[1.0], [1.0], [2.0], [2.0]], [0, 0, 1, 1])
    assert model.predict_proba([[1.0], [2.0]]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert model.predict_joint_log_proba([[1.5]])[0].max() < -1e300


def test_a_class_of_one_row_is_a_narrow_peak_and_a_class_of_none_is_like_all() -> None:
    model = GaussianNB(prior="uniform").partial_fit([[0.0], [4.0], [9.0]], [0, 0, 1], classes=[0, 1, 2])
    assert model.predict([[9.0]]).tolist() == [1]
    assert model.theta_.ravel().tolist() == pytest.approx([2.0, 9.0, 13 / 3])
    assert model.var_[2, 0] == pytest.approx(np.var([0.0, 4.0, 9.0]), rel=1e-8)
    assert not np.isnan(model.predict_proba([[1.0], [8.0], [100.0]])).any()


def test_a_column_never_known_says_nothing() -> None:
    model = GaussianNB().fit([[1.0, NAN], [2.0, NAN], [5.0, NAN], [6.0, NAN]], [0, 0, 1, 1])
    assert model.predict_proba([[2.5, 3.0]]) == pytest.approx(model.predict_proba([[2.5, NAN]]), abs=1e-12)


def test_a_sample_refits_to_its_parameters() -> None:
    model = GaussianNB(var_smoothing=0).fit(*drawn(60, seed=3))
    again = GaussianNB(var_smoothing=0).fit(*model.sample(60_000, random_state=1))
    assert again.theta_ == pytest.approx(model.theta_, abs=0.1)
    assert again.var_ == pytest.approx(model.var_, rel=0.05)
    assert np.exp(again.class_log_prior_) == pytest.approx(np.exp(model.class_log_prior_), abs=0.01)


@pytest.mark.parametrize(
    ("rows", "labels"),
    [([[99.0, 0.0]], ["spam"]), (MAIL[:3], ["ham"] * 3), ([*MAIL[:2], [6.0, 0.5]], ["spam"] * 3)],
)
def test_forgetting_what_cannot_have_been_learned_is_refused(rows: list[list[float]], labels: list[str]) -> None:
    model = GaussianNB().fit(MAIL, LABELS)
    before = model.moments_.copy(), model.class_count_.copy()
    with pytest.raises(ValueError, match="never learned, or were forgotten already: nothing was changed"):
        model.forget(rows, labels)
    assert np.array_equal(model.moments_, before[0])
    assert np.array_equal(model.class_count_, before[1])


def test_forgetting_a_missing_value_where_none_was_learned_is_refused() -> None:
    model = GaussianNB().fit([[1.0, 2.0], [NAN, 3.0], [4.0, 5.0]], ["ham", "ham", "spam"])
    with pytest.raises(ValueError, match="never learned"):
        model.forget([[4.0, 5.0], [1.0, 3.0]], ["spam", "ham"]).forget([[0.0, 2.0]], ["ham"])
    assert model.class_count_.tolist() == [1.0, 0.0]


def test_everything_forgotten_is_nothing_learned() -> None:
    model = GaussianNB().fit(MAIL, LABELS)
    model.forget(MAIL, LABELS)
    assert not model.moments_.any()


def test_values_whose_square_is_no_number_are_refused() -> None:
    model = GaussianNB().fit(MAIL, LABELS)
    before = model.moments_.copy()
    with pytest.raises(ValueError, match="X has a value whose square overflows: scale the column down"):
        model.partial_fit([[1e200, 0.5]], ["spam"])
    assert np.array_equal(model.moments_, before)
    assert not np.isnan(model.predict_proba([[1e200, 0.5], [-1.7e308, 1.7e308]])).any()


@pytest.mark.parametrize("smoothing", [-1e-9, math.inf, NAN, "large", None])
def test_smoothing_is_a_number_from_0_up(smoothing: object) -> None:
    with pytest.raises(ValueError, match="var_smoothing must be a number from 0 up, not"):
        GaussianNB(var_smoothing=smoothing).fit(MAIL, LABELS)


def test_rows_that_vary_as_the_column_does_widen_a_narrow_class() -> None:
    # all four: mean 5, variance (16 + 16 + 9 + 25) / 4 - 0 = 33/2; ham does not vary, spam by 1
    X, y = [[1.0], [1.0], [8.0], [10.0]], ["ham", "ham", "spam", "spam"]
    of_all = Fraction(16 + 16 + 9 + 25, 4)
    for alpha in (Fraction(0), Fraction(1, 2), Fraction(1)):
        model = GaussianNB(alpha=float(alpha), var_smoothing=0).fit(X, y)
        expected = [alpha * of_all / (2 + alpha), (2 * 1 + alpha * of_all) / (2 + alpha)]
        assert model.var_[:, 0].tolist() == pytest.approx([float(variance) for variance in expected])


def test_an_alpha_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="alpha must be a number from 0 up, not -1"):
        GaussianNB(alpha=-1).fit([[1.0], [2.0]], [0, 1])
