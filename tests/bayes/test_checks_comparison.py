"""The checks compare all that a model has learned, and nothing else."""

from copy import deepcopy
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from priory.bayes.checks.comparison import assert_same_statistics, statistics
from priory.bayes.sparse_counts import SparseCounts


def sparse_counts(*things: str, forgotten: tuple[str, ...] = ()) -> SparseCounts:
    table = SparseCounts(n_classes=2)
    for weight, named in ((1.0, [*things, *forgotten]), (-1.0, list(forgotten))):
        slots = table.allocate(named)
        table.add_each(slots, np.zeros(len(slots), np.int64), np.full(len(slots), weight))
        table.drop_empty(named, slots)
    return table


class Holder(BaseEstimator):
    """An estimator that has learned one thing."""

    def __init__(self, told: Any = None) -> None:
        self.told = told

    def learned(self, value: Any) -> "Holder":
        self._learned = value
        return self


def differ(one: Any, other: Any) -> bool:
    try:
        assert_same_statistics(
            Holder(), *(statistics(Holder().learned(value)) for value in (one, other)), "", exact=True
        )
    except AssertionError:
        return True
    return False


def test_a_table_that_has_grown_is_the_same_if_it_says_the_same() -> None:
    many = tuple(f"word {i}" for i in range(40))
    grown = sparse_counts("offer", "lunch", forgotten=many)
    assert grown.table.shape != sparse_counts("offer", "lunch").table.shape
    assert not differ(grown, sparse_counts("lunch", "offer"))
    assert differ(grown, sparse_counts("lunch", "offer", "offer"))
    assert differ(grown, sparse_counts("lunch"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 2),
        ("offer", "lunch"),
        (b"a", b"a\0"),
        (None, 0),
        ([], {}),
        ([1, [2]], [1, [3]]),
        ({1: 1.0}, {"1": 1.0}),
        ({"offer"}, {"offer", "lunch"}),
        (bytes, str),
        (len, max),
        (np.array([1, None], object), np.array([1, "x"], object)),
        (np.array([(1, 2.0)], "i4,f8"), np.array([(1, 3.0)], "i4,f8")),
        (csr_array([[0, 1]]), csr_array([[1, 0]])),
        (csr_array([[0, 1]]), csr_array([[0, 1], [0, 0]])),
        (pd.DataFrame({"kB": [1.0]}), pd.DataFrame({"kB": ["1"]})),
        (Holder().learned(1), Holder().learned(2)),
        (np.random.default_rng(1), np.random.default_rng(2)),
    ],
    ids=lambda value: type(value).__name__,  # the same in every process, unlike what is drawn or ordered by chance
)
def test_whatever_is_learned_is_compared(one: Any, other: Any) -> None:
    assert differ(one, other)
    assert not differ(one, deepcopy(one))


def test_parameters_and_the_cache_are_not_learned() -> None:
    holder = Holder(told=3)
    holder._cache = {"prior": 1}
    assert statistics(holder) == {}


def test_an_object_that_holds_itself_can_be_compared() -> None:
    one, other = [1], [2]
    one.append(one)  # type: ignore[arg-type]
    other.append(other)  # type: ignore[arg-type]
    assert differ(one, other)
    assert not differ(one, deepcopy(one))


def test_what_cannot_be_taken_apart_is_told() -> None:
    with pytest.raises(TypeError, match="_learned is a lock, which cannot be taken apart to be compared: let it have"):
        statistics(Holder().learned(Lock()))
