"""When a filter may learn a message that no person has taught it.

What it learns so is what it believes already, so there is little to win and, where it is wrong, something to lose:
docs/decisions/autolearn.md has the measurements. Hence the rules. It must be all but certain, by a calibration that is
drawn from enough lessons of people; people keep at least half of the say about every label; and a flood of mail that is
all alike teaches only so much of it a day.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from priory.verdict import Verdict

DAY_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Autolearn:
    """How certain a filter must be of a message to learn it by itself, and how much of that there may be."""

    certainty: float = 0.9999  #: the least probability of the label
    per_day: int = 100  #: messages of each label in 24 hours
    after: int = 200  #: lessons of people of each label that were scored, which calibration is drawn from
    most: float = 1.0  #: automatic lessons of a label for each that people have taught of it


def certain_label(verdict: Verdict, rules: Autolearn) -> str | None:
    """Return the label of a message that could be learned, None if it is not certain enough."""
    if verdict.reason or verdict.label not in verdict.claims:
        return None
    return verdict.label if verdict.claims[verdict.label].probability >= rules.certainty else None


def is_ready(rules: Autolearn, scored: Sequence[int]) -> bool:
    """Tell whether calibration has seen enough lessons of each label.

    >>> is_ready(Autolearn(after=200), scored=[200, 5000]), is_ready(Autolearn(after=200), scored=[199, 5000])
    (True, False)
    """
    return min(scored) >= rules.after


def has_room(rules: Autolearn, by_people: int, automatic: int, today: int) -> bool:
    """Tell whether there may be one more automatic lesson of a label, given how many there are of it.

    >>> has_room(Autolearn(), by_people=300, automatic=299, today=0)
    True
    >>> has_room(Autolearn(), by_people=300, automatic=300, today=0), has_room(Autolearn(), 300, 200, today=100)
    (False, False)
    """
    return automatic < rules.most * by_people and today < rules.per_day
