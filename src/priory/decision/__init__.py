"""What to say, given how probable each label is: a probability is knowledge, a decision also needs costs.

`Costs`, `decide` and `thresholds` decide about one message, and are all that the filter needs. `CostSensitive` does the
same for any classifier of scikit-learn's contract.

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
    """Load the estimator when it is asked for: the filter needs no scikit-learn, which takes a second to load."""
    if name != "CostSensitive":
        raise AttributeError(f"module 'priory.decision' has no attribute {name!r}")
    return import_module("priory.decision.cost_sensitive").CostSensitive
