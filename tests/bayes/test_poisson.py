import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix
from scipy.stats import poisson

from priory.bayes import PoissonNB

NAN = math.nan
#: links and recipients of five messages
MAIL = [[9, 1], [11, 1], [1, 2], [0, 1], [2, 0]]
LABELS = ["spam", "spam", "ham", "ham", "ham"]


def drawn(n: int, n_columns: int = 4, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return rng.poisson(rng.gamma(1, 2, (3, n_columns))[labels]).astype(float), labels


def rate(total: int, n: int, total_of_all: int, n_of_all: int, alpha: Fraction) -> Fraction:
    """The rate as in the docstring of the model."""
    mean = (total_of_all + alpha) / (n_of_all + alpha)
    return (total + alpha * mean) / (n + alpha)


@pytest.mark.parametrize("alpha", [Fraction(1), Fraction(1, 2), Fraction(10), Fraction(0)])
def test_rates_are_those_of_fractions(alpha: Fraction) -> None:
    model = PoissonNB(alpha=float(alpha)).fit(MAIL, LABELS)
    expected = [
        [rate(3, 3, 23, 5, alpha), rate(3, 3, 5, 5, alpha)],
        [rate(20, 2, 23, 5, alpha), rate(2, 2, 5, 5, alpha)],
    ]
    assert model.rates_ == pytest.approx(np.array(expected, float), rel=1e-12)


def test_without_smoothing_rates_are_means() -> None:
    assert PoissonNB(alpha=0).fit(MAIL, LABELS).rates_.tolist() == [[1.0, 1.0], [10.0, 1.0]]


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_the_joint_is_the_product_of_scipy_s_poisson_probabilities(form: type) -> None:
    X, y = drawn(60)
    model = PoissonNB().fit(form(X), y)
    expected = poisson.logpmf(X[:, None], model.rates_).sum(axis=2) + model.class_log_prior_
    assert model.predict_joint_log_proba(form(X)) == pytest.approx(expected, abs=1e-9)


def test_the_probabilities_of_all_counts_sum_to_one() -> None:
    model = PoissonNB().fit(MAIL, LABELS)
    rows = [[a, b] for a in range(50) for b in range(30)]
    assert np.exp(model.log_evidence(rows)).sum() == pytest.approx(1.0, abs=1e-9)


def test_what_never_happened_is_impossible_without_smoothing_and_not_happening_is_certain() -> None:
    model = PoissonNB(alpha=0).fit([[0, 3], [0, 1], [4, 2]], ["ham", "ham", "spam"])
    assert model.predict_joint_log_proba([[1, 0]])[0, 0] == -math.inf
    assert model.predict_proba([[1, 2]])[0].tolist() == [0.0, 1.0]
    joint = model.predict_joint_log_proba([[0, 2]])[0, 0]
    assert joint == pytest.approx(math.log(2 / 3) + poisson.logpmf(2, 2), abs=1e-12)  # log p(0 | rate 0) = 0


def test_with_smoothing_a_column_never_counted_leaves_the_others_their_say() -> None:
    model = PoissonNB().fit([[9, 0], [11, 0], [1, 0], [0, 0]], ["spam", "spam", "ham", "ham"])
    assert model.predict([[10, 3], [0, 3]]).tolist() == ["spam", "ham"]


def test_a_class_of_one_row_with_many_counts_is_not_drawn_far_from_them() -> None:
    model = PoissonNB().partial_fit([[1000], [900], [1100]], ["ham", "ham", "spam"])
    assert model.rates_.ravel().tolist() == pytest.approx([(1900 + 3001 / 4) / 3, (1100 + 3001 / 4) / 2])


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_class_without_rows_is_like_all(alpha: float) -> None:
    model = PoissonNB(alpha=alpha, prior="uniform").partial_fit(MAIL, LABELS, classes=["ham", "spam", "zzz"])
    assert model.rates_[2].tolist() == pytest.approx([(23 + alpha) / (5 + alpha), (5 + alpha) / (5 + alpha)])


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_missing_counts_are_summed_out_in_learning_and_in_prediction(form: type) -> None:
    model = PoissonNB(alpha=0).fit(form([[2.0, NAN], [4.0, 3.0], [NAN, 8.0], [1.0, 6.0]]), [0, 0, 1, 1])
    assert model.rates_.tolist() == [[3.0, 3.0], [1.0, 7.0]]
    assert model.missing_count_.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    joint = model.predict_joint_log_proba(form([[NAN, 5.0], [NAN, NAN]]))
    assert joint[0] == pytest.approx(math.log(0.5) + poisson.logpmf(5, [3.0, 7.0]), abs=1e-12)
    assert joint[1] == pytest.approx([math.log(0.5)] * 2, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_terms_add_up_to_the_joint(alpha: float, form: type) -> None:
    X, y = drawn(40)
    X[y == 1, 0] = 0
    model = PoissonNB(alpha=alpha).fit(form(X), y)
    X[0] = [3, 0, NAN, 1]
    rows = form(X)
    for terms, joint in zip(model.explain(rows), model.predict_joint_log_proba(rows), strict=True):
        assert terms.joint == pytest.approx(joint, abs=1e-9)


def test_sparse_explanations_list_what_is_there() -> None:
    model = PoissonNB().fit(csr_matrix(MAIL), LABELS)
    assert model.explain(csr_matrix([[0, 4]]))[0].names == ("x1",)
    assert PoissonNB().fit(MAIL, LABELS).explain([[0, 4]])[0].names == ("x0", "x1")


def test_counts_given_in_several_places_of_a_sparse_matrix_are_summed() -> None:
    model = PoissonNB().fit(csr_matrix(MAIL), LABELS)
    split = csr_matrix((np.array([2.0, 3.0, 1.0]), np.array([0, 0, 1]), np.array([0, 3])), (1, 2))
    assert not split.has_canonical_format
    assert model.predict_joint_log_proba(split) == pytest.approx(model.predict_joint_log_proba([[5, 1]]), abs=1e-12)
    assert split.nnz == 3
    assert model.predict(coo_matrix([[5, 1]])).tolist() == ["spam"]


@given(st.permutations(range(20)), st.integers(1, 19))
@settings(max_examples=25, deadline=None)
def test_order_parts_and_forgetting_change_no_bit(order: list[int], cut: int) -> None:
    X, y = drawn(20)
    X[3, 2] = X[9, 0] = NAN
    whole = PoissonNB().partial_fit(X, y, classes=[0, 1, 2])
    first, second = order[:cut], order[cut:]
    one = PoissonNB().partial_fit(X[first], y[first], classes=[0, 1, 2])
    other = PoissonNB().partial_fit(X[second], y[second], classes=[0, 1, 2])
    assert np.array_equal((one + other).counts_, whole.counts_)
    assert np.array_equal(whole.forget(X[second], y[second]).counts_, one.counts_)


@pytest.mark.parametrize(
    ("rows", "labels"), [([[50, 1]], ["spam"]), ([[9, 1], [10, 1]], ["spam"] * 2), ([[9, NAN]], ["spam"])]
)
def test_forgetting_what_cannot_have_been_learned_is_refused(rows: list[list[float]], labels: list[str]) -> None:
    model = PoissonNB().fit([*MAIL[:2], [1, 1]], ["spam", "spam", "ham"])
    if labels == ["spam"] and rows[0][0] == 9:
        model.forget([[11, 1]], ["spam"])
    before = model.counts_.copy()
    with pytest.raises(ValueError, match="never learned, or were forgotten already: nothing was changed"):
        model.forget(rows, labels)
    assert np.array_equal(model.counts_, before)


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_a_sample_refits_to_its_rates(form: type) -> None:
    model = PoissonNB(alpha=0).fit(form(drawn(100)[0]), drawn(100)[1])
    rows, labels = model.sample(8000, random_state=0)
    assert type(rows) is type(form([[1.0]]))
    again = PoissonNB(alpha=0).fit(rows, labels)
    assert again.rates_ == pytest.approx(model.rates_, abs=0.2)


def test_counts_below_zero_and_foolish_pseudo_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="Negative values in data passed to PoissonNB"):
        PoissonNB().fit([[1, -2], [3, 4]], [0, 1])
    with pytest.raises(ValueError, match="alpha must be a number from 0 up, not -1"):
        PoissonNB(alpha=-1).fit(MAIL, LABELS)


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("gaps", [False, True])
def test_large_counts_with_weights_that_are_not_whole_are_forgotten_in_parts(form: type, gaps: bool) -> None:
    rng = np.random.default_rng(0)
    X, y, weights = rng.integers(0, 10**6, (1000, 3)).astype(float), rng.integers(0, 2, 1000), rng.random(1000)
    X[::3, 1] = NAN if gaps else 0.0
    model = PoissonNB().fit(form(X), y, sample_weight=weights)
    for rows in np.array_split(rng.permutation(1000), 20):
        model.forget(form(X[rows]), y[rows], sample_weight=weights[rows])
    assert abs(model.counts_).max(initial=0) < 1e-3
    assert model.class_count_.max() < 1e-9


def test_a_last_row_of_little_weight_stays_when_all_others_are_forgotten() -> None:
    X, y, weights = [[5.0], [2.5], [1e6]], ["ham", "ham", "ham"], [0.3e6, 0.7e6 + 0.1, 0.01]
    model = PoissonNB(alpha=0).partial_fit(X, y, sample_weight=weights).forget(X[:2], y[:2], sample_weight=weights[:2])
    assert model.rates_.tolist() == [[pytest.approx(1e6, rel=1e-3)]]


def test_other_counts_than_were_learned_are_noticed_when_no_row_is_left() -> None:
    rng = np.random.default_rng(0)
    X, y, weights = rng.integers(1, 9, (50, 2)).astype(float), [0, 1] * 25, rng.random(50)
    model = PoissonNB().fit(X, y, sample_weight=weights)
    X[4, 1] -= 0.5
    with pytest.raises(ValueError, match="never learned, or were forgotten already: nothing was changed"):
        model.forget(X, y, sample_weight=weights)


def test_gaps_are_counted_only_while_some_were_learned() -> None:
    model = PoissonNB().fit(MAIL, LABELS)
    assert model.missing_count_.shape == (0, 2)
    assert model.partial_fit([[NAN, 2]], ["spam"]).missing_count_.tolist() == [[0, 1], [0, 0]]
    both = PoissonNB().fit(MAIL, LABELS) + model
    assert both.missing_count_.tolist() == [[0, 1], [0, 0]]
    assert both.feature_count_.tolist() == [[6, 40], [6, 6]]
    assert np.array_equal(model.forget([[NAN, 2]], ["spam"]).counts_, PoissonNB().fit(MAIL, LABELS).counts_)
