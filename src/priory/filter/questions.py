"""Chooses the messages to ask a person about: those whose labels would teach most.

The verdict about a message has an expected cost, because it may be wrong, or because *unsure* leaves the work to a
person. A label is worth most where this cost is highest: so unsure messages come first, and of these the ones whose
labels are most evenly probable. Several near-copies of one message would teach the same lesson, so only one of them is
chosen. The workbench measures the same rule (`priory lab replay --teach ask`); docs/decisions/silence.md has figures.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from priory.decision import UNSURE
from priory.features import KINDS, Features
from priory.filter.prepare import Prepared, prepare_parsed
from priory.filter.verdict import Verdict
from priory.message import parse, receipt_time

if TYPE_CHECKING:
    from priory.filter.filter import Filter

#: A verdict is worth a question if it may cost at least this part of what *unsure* costs.
WORTH: Final = 0.5
_LABEL_KEYS: Final = "123456789abcdefgijklmoprtvwxyz"  # without the keys that mean something else: h n q s u
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
    def rank(self) -> tuple[float, float, float]:
        """The expected cost of the verdict, and how probable it is that the most probable label is wrong.

        Of equals, the latest message has the highest rank: a person remembers it best, and more like it may come.
        """
        doubt = 1 - max(self.verdict.probabilities.values())
        return self.verdict.expected_cost, doubt, self.time if math.isfinite(self.time) else -math.inf

    @property
    def received(self) -> datetime | None:
        """The local time of receipt; None if it is unknown, or outside the calendar."""
        try:
            return datetime.fromtimestamp(self.time).astimezone()
        except (ValueError, OverflowError, OSError):
            return None


def is_worth_asking(verdict: Verdict) -> bool:
    """Tell whether a label may teach much: the verdict is *unsure*, or nearly as costly as that."""
    return not verdict.is_untaught and may_teach_much(verdict.label, verdict.expected_costs)


def may_teach_much(decision: str, expected_costs: Mapping[str, float]) -> bool:
    """Tell whether a decision is *unsure*, or nearly as costly as that.

    >>> may_teach_much("spam", {"ham": 9.7, "spam": 3.0, "unsure": 4.0})
    True
    """
    return expected_costs[decision] >= WORTH * expected_costs[UNSURE]


def label_keys(labels: Sequence[str]) -> dict[str, str]:
    """Return the label that each key stands for: h and s for ham and spam alone, otherwise numbers, then letters.

    Labels after the thirtieth have no key.

    >>> label_keys(["ham", "spam"]), label_keys(["ham", "news", "spam"])
    ({'h': 'ham', 's': 'spam'}, {'1': 'ham', '2': 'news', '3': 'spam'})
    """
    keys = "hs" if tuple(labels) == ("ham", "spam") else _LABEL_KEYS
    return dict(zip(keys, labels, strict=False))


def read_questions(
    filter_: "Filter", mail: Iterable[tuple[bytes, str]], user: str = "", oldest: float | None = None
) -> Iterator[Question]:
    """Check messages with their sources; leave out those that a person has taught, or that are too old."""
    for raw, source in mail:
        parsed = parse(raw)
        received = receipt_time(parsed)
        if (oldest is not None and received < oldest) or filter_.taught_by_digest(parsed.digest):
            continue
        message = prepare_parsed(parsed, filter_.spec, filter_.extras)
        yield Question(message, filter_.check(message, user), raw, source, received)


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
