"""What all estimators share: an unfitted copy, checks of parameters, the check before models are added, and tags."""

from collections.abc import Mapping
from copy import copy
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

Model = TypeVar("Model", bound=Any)


def unfitted_copy(model: Model) -> Model:
    """Return a copy with the same parameters and without learned attributes, whose names end in `_`.

    `fit` fills the copy and then takes over its attributes, so an error leaves the estimator unchanged.
    """
    blank = copy(model)
    for name in [name for name in vars(model) if name.endswith("_")]:
        delattr(blank, name)
    return blank


def check_joinable(one: Any, other: Any, learned: str = "classes_") -> None:
    """Raise ValueError unless two models have the same parameters and features and are both fitted.

    `learned` names the attribute that tells whether a model is fitted.
    """
    mine, others = one.get_params(deep=False), other.get_params(deep=False)
    for name, value in mine.items():
        if not _same(value, others[name]):
            raise ValueError(f"models with different {name} cannot be added: {value!r} and {others[name]!r}")
    for model in (one, other):
        check_is_fitted(model, learned)
    if _features(one) != _features(other):
        raise ValueError("models of different features cannot be added: both must have the same, in the same order")


def _same(one: Any, other: Any) -> bool:
    """Tell whether two parameters are equal; they may be lists of arrays of different lengths."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return one is other or bool(np.array_equal(one, other))


def _features(model: Any) -> tuple[Any, ...]:
    """Return the number of a model's columns and their names, as far as they are known."""
    return getattr(model, "n_features_in_", None), *getattr(model, "feature_names_in_", ())


def check_alpha(alpha: Any) -> float:
    """Return the pseudo-count; raise ValueError unless it is a number from 0 up."""
    if not isinstance(alpha, (float, int, Real)) or not 0 <= float(alpha) < np.inf:
        raise ValueError(f"alpha must be a number from 0 up, not {alpha!r}")
    return float(alpha)


def check_count(name: str, value: Any) -> None:
    """Raise ValueError unless a parameter is a whole number from 1 up."""
    if not isinstance(value, Integral) or int(value) < 1:
        raise ValueError(f"{name} must be a whole number from 1 up, not {value!r}")


def check_not_negative(name: str, value: Any) -> None:
    """Raise ValueError unless a parameter is a number from 0 up."""
    if not isinstance(value, Real) or not float(value) >= 0:
        raise ValueError(f"{name} must be a number from 0 up, not {value!r}")


def categorical_tags(tags: Any) -> Any:
    """Return scikit-learn's tags, set for a model of categorical columns."""
    tags.input_tags.allow_nan = True
    tags.input_tags.categorical = True
    tags.input_tags.string = True
    tags.classifier_tags.poor_score = True
    return tags
