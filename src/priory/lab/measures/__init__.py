"""How good a classifier is, in figures that say how far they may be off.

>>> from priory.lab.measures import auc
>>> from priory.lab.predictions import Predictions
>>> seen = Predictions.of(["ham", "spam"], ["ham", "spam"] * 9, [[0.9, 0.1], [0.2, 0.8]] * 9)
>>> print(auc(seen))                                # nine of each, all ranked rightly: that may be luck
1.0000 (0.6637 to 1.0000)
"""

from priory.lab.measures.calibration import Reliability, brier, calibration_error, log_loss, reliability
from priory.lab.measures.costs import CostCurve, cost_curve, cost_per_example
from priory.lab.measures.decisions import Confusion, confusion, said
from priory.lab.measures.figures import Summary, summary
from priory.lab.measures.paired import (
    Comparison,
    Disagreement,
    bootstrap_difference,
    cost_difference,
    delong,
    disagreements,
    mcnemar,
)
from priory.lab.measures.ranking import Curve, auc, macro_auc, precision_recall, roc
from priory.lab.measures.shares import Rates, rates
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
