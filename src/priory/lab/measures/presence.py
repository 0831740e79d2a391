"""Refuses to judge what is not there: no examples, none of a class, a third class where a figure knows two."""

from collections.abc import Sequence

import numpy as np

from priory.lab.error import LabError
from priory.lab.predictions import Predictions


def require_examples(predictions: Predictions) -> None:
    """Refuse nothing at all."""
    if not len(predictions):
        raise LabError("no examples at all: there is nothing to judge; look for what was to be read")


def require_two_classes(predictions: Predictions, figure: str) -> None:
    """Refuse more or fewer classes than two, for a figure that is about one against the other."""
    if predictions.n_classes != 2:
        raise LabError(
            f"{figure} needs two classes, and here are {predictions.n_classes} ({', '.join(predictions.classes)}): "
            "ask for a figure of one class against the rest, such as its AUC"
        )


def require_known(classes: Sequence[str], about: int) -> None:
    """Refuse a class that there is not."""
    if not 0 <= about < len(classes):
        raise LabError(f"there is no class {about}: the classes {', '.join(classes)} are 0 to {len(classes) - 1}")


def require_both(predictions: Predictions, about: int) -> None:
    """Refuse examples that are all of one class, or none of it."""
    require_examples(predictions)
    n_by_class = np.bincount(predictions.truth, minlength=predictions.n_classes)
    require_both_counted(predictions.classes, n_by_class.tolist(), about)


def require_both_counted(classes: Sequence[str], n_by_class: Sequence[int], about: int) -> None:
    """Refuse the same of examples that have been counted."""
    require_known(classes, about)
    n, n_about = sum(n_by_class), n_by_class[about]
    others = " or ".join([*classes[:about], *classes[about + 1 :]]) or f"class but {classes[about]}"
    for n_there, name in ((n_about, classes[about]), (n - n_about, others)):
        if not n_there:
            raise LabError(
                f"no {name} among {n} examples: how one class is told from another shows only where both are; add some"
            )
