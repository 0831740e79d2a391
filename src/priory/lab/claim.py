"""What somebody says about a number of errors, and what follows from it whatever one thinks of it.

A claim has the errors, the examples, and how the number came about: in training or in validation, as the best of how
many, on examples of which how many are near-copies. `priory.lab.trust` judges it.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from priory.lab.design_effect import design_effect, n_groups
from priory.lab.error import LabError
from priory.lab.optimism import lower_bound, upper_bound

How = Literal["training", "validation"]

FAR: Final = 0.05  #: a bound this far from what was seen makes it doubtful


@dataclass(frozen=True, slots=True)
class Claim:
    """A number of errors, and how it came about.

    `how` is "training" for examples the model learned from, "validation" for others. `n_models` is how many models were
    judged on them, the claim being about the best; for a training error, how many rules were considered, if that can be
    counted. `second` has the errors and examples of a further set, on which that one model was judged once. Of examples
    in groups of near-copies, as many as the `design_effect` count as one; `Claim.of` finds it.
    """

    errors: int
    n_examples: int
    how: How = "validation"
    n_models: int | None = None  #: None is one look at validation examples, and unknown for training
    second: tuple[int, int] | None = None
    n_groups: int | None = None  #: None: each example is its own
    design_effect: float = 1.0

    @classmethod
    def of(cls, errors: NDArray[np.bool_], groups: NDArray[np.int64] | None = None, **how: Any) -> Self:
        """Return a claim about errors, given for each example, and how they came about.

        >>> campaigns = np.repeat(np.arange(100), 5)
        >>> claim = Claim.of(campaigns < 2, campaigns, n_models=10)
        >>> claim.errors, claim.n_examples, claim.n_groups, round(claim.design_effect, 1)
        (10, 500, 100, 5.0)
        """
        found = None if groups is None else n_groups(groups, len(errors))
        effect = design_effect(errors, groups)
        return cls(int(errors.sum()), len(errors), n_groups=found, design_effect=effect, **how)

    def __post_init__(self) -> None:
        for errors, n in ((self.errors, self.n_examples), self.second or (0, 1)):
            if n < 1 or not 0 <= errors <= n:
                remedy = f"give a number of errors from 0 to {n:,}" if n > 0 else "say how many were judged"
                raise LabError(f"{errors:,} errors in {n:,} examples cannot be: {remedy}")
        if self.design_effect < 1 or not (self.n_groups is None or 1 <= self.n_groups <= self.n_examples):
            raise LabError(
                f"{self.n_groups} groups with a design effect of {self.design_effect:g} are not those of "
                f"{self.n_examples:,} examples: there are 1 or more and no more than these, and the effect is 1 or more"
            )
        if self.n_models is not None and self.n_models < 1:
            raise LabError(
                f"the best of {self.n_models:,} models cannot be: a number was seen, so there was 1 at least"
            )

    @property
    def n_compared(self) -> int | None:
        """How many models or rules the number is the best of; None if nobody knows."""
        return 1 if self.n_models is None and self.how == "validation" else self.n_models


@dataclass(frozen=True, slots=True)
class Look:
    """A claim of k errors in n examples, the least of m models', and what follows with a confidence."""

    claim: Claim
    m: int
    level: float
    noun: str

    @property
    def k(self) -> int:
        """How many errors were seen."""
        return self.claim.errors

    @property
    def n(self) -> int:
        """In how many examples."""
        return self.claim.n_examples

    @property
    def seen(self) -> float:
        """The share of errors."""
        return self.k / self.n

    @property
    def effect(self) -> float:
        """How many examples count as one."""
        return self.claim.design_effect

    @property
    def n_groups(self) -> int:
        """In how many groups the examples are; as many as there are where each is its own."""
        return self.claim.n_groups or self.n

    @property
    def examples(self) -> str:
        """The examples in words."""
        grouped = f" in {self.n_groups:,} groups of near-copies" if self.n_groups < self.n else ""
        return f"{self.n:,} {self.noun}{grouped}"

    @property
    def subject(self) -> str:
        """What was looked at, in words."""
        if self.m == 1:
            return f"one look at {self.examples}"
        return f"best of {self.m:,}{' rules' if self.claim.how == 'training' else ''} on {self.examples}"

    @property
    def bound(self) -> float:
        """What the true error does not exceed."""
        return upper_bound(self.k, self.n, self.m, self.level, self.effect)

    @property
    def is_vague(self) -> bool:
        """Whether the truth may be far away even if nothing was chosen."""
        above = upper_bound(self.k, self.n, 1, self.level, self.effect) - self.seen
        return max(above, self.seen - lower_bound(self.k, self.n, self.level, self.effect)) > FAR
