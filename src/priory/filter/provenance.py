"""Tells whether the mail of two labels was collected in different places.

The headers of a message say where it was delivered and by which programs, whatever it is about. If all spam comes from
a public collection and all ham from an inbox, these words predict the labels perfectly, and new spam, which is
delivered to the inbox, looks like ham. In a mailbox ham and spam have passed the same servers.

So two groups of lessons come from different places if both conditions hold:

- Each has a signature: three header words that hardly any lesson of the other group has, so chosen that nine in ten of
  its own lessons have at least one of them.
- They have nothing in common: no header word is in 40 % of both.

Dates and the ordinary vocabulary of headers do not count. A group with few senders cannot be judged, because the same
words in all of its headers may be theirs. docs/decisions/provenance.md has the measurements.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from os.path import commonprefix
from typing import Any, Final, NamedTuple

from priory.features import Features, unpack_features
from priory.filter.counts import JournalCounts
from priory.filter.header_vocabulary import HEADER, month_buckets, ordinary_buckets
from priory.filter.sync import Sync
from priory.journal import Journal

SAMPLE: Final = 300  #: lessons of each label that are compared
FEWEST: Final = 50  #: lessons of a group that can be judged
FEWEST_SENDERS: Final = 10  #: of a group that can be judged
N_WORDS: Final = 3  #: of a signature
SIGNED: Final = 0.9
ELSEWHERE: Final = 0.01  #: a word in a larger share of the other group belongs to no signature
COMMON: Final = 0.4
_TRIMMED: Final = 0.05  # of the months at both ends: some dates are forged


class LessonTrace(NamedTuple):
    """What tells where the mail of a lesson comes from."""

    label: str
    sender: str  #: the domain
    source: str  #: the file or folder
    headers: Sequence[int]  #: the buckets of its header words


class MailOrigin(NamedTuple):
    """Where the mail of some labels comes from."""

    labels: tuple[str, ...]
    since: str  #: the month from which on it was received, such as 2026-11; empty if unknown
    until: str
    folder: str  #: the folder of its sources, if they have one
    signed: float  #: the share of its lessons with its signature

    def __str__(self) -> str:
        """Return the labels, the months and the folder in words.

        >>> str(MailOrigin(("spam",), "2007-04", "2007-06", "/data/trec07p", 1.0))
        'spam: received 2007-04 to 2007-06, from /data/trec07p'
        """
        months = self.since if self.since == self.until else f"{self.since} to {self.until}"
        parts = [f"received {months}"] if self.since else []
        parts += [f"from {self.folder}"] if self.folder else []
        return f"{' and '.join(self.labels)}: {', '.join(parts) or 'unknown'}"


class OriginGap(NamedTuple):
    """Two groups of lessons that come from different places."""

    one: MailOrigin
    other: MailOrigin

    @property
    def finding(self) -> str:
        """The difference and the two origins, in words."""
        one, other = (" and ".join(origin.labels) for origin in self)
        least = int(100 * min(self.one.signed, self.other.signed))
        return (
            f"{one} comes from another place than {other}: headers alone, without dates, tell {least} % of it apart. "
            f"{self.one}; {self.other}."
        )

    @property
    def advice(self) -> str:
        """The consequence and the remedy, in words."""
        return (
            "The filter learns to recognise the place, so new mail gets the label of the place where it arrives. Teach "
            "mail of all labels that was sent to the same people, and take back the rest: priory forget --source FOLDER"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"finding": self.finding, "advice": self.advice, "origins": [self.one._asdict(), self.other._asdict()]}


class Provenance:
    """Where the lessons of a filter come from; computed again when lessons were learned or forgotten."""

    def __init__(self, counts: JournalCounts, sync: Sync) -> None:
        self._counts = counts
        self._sync = sync
        self._gap: tuple[int, OriginGap | None] | None = None  # with the generation of the counts

    def gap(self) -> OriginGap | None:
        """Return the gap between the origins of the labels; None if there is none, or there are few lessons."""
        counts, journal = self._counts, self._counts.journal
        self._sync.refresh()
        if self._gap is None or self._gap[0] != counts.generation:
            self._gap = counts.generation, origin_gap(sampled_traces(journal), journal.bits)
        return self._gap[1]


def sampled_traces(journal: Journal) -> list[LessonTrace]:
    """Return the traces of a sample of the lessons in a journal; its size makes no difference to the time."""
    return [
        LessonTrace(
            lesson.label,
            lesson.sender,
            lesson.source,
            header_buckets(unpack_features(lesson.features, journal.bits), journal.bits),
        )
        for lesson in journal.queries.sample(SAMPLE)
    ]


def header_buckets(features: Features, bits: int) -> Sequence[int]:
    """Return the buckets, of 2^bits, of the header words of a message."""
    extra = features.extra_bits(bits)
    return [number >> extra for number in features.buckets[features.offsets[HEADER] : features.offsets[HEADER + 1]]]


def origin_gap(traces: Sequence[LessonTrace], bits: int) -> OriginGap | None:
    """Return the gap between a label and the others, if they come from different places.

    >>> origin_gap([], 22) is None
    True
    """
    labels = sorted({trace.label for trace in traces})
    for label in labels[:1] if len(labels) == 2 else labels:
        one = [trace for trace in traces if trace.label == label]
        other = [trace for trace in traces if trace.label != label]
        if _can_be_judged(one) and _can_be_judged(other):
            found = contrast(one, other, bits)
            if found.is_gap:
                return OriginGap(_origin(one, found.one_signed, bits), _origin(other, found.other_signed, bits))
    return None


def gap_lines(traces: Sequence[LessonTrace], bits: int) -> list[str]:
    """Return a line about the gap between the origins of the labels, for a report; nothing if there is none."""
    gap = origin_gap(traces, bits)
    return [f"{gap.finding} The figures say how well the places are told apart, not ham from spam."] if gap else []


def _can_be_judged(group: Sequence[LessonTrace]) -> bool:
    return len(group) >= FEWEST and len({trace.sender for trace in group}) >= FEWEST_SENDERS


class Contrast(NamedTuple):
    """What two groups of lessons have in common, and what tells each from the other."""

    common: float  #: the share of both groups that has the same word
    one_signed: float  #: the share of a group that has its signature
    other_signed: float

    @property
    def is_gap(self) -> bool:
        """Whether the groups come from different places."""
        return self.common < COMMON and min(self.one_signed, self.other_signed) >= SIGNED


def contrast(one: Sequence[LessonTrace], other: Sequence[LessonTrace], bits: int) -> Contrast:
    """Compare the header words of two groups of lessons."""
    ordinary = ordinary_buckets(bits)
    one_words, other_words = ([set(trace.headers) - ordinary for trace in group] for group in (one, other))
    in_one, in_other = (Counter(word for words in group for word in words) for group in (one_words, other_words))
    common = max((min(n / len(one), in_other[word] / len(other)) for word, n in in_one.items()), default=0.0)
    return Contrast(
        common, _signed_share(one_words, in_other, len(other)), _signed_share(other_words, in_one, len(one))
    )


def _signed_share(group: Sequence[set[int]], elsewhere: Mapping[int, int], n_elsewhere: int) -> float:
    """Return the share of a group that has one of a few words, each the most frequent in the rest of the group."""
    most = ELSEWHERE * n_elsewhere
    unsigned = [{word for word in words if elsewhere.get(word, 0) <= most} for words in group]
    for _ in range(N_WORDS):
        frequent = Counter(word for words in unsigned for word in words).most_common(1)
        unsigned = [words for words in unsigned if not frequent or frequent[0][0] not in words]
    return 1 - len(unsigned) / len(group)


def _origin(group: Sequence[LessonTrace], signed: float, bits: int) -> MailOrigin:
    months = sorted(month for trace in group if (month := _month(trace.headers, bits)))
    trimmed = int(_TRIMMED * len(months))
    since, until = (months[trimmed], months[-1 - trimmed]) if months else ("", "")
    return MailOrigin(tuple(sorted({trace.label for trace in group})), since, until, _folder(group), signed)


def _folder(group: Sequence[LessonTrace]) -> str:
    """Return the folder or file in which all sources are; empty if there is none."""
    # Sources need not be paths, and `priory forget --source` takes any beginning.
    common = commonprefix([trace.source for trace in group])  # noqa: RUF071
    return re.sub(r"[/:]?[^/:]*$", "", common)


def _month(headers: Sequence[int], bits: int) -> str:
    """Return the month in which a message was received, or that of its date; empty if neither is known."""
    for months in month_buckets(bits):
        if found := [months[bucket] for bucket in headers if bucket in months]:
            return max(found)
    return ""
