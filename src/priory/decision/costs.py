"""Decide from the probability of each label and the cost of each mistake.

The expected cost of saying label j is Σ_i p_i · cost[j][i]: the cheapest is chosen. Saying *unsure* has its own cost,
so it is chosen exactly when every label would cost more.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from operator import mul
from typing import Final

LARGEST: Final = 1e100  #: largest cost that is accepted; sums and ratios of larger ones may overflow
UNSURE: Final = "unsure"
_EXACT: Final = 1 << 53  # floats represent whole numbers exactly up to here


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of saying a label when another is true, and of saying *unsure*.

    `matrix[said][true]`; a correct label costs nothing. Priory's defaults: a lost ham 100, a missed spam 10, *unsure*
    4.
    """

    labels: tuple[str, ...] = ("ham", "spam")
    matrix: tuple[tuple[float, ...], ...] = ((0, 10), (100, 0))
    unsure: float = 4

    def expected(self, probabilities: Sequence[float]) -> dict[str, float]:
        """Return the expected cost of each answer.

        >>> Costs().expected([0.5, 0.5])
        {'ham': 5.0, 'spam': 50.0, 'unsure': 4}
        """
        if len(probabilities) != len(self.labels):
            raise ValueError(f"{len(probabilities)} probabilities for {len(self.labels)} labels")
        expected_costs = {
            label: sum(map(mul, row, probabilities)) for label, row in zip(self.labels, self.matrix, strict=True)
        }
        expected_costs[UNSURE] = self.unsure
        return expected_costs

    def as_configured(self) -> dict[str, dict[str, float] | float]:
        """Return plain values as in the configuration: for each answer, the cost of each other true label.

        >>> Costs().as_configured()
        {'ham': {'spam': 10}, 'spam': {'ham': 100}, 'unsure': 4}
        """
        rows = {
            answer: {true: cost for true, cost in zip(self.labels, row, strict=True) if true != answer}
            for answer, row in zip(self.labels, self.matrix, strict=True)
        }
        return {**rows, UNSURE: self.unsure}

    def with_prices(self, price: Callable[[str, str, float], float], unsure: float) -> "Costs":
        """Return other costs: `price(said, true, cost)` gives the new cost of each mistake.

        >>> Costs().with_prices(lambda said, true, cost: 2.0 * cost, unsure=2.5)
        Costs(labels=('ham', 'spam'), matrix=((0, 20), (200, 0)), unsure=2.5)
        """
        rows = zip(self.labels, self.matrix, strict=True)
        matrix = (
            (
                cost if answer == true else _plain(price(answer, true, cost))
                for true, cost in zip(self.labels, row, strict=True)
            )
            for answer, row in rows
        )
        return Costs(self.labels, tuple(map(tuple, matrix)), _plain(unsure))


def decide(probabilities: Sequence[float], costs: Costs) -> str:
    """Return the cheapest answer; of equally cheap ones *unsure*, then the first label.

    >>> decide([0.1, 0.9], Costs(unsure=1000))   # most likely spam, but losing a ham is dear
    'ham'
    >>> decide([0.01, 0.99], Costs())
    'spam'
    """
    return cheapest(costs.expected(probabilities))


def cheapest(expected: Mapping[str, float]) -> str:
    """Return the answer with the least expected cost; of equals *unsure*, then the first label."""
    least = min(expected.values())
    return UNSURE if expected[UNSURE] == least else next(answer for answer, cost in expected.items() if cost == least)


def thresholds(costs: Costs) -> Mapping[str, float]:
    """Return, for two labels, the probability of the second from which on each answer is given; 1 if it never is.

    Each cost is a line over the probability, so the answer can change only where two lines cross.

    >>> thresholds(Costs())
    {'unsure': 0.4, 'spam': 0.96}
    >>> thresholds(Costs(unsure=100)) == {"spam": 100 / 110}
    True
    """
    if len(costs.labels) != 2:
        return {}
    first, second = costs.labels
    begins: dict[str, float] = {}
    for begin, end in pairwise(edges([*costs.matrix, (costs.unsure, costs.unsure)])):
        middle = (begin + end) / 2
        begins.setdefault(decide([1 - middle, middle], costs), begin)
    begins.setdefault(second, 1)
    return {answer: begin for answer, begin in begins.items() if answer != first}


def edges(rows: Sequence[Sequence[float]], begin: float = 0) -> list[float]:
    """Return the probabilities of the second of two labels, up to 1, between which the order of the costs is the same.

    Each row holds the cost of an answer if the first label is true, and if the second is.

    >>> edges([(0, 10), (100, 0), (4, 4)])
    [0, 0.4, 0.9090909090909091, 0.96, 1]
    """
    lines = [(row[0], row[1] - row[0]) for row in rows]
    crossings = {_intersection(one, two) for one, two in combinations(lines, 2)}
    return sorted({begin, 1} | {p for p in crossings if begin < p < 1})


def _intersection(one: tuple[float, float], two: tuple[float, float]) -> float:
    """Return where two lines (value at 0, slope) cross; infinity for parallel lines."""
    (a, slope_a), (b, slope_b) = one, two
    return (b - a) / (slope_a - slope_b) if slope_a != slope_b else math.inf


def _plain(cost: float) -> float:
    """Return a whole number as an int."""
    return int(cost) if float(cost).is_integer() and cost < _EXACT else cost
