"""The ways to part examples into folds, by scikit-learn's splitters, and the checks that every fold can judge.

With groups, all examples of a group are on one side. By time it is the past that is learned and the next block that is
judged; there, of a group that was met before, nothing is judged. (The other remedy, to learn less of the past, would
judge a filter that nobody has; this one judges the real filter, by what is new to it.)
"""

from typing import Any, Final, Literal, get_args

import numpy as np
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
from priory.lab.splits.examples import Examples
from priory.lab.splits.folds import Folds, Numbers
from priory.lab.splits.groups import numbers

How = Literal["k-fold", "stratified", "leave-one-out", "random", "time", "group"]
LARGEST_SEED: Final = 2**32 - 1  #: that scikit-learn takes


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

    | how | what is judged |
    |---|---|
    | `"k-fold"` | each example once, in one of `n_folds` parts |
    | `"stratified"` | the same, and the labels are as frequent in each part |
    | `"leave-one-out"` | each example alone, or each group |
    | `"random"` | `n_folds` times a random `share` of the examples (of the groups, if given), labels as frequent |
    | `"time"` | each of the last `n_folds` blocks, by what came before it; `times`, or the order of the rows |
    | `"group"` | each group once, in one of `n_folds` parts of about the same size |

    Every way takes `groups`, a label for each example: examples of the same group are never on both sides.
    `grouping` says for people what the groups are. By time, an example is not judged if its group was met before.

    >>> y = ["ham", "spam"] * 50
    >>> copies = [number // 4 for number in range(100)]
    >>> kept = folds(y, seed=1, groups=copies, grouping="near-duplicates")
    >>> kept.description
    '5 folds, stratified, near-duplicates kept together, shuffled with seed 1'
    >>> sorted(len(test) for _, test in kept.split())
    [20, 20, 20, 20, 20]
    """
    if how not in get_args(How):
        raise LabError(f"there is no way {how!r} to make folds: choose one of {', '.join(get_args(How))}")
    _check_settings(how, n_folds, seed, share)
    if how == "group" and groups is None:
        raise LabError("folds by group need groups: give the group of each example, such as its sender or thread")
    if how != "time" and times is not None:
        raise LabError(f"times were given, but {how} folds do not look at them: use how='time'")
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
        raise LabError(f"share must be between 0 and 1, not {share}: it is the part of the examples that is judged")


def _stratified(examples: Examples, n_folds: int, seed: int) -> Folds:
    examples.check_enough(n_folds, of_each_class=True)
    way = StratifiedKFold if examples.groups is None else StratifiedGroupKFold
    parts = way(n_folds, shuffle=True, random_state=seed).split(examples.labels, examples.labels, examples.groups)
    remedy = "use fewer folds, another seed or finer groups"
    return examples.shuffled([test for _, test in parts], f"{n_folds} folds, stratified", seed, remedy=remedy)


def _in_parts(examples: Examples, n_folds: int, seed: int) -> Folds:
    """Each example is judged once, wherever its class falls; groups fill parts that are about equally large."""
    examples.check_enough(n_folds, of_each_class=False)
    if examples.groups is None:
        parts = KFold(n_folds, shuffle=True, random_state=seed).split(examples.labels)
    else:  # GroupKFold shuffles only at the price of unequal parts; shuffled names do it for groups of one size
        names = np.random.default_rng(seed).permutation(examples.groups.max() + 1)
        parts = GroupKFold(n_folds).split(examples.labels, groups=names[examples.groups])
    remedy = "use how='stratified', which takes groups too, or fewer folds"
    return examples.shuffled([test for _, test in parts], f"{n_folds} folds", seed, remedy=remedy)


def _one_by_one(examples: Examples, seed: int) -> Folds:
    way, what = (LeaveOneOut(), "one") if examples.groups is None else (LeaveOneGroupOut(), "one of the groups")
    examples.check_enough(2, of_each_class=True)
    tests = [test for _, test in way.split(examples.labels, examples.labels, examples.groups)]
    return examples.shuffled(tests, f"leave {what} out", seed, remedy=None)


def _at_random(examples: Examples, n_folds: int, seed: int, share: float) -> Folds:
    """A share of the groups of each class is judged; a group is of its commonest class, an example alone is a group."""
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
            f"a random share of {share:g} of {what} has not every class on both sides: take another share, "
            "finer groups or more mail"
        ) from error
    tests = [np.flatnonzero(np.isin(units, some)) for some in drawn]
    what = f"{n_folds} random subsamples of {share:.0%}, stratified"
    return examples.shuffled(tests, what, seed, remedy="take another share, finer groups or more mail")


def _by_time(examples: Examples, n_folds: int, times: Any) -> Folds:
    """Each block is judged by all that came before it, as far as its groups are new."""
    if len(examples) <= n_folds:
        raise LabError(f"{len(examples)} examples are too few for {n_folds} blocks of time: use fewer folds")
    order, units = _in_time(times, len(examples)), examples.units
    blocks = [(order[past], order[block]) for past, block in TimeSeriesSplit(n_folds).split(order)]
    tests = [block[~np.isin(units[block], units[past])] for past, block in blocks]
    n_met = sum(len(block) for _, block in blocks) - sum(map(len, tests))
    left_out = [
        np.setdiff1d(order, np.concatenate([past, test])) for (past, _), test in zip(blocks, tests, strict=True)
    ]
    what = f"{n_folds} blocks in order of time, each judged by all before it"
    if examples.groups is not None:
        what += f", {examples.grouping} kept together ({n_met} met before are not judged)"
    found = Folds(what, order, tuple(tests), tuple(left_out))
    finer = "" if examples.groups is None else ", finer groups"
    way_out = f"split another way, or use fewer folds{finer} or mail in which the classes come mixed"
    examples.check_classes(found, way_out)
    return found


def _in_time(times: Any, n_examples: int) -> Numbers:
    """Return the numbers of the examples, the oldest first; what came at once stays in its order."""
    if times is None:
        return np.arange(n_examples)
    moments = numbers(times, "times")
    if len(moments) != n_examples:
        raise LabError(f"{n_examples} labels and {len(moments)} times do not belong together: give one for each")
    return np.argsort(moments, kind="stable")
