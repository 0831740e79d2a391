"""Names and places for the terms of a score.

The score was computed on bucket numbers. The message is at hand, so each bucket can be given back its name and the
places it was found at.
"""

from collections.abc import Iterable
from typing import Final

from priory.features import KINDS, Features, Found, Numbers
from priory.scoring import Score
from priory.verdict import Evidence, Place

OTHERS: Final = "labels:the others"


def evidence(features: Features, score: Score) -> tuple[Evidence, ...]:
    """Return every feature with its name, term and places, the weightiest first."""
    named = [Evidence(OTHERS, score.others, ())] if score.others else []
    terms = score.terms
    for kind, found in enumerate(features.found):
        start, end = features.offsets[kind], features.offsets[kind + 1]
        named += kind_evidence(KINDS[kind], found, features.buckets[start:end], terms[start:end])
    return tuple(sorted(named, key=lambda e: (-abs(e.term), e.feature)))


def kind_evidence(kind: str, found: Iterable[Found], buckets: Numbers, terms: Iterable[float]) -> list[Evidence]:
    """Return the features of one kind, in the order of their buckets."""
    which = {bucket: i for i, bucket in enumerate(buckets)}
    places: list[list[Place]] = [[] for _ in buckets]
    names = [""] * len(buckets)
    for each in found:
        name = each.section.name
        for i, (bucket, start, end) in enumerate(zip(each.buckets, each.starts, each.ends, strict=True)):
            feature = which[bucket]
            names[feature] = names[feature] or f"{kind}:{each.value(i)}"
            places[feature].append(Place(name, start, end))
    return [Evidence(n, t, tuple(p)) for n, t, p in zip(names, terms, places, strict=True)]
