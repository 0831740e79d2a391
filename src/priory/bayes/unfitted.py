"""A copy of an estimator to fit in its place, so that an error on the way changes nothing."""

from copy import copy
from typing import Any, TypeVar

Model = TypeVar("Model", bound=Any)


def unfitted(model: Model) -> Model:
    """Return a copy with the same parameters and none of the learned attributes, whose names end in `_`."""
    blank = copy(model)
    for name in [name for name in vars(model) if name.endswith("_")]:
        delattr(blank, name)
    return blank
