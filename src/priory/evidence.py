"""Names and places for the terms of a score.

The score was computed on bucket numbers. The message is at hand, so each bucket can be given back its name and the
places it was found at.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from priory.features import KINDS, Features, Found
from priory.scoring import Score
from priory.verdict import Evidence, Kind, Place, is_readable, sums

OTHERS: Final = "labels:the others"


def evidence(features: Features, score: Score) -> tuple[Evidence, ...]:
    """Return every feature with its name, term and places, the weightiest first."""
    named = [Evidence(OTHERS, score.others, ())] if score.others else []
    terms = score.terms
    for kind, found in enumerate(features.found):
        start, end = features.offsets[kind], features.offsets[kind + 1]
        named += kind_evidence(KINDS[kind], found, features.buckets[start:end].tolist(), terms[start:end])
    return _weightiest_first(named)


def readable(features: Features, score: Score, most: int) -> tuple[Evidence, ...]:
    """Return the weightiest features that say something to a person: those of `evidence`, but no others are named."""
    return _weightiest(features, score, most, frozenset(filter(is_readable, KINDS)))


def weighed(features: Features, score: Score, most: int) -> tuple[tuple[Evidence, ...], tuple[Kind, ...]]:
    """Return the weightiest features, of which alone the names are looked for, and what all of each kind add."""
    offsets = features.offsets
    terms = {kind: score.terms[offsets[i] : offsets[i + 1]] for i, kind in enumerate(KINDS)}
    others = {OTHERS.partition(":")[0]: [score.others]} if score.others else {}
    return _weightiest(features, score, most, frozenset(KINDS)), sums({**others, **terms})


def _weightiest(features: Features, score: Score, most: int, kinds: frozenset[str]) -> tuple[Evidence, ...]:
    named = [Evidence(OTHERS, score.others, ())] if score.others else []
    terms = score.terms
    spans = [range(*features.offsets[i : i + 2]) if kind in kinds else range(0) for i, kind in enumerate(KINDS)]
    weights = sorted((abs(terms[i]) for span in spans for i in span), reverse=True)
    least = weights[most - 1] if len(weights) > most else 0.0
    for kind, found in enumerate(features.found_of(kinds)):
        worth = [i for i in spans[kind] if abs(terms[i]) >= least]
        buckets = [features.buckets[i] for i in worth]
        named += kind_evidence(KINDS[kind], found, buckets, [terms[i] for i in worth])
    return _weightiest_first(named)[:most]


def kind_evidence(kind: str, found: Iterable[Found], buckets: Sequence[int], terms: Iterable[float]) -> list[Evidence]:
    """Return these features of one kind, in the order of their buckets."""
    which = {bucket: i for i, bucket in enumerate(buckets)}
    places: list[list[Place]] = [[] for _ in buckets]
    names = [""] * len(buckets)
    for each in found:
        name = each.section.name
        for i, bucket in enumerate(each.buckets):
            feature = which.get(bucket)
            if feature is not None:
                names[feature] = names[feature] or f"{kind}:{each.value(i)}"
                places[feature].append(Place(name, int(each.starts[i]), int(each.ends[i])))
    return [Evidence(n, float(t), tuple(p)) for n, t, p in zip(names, terms, places, strict=True)]


def _weightiest_first(named: list[Evidence]) -> tuple[Evidence, ...]:
    return tuple(sorted(named, key=lambda e: (-abs(e.term), e.feature)))
