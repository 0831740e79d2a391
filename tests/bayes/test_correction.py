from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.bayes.correction import DOUBT, UNIT, correction


@pytest.mark.parametrize(
    "probability", [Fraction(1, 1000), Fraction(1, 20), Fraction(1, 5), Fraction(1, 2), Fraction(9, 10)]
)
def test_a_correction_is_the_surprise_times_the_probability_that_the_label_is_no_slip(probability: Fraction) -> None:
    exact = UNIT * (1 - probability) * probability / (probability + Fraction(str(DOUBT)))
    assert correction(float(probability)) == round(exact)


def test_what_was_known_corrects_nothing_and_neither_does_what_cannot_be() -> None:
    assert correction(1.0) == correction(0.999) == 0
    assert correction(0.0) == correction(0.0001) == 0


def test_a_near_miss_corrects_more_than_what_looks_like_a_wrong_label() -> None:
    assert correction(0.4) > 2 * correction(0.01) > 0


@given(st.floats(0, 1))
def test_a_correction_fits_the_byte_in_which_it_is_stored(probability: float) -> None:
    assert 0 <= correction(probability) <= UNIT < 128
