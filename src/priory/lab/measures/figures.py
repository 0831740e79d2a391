"""All figures of one run with their intervals: a row of a table, the head of a report."""

from collections.abc import Mapping
from dataclasses import dataclass

from priory.decision import Costs
from priory.lab.measures.calibration import brier, calibration_error, log_loss
from priory.lab.measures.confusion_matrix import Confusion, confusion, rates
from priory.lab.measures.costs import cost_per_example
from priory.lab.measures.interval import Interval
from priory.lab.measures.ranking import auc, macro_auc
from priory.lab.measures.trec import lam, missed_at, one_minus_roca
from priory.lab.predictions import Predictions


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """The figures of a run by name, in a fixed order; its confusion matrix; the number of examples by class."""

    figures: Mapping[str, Interval]
    confusion: Confusion
    n_by_class: Mapping[str, int]

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "figures": {name: figure.as_dict() for name, figure in self.figures.items()},
            "confusion": self.confusion.as_dict(),
            "n_by_class": dict(self.n_by_class),
        }


def summary(predictions: Predictions, costs: Costs | None = None, seed: int = 0) -> Summary:
    """Return all figures that apply to the number of classes; with costs, decisions are the cheapest ones.

    Accuracy is that of the most probable class, whatever the costs. With more than two classes, AUC is the mean over
    the classes, each against the rest, and ECE% is that of the most probable class.

    >>> mail = ["ham"] * 4 + ["spam"] * 4
    >>> seen = Predictions.of(["ham", "spam"], mail, [[1 - p, p] for p in (0, 0.1, 0.3, 0.6, 0.4, 0.8, 0.97, 1)])
    >>> for name, figure in summary(seen, Costs()).figures.items():
    ...     print(f"{name:16} {figure.estimate:.3f}")
    1-ROCA%          6.250
    h=0.1%           25.000
    h=0.5%           25.000
    lam%             30.000
    ham lost %       0.000
    spam missed %    0.000
    unsure %         37.500
    cost per message 1.500
    accuracy %       75.000
    AUC              0.938
    ECE%             22.875
    Brier            0.108
    log loss         0.319
    precision %      100.000
    recall %         50.000
    Jaccard %        50.000
    """
    table = confusion(predictions, costs)
    figures = _of_two(predictions, table) if predictions.n_classes == 2 else {}
    if costs is not None:
        figures["unsure %"] = rates(table).unsure.times(100)
        figures["cost per message"] = cost_per_example(predictions, costs, seed)
    figures["accuracy %"] = rates(confusion(predictions)).accuracy.times(100)
    figures |= _of_probabilities(predictions, seed)
    if predictions.n_classes == 2:
        figures |= _of_found(table)
    return Summary(figures, table, dict(zip(table.classes, table.n_by_class.tolist(), strict=True)))


def _of_two(predictions: Predictions, table: Confusion) -> dict[str, Interval]:
    first, second = predictions.classes
    errors = rates(table)
    return {
        "1-ROCA%": one_minus_roca(predictions),
        "h=0.1%": missed_at(predictions).times(100),
        "h=0.5%": missed_at(predictions, 0.005).times(100),
        "lam%": lam(predictions).times(100),
        f"{first} lost %": errors.false_positive_rate.times(100),
        f"{second} missed %": errors.false_negative_rate.times(100),
    }


def _of_probabilities(predictions: Predictions, seed: int) -> dict[str, Interval]:
    two = predictions.n_classes == 2
    return {
        "AUC": auc(predictions) if two else macro_auc(predictions),
        "ECE%": calibration_error(predictions, 1 if two else None, seed=seed).times(100),
        "Brier": brier(predictions),
        "log loss": log_loss(predictions),
    }


def _of_found(table: Confusion) -> dict[str, Interval]:
    errors = rates(table)
    return {
        "precision %": errors.precision.times(100),
        "recall %": errors.recall.times(100),
        "Jaccard %": errors.jaccard.times(100),
    }
