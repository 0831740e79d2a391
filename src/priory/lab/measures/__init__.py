"""Figures that say how good a classifier is, each with an interval.

>>> from priory.lab.measures import auc
>>> from priory.lab.predictions import Predictions
>>> seen = Predictions.of(["ham", "spam"], ["ham", "spam"] * 9, [[0.9, 0.1], [0.2, 0.8]] * 9)
>>> print(auc(seen))                                # nine of each, all ranked correctly: that may be luck
1.0000 (0.6637 to 1.0000)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from priory.lab.measures.calibration import Reliability, brier, calibration_error, log_loss, reliability
    from priory.lab.measures.confusion_matrix import Confusion, Rates, confusion, rates, said
    from priory.lab.measures.costs import CostCurve, cost_curve, cost_per_example
    from priory.lab.measures.figures import Summary, summary
    from priory.lab.measures.paired_tests import (
        Comparison,
        Disagreement,
        bootstrap_difference,
        cost_difference,
        delong,
        disagreements,
        mcnemar,
    )
    from priory.lab.measures.ranking import Curve, auc, macro_auc, precision_recall, roc
    from priory.lab.measures.trec import lam, missed_at, one_minus_roca

__all__ = [
    "Comparison",
    "Confusion",
    "CostCurve",
    "Curve",
    "Disagreement",
    "Rates",
    "Reliability",
    "Summary",
    "auc",
    "bootstrap_difference",
    "brier",
    "calibration_error",
    "confusion",
    "cost_curve",
    "cost_difference",
    "cost_per_example",
    "delong",
    "disagreements",
    "lam",
    "log_loss",
    "macro_auc",
    "mcnemar",
    "missed_at",
    "one_minus_roca",
    "precision_recall",
    "rates",
    "reliability",
    "roc",
    "said",
    "summary",
]

_HOMES = {
    "calibration": ("Reliability", "brier", "calibration_error", "log_loss", "reliability"),
    "confusion_matrix": ("Confusion", "Rates", "confusion", "rates", "said"),
    "costs": ("CostCurve", "cost_curve", "cost_per_example"),
    "figures": ("Summary", "summary"),
    "paired_tests": (
        "Comparison",
        "Disagreement",
        "bootstrap_difference",
        "cost_difference",
        "delong",
        "disagreements",
        "mcnemar",
    ),
    "ranking": ("Curve", "auc", "macro_auc", "precision_recall", "roc"),
    "trec": ("lam", "missed_at", "one_minus_roca"),
}


def __getattr__(name: str) -> Any:
    """Load a name on first use: intervals are needed where scikit-learn, which takes a second to load, is not."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"priory.lab.measures.{module}"), name)
    raise AttributeError(f"module 'priory.lab.measures' has no attribute {name!r}")
