"""Whether two models can be added: of the same kind, with the same settings and the same features."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted


def check_joinable(one: Any, other: Any, learned: str = "classes_") -> None:
    """Raise if two models of a kind do not count the same things in the same way; `learned` is what fitting gives."""
    mine, others = one.get_params(deep=False), other.get_params(deep=False)
    for name, value in mine.items():
        if not _same(value, others[name]):
            raise ValueError(f"models with different {name} cannot be added: {value!r} and {others[name]!r}")
    for model in (one, other):
        check_is_fitted(model, learned)
    if _features(one) != _features(other):
        raise ValueError("models of different features cannot be added: both must have the same, in the same order")


def _same(one: Any, other: Any) -> bool:
    """Whether two settings are equal; they may be lists of arrays of different lengths."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return one is other or bool(np.array_equal(one, other))


def _features(model: Any) -> tuple[Any, ...]:
    """What is known of a model's columns: how many, and their names."""
    return getattr(model, "n_features_in_", None), *getattr(model, "feature_names_in_", ())
