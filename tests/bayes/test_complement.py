"""ComplementNB equals its formula and scikit-learn's model, with and without normalised weights."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sklearn.naive_bayes
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from priory.bayes import ComplementNB

ALPHAS = [Fraction(0), Fraction(1, 100), Fraction(1)]


@st.composite
def tables(draw: Any) -> tuple[list[list[int]], list[int], list[Fraction]]:
    """Rows of counts, labels with two classes at least, and weights in quarters."""
    width, n_classes = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    labels = [0, 1, *draw(st.lists(st.integers(0, n_classes - 1), max_size=6))]
    bags = st.lists(st.sampled_from([0, 0, 1, 3]), min_size=width, max_size=width)
    rows = draw(st.lists(bags, min_size=len(labels), max_size=len(labels)))
    return rows, labels, [Fraction(draw(st.integers(i == 0, 8)), 4) for i, _ in enumerate(labels)]


def complements(rows: Any, labels: Any, weights: Any, alpha: Fraction) -> list[list[Fraction]]:
    """For each class, of each feature, (n_j of all others + α)/(n of all others + dα)."""
    found = []
    for c in sorted(set(labels)):
        others = [(r, w) for r, label, w in zip(rows, labels, weights, strict=True) if label != c]
        counted = [sum(r[j] * w for r, w in others) + alpha for j in range(len(rows[0]))]
        found.append([p / sum(counted) if sum(counted) else Fraction(1, len(counted)) for p in counted])
    return found


@given(tables(), st.sampled_from(ALPHAS), st.sampled_from([np.array, csr_matrix]))
def test_what_stands_for_the_joint_is_the_formula_in_fractions(table: Any, alpha: Fraction, form: Any) -> None:
    rows, labels, weights = table
    model = ComplementNB(alpha=float(alpha)).fit(form(rows), labels, sample_weight=[float(w) for w in weights])
    n_classes = len(set(labels))
    found = model.predict_joint_log_proba(form(rows))
    for row, scores, terms in zip(rows, found, model.explain(form(rows)), strict=True):
        for score, total, shares in zip(scores, terms.joint, complements(rows, labels, weights, alpha), strict=True):
            looks = math.prod(p**x for p, x in zip(shares, row, strict=True))
            if looks == 0:  # no other class has the word: its class is certain
                assert score == total == math.inf
            else:
                expected = -math.log(n_classes) - math.log(looks)
                assert (score, total) == pytest.approx((expected, expected), rel=1e-9, abs=1e-9)
    assert model.predict_proba(form(rows)).sum(axis=1) == pytest.approx(1)


@pytest.mark.slow
@given(tables(), st.sampled_from([0.01, 1.0]))
def test_normed_weights_of_each_class_sum_to_one(table: Any, alpha: float) -> None:
    rows, labels, weights = table
    rows = [[*row, 1] for row in rows]  # with one feature alone, its logarithm is 0 and cannot be normed
    model = ComplementNB(alpha=alpha, norm=True, prior="fitted")
    model.fit(rows, labels, sample_weight=[float(w) for w in weights])
    everything = model.explain(np.ones((1, len(rows[0]))))[0]
    assert everything.terms.sum(axis=0) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("alpha", [1.0, 0.01])
@pytest.mark.parametrize("norm", [False, True])
def test_it_equals_scikit_learns_in_streams_with_weights(form: Any, alpha: float, norm: bool) -> None:
    rng = np.random.default_rng(0)
    X, y, weights = rng.poisson(0.6, (300, 25)), rng.integers(0, 4, 300), rng.random(300)
    ours = ComplementNB(alpha=alpha, norm=norm)
    theirs = sklearn.naive_bayes.ComplementNB(alpha=alpha, norm=norm)
    for rows in np.array_split(np.arange(300), 5):
        for model in (ours, theirs):
            model.partial_fit(form(X[rows]), y[rows], classes=[0, 1, 2, 3], sample_weight=weights[rows])
        found, expected = (model.predict_log_proba(form(X)) for model in (ours, theirs))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("form", [np.array, csr_matrix])
def test_without_smoothing_a_word_of_one_class_alone_makes_it_certain(form: Any) -> None:
    model = ComplementNB(alpha=0).fit(form([[2, 0, 1], [1, 0, 1], [0, 3, 1]]), ["spam", "spam", "ham"])
    rows = form([[1, 0, 0], [0, 1, 1], [0, 0, 1]])
    assert not np.isnan(model.predict_joint_log_proba(rows)).any()
    assert model.predict_proba(rows)[:2].tolist() == [[0, 1], [1, 0]]
    assert model.predict(rows[:2]).tolist() == ["spam", "ham"]


def test_a_class_that_the_prior_excludes_is_never_certain() -> None:
    model = ComplementNB(alpha=0, prior=[1.0, 0.0]).fit([[1, 0], [0, 1]], ["ham", "spam"])
    assert model.predict_joint_log_proba([[0, 1]])[0, 1] == -math.inf
    assert model.predict_proba([[0, 1], [1, 1]]).tolist() == [[1, 0], [1, 0]]


def test_what_is_certain_cannot_be_normed() -> None:
    with pytest.raises(ValueError, match="alpha must be above 0 with norm=True: the logarithm of 0 cannot be divided"):
        ComplementNB(alpha=0, norm=True).fit([[1, 0], [0, 1]], [0, 1])


@pytest.mark.parametrize("form", [np.array, csr_matrix])
def test_gaps_are_refused(form: Any) -> None:
    model = ComplementNB().fit([[1, 0], [0, 1]], [0, 1])
    for act in (lambda X: model.fit(X, [0, 1]), model.predict):
        with pytest.raises(ValueError, match="X has NaN: ComplementNB cannot sum missing counts out; impute them"):
            act(form([[1.0, math.nan], [0.0, 1.0]]))


def test_a_small_class_is_judged_by_its_large_others() -> None:
    """Rennie et al. 2003: with one bag of ham and many of spam, the weights of ham come from the many."""
    rng = np.random.default_rng(0)
    spam, ham = rng.poisson([3, 2, 1], (500, 3)), np.array([[1, 0, 5]])
    model = ComplementNB().fit(np.vstack([spam, ham]), ["spam"] * 500 + ["ham"])
    counted = spam.sum(axis=0)
    expected = -np.log((counted + 1) / (counted.sum() + 3))
    terms = model.explain([[1, 1, 1]])[0].terms[:, 0]
    np.testing.assert_allclose(terms, expected, rtol=1e-12)
