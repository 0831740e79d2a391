"""Should you trust them? Worked examples: five people who claim 98 % accuracy, and the group that published."""

import math
from dataclasses import dataclass
from typing import Final

from priory.lab.claim import Claim, How

ERROR: Final = 0.02  #: what all five claim


@dataclass(frozen=True, slots=True)
class Scenario:
    """What somebody says about a model, for any amount of data."""

    number: int
    said: str
    how: How = "validation"
    n_models: int | None = None
    n_parts: int = 2  #: into how many equal parts the data were divided; the claim is about one
    second: bool = False  #: whether another part was looked at once after choosing

    def claim(self, n_in_all: int) -> Claim:
        """Return the claim, if there were so many examples in all.

        >>> found = SCENARIOS[2].claim(1000)
        >>> found.errors, found.n_examples, found.how, found.n_models
        (10, 500, 'validation', 10)
        """
        n = n_in_all // self.n_parts
        errors = round(ERROR * n)
        return Claim(errors, n, self.how, self.n_models, (errors, n) if self.second else None)


SCENARIOS: Final = (
    Scenario(1, "I built a model on the data you gave me. It has 98 % of them right.", "training", n_parts=1),
    Scenario(2, "I built a model on half of the data. It has 98 % of the other half right."),
    Scenario(3, "I built 10 models on half of the data. One has 98 % of the other half right.", n_models=10),
    Scenario(4, "I built 1 billion models on half of the data. One has 98 % of the other half right.", n_models=10**9),
    Scenario(
        5,
        "I built 1 billion models on a third of the data. One has 98 % of the second third right, and of the last too.",
        n_models=10**9,
        n_parts=3,
        second=True,
    ),
)


def chance_of_a_find(n_groups: int = 20, significance: float = 0.05) -> float:
    r"""Return the probability that one group at least finds an effect that is not there: $1 - (1 - \alpha)^g$.

    Only that group writes a paper, so the effect is in print. It is the best of `g` again, under the name of
    publication bias.

    >>> round(chance_of_a_find(20, 0.05), 3)
    0.642
    """
    return -math.expm1(n_groups * math.log1p(-significance))
