"""Decide what to say from the probabilities of the labels and the costs of mistakes.

`Costs`, `decide` and `thresholds` decide about one message and are all that the filter needs. `CostSensitive` does the
same for any classifier with scikit-learn's interface.

>>> from priory.decision import Costs, decide
>>> decide([0.01, 0.99], Costs())
'spam'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from priory.decision.costs import LARGEST, UNSURE, Costs, cheapest, decide, thresholds

if TYPE_CHECKING:
    from priory.decision.cost_sensitive import CostSensitive

__all__ = ["LARGEST", "UNSURE", "CostSensitive", "Costs", "cheapest", "decide", "thresholds"]


def __getattr__(name: str) -> Any:
    """Load the estimator on first use: the filter does not need scikit-learn, which takes a second to import."""
    if name != "CostSensitive":
        raise AttributeError(f"module 'priory.decision' has no attribute {name!r}")
    return import_module("priory.decision.cost_sensitive").CostSensitive
