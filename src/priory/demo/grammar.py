"""Draws sentences from templates with slots, so that no two letters read the same.

A template is plain text with braces: `{bill|statement}` draws one of the words, `{month}` draws one entry of the slot
of that name. Words and entries may contain braces themselves. All randomness comes from `Random.random`, whose sequence
Python guarantees, so a seed draws the same text on every version.
"""

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from random import Random
from typing import Generic, TypeVar

T = TypeVar("T")
Slots = Mapping[str, Sequence[str]]
Piece = tuple[str | tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class Categorical(Generic[T]):
    """A distribution over a few values: one row of the generative model's tables.

    >>> label = odds(("ham", 3), ("spam", 1))
    >>> label.draw(Random(1)), label.draw(Random(2))
    ('ham', 'spam')
    """

    values: tuple[T, ...]
    cumulative: tuple[float, ...]

    def draw(self, rng: Random) -> T:
        """Draw one value, with probability in proportion to its weight."""
        place = bisect(self.cumulative, rng.random() * self.cumulative[-1], hi=len(self.values) - 1)
        return self.values[place]


def odds(*weighted: tuple[T, float]) -> Categorical[T]:
    """Give each value its weight; weights need not add up to one."""
    values, weights = zip(*weighted, strict=True)
    return Categorical(values, tuple(accumulate(weights)))


def pick(values: Sequence[T], rng: Random) -> T:
    """Draw one of the values, all equally likely."""
    return values[int(rng.random() * len(values))]


def between(low: int, high: int, rng: Random) -> int:
    """Draw a whole number from low to high, both included."""
    return low + int(rng.random() * (high - low + 1))


def subset(values: Sequence[T], size: int, rng: Random) -> list[T]:
    """Draw `size` of the values and keep their order.

    Selection sampling (Knuth, The Art of Computer Programming, volume 2, algorithm 3.4.2 S).

    >>> subset(["hello", "the bill", "is due", "regards"], 2, Random(1))
    ['hello', 'regards']
    """
    chosen: list[T] = []
    for place, value in enumerate(values):
        if rng.random() * (len(values) - place) < size - len(chosen):
            chosen.append(value)
    return chosen


def entries(line: str) -> tuple[str, ...]:
    """Split a slot into its entries, which are separated by bars.

    >>> entries("invoice|{final|first} bill of {month}")
    ('invoice', '{final|first} bill of {month}')
    """
    texts = [""]
    depth = 0
    for sign in line:
        depth += (sign == "{") - (sign == "}")
        if sign == "|" and depth == 0:
            texts.append("")
        else:
            texts[-1] += sign
    return tuple(texts)


@cache
def pieces(template: str) -> tuple[str, tuple[Piece, ...]]:
    """Cut a template at its outer braces: the first literal, then each choice with the literal after it.

    >>> pieces("Your {bill|fee} for {month}.")
    ('Your ', ((('bill', 'fee'), ' for '), ('month', '.')))
    """
    texts = [""]  # literals and the insides of braces, in turn
    depth = 0
    for sign in template:
        outside = depth
        depth += (sign == "{") - (sign == "}")
        if depth + outside == 1:
            texts.append("")
        else:
            texts[-1] += sign
    choices = (entries(inside) if "|" in inside else inside for inside in texts[1::2])
    return texts[0], tuple(zip(choices, texts[2::2], strict=True))


def fill(template: str, slots: Slots, rng: Random) -> str:
    """Replace every brace of the template by a drawn text.

    >>> fill("Your {bill|statement} for {month} is here.", {"month": ("May", "June")}, Random(1))
    'Your bill for June is here.'
    """
    first, rest = pieces(template)
    text = [first]
    for choice, literal in rest:
        drawn = pick(slots[choice] if isinstance(choice, str) else choice, rng)
        text.append(fill(drawn, slots, rng) if "{" in drawn else drawn)
        text.append(literal)
    return "".join(text)


def sentence(template: str, slots: Slots, rng: Random) -> str:
    """Fill the template and capitalise its first letter."""
    text = fill(template, slots, rng)
    return text[:1].upper() + text[1:]
