"""Methods to make folds, by scikit-learn's splitters, and checks that every fold can be learned and tested.

With groups, all examples of a group are on one side. Folds by time learn the past and test the next block, without the
examples whose group occurs in the past. (Learning less of the past instead would test a filter that is not in use.)
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from priory.lab.error import LabError
from priory.lab.splits.folds import Folds, Numbers
from priory.lab.splits.groups import distinct, numbers

How = Literal["k-fold", "stratified", "leave-one-out", "random", "time", "group"]
LARGEST_SEED: Final = 2**32 - 1  #: accepted by scikit-learn


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Labels and groups of examples as numbers, and their names.

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
        """Return examples with these labels; raise `LabError` if they cannot be split."""
        classes, labels = distinct(y, "labels")
        if not len(labels):
            raise LabError("there are no examples to make folds of: give the label of each")
        if len(classes) == 1:
            raise LabError(f"all {len(labels)} examples are {classes[0]}: add examples of another class")
        group_numbers = None if groups is None else numbers(groups, "groups")
        if group_numbers is not None and len(group_numbers) != len(labels):
            raise LabError(
                f"{len(labels)} labels and {len(group_numbers)} groups do not belong together: give one for each"
            )
        return cls(classes, labels, group_numbers, grouping)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def units(self) -> Numbers:
        """The group of each example; without groups every example is its own group."""
        return np.arange(len(self)) if self.groups is None else self.groups

    def shuffled_folds(self, tests: list[Numbers], what: str, seed: int, remedy: str | None) -> Folds:
        """Return folds that learn all they do not test; with a remedy, raise `LabError` if one lacks a class."""
        together = "" if self.groups is None else f", {self.grouping} kept together"
        order = np.random.default_rng(seed).permutation(len(self))
        nothing = np.empty(0, np.int64)
        result = Folds(f"{what}{together}, shuffled with seed {seed}", order, tuple(tests), (nothing,) * len(tests))
        if remedy is not None:
            self.check_classes(result, remedy)
        return result

    def check_enough(self, n_folds: int, *, of_each_class: bool) -> None:
        """Raise `LabError` if there are fewer examples, or groups, than folds, in total or of each class."""
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
        """Raise `LabError` if a fold has a class that it cannot learn or test."""
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


def folds(  # noqa: PLR0913 - each way has its own setting
    y: Any,
    how: How = "stratified",
    *,
    n_folds: int = 5,
    seed: int = 0,
    groups: Any = None,
    grouping: str = "groups",
    times: Any = None,
    share: float = 0.25,
) -> Folds:
    """Return fixed folds of the examples that have the labels `y`.

    | how | test parts |
    |---|---|
    | `"k-fold"` | each example once, in one of `n_folds` parts |
    | `"stratified"` | the same, with labels equally frequent in each part |
    | `"leave-one-out"` | each example, or each group, by itself |
    | `"random"` | `n_folds` times a random `share` of the examples or groups, stratified |
    | `"time"` | each of the last `n_folds` blocks, after learning all before it; by `times` or the order of the rows |
    | `"group"` | each group once, in one of `n_folds` parts of similar size |

    Every method accepts `groups`, a label for each example: examples of the same group are never on both sides.
    `grouping` names the groups in the description. By time, an example is not tested if its group occurs before.

    >>> y = ["ham", "spam"] * 50
    >>> copies = [number // 4 for number in range(100)]
    >>> split = folds(y, seed=1, groups=copies, grouping="near-duplicates")
    >>> split.description
    '5 folds, stratified, near-duplicates kept together, shuffled with seed 1'
    >>> sorted(len(test) for _, test in split.split())
    [20, 20, 20, 20, 20]
    """
    if how not in get_args(How):
        raise LabError(f"unknown method {how!r} to make folds: choose one of {', '.join(get_args(How))}")
    _check_settings(how, n_folds, seed, share)
    if how == "group" and groups is None:
        raise LabError("folds by group need groups: give the group of each example, such as its sender or thread")
    if how != "time" and times is not None:
        raise LabError(f"{how} folds do not use times: use how='time'")
    examples = Examples.of(y, groups, grouping)
    if how == "time":
        return _by_time(examples, n_folds, times)
    if how == "leave-one-out":
        return _one_by_one(examples, seed)
    if how == "random":
        return _at_random(examples, n_folds, seed, share)
    return _stratified(examples, n_folds, seed) if how == "stratified" else _in_parts(examples, n_folds, seed)


def _check_settings(how: How, n_folds: int, seed: int, share: float) -> None:
    fewest = 1 if how == "random" else 2
    if not isinstance(n_folds, int | np.integer) or n_folds < fewest:
        raise LabError(f"n_folds must be a whole number, {fewest} or more, not {n_folds}")
    if not isinstance(seed, int | np.integer) or not 0 <= seed <= LARGEST_SEED:
        raise LabError(f"seed must be a whole number from 0 to {LARGEST_SEED}, not {seed}")
    if not 0 < share < 1:
        raise LabError(f"share must be between 0 and 1, not {share}: it is the part of the examples that is tested")


def _stratified(examples: Examples, n_folds: int, seed: int) -> Folds:
    examples.check_enough(n_folds, of_each_class=True)
    way = StratifiedKFold if examples.groups is None else StratifiedGroupKFold
    parts = way(n_folds, shuffle=True, random_state=seed).split(examples.labels, examples.labels, examples.groups)
    remedy = "use fewer folds, another seed or finer groups"
    return examples.shuffled_folds([test for _, test in parts], f"{n_folds} folds, stratified", seed, remedy=remedy)


def _in_parts(examples: Examples, n_folds: int, seed: int) -> Folds:
    """Test each example once, regardless of classes; with groups, in parts of similar size."""
    examples.check_enough(n_folds, of_each_class=False)
    if examples.groups is None:
        parts = KFold(n_folds, shuffle=True, random_state=seed).split(examples.labels)
    else:  # GroupKFold has no shuffle that keeps parts equal; shuffled names have that effect for groups of one size
        names = np.random.default_rng(seed).permutation(examples.groups.max() + 1)
        parts = GroupKFold(n_folds).split(examples.labels, groups=names[examples.groups])
    remedy = "use how='stratified', which takes groups too, or fewer folds"
    return examples.shuffled_folds([test for _, test in parts], f"{n_folds} folds", seed, remedy=remedy)


def _one_by_one(examples: Examples, seed: int) -> Folds:
    way, what = (LeaveOneOut(), "one") if examples.groups is None else (LeaveOneGroupOut(), "one of the groups")
    examples.check_enough(2, of_each_class=True)
    tests = [test for _, test in way.split(examples.labels, examples.labels, examples.groups)]
    return examples.shuffled_folds(tests, f"leave {what} out", seed, remedy=None)


def _at_random(examples: Examples, n_folds: int, seed: int, share: float) -> Folds:
    """Test a share of the groups of each class; a group belongs to its most frequent class."""
    examples.check_enough(2, of_each_class=True)
    units = examples.units
    counts = np.zeros((units.max() + 1, len(examples.classes)), np.int64)
    np.add.at(counts, (units, examples.labels), 1)
    way = StratifiedShuffleSplit(n_folds, test_size=share, random_state=seed)
    try:
        drawn = [test for _, test in way.split(counts, counts.argmax(axis=1))]
    except ValueError as error:
        what = f"{len(counts)} {'examples' if examples.groups is None else 'groups'}"
        raise LabError(
            f"a random share of {share:g} of {what} does not have every class on both sides: take another share, "
            "finer groups or more mail"
        ) from error
    tests = [np.flatnonzero(np.isin(units, chosen)) for chosen in drawn]
    what = f"{n_folds} random subsamples of {share:.0%}, stratified"
    return examples.shuffled_folds(tests, what, seed, remedy="take another share, finer groups or more mail")


def _by_time(examples: Examples, n_folds: int, times: Any) -> Folds:
    """Test each block after learning all before it, without groups that occur before."""
    if len(examples) <= n_folds:
        raise LabError(f"{len(examples)} examples are too few for {n_folds} blocks of time: use fewer folds")
    order, units = _by_age(times, len(examples)), examples.units
    blocks = [(order[past], order[block]) for past, block in TimeSeriesSplit(n_folds).split(order)]
    tests = [block[~np.isin(units[block], units[past])] for past, block in blocks]
    n_met = sum(len(block) for _, block in blocks) - sum(map(len, tests))
    left_out = [
        np.setdiff1d(order, np.concatenate([past, test])) for (past, _), test in zip(blocks, tests, strict=True)
    ]
    what = f"{n_folds} blocks in order of time, each judged by all before it"
    if examples.groups is not None:
        what += f", {examples.grouping} kept together ({n_met} met before are not judged)"
    result = Folds(what, order, tuple(tests), tuple(left_out))
    finer = "" if examples.groups is None else ", finer groups"
    way_out = f"split another way, or use fewer folds{finer} or mail in which the classes come mixed"
    examples.check_classes(result, way_out)
    return result


def _by_age(times: Any, n_examples: int) -> Numbers:
    """Return the numbers of the examples, the oldest first; examples of the same time stay in their order."""
    if times is None:
        return np.arange(n_examples)
    moments = numbers(times, "times")
    if len(moments) != n_examples:
        raise LabError(f"{n_examples} labels and {len(moments)} times do not belong together: give one for each")
    return np.argsort(moments, kind="stable")
