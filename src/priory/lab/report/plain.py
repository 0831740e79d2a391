"""Turns what a report holds into the few types that JSON has."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return dictionaries, lists, texts, numbers and null; what is not known, or has no end, is null.

    >>> plain({"model": "BernoulliNB", "errors": np.array([0.5, np.nan])})
    {'model': 'BernoulliNB', 'errors': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(of) for key, of in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(of) for of in value]
    if hasattr(value, "as_dict"):
        return plain(value.as_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return plain(value.tolist()) if isinstance(value, (np.ndarray, np.generic)) else _single(value)


def _single(value: Any) -> bool | int | float | str | None:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
