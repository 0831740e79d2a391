"""Names and places for the terms of a score, and the message coloured by them.

The score was computed on bucket numbers. The message is at hand, so each bucket can be given back its name and the
places it was found at. A term is shared evenly over the bytes it covers; the sum over all text plus the prior is again
the log-odds.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priory.features import KINDS, Features, Found
from priory.scoring import Score
from priory.verdict import Evidence, Place, Verdict


def evidence(features: Features, score: Score) -> tuple[Evidence, ...]:
    """Return every feature with its name, term and places, the weightiest first."""
    named = [Evidence("labels:the others", score.others, ())] if score.others else []
    for kind, found in enumerate(features.found):
        start, end = features.offsets[kind], features.offsets[kind + 1]
        named += _kind_evidence(KINDS[kind], found, features.buckets[start:end], score.terms[start:end])
    return tuple(sorted(named, key=lambda e: (-abs(e.term), e.feature)))


def _kind_evidence(
    kind: str, found: tuple[Found, ...], buckets: NDArray[np.uint32], terms: NDArray[np.float64]
) -> list[Evidence]:
    places: list[list[Place]] = [[] for _ in buckets]
    names = [""] * len(buckets)
    for each in found:
        for i, feature in enumerate(np.searchsorted(buckets, each.buckets).tolist()):
            names[feature] = names[feature] or f"{kind}:{each.value(i)}"
            places[feature].append(Place(each.section.name, int(each.starts[i]), int(each.ends[i])))
    return [Evidence(n, float(t), tuple(p)) for n, t, p in zip(names, terms, places, strict=True)]


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


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict with the message it is about: `verdict.prior + Σ section.total = verdict.log_odds`."""

    verdict: Verdict
    sections: tuple[Coloured, ...]


def coloured(features: Features, terms: NDArray[np.float64]) -> tuple[Coloured, ...]:
    """Return the sections that hold evidence, each with its share of the terms."""
    heat: dict[str, NDArray[np.float64]] = {}
    shown: dict[str, bytes] = {}
    for kind, found in enumerate(features.found):
        start, end = features.offsets[kind], features.offsets[kind + 1]
        density = _density(found, features.buckets[start:end], terms[start:end])
        for each, per_byte in zip(found, density, strict=True):
            if len(each.buckets):
                shown[each.section.name] = each.section.shown
                size = len(each.section.shown) + 1
                edges = heat.setdefault(each.section.name, np.zeros(size))
                np.add.at(edges, np.asarray(each.starts), per_byte)
                np.subtract.at(edges, np.asarray(each.ends), per_byte)
    return tuple(_by_character(name, shown[name], np.cumsum(edges)[:-1]) for name, edges in heat.items())


def _density(
    found: tuple[Found, ...], buckets: NDArray[np.uint32], terms: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """What each occurrence adds per byte: the feature's term over all bytes that all its occurrences cover."""
    which = [np.searchsorted(buckets, each.buckets) for each in found]
    lengths = [np.asarray(each.ends) - np.asarray(each.starts) for each in found]
    covered = np.zeros(len(buckets))
    for features, length in zip(which, lengths, strict=True):
        np.add.at(covered, features, length)
    return [terms[features] / covered[features] for features in which]


def _by_character(name: str, shown: bytes, per_byte: NDArray[np.float64]) -> Coloured:
    """Add the bytes of each UTF-8 character together."""
    data = np.frombuffer(shown, np.uint8)
    starts = np.flatnonzero((data & 0xC0) != 0x80)
    return Coloured(name, shown.decode("utf-8", "replace"), np.add.reduceat(per_byte, starts) if len(starts) else per_byte)
