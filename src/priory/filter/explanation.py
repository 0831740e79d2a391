"""A message coloured by the terms of its score.

The term of a feature is spread evenly over the bytes that it covers. A feature without a place in the message gets a
line of its own in a last section. The prior plus the sum over all text is again the log-odds.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from priory.features import KINDS, Features, Occurrences
from priory.filter.evidence import kind_evidence, terms_of_no_feature
from priory.filter.scoring import Score
from priory.filter.verdict import Evidence, Verdict

NOWHERE: Final = "nowhere in the message"
SHADES: Final = 6  #: on each side of neutral, on a page


class Span(NamedTuple):
    """A piece of text, its shade, and what it adds to the log-odds."""

    text: str
    shade: int
    total: float


@dataclass(frozen=True, slots=True)
class ColouredSection:
    """A section's text, and what each of its characters adds to the log-odds."""

    name: str
    text: str
    heat: NDArray[np.float64]

    @property
    def total(self) -> float:
        """The sum of the section."""
        return float(self.heat.sum())

    def spans(self, n: int) -> Iterator[Span]:
        """Yield pieces of text with a shade from −n to n; the strongest twentieth has the deepest shade.

        >>> for span in ColouredSection("text", "buy now", np.array([2.0, 2.0, 2.0, 0.0, -1.0, -1.0, -1.0])).spans(2):
        ...     print(tuple(span))
        ('buy', 2, 6.0)
        (' ', 0, 0.0)
        ('now', -1, -3.0)
        """
        scale = float(np.quantile(np.abs(self.heat), 0.95)) or float(np.abs(self.heat).max()) or 1.0
        shades = np.clip(np.round(n * self.heat / scale), -n, n).astype(int)
        starts = np.flatnonzero(np.diff(shades, prepend=n + 1))
        ends = np.append(starts[1:], len(shades))
        totals = np.add.reduceat(self.heat, starts)
        for start, end, total in zip(starts.tolist(), ends.tolist(), totals.tolist(), strict=True):
            yield Span(self.text[start:end], int(shades[start]), total)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict with its coloured message: `verdict.prior + Σ section.total = verdict.log_odds`.

    `verdict.kinds` is the same sum by kind of feature.
    """

    verdict: Verdict
    sections: tuple[ColouredSection, ...]

    @property
    def sums(self) -> list[tuple[str, float]]:
        """The prior and the sum of each section: together the log-odds."""
        return [("prior", self.verdict.prior), *((section.name, section.total) for section in self.sections)]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: the verdict with all evidence, and the message in coloured spans."""
        sections = [
            {
                "name": section.name,
                "sum": section.total,
                "spans": [{"text": s.text, "shade": s.shade, "sum": s.total} for s in section.spans(SHADES)],
            }
            for section in self.sections
        ]
        return {**self.verdict.as_dict(), "sections": sections}


def round_to_sum(prior: float, values: Sequence[float], total: float) -> list[str]:
    """Round prior and values to three digits so that they add up to the rounded total.

    The prior is rounded as usual: it is the same in every sum. The values are rounded down, and those with the largest
    remainders up, until the sum is right (the method of largest remainders).

    >>> round_to_sum(-0.5, [1.0004, 1.0004], 1.5008)
    ['-0.500', '+1.001', '+1.000']
    """
    floors = [math.floor(1000 * value) for value in values]
    lost = [1000 * value - floor for value, floor in zip(values, floors, strict=True)]
    first = _thousandths(prior)
    n_up = _thousandths(total) - first - sum(floors)
    for i in sorted(range(len(values)), key=lambda i: -lost[i])[: max(n_up, 0)]:
        floors[i] += 1
    return [f"{thousandths / 1000:+.3f}" for thousandths in (first, *floors)]


def _thousandths(value: float) -> int:
    return round(1000 * float(f"{value:.3f}"))


def colour(features: Features, score: Score) -> tuple[ColouredSection, ...]:
    """Return the sections of a message that hold evidence, each with its share of the terms."""
    heat: dict[str, NDArray[np.float64]] = {}
    shown: dict[str, bytes] = {}
    nowhere: list[Evidence] = []
    every, all_terms = np.asarray(features.buckets), np.asarray(score.terms)
    for kind, of_kind in enumerate(features.occurrences):
        start, end = features.offsets[kind], features.offsets[kind + 1]
        buckets, terms = every[start:end], all_terms[start:end]
        covered = _covered_bytes(of_kind, buckets)
        for occurrences in of_kind:
            section = occurrences.section
            if len(section.shown) and len(occurrences.buckets):
                shown[section.name] = section.shown
                edges = heat.setdefault(section.name, np.zeros(len(section.shown) + 1))
                which = np.searchsorted(buckets, occurrences.buckets)
                starts, ends = _spans(occurrences)
                np.add.at(edges, starts, terms[which] / covered[which])
                np.subtract.at(edges, ends, terms[which] / covered[which])
        if not covered.all():
            named = kind_evidence(KINDS[kind], of_kind, buckets.tolist(), terms.tolist())
            nowhere += [named[i] for i in np.flatnonzero(covered == 0)]
    nowhere += terms_of_no_feature(score)
    sections = [_by_character(name, shown[name], np.cumsum(edges)[:-1]) for name, edges in heat.items()]
    return (*sections, _section_of_others(nowhere)) if nowhere else tuple(sections)


def _spans(occurrences: Occurrences) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and ends of occurrences; an empty one, such as an empty link, gets a neighbouring byte."""
    starts = np.minimum(np.asarray(occurrences.starts, np.int64), max(len(occurrences.section.shown) - 1, 0))
    ends = np.minimum(np.maximum(np.asarray(occurrences.ends, np.int64), starts + 1), len(occurrences.section.shown))
    return starts, ends


def _covered_bytes(of_kind: tuple[Occurrences, ...], buckets: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Return how many bytes all occurrences of each feature cover together."""
    covered = np.zeros(len(buckets))
    for occurrences in of_kind:
        starts, ends = _spans(occurrences)
        np.add.at(covered, np.searchsorted(buckets, occurrences.buckets), ends - starts)
    return covered


def _by_character(name: str, shown: bytes, per_byte: NDArray[np.float64]) -> ColouredSection:
    """Add up the bytes of each UTF-8 character."""
    data = np.frombuffer(shown, np.uint8)
    starts = np.flatnonzero((data & 0xC0) != 0x80)
    return ColouredSection(name, shown.decode("utf-8", "replace"), np.add.reduceat(per_byte, starts))


def _section_of_others(nowhere: list[Evidence]) -> ColouredSection:
    heat = [np.append(np.full(len(e.feature), e.term / len(e.feature)), 0.0) for e in nowhere]
    return ColouredSection(NOWHERE, "\n".join(e.feature for e in nowhere), np.concatenate(heat)[:-1])
