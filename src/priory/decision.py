"""What to say, given how probable each label is and what each mistake would cost.

The expected cost of saying label j is Σ_i p_i · cost[j][i]: the cheapest wins. Saying *unsure* has a price of its own,
so it is said exactly when every label would cost more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

UNSURE: Final = "unsure"


@dataclass(frozen=True, slots=True)
class Costs:
    """What it costs to say a label when another is true, and to say *unsure*.

    `matrix[said][true]`; what is right costs nothing. The defaults of Priory: a lost ham 100, a missed spam 10,
    *unsure* 4.
    """

    labels: tuple[str, ...] = ("ham", "spam")
    matrix: tuple[tuple[float, ...], ...] = ((0, 10), (100, 0))
    unsure: float = 4

    def expected(self, probabilities: Sequence[float]) -> dict[str, float]:
        """Return the expected cost of each thing that can be said.

        >>> Costs().expected([0.5, 0.5])
        {'ham': 5.0, 'spam': 50.0, 'unsure': 4}
        """
        said = {
            label: sum(cost * p for cost, p in zip(row, probabilities, strict=True))
            for label, row in zip(self.labels, self.matrix, strict=True)
        }
        return {**said, UNSURE: self.unsure}


def decide(probabilities: Sequence[float], costs: Costs) -> str:
    """Return the cheapest thing to say; of equally cheap ones *unsure*, then the more probable.

    >>> decide([0.1, 0.9], Costs(unsure=1000))   # most likely spam, but losing a ham is dear
    'ham'
    >>> decide([0.01, 0.99], Costs())
    'spam'
    """
    expected = costs.expected(probabilities)
    chance = dict(zip(costs.labels, probabilities, strict=True))
    return min(expected, key=lambda said: (expected[said], said != UNSURE, -chance.get(said, 0)))


def thresholds(costs: Costs) -> Mapping[str, float]:
    """Return, for two labels, from which probability of the second on what is said.

    >>> thresholds(Costs())
    {'unsure': 0.4, 'spam': 0.96}
    >>> thresholds(Costs(unsure=100))["spam"] == 100 / 110
    True
    """
    if len(costs.labels) != 2:
        return {}
    first, second = costs.matrix
    rises = [(first[0], first[1] - first[0]), (costs.unsure, 0), (second[0], second[1] - second[0])]
    to_unsure, to_second, direct = _crossing(rises[0], rises[1]), _crossing(rises[1], rises[2]), _crossing(rises[0], rises[2])
    if to_unsure < to_second:
        return {UNSURE: to_unsure, costs.labels[1]: to_second}
    return {costs.labels[1]: direct}


def _crossing(one: tuple[float, float], two: tuple[float, float]) -> float:
    """Where two costs, each a line over the probability, are the same."""
    (a, slope_a), (b, slope_b) = one, two
    return (b - a) / (slope_a - slope_b) if slope_a != slope_b else float("inf")
