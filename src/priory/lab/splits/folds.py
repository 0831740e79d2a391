"""Fixed folds: examples are shuffled once, so that every model learns and is tested on the same ones.

The error on training examples says little about others, so each fold keeps a part for testing. The two parts must be
independent: a copy of a test message, or an answer that quotes it, must not be in the training part.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from priory.lab.error import LabError

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Folds:
    """Fixed folds, usable as `cv` in scikit-learn, and identified by their digest.

    A fold learns every example that it neither tests nor leaves out, in `order`. So the first examples of a training
    part, which a learning curve takes, are a random selection, or the oldest if the folds are by time.

    >>> two = Folds("two halves", np.array([2, 0, 3, 1]), (np.array([0, 1]), np.array([2, 3])), (np.empty(0, int),) * 2)
    >>> [(train.tolist(), test.tolist()) for train, test in two.split()]
    [([2, 3], [0, 1]), ([0, 1], [2, 3])]
    >>> two
    <Folds of 4 examples: two halves, 16203ebe>
    """

    description: str  #: for display: "5 folds, stratified, shuffled with seed 1"
    order: Numbers  #: the numbers of all examples, in the order of learning
    tests: tuple[Numbers, ...]  #: the test examples of each fold
    left_out: tuple[Numbers, ...]  #: the examples of each fold that are neither learned nor tested

    def __post_init__(self) -> None:
        if not np.array_equal(np.sort(self.order), np.arange(len(self.order))):
            raise LabError(f"the order of {len(self.order)} examples must contain each number from 0 once")
        for name in ("tests", "left_out"):
            object.__setattr__(self, name, tuple(_read_only(numbers) for numbers in getattr(self, name)))
        object.__setattr__(self, "order", _read_only(self.order))

    @classmethod
    def of(cls, parts: Iterable[tuple[Numbers, Numbers]], n_examples: int, description: str) -> Self:
        """Return folds from the training and test numbers that a splitter of scikit-learn yields.

        >>> Folds.of([(np.array([0, 1]), np.array([3]))], 4, "by hand").left_out[0].tolist()
        [2]
        """
        every, both = np.arange(n_examples), [(np.asarray(train), np.asarray(test)) for train, test in parts]
        left_out = (np.setdiff1d(every, np.concatenate(part)) for part in both)
        return cls(description, every, tuple(test for _, test in both), tuple(left_out))

    def each_once(self) -> "Folds":
        """Return folds that test no example twice: later folds leave out what an earlier one has tested.

        Testing the same examples again adds no information about new ones.

        >>> twice = Folds.of([(np.array([0, 1]), np.array([2, 3])), (np.array([0, 3]), np.array([1, 2]))], 4, "by hand")
        >>> [test.tolist() for test in twice.each_once().tests]
        [[2, 3], [1]]
        """
        tested = np.zeros(self.n_examples, np.bool_)
        tests, left_out = [], []
        for test, left in zip(self.tests, self.left_out, strict=True):
            new = test[~tested[test]]
            if len(new):
                tests.append(new)
                left_out.append(np.concatenate([left, test[tested[test]]]))
            tested[test] = True
        if sum(map(len, tests)) == sum(map(len, self.tests)):
            return self
        return Folds(f"{self.description}, each example judged once", self.order, tuple(tests), tuple(left_out))

    @property
    def n_examples(self) -> int:
        """The number of examples."""
        return len(self.order)

    @property
    def digest(self) -> str:
        """A digest, equal if and only if the same examples are learned and tested in the same order."""
        sha = hashlib.sha256(self.n_examples.to_bytes(8, "little"))
        for part in (part for fold in self for part in fold):
            sha.update(len(part).to_bytes(8, "little"))
            sha.update(part.astype("<i8").tobytes())
        return sha.hexdigest()

    def __len__(self) -> int:
        return len(self.tests)

    def __iter__(self) -> Iterator[tuple[Numbers, Numbers]]:
        for test, left_out in zip(self.tests, self.left_out, strict=True):
            learned = np.ones(self.n_examples, np.bool_)
            learned[test] = learned[left_out] = False
            yield self.order[learned[self.order]], test.copy()

    def __repr__(self) -> str:
        return f"<Folds of {self.n_examples} examples: {self.description}, {self.digest[:8]}>"

    def split(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[tuple[Numbers, Numbers]]:  # noqa: ARG002
        """Yield the training and test examples of each fold, as numbers."""
        self._check(X)
        self._check(y)
        yield from self

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of folds."""
        return len(self)

    def _check(self, rows: Any) -> None:
        if rows is None:
            return
        n_given = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        if n_given != self.n_examples:
            raise LabError(
                f"these folds are for {self.n_examples} examples, but {n_given} were given: make folds for these, "
                "or give the examples they were made for"
            )


def _read_only(numbers: Any) -> Numbers:
    """Return a read-only copy."""
    copy = np.array(numbers, np.int64)
    copy.setflags(write=False)
    return copy
