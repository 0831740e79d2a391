"""A message coloured by the terms of its score.

A term is shared evenly over the bytes it covers; what stands nowhere in the message gets a line of its own in a last
section. The sum over all text plus the prior is again the log-odds.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from priory.evidence import OTHERS, kind_evidence
from priory.features import KINDS, Features, Found
from priory.scoring import Score
from priory.verdict import Evidence, Verdict

NOWHERE: Final = "nowhere in the message"
SHADES: Final = 6  #: on each side, where a page shows them


class Span(NamedTuple):
    """A stretch of text, its shade, and what it adds to the log-odds."""

    text: str
    shade: int
    total: float


@dataclass(frozen=True, slots=True)
class Coloured:
    """A section's text, and what each of its characters adds to the log-odds."""

    name: str
    text: str
    heat: NDArray[np.float64]

    @property
    def total(self) -> float:
        """What the section adds in all."""
        return float(self.heat.sum())

    def spans(self, n: int) -> Iterator[Span]:
        """Yield stretches of text with a shade from −n to n; the strongest twentieth has the deepest.

        >>> for span in Coloured("text", "buy now", np.array([2.0, 2.0, 2.0, 0.0, -1.0, -1.0, -1.0])).spans(2):
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
    """A verdict with the message it is about: `verdict.prior + Σ section.total = verdict.log_odds`.

    The same sum by kind of feature is `verdict.kinds`.
    """

    verdict: Verdict
    sections: tuple[Coloured, ...]

    @property
    def sums(self) -> list[tuple[str, float]]:
        """The prior and what each section adds: together the log-odds."""
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


def added_up(prior: float, values: Sequence[float], total: float) -> list[str]:
    """Return prior and values with three digits that add up to their total as it is shown with three.

    The prior is the same in every sum. Each of the others is rounded up or down: those up that lose most otherwise (the
    method of largest remainders).

    >>> added_up(-0.5, [1.0004, 1.0004], 1.5008)
    ['-0.500', '+1.001', '+1.000']
    """
    floors = [math.floor(1000 * value) for value in values]
    lost = [1000 * value - floor for value, floor in zip(values, floors, strict=True)]
    first = _thousandths(prior)
    n_up = _thousandths(total) - first - sum(floors)
    for i in sorted(range(len(values)), key=lambda i: -lost[i])[: max(n_up, 0)]:
        floors[i] += 1
    return [f"{each / 1000:+.3f}" for each in (first, *floors)]


def _thousandths(value: float) -> int:
    return round(1000 * float(f"{value:.3f}"))


def coloured(features: Features, score: Score) -> tuple[Coloured, ...]:
    """Return the sections that hold evidence, each with its share of the terms."""
    heat: dict[str, NDArray[np.float64]] = {}
    shown: dict[str, bytes] = {}
    nowhere: list[Evidence] = []
    every, all_terms = np.asarray(features.buckets), np.asarray(score.terms)
    for kind, found in enumerate(features.found):
        start, end = features.offsets[kind], features.offsets[kind + 1]
        buckets, terms = every[start:end], all_terms[start:end]
        covered = _covered(found, buckets)
        for each in found:
            if len(each.section.shown) and len(each.buckets):
                shown[each.section.name] = each.section.shown
                edges = heat.setdefault(each.section.name, np.zeros(len(each.section.shown) + 1))
                which = np.searchsorted(buckets, each.buckets)
                starts, ends = _spans(each)
                np.add.at(edges, starts, terms[which] / covered[which])
                np.subtract.at(edges, ends, terms[which] / covered[which])
        if not covered.all():
            named = kind_evidence(KINDS[kind], found, buckets.tolist(), terms.tolist())
            nowhere += [named[i] for i in np.flatnonzero(covered == 0)]
    if score.others:
        nowhere.append(Evidence(OTHERS, score.others, ()))
    sections = [_by_character(name, shown[name], np.cumsum(edges)[:-1]) for name, edges in heat.items()]
    return (*sections, _listed(nowhere)) if nowhere else tuple(sections)


def _spans(found: Found) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each occurrence begins and ends; one that is empty, such as a link to nowhere, takes the byte beside it."""
    starts = np.minimum(np.asarray(found.starts, np.int64), max(len(found.section.shown) - 1, 0))
    ends = np.minimum(np.maximum(np.asarray(found.ends, np.int64), starts + 1), len(found.section.shown))
    return starts, ends


def _covered(found: tuple[Found, ...], buckets: NDArray[np.uint32]) -> NDArray[np.float64]:
    """How many bytes all occurrences of each feature cover together."""
    covered = np.zeros(len(buckets))
    for each in found:
        starts, ends = _spans(each)
        np.add.at(covered, np.searchsorted(buckets, each.buckets), ends - starts)
    return covered


def _by_character(name: str, shown: bytes, per_byte: NDArray[np.float64]) -> Coloured:
    """Add the bytes of each UTF-8 character together."""
    data = np.frombuffer(shown, np.uint8)
    starts = np.flatnonzero((data & 0xC0) != 0x80)
    return Coloured(name, shown.decode("utf-8", "replace"), np.add.reduceat(per_byte, starts))


def _listed(nowhere: list[Evidence]) -> Coloured:
    heat = [np.append(np.full(len(e.feature), e.term / len(e.feature)), 0.0) for e in nowhere]
    return Coloured(NOWHERE, "\n".join(e.feature for e in nowhere), np.concatenate(heat)[:-1])
