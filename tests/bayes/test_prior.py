"""The prior equals its table for any counts; an invalid prior is refused with a reason."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.bayes import BernoulliNB
from priory.bayes.prior import log_prior

counted = st.lists(st.integers(0, 50), min_size=1, max_size=6)


@given(counted)
def test_each_prior_is_its_fraction(counts: list[int]) -> None:
    n, k = sum(counts), len(counts)
    expected = {
        "fitted": [Fraction(count, n) if n else Fraction(1, k) for count in counts],
        "smoothed": [Fraction(count + 1, n + k) for count in counts],
        "uniform": [Fraction(1, k)] * k,
    }
    for prior, fractions in expected.items():
        logs = log_prior(prior, np.array(counts, float), np.arange(k))
        assert np.exp(logs) == pytest.approx([float(p) for p in fractions])
        assert np.isneginf(logs).tolist() == [p == 0 for p in fractions]


def test_probabilities_can_be_given_in_order_or_by_label() -> None:
    classes = np.array(["ham", "spam"])
    for prior in ([0.25, 0.75], np.array([0.25, 0.75]), {"spam": 0.75, "ham": 0.25, "virus": 0.0}):
        assert np.exp(log_prior(prior, np.zeros(2), classes)) == pytest.approx([0.25, 0.75])
    assert log_prior([1, 0], np.zeros(2), classes).tolist() == [0, -np.inf]


@pytest.mark.parametrize(
    ("prior", "complaint"),
    [
        ("flat", 'prior must be "fitted", "smoothed", "uniform" or probabilities, not \'flat\''),
        ([0.5, 0.25, 0.25], "prior has 3 probabilities for 2 classes"),
        ([0.5, 0.4], r"prior must be probabilities that sum to 1, not \[0.5, 0.4\]"),
        ([1.5, -0.5], r"prior must be probabilities that sum to 1, not \[1.5, -0.5\]"),
        ([float("nan"), 1.0], r"prior must be probabilities that sum to 1, not \[nan, 1.0\]"),
        ({"spam": 1.0}, "prior has no probability for the class 'ham'"),
    ],
)
def test_what_is_no_prior_is_refused(prior: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        log_prior(prior, np.ones(2), np.array(["ham", "spam"]))


@pytest.mark.parametrize("prior", ["flat", [0.5, 0.4], {"spam": 1.0}, [1.0]])
def test_a_prior_that_is_none_is_refused_when_a_model_is_fitted(prior: Any) -> None:
    with pytest.raises(ValueError, match="prior"):
        BernoulliNB(prior=prior).fit([[1], [0]], ["spam", "ham"])
