"""Names and places for the terms of a score.

The score was computed on bucket numbers. The message is at hand, so each bucket can be given back its name and the
places it was found at.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from priory.features import KINDS, Features, Found, Numbers
from priory.scoring import Score
from priory.verdict import Evidence, Place, is_readable

OTHERS: Final = "labels:the others"


def evidence(features: Features, score: Score) -> tuple[Evidence, ...]:
    """Return every feature with its name, term and places, the weightiest first."""
    named = [Evidence(OTHERS, score.others, ())] if score.others else []
    terms = score.terms
    for kind, found in enumerate(features.found):
        start, end = features.offsets[kind], features.offsets[kind + 1]
        named += kind_evidence(KINDS[kind], found, features.buckets[start:end], terms[start:end])
    return _sorted(named)


def readable(features: Features, score: Score, most: int) -> tuple[Evidence, ...]:
    """Return the weightiest features that say something to a person: the same as of all, but no others are named."""
    named = [Evidence(OTHERS, score.others, ())] if score.others else []
    terms, offsets = score.terms, features.offsets
    kinds = [i for i, kind in enumerate(KINDS) if is_readable(kind)]
    weights = sorted((abs(term) for i in kinds for term in terms[offsets[i] : offsets[i + 1]]), reverse=True)
    least = weights[most - 1] if len(weights) > most else 0.0
    found = features.found_of(frozenset(KINDS[i] for i in kinds))
    for i in kinds if found else ():
        worth = [at for at in range(offsets[i], offsets[i + 1]) if abs(terms[at]) >= least]
        named += kind_evidence(KINDS[i], found[i], [features.buckets[at] for at in worth], [terms[at] for at in worth])
    return _sorted(named)[:most]


def _sorted(named: list[Evidence]) -> tuple[Evidence, ...]:
    return tuple(sorted(named, key=lambda e: (-abs(e.term), e.feature)))


def kind_evidence(
    kind: str, found: Iterable[Found], buckets: "Sequence[int] | Numbers", terms: Iterable[float]
) -> list[Evidence]:
    """Return what features of one kind, given by their buckets, are called and where they stand."""
    which = {bucket: i for i, bucket in enumerate(buckets)}
    places: list[list[Place]] = [[] for _ in buckets]
    names = [""] * len(buckets)
    for each in found:
        name = each.section.name
        for i, (bucket, start, end) in enumerate(zip(each.buckets, each.starts, each.ends, strict=True)):
            feature = which.get(bucket)
            if feature is None:
                continue
            names[feature] = names[feature] or f"{kind}:{each.value(i)}"
            places[feature].append(Place(name, start, end))
    return [Evidence(n, t, tuple(p)) for n, t, p in zip(names, terms, places, strict=True)]
