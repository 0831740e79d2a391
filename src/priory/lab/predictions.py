"""What a classifier said about examples it had not learned, beside what they are: all that a judgement needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from priory.lab.error import LabError


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Probabilities for examples with known labels; in order of time where there is one.

    With two classes, what is said is about the second: ham comes first, spam second. Probabilities are kept as
    logarithms, for a filter that is sure of two messages is not equally sure of both: they rank, 0.0 and 0.0 do not.

    >>> said = Predictions.of(["ham", "spam"], ["ham", "spam", "spam"], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> said.truth.tolist(), said.probabilities[:, 1].round(2).tolist()
    ([0, 1, 1], [0.1, 0.8, 0.4])
    """

    classes: tuple[str, ...]
    truth: NDArray[np.int64]  #: index into classes
    log_probabilities: NDArray[np.float64]  #: [example, class]; -inf for what is held impossible
    names: tuple[str, ...]  #: where each example is, for people: `inbox.mbox:3`
    groups: NDArray[np.int64] | None = None  #: examples that are alike have the same number; None: each is its own

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

        Examples of one group are alike, such as near-copies of a message: no interval counts them as independent.
        """
        known = {label: code for code, label in enumerate(classes)}
        strange = sorted({str(label) for label in truth if label not in known})
        if strange:
            raise LabError(
                f"the labels {', '.join(strange)} are not among the classes {', '.join(map(str, classes))}: name them "
                "all, or leave these examples out"
            )
        given = np.asarray(probabilities, np.float64)
        if given.size and (np.nanmin(given) < 0 or np.nanmax(given) > 1 + 1e-9):
            raise LabError(
                f"probabilities are from 0 to 1, but {np.nanmin(given):g} to {np.nanmax(given):g} were given"
            )
        sums = given.sum(axis=-1)
        off = np.flatnonzero(np.abs(sums - 1) > 1e-6)
        if given.ndim == 2 and len(off):
            raise LabError(
                f"the probabilities of an example sum to 1, but those of {len(off)} of {len(given)} do not, the first "
                f"is row {off[0]} with {sums[off[0]]:g}: divide each row by its sum"
            )
        with np.errstate(divide="ignore"):
            logs = np.log(given)
        codes = np.array([known[label] for label in truth], np.int64)
        named = tuple(names or (f"row {i}" for i in range(len(codes))))
        grouped = None if groups is None else np.asarray(groups, np.int64)
        return cls(tuple(map(str, classes)), codes, logs, named, grouped)

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """[example, class]."""
        return np.exp(self.log_probabilities)

    @property
    def likeliest(self) -> NDArray[np.int64]:
        """The most probable class of each example; of equals the one that is named first."""
        return np.asarray(self.log_probabilities.argmax(axis=1), np.int64)

    @property
    def errors(self) -> NDArray[np.bool_]:
        """Whether the most probable class is the wrong one."""
        return np.asarray(self.likeliest != self.truth)

    @property
    def error_rate(self) -> float:
        """The share of examples whose most probable class is the wrong one."""
        return float(self.errors.mean())

    def log_odds(self, about: int = 1) -> NDArray[np.float64]:
        """Return the log-odds of one class against the rest; with two classes, of the second."""
        rest = np.delete(self.log_probabilities, about, axis=1)
        with np.errstate(divide="ignore"):  # nothing of a thing that is certain is left for the rest
            against = rest[:, 0] if self.n_classes == 2 else np.logaddexp.reduce(rest, axis=1)
        return np.asarray(self.log_probabilities[:, about] - against)

    def take(self, which: Any) -> "Predictions":
        """Return the predictions for some examples, given by numbers or a mask."""
        numbers = np.arange(len(self))[which]
        return Predictions(
            self.classes,
            self.truth[numbers],
            self.log_probabilities[numbers],
            tuple(self.names[i] for i in numbers),
            None if self.groups is None else self.groups[numbers],
        )
