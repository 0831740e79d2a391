"""Predictions for examples with known labels: everything that the measures need.

The probabilities come from a classifier that has not learned the examples. `log_probabilities` asks any classifier of
scikit-learn's kind for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit
from sklearn.pipeline import Pipeline

from priory.lab.error import LabError


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Probabilities for examples with known labels, in order of time if they have one.

    With two classes, figures are about the second: ham comes first, spam second. Probabilities are stored as
    logarithms, because messages with probabilities that round to 0.0 still have different ranks.

    >>> predictions = Predictions.of(["ham", "spam"], ["ham", "spam", "spam"], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> predictions.truth.tolist(), predictions.probabilities[:, 1].round(2).tolist()
    ([0, 1, 1], [0.1, 0.8, 0.4])
    """

    classes: tuple[str, ...]
    truth: NDArray[np.int64]  #: index into classes
    log_probabilities: NDArray[np.float64]  #: [example, class]; -inf for probability 0
    names: tuple[str, ...]  #: place of each example, for display: `inbox.mbox:3`
    groups: NDArray[np.int64] | None = None  #: near-copies have the same number; None if every example is its own group
    #: What the model decided itself, as indices into `(*classes, "unsure")`; None if decisions follow from the costs.
    decisions: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        n, n_classes = len(self.truth), len(self.classes)
        if self.log_probabilities.shape != (n, n_classes) or len(self.names) != n:
            raise LabError(
                f"{n} labels, {len(self.names)} names and probabilities of shape {self.log_probabilities.shape} do not "
                f"belong together: give one row of {n_classes} probabilities for each example"
            )
        if self.groups is not None and self.groups.shape != (n,):
            raise LabError(
                f"{n} labels and groups of shape {self.groups.shape} do not belong together: give one number for each "
                "example, the same for those that are alike"
            )
        unknown = np.flatnonzero(np.isnan(self.log_probabilities).any(axis=1))
        if len(unknown):
            raise LabError(
                f"{len(unknown)} of {n} examples have a probability that is not a number, the first is "
                f"{self.names[unknown[0]]}: the model cannot be judged by them; look for gaps in its input"
            )

    @classmethod
    def of(
        cls,
        classes: Sequence[Any],
        truth: Sequence[Any],
        probabilities: Any,
        names: Sequence[str] | None = None,
        groups: Sequence[int] | NDArray[np.int64] | None = None,
    ) -> Self:
        """Return predictions from labels and probabilities, whose columns are in the order of the classes.

        Examples of one group, such as near-copies of a message, are not independent: the intervals take that into
        account.
        """
        known = {label: code for code, label in enumerate(classes)}
        strange = sorted({str(label) for label in truth if label not in known})
        if strange:
            raise LabError(
                f"the labels {', '.join(strange)} are not among the classes {', '.join(map(str, classes))}: name them "
                "all, or leave these examples out"
            )
        values = np.asarray(probabilities, np.float64)
        if values.size and (np.nanmin(values) < 0 or np.nanmax(values) > 1 + 1e-9):
            raise LabError(
                f"probabilities are from 0 to 1, but {np.nanmin(values):g} to {np.nanmax(values):g} were given"
            )
        sums = values.sum(axis=-1)
        off = np.flatnonzero(np.abs(sums - 1) > 1e-6)
        if values.ndim == 2 and len(off):
            raise LabError(
                f"the probabilities of each example must sum to 1; {len(off)} of {len(values)} do not, the first "
                f"is row {off[0]} with {sums[off[0]]:g}: divide each row by its sum"
            )
        with np.errstate(divide="ignore"):
            logs = np.log(values)
        codes = np.array([known[label] for label in truth], np.int64)
        named = tuple(names or (f"row {i}" for i in range(len(codes))))
        grouped = None if groups is None else np.asarray(groups, np.int64)
        return cls(tuple(map(str, classes)), codes, logs, named, grouped)

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The probabilities, [example, class]."""
        return np.exp(self.log_probabilities)

    @property
    def likeliest(self) -> NDArray[np.int64]:
        """The most probable class of each example; among equals the first."""
        return np.asarray(self.log_probabilities.argmax(axis=1), np.int64)

    @property
    def errors(self) -> NDArray[np.bool_]:
        """Whether the most probable class of each example is wrong."""
        return np.asarray(self.likeliest != self.truth)

    @property
    def error_rate(self) -> float:
        """The share of examples whose most probable class is wrong."""
        return float(self.errors.mean())

    def log_odds(self, about: int = 1) -> NDArray[np.float64]:
        """Return the log-odds of one class against the rest; with two classes, of the second."""
        rest = np.delete(self.log_probabilities, about, axis=1)
        with np.errstate(divide="ignore"):  # a certain class leaves probability 0 for the rest
            against = rest[:, 0] if self.n_classes == 2 else np.logaddexp.reduce(rest, axis=1)
        return np.asarray(self.log_probabilities[:, about] - against)

    def take(self, which: Any) -> "Predictions":
        """Return the predictions for the examples selected by numbers or a mask."""
        numbers = np.arange(len(self))[which]
        return Predictions(
            self.classes,
            self.truth[numbers],
            self.log_probabilities[numbers],
            tuple(self.names[i] for i in numbers),
            None if self.groups is None else self.groups[numbers],
            None if self.decisions is None else self.decisions[numbers],
        )


def require_probabilities(model: Any, name: str | None = None) -> None:
    """Raise `LabError` for a classifier that predicts classes without probabilities.

    >>> from sklearn.svm import LinearSVC
    >>> require_probabilities(LinearSVC(), "my model")
    Traceback (most recent call last):
    priory.lab.error.LabError: my model (LinearSVC) predicts no probabilities, which every evaluation needs: ...
    """
    if not (hasattr(model, "predict_proba") or hasattr(model, "predict_log_proba")):
        kind = type(model.steps[-1][1] if isinstance(model, Pipeline) else model).__name__
        which = kind if name in (None, kind) else f"{name} ({kind})"
        raise LabError(
            f"{which} predicts no probabilities, which every evaluation needs: wrap it in scikit-learn's "
            "CalibratedClassifierCV, or choose a model that has predict_proba"
        )


def log_probabilities(model: Any, X: Any, classes: Sequence[Any], name: str | None = None) -> NDArray[np.float64]:
    """Return a fitted classifier's log p for every row and class, with the classes in the given order.

    The model's own logarithms distinguish nearly certain examples, whose probabilities all round to 1.
    """
    require_probabilities(model, name)
    with np.errstate(divide="ignore", invalid="ignore"):
        if hasattr(model, "predict_log_proba"):
            logs = np.asarray(model.predict_log_proba(X), np.float64)
        else:
            logs = np.log(np.asarray(model.predict_proba(X), np.float64))
    with np.errstate(over="ignore"):
        off = np.isnan(logs).any(axis=1) | (np.abs(np.exp(logs).sum(axis=1) - 1) > 1e-3)
    wrong = np.flatnonzero(off)
    if len(wrong):
        raise LabError(
            f"{name or type(model).__name__} predicted invalid probabilities for {len(wrong)} of {len(logs)} examples, "
            f"the first is number {wrong[0]} of the test part: they must be from 0 to 1 and sum to 1; look for missing "
            "values in its input"
        )
    known = [str(label) for label in model.classes_]
    return logs[:, [known.index(str(label)) for label in classes]]


def from_log_odds(log_odds: ArrayLike) -> NDArray[np.float64]:
    """Return log p for these log-odds.

    >>> np.exp(from_log_odds([0.0, 50.0])).tolist()
    [0.5, 1.0]
    """
    return np.asarray(log_expit(np.asarray(log_odds, np.float64)))


def require_examples(predictions: Predictions) -> None:
    """Raise `LabError` if there are no examples."""
    if not len(predictions):
        raise LabError("there are no examples to judge: check that the mail was found")


def require_two_classes(predictions: Predictions, figure: str) -> None:
    """Raise `LabError` unless there are two classes."""
    if predictions.n_classes != 2:
        raise LabError(
            f"{figure} needs two classes, and there are {predictions.n_classes} ({', '.join(predictions.classes)}): "
            "use a figure of one class against the rest, such as its AUC"
        )


def require_known(classes: Sequence[str], about: int) -> None:
    """Raise `LabError` for a class that does not exist."""
    if not 0 <= about < len(classes):
        raise LabError(f"there is no class {about}: the classes {', '.join(classes)} are 0 to {len(classes) - 1}")


def require_both(predictions: Predictions, about: int) -> None:
    """Raise `LabError` unless there are examples of the class and of others."""
    require_examples(predictions)
    n_by_class = np.bincount(predictions.truth, minlength=predictions.n_classes)
    require_both_counted(predictions.classes, n_by_class.tolist(), about)


def require_both_counted(classes: Sequence[str], n_by_class: Sequence[int], about: int) -> None:
    """Raise `LabError` unless these counts have examples of the class and of others."""
    require_known(classes, about)
    n, n_about = sum(n_by_class), n_by_class[about]
    others = " or ".join([*classes[:about], *classes[about + 1 :]]) or f"class but {classes[about]}"
    for n_there, name in ((n_about, classes[about]), (n - n_about, others)):
        if not n_there:
            raise LabError(
                f"no {name} among {n} examples: figures about one class against another need examples of both; add some"
            )
