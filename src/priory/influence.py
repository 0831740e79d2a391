"""How much one person may teach everyone.

A lesson counts for everyone, but where many teach who do not know each other, one who teaches wrongly, or far more than
all others, must not decide for them. So a person's lessons beyond a bound count for that person alone. It is decided
when a lesson is learned and stays in its row: forgetting, joining journals and building the counts anew are exact.
"""

from typing import Final

FEW: Final = 20  #: Fewer others than these, a family or an office, know each other: there is no bound.
TIMES: Final = 2  #: Anybody may teach everyone so many times what the others have taught on average;
ONE_IN: Final = 50  #: or a lesson for so many of the others together,
MOST: Final = 1_000  #: up to this;
LEAST: Final = 20  #: but this in any case.


def room(own: int, others: int, of_others: int) -> int | None:
    """Return how many more lessons of a person may count for everyone; None: as many as there are.

    The person has taught `own` lessons that do, so many `others` have taught, and `of_others` lessons are not the
    person's; those under no name are among them.

    >>> room(own=5000, others=3, of_others=200) is None
    True
    >>> [room(own=15, others=1_000, of_others=n) for n in (1_000, 50_000, 900_000)]
    [5, 985, 1785]
    """
    if others < FEW:
        return None
    bound = max(LEAST, min(of_others // ONE_IN, MOST), TIMES * of_others // others)
    return max(bound - own, 0)
