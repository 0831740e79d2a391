"""What folds are made of: the label and the group of each example, and whether they suffice to judge by."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from priory.lab.error import LabError
from priory.lab.splits.folds import Folds, Numbers
from priory.lab.splits.groups import distinct, numbers


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Labels and groups as numbers, and what they are called.

    >>> examples = Examples.of(["spam", "ham", "spam"], ["ann", "bob", "ann"], "senders")
    >>> examples.classes.tolist(), examples.labels.tolist(), examples.units.tolist()
    (['ham', 'spam'], [1, 0, 1], [0, 1, 0])
    """

    classes: NDArray[Any]
    labels: Numbers
    groups: Numbers | None
    grouping: str

    @classmethod
    def of(cls, y: Any, groups: Any, grouping: str) -> Self:
        """Return examples with these labels, or say what is wrong with them."""
        classes, labels = distinct(y, "labels")
        if not len(labels):
            raise LabError("there are no examples to make folds of: give the label of each")
        if len(classes) == 1:
            raise LabError(
                f"all {len(labels)} examples are {classes[0]}: to judge, examples of another class are needed"
            )
        found = None if groups is None else numbers(groups, "groups")
        if found is not None and len(found) != len(labels):
            raise LabError(f"{len(labels)} labels and {len(found)} groups do not belong together: give one for each")
        return cls(classes, labels, found, grouping)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def units(self) -> Numbers:
        """The group of each example; without groups each is its own."""
        return np.arange(len(self)) if self.groups is None else self.groups

    def shuffled(self, tests: list[Numbers], what: str, seed: int, remedy: str | None) -> Folds:
        """Return folds that learn all they do not test; each must have all classes, if there is a remedy to name."""
        kept = "" if self.groups is None else f", {self.grouping} kept together"
        order = np.random.default_rng(seed).permutation(len(self))
        nothing = np.empty(0, np.int64)
        found = Folds(f"{what}{kept}, shuffled with seed {seed}", order, tuple(tests), (nothing,) * len(tests))
        if remedy is not None:
            self.check_classes(found, remedy)
        return found

    def check_enough(self, n_folds: int, *, of_each_class: bool) -> None:
        """Refuse fewer examples, or groups, than folds: of all together, or of each class."""
        n_units = len(np.unique(self.units))
        if n_units < n_folds:
            what = "examples" if self.groups is None else "groups"
            raise LabError(f"{n_units} {what} cannot fill {n_folds} folds: use fewer folds, or more mail")
        n_by_class = np.bincount(np.unique(np.stack([self.labels, self.units]), axis=1)[0])
        rarest = int(n_by_class.argmin())
        name, n = self.classes[rarest], n_by_class[rarest]
        if of_each_class and n < n_folds:
            has = f"is in {n} of {n_units} groups" if self.groups is not None else f"has {n} of {n_units} examples"
            remedy = f"use at most {n} folds, or more {name}" if n > 1 else f"more {name} is needed"
            raise LabError(f"{name} {has}, too few for {n_folds} folds: {remedy}")

    def check_classes(self, folds: Folds, remedy: str) -> None:
        """Refuse folds of which one cannot learn, or cannot judge, every class."""
        for number, parts in enumerate(folds, 1):
            for purpose, part in zip(("learn", "judge"), parts, strict=True):
                if not len(part):
                    raise LabError(f"fold {number} of {len(folds)} has nothing to {purpose}{self._largest()}: {remedy}")
                lacking = np.flatnonzero(np.bincount(self.labels[part], minlength=len(self.classes)) == 0)
                if len(lacking):
                    names = ", ".join(str(self.classes[label]) for label in lacking)
                    raise LabError(f"fold {number} of {len(folds)} has no {names} to {purpose}: {remedy}")

    def _largest(self) -> str:
        if self.groups is None:
            return ""
        return f" (the largest group has {np.bincount(self.groups).max()} of {len(self)} examples)"
