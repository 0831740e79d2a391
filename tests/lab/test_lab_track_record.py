"""What was predicted of lessons before they were learned, judged as any predictions are."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.lab.predictions import Predictions
from priory.lab.track_record import by_doubling


@given(st.integers(1, 5000), st.integers(0, 2**32))
def test_stretches_have_each_lesson_once_and_grow(n: int, seed: int) -> None:
    p = np.random.default_rng(seed).random(n)
    seen = Predictions.of(["ham", "spam"], ["ham"] * n, np.column_stack([1 - p, p]))
    stretches = by_doubling(seen)
    assert [each.begin for each in stretches] == [0, *(each.end for each in stretches[:-1])]
    assert stretches[-1].end == n
    assert sum(each.wrong.estimate * (each.end - each.begin) for each in stretches) == pytest.approx(seen.errors.sum())
    lengths = [each.end - each.begin for each in stretches]
    assert all(2 * after >= before for before, after in pairwise(lengths))


def test_nothing_was_predicted_of_nothing() -> None:
    assert by_doubling(Predictions.of(["ham", "spam"], [], np.empty((0, 2)))) == []
