"""Claims about error rates: how many errors in how many examples, and how the number was obtained.

A claim says whether the error is one of training or validation, of how many models it is the lowest, and how many
examples are near-copies. `priory.lab.trust.credibility` judges it. `SCENARIOS` has five worked examples: people who
claim 98 % accuracy.
"""

import math
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from priory.lab.error import LabError
from priory.lab.measures.design_effect import design_effect, n_groups
from priory.lab.trust.optimism import lower_bound, upper_bound

How = Literal["training", "validation"]

FAR: Final = 0.05  #: a bound this far above the observed error makes it doubtful


ERROR: Final = 0.02  #: the error that all scenarios claim


@dataclass(frozen=True, slots=True)
class ErrorClaim:
    """A number of errors, and how it was obtained.

    `how` is "training" for examples the model learned from, "validation" for others. `n_models` is the number of models
    judged on them, and the claim is about the best; for a training error it is the number of rules considered, if
    known. `second` has the errors and examples of a further set on which that model was judged once. With groups of
    near-copies, `design_effect` examples count as one; `ErrorClaim.of` computes it.
    """

    errors: int
    n_examples: int
    how: How = "validation"
    n_models: int | None = None  #: None means 1 for validation, and unknown for training
    second: tuple[int, int] | None = None
    n_groups: int | None = None  #: None if every example is its own group
    design_effect: float = 1.0

    @classmethod
    def of(cls, errors: NDArray[np.bool_], groups: NDArray[np.int64] | None = None, **how: Any) -> Self:
        """Return a claim from the errors of single examples.

        >>> campaigns = np.repeat(np.arange(100), 5)
        >>> claim = ErrorClaim.of(campaigns < 2, campaigns, n_models=10)
        >>> claim.errors, claim.n_examples, claim.n_groups, round(claim.design_effect, 1)
        (10, 500, 100, 5.0)
        """
        number_of_groups = None if groups is None else n_groups(groups, len(errors))
        effect = design_effect(errors, groups)
        return cls(int(errors.sum()), len(errors), n_groups=number_of_groups, design_effect=effect, **how)

    def __post_init__(self) -> None:
        for errors, n in ((self.errors, self.n_examples), self.second or (0, 1)):
            if n < 1 or not 0 <= errors <= n:
                remedy = f"give a number of errors from 0 to {n:,}" if n > 0 else "give the number of examples"
                raise LabError(f"{errors:,} errors in {n:,} examples are impossible: {remedy}")
        if self.design_effect < 1 or not (self.n_groups is None or 1 <= self.n_groups <= self.n_examples):
            raise LabError(
                f"{self.n_groups} groups with a design effect of {self.design_effect:g} do not fit "
                f"{self.n_examples:,} examples: give from 1 group to one per example, and an effect of 1 or more"
            )
        if self.n_models is not None and self.n_models < 1:
            raise LabError(f"the best of {self.n_models:,} models is impossible: give a number of models of at least 1")

    @property
    def n_compared(self) -> int | None:
        """The number of models or rules among which this is the best; None if unknown."""
        return 1 if self.n_models is None and self.how == "validation" else self.n_models


@dataclass(frozen=True, slots=True)
class BoundedClaim:
    """A claim of k errors in n examples, the lowest of m models, and its bound at a confidence level."""

    claim: ErrorClaim
    m: int
    level: float
    noun: str

    @property
    def k(self) -> int:
        """The number of errors."""
        return self.claim.errors

    @property
    def n(self) -> int:
        """The number of examples."""
        return self.claim.n_examples

    @property
    def seen(self) -> float:
        """The observed error rate."""
        return self.k / self.n

    @property
    def effect(self) -> float:
        """The number of examples that count as one."""
        return self.claim.design_effect

    @property
    def n_groups(self) -> int:
        """The number of groups; without groups, the number of examples."""
        return self.claim.n_groups or self.n

    @property
    def examples(self) -> str:
        """The examples, in words."""
        grouped = f" in {self.n_groups:,} groups of near-copies" if self.n_groups < self.n else ""
        return f"{self.n:,} {self.noun}{grouped}"

    @property
    def subject(self) -> str:
        """The subject of the claim, in words."""
        if self.m == 1:
            return f"one look at {self.examples}"
        return f"best of {self.m:,}{' rules' if self.claim.how == 'training' else ''} on {self.examples}"

    @property
    def bound(self) -> float:
        """The upper bound of the true error."""
        return upper_bound(self.k, self.n, self.m, self.level, self.effect)

    @property
    def is_vague(self) -> bool:
        """Whether the true error may be far away even without a choice among models."""
        above = upper_bound(self.k, self.n, 1, self.level, self.effect) - self.seen
        return max(above, self.seen - lower_bound(self.k, self.n, self.level, self.effect)) > FAR


@dataclass(frozen=True, slots=True)
class Scenario:
    """A statement about a model, for any amount of data."""

    number: int
    said: str
    how: How = "validation"
    n_models: int | None = None
    n_parts: int = 2  #: number of equal parts of the data; the claim is about one of them
    second: bool = False  #: whether another part was used once after choosing

    def claim(self, n_in_all: int) -> ErrorClaim:
        """Return the claim for this many examples in all.

        >>> claim = SCENARIOS[2].claim(1000)
        >>> claim.errors, claim.n_examples, claim.how, claim.n_models
        (10, 500, 'validation', 10)
        """
        n = n_in_all // self.n_parts
        errors = round(ERROR * n)
        return ErrorClaim(errors, n, self.how, self.n_models, (errors, n) if self.second else None)


SCENARIOS: Final = (
    Scenario(1, "I built a model on the data you gave me. It gets 98 % of them right.", "training", n_parts=1),
    Scenario(2, "I built a model on half of the data. It gets 98 % of the other half right."),
    Scenario(3, "I built 10 models on half of the data. One gets 98 % of the other half right.", n_models=10),
    Scenario(4, "I built 1 billion models on half of the data. One gets 98 % of the other half right.", n_models=10**9),
    Scenario(
        5,
        "I built 1 billion models on a third of the data. "
        "One gets 98 % of the second third right, and of the last too.",
        n_models=10**9,
        n_parts=3,
        second=True,
    ),
)


def chance_of_a_find(n_groups: int = 20, significance: float = 0.05) -> float:
    r"""Return the probability that at least one group finds an effect that does not exist: $1 - (1 - \alpha)^g$.

    Only that group publishes. This is publication bias, the best of `g` under another name.

    >>> round(chance_of_a_find(20, 0.05), 3)
    0.642
    """
    return -math.expm1(n_groups * math.log1p(-significance))
