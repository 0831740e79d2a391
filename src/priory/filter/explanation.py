"""A message coloured by the shares of its places.

Whole words, phrases, headers, links and tags have one colour each. What is nowhere in the message gets a line of its
own in a last section. The prior plus the sum over all text is again the log-odds.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

from priory.filter.excerpt import Excerpt
from priory.filter.reasons import CountedFeature, VerdictReason
from priory.filter.verdict import Verdict
from priory.message import Message

NOWHERE: Final = "nowhere in the message"
SHADES: Final = 6  #: on each side of neutral, on a page
DEEPEST: Final = 0.95  #: the part of the pieces that are not in the deepest shade
_MOST_ITEMS: Final = 8  # of a reason
_ORDER: Final = ("headers", "text", "links", "attachments", "sender", "facts", "part headers", "source", "markup")


class Span(NamedTuple):
    """A piece of text, its shade, what it adds to the log-odds, and its item."""

    text: str
    shade: int
    total: float
    item: int  #: as `Item.number`; -1 between two words


class ColouredPiece(NamedTuple):
    """A piece of a section that has one colour, its share of the log-odds (0 between two words), and its item."""

    text: str
    share: float
    item: int = -1  #: as `Item.number`; -1 between two words


@dataclass(frozen=True, slots=True)
class ColouredSection:
    """A section's text in pieces, with what each adds to the log-odds."""

    name: str
    pieces: tuple[ColouredPiece, ...]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def total(self) -> float:
        """The sum of the section."""
        return math.fsum(piece.share for piece in self.pieces)

    def spans(self, n: int) -> Iterator[Span]:
        """Yield pieces of text with a shade from −n to n, by their shares; the strongest twentieth is deepest.

        >>> pieces = ColouredPiece("buy", 6.0), ColouredPiece(" ", 0.0), ColouredPiece("now", -3.0)
        >>> [tuple(span) for span in ColouredSection("text", pieces).spans(2)]
        [('buy', 2, 6.0, -1), (' ', 0, 0.0, -1), ('now', -1, -3.0, -1)]
        """
        scale = _scale(self.pieces)
        for text, share, item in self.pieces:
            yield Span(text, max(-n, min(round(n * share / scale), n)), share, item)


def _scale(pieces: Sequence[ColouredPiece]) -> float:
    """Return the share that a twentieth of the coloured pieces exceeds, or else the largest."""
    sizes = sorted(abs(piece.share) for piece in pieces if piece.share)
    return sizes[min(int(DEEPEST * len(sizes)), len(sizes) - 1)] if sizes else 1.0


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict with its coloured message: `verdict.prior + Σ section.total = verdict.log_odds`.

    `verdict.kinds` is the same sum by kind of feature, and `reasons` by what a person can see.
    """

    verdict: Verdict
    message: Message
    sections: tuple[ColouredSection, ...]
    excerpt: Excerpt
    #: for and against the label `about`, the weightiest first, with more items than a verdict lists
    reasons: tuple[VerdictReason, ...]

    @classmethod
    def of(cls, verdict: Verdict, message: Message) -> Self:
        """Return the explanation of the verdict on a message."""
        reasons = verdict.claims[verdict.about].attribution.reasons(_MOST_ITEMS, every=True)
        return cls(verdict, message, colour(verdict), Excerpt.of(message), tuple(reasons))

    def with_since(self, since: Mapping[CountedFeature, float]) -> Self:
        """Return the explanation with the times since when lessons had the items of its reasons."""
        return replace(self, reasons=tuple([reason.with_since(since) for reason in self.reasons]))

    @property
    def sums(self) -> list[tuple[str, float]]:
        """The prior and the sum of each section: together the log-odds."""
        return [("prior", self.verdict.prior), *((section.name, section.total) for section in self.sections)]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: the verdict with all evidence, and the message in coloured spans."""
        verdict, labels = self.verdict, tuple(self.verdict.claims)
        sections = [
            {
                "name": section.name,
                "sum": section.total,
                "spans": [{"text": s.text, "shade": s.shade, "sum": s.total} for s in section.spans(SHADES)],
            }
            for section in self.sections
        ]
        evidence = [
            {"feature": e.feature, "term": e.term, "places": [[p.section, p.start, p.end] for p in e.places]}
            for e in verdict.evidence
        ]
        return {
            **verdict.as_dict(),
            "reasons": [reason.as_dict(labels) for reason in self.reasons if reason.share > 0],
            "against": [reason.as_dict(labels) for reason in self.reasons if reason.share <= 0],
            "kinds": {kind.name: {"features": kind.n_features, "sum": kind.total} for kind in verdict.kinds},
            "evidence": evidence,
            "sections": sections,
        }


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


def colour(verdict: Verdict) -> tuple[ColouredSection, ...]:
    """Return the sections of a message that hold evidence, each in pieces with their shares."""
    attribution = verdict.claims[verdict.about].attribution
    places = attribution.places
    by_section: list[list[tuple[int, int, float, int]]] = [[] for _ in places.sections]
    for section, first, last, share, item in places.pieces:
        by_section[section].append((first, last, share, item))
    sections = [
        ColouredSection(section.name, tuple(_pieces(section.shown, placed)))
        for section, placed in zip(places.sections, by_section, strict=True)
        if placed
    ]
    sections.sort(key=lambda section: _ORDER.index(section.name))
    others = [
        ColouredPiece(f"{item.text}\n", item.share)
        for reason in attribution.without_place(len(places.nowhere))
        for item in reason.items
    ]
    if others:
        others[-1] = ColouredPiece(others[-1].text.rstrip("\n"), others[-1].share)
        sections.append(ColouredSection(NOWHERE, tuple(others)))
    return tuple(sections)


def _pieces(shown: bytes, placed: list[tuple[int, int, float, int]]) -> Iterator[ColouredPiece]:
    """Yield the whole text of a section: the places with their shares, and what stands between them."""
    end = 0
    for first, last, share, item in placed:
        if first > end:
            yield ColouredPiece(shown[end:first].decode("utf-8", "replace"), 0.0)
        yield ColouredPiece(shown[first:last].decode("utf-8", "replace"), share, item)
        end = last
    if end < len(shown):
        yield ColouredPiece(shown[end:].decode("utf-8", "replace"), 0.0)
