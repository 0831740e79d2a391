"""Names and places of the features behind a score.

A score is computed on bucket numbers. The features of the message still know which text fell into which bucket, so each
bucket gets back its name and the places where it occurs.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from priory.features import KINDS, Features, Occurrences
from priory.features.places import kind_totals
from priory.filter.scoring import Score
from priory.filter.verdict import RULE, UNFAMILIAR, Evidence, Kind, Place, is_readable

OTHERS: Final = "labels:the others"
FAMILIARITY: Final = f"familiarity:{UNFAMILIAR}"


def evidence(features: Features, score: Score) -> tuple[Evidence, ...]:
    """Return every feature with its name, term and places, the weightiest first."""
    named = terms_of_no_feature(score)
    terms = score.terms
    for kind, of_kind in enumerate(features.occurrences):
        start, end = features.offsets[kind], features.offsets[kind + 1]
        named += kind_evidence(KINDS[kind], of_kind, features.buckets[start:end].tolist(), terms[start:end])
    return _weightiest_first(named)


def readable(features: Features, score: Score, most: int) -> tuple[Evidence, ...]:
    """Return the weightiest features of `evidence` that a person can read; only these are looked up."""
    return _weightiest(features, score, most, frozenset(filter(is_readable, KINDS)))


def kind_sums(features: Features, score: Score) -> tuple[Kind, ...]:
    """Return what each kind of feature adds, the weightiest first, without kinds that have no features."""
    offsets = features.offsets
    extras: dict[str, list[float]] = {}
    for extra in terms_of_no_feature(score):
        extras.setdefault(extra.kind, []).append(extra.term)
    kinds = [Kind(kind, len(of_kind), math.fsum(of_kind)) for kind, of_kind in extras.items()]
    for i, total in enumerate(kind_totals(score.of_contrast, offsets, score.sign)):
        if offsets[i] < offsets[i + 1]:
            kinds.append(Kind(KINDS[i], offsets[i + 1] - offsets[i], total))
    kinds.sort(key=lambda kind: (-abs(kind.total), kind.name))
    return tuple(kinds)


def terms_of_no_feature(score: Score) -> list[Evidence]:
    """Return the terms of a score that belong to no feature: rules, familiarity and the share of the other labels."""
    terms = {FAMILIARITY: score.familiarity, OTHERS: score.others}
    rules = [Evidence(f"{RULE}:{name}", term, places) for name, term, places in (*score.rules, *score.ignored)]
    return [*rules, *(Evidence(name, term, ()) for name, term in terms.items() if term)]


def _weightiest(features: Features, score: Score, most: int, kinds: frozenset[str]) -> tuple[Evidence, ...]:
    named = terms_of_no_feature(score)
    terms = score.terms
    spans = [range(*features.offsets[i : i + 2]) if kind in kinds else range(0) for i, kind in enumerate(KINDS)]
    weights = sorted((abs(terms[i]) for span in spans for i in span), reverse=True)
    least = weights[most - 1] if len(weights) > most else 0.0
    for kind, of_kind in enumerate(features.occurrences_of(kinds)):
        worth = [i for i in spans[kind] if abs(terms[i]) >= least]
        buckets = [features.buckets[i] for i in worth]
        named += kind_evidence(KINDS[kind], of_kind, buckets, [terms[i] for i in worth])
    rules = [each for each in named if each.kind == RULE]  # no rule is silent, however little it adds
    others = _weightiest_first([each for each in named if each.kind != RULE])
    return _weightiest_first([*rules, *others[: max(most - len(rules), 0)]])


def kind_evidence(
    kind: str, of_kind: Iterable[Occurrences], buckets: Sequence[int], terms: Iterable[float]
) -> list[Evidence]:
    """Return these features of one kind, in the order of their buckets."""
    which = {bucket: i for i, bucket in enumerate(buckets)}
    places: list[list[Place]] = [[] for _ in buckets]
    names = [""] * len(buckets)
    for occurrences in of_kind:
        section = occurrences.section.name
        for i, bucket in enumerate(occurrences.buckets):
            feature = which.get(bucket)
            if feature is not None:
                names[feature] = names[feature] or f"{kind}:{occurrences.value(i)}"
                places[feature].append(Place(section, int(occurrences.starts[i]), int(occurrences.ends[i])))
    return [Evidence(n, float(t), tuple(p)) for n, t, p in zip(names, terms, places, strict=True)]


def _weightiest_first(named: list[Evidence]) -> tuple[Evidence, ...]:
    return tuple(sorted(named, key=lambda e: (-abs(e.term), e.feature)))
