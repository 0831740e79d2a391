"""Chooses the messages to ask a person about: those whose labels would teach most.

The verdict about a message has an expected cost, because it may be wrong, or because *unsure* leaves the work to a
person. A label is worth most where this cost is highest: so unsure messages come first. Several near-copies of one
message would teach the same lesson, so only one of them is chosen. The workbench measures the same rule
(`priory lab replay --teach ask`).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from priory.features import KINDS, Features
from priory.filter.prepare import Prepared
from priory.filter.verdict import Verdict

#: Near-copies share this part of the words and pairs of words that either message has, as in the workbench.
SIMILARITY: Final = 0.8
_TEXT: Final = [KINDS.index(kind) for kind in ("word", "pair")]


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A checked message about which a person may be asked."""

    message: Prepared
    verdict: Verdict
    raw: bytes = b""
    source: str = ""
    time: float = math.nan  #: of receipt, in seconds; NaN if unknown

    @property
    def rank(self) -> tuple[float, float]:
        """The expected cost of the verdict; of equals, the latest message has the highest rank.

        A person remembers it best, and more like it may come.
        """
        return self.verdict.expected_cost, self.time if math.isfinite(self.time) else -math.inf


def choose(candidates: Iterable[Question], most: int) -> list[Question]:
    """Return the questions whose answers would teach most, the first one first, without near-copies.

    The candidates are read once, and only the chosen ones are kept in memory.

    >>> import tempfile
    >>> from priory.filter.filter import Filter
    >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
    ...     for _ in filter.learn_many([(b"Lunch on Friday?", "ham", ""), (b"Cheap pills!", "spam", "")]):
    ...         pass
    ...     mail = [filter.prepare(raw) for raw in (b"Lunch?", b"Pills for lunch", b"Pills for lunch")]
    ...     [question.message == mail[2] for question in choose(map(Question, mail, filter.check_many(mail)), most=1)]
    [False]
    """
    chosen: list[Question] = []
    for candidate in candidates:
        if len(chosen) == most and candidate.rank <= chosen[-1].rank:
            continue
        copies = [question for question in chosen if are_near_copies(question.message, candidate.message)]
        if all(candidate.rank > copy.rank for copy in copies):
            others = [question for question in chosen if question not in copies]
            chosen = sorted([*others, candidate], key=lambda question: question.rank, reverse=True)[:most]
    return chosen


def are_near_copies(one: Prepared, other: Prepared) -> bool:
    """Tell whether two messages are the same, or share nearly all their words and pairs of words."""
    if one.digest == other.digest:
        return True
    text, other_text = _text(one.features), _text(other.features)
    return bool(text and other_text) and len(text & other_text) >= SIMILARITY * len(text | other_text)


def _text(features: Features) -> set[int]:
    buckets, offsets = features.buckets, features.offsets
    return {bucket for kind in _TEXT for bucket in buckets[offsets[kind] : offsets[kind + 1]]}
