"""Bayes classifiers: counts of what was seen, and ways of reading them. There is no mail in here.

Counts are data, a model is a way of reading them: smoothing, weights and calibration can change without relearning.
"""

from priory.bayes.calibration import Calibration, calibrate
from priory.bayes.counts import Counts
from priory.bayes.presence import PresenceBayes

__all__ = ["Calibration", "Counts", "PresenceBayes", "calibrate"]
