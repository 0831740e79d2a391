"""Finds the places of a message about which a rule says nothing, and the share that each feature has there.

The term of a feature is spread evenly over the bytes that it covers, as in an explanation. So the share of a feature at
the places of a rule is the part of its bytes that lies there. Bytes that match several rules belong to the first.
"""

import re
from bisect import bisect_left
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, TypeAlias

from priory.features import Features, Occurrences
from priory.features.hashing import Tokens
from priory.features.sections import Section
from priory.filter.rule_text import folded_value, words_of
from priory.filter.verdict import Place
from priory.journal import Rule, RuleThing

#: The features with places in a part of a message, and which part of their bytes lies there.
Shares: TypeAlias = Mapping[int, float]
_Spans: TypeAlias = Iterator[tuple[int, int]]
_TEXTS: Final = ("text", "source")
_LINE: Final = re.compile(rb"^[^\x00- ][^\n]*(?:\n[\x00-\x09\x0b-\x20][^\n]*)*", re.MULTILINE)


class IgnoredShare(NamedTuple):
    """What a rule takes out of the sum: a part of the terms of some features."""

    rule: Rule
    shares: Shares
    places: tuple[Place, ...]

    def of(self, terms: Sequence[float]) -> float:
        """Return the share of these terms."""
        return sum(share * terms[feature] for feature, share in self.shares.items())


def ignored_shares(features: Features, rules: Sequence[Rule]) -> list[IgnoredShare]:
    """Return what each rule takes out of the sum of a message."""
    occurrences = features.occurrences
    sections = {found.section.name: found.section for of_kind in occurrences for found in of_kind}
    free = {name: bytearray(b"\1") * len(section.shown) for name, section in sections.items()}
    ignored = []
    for rule in rules:
        places = tuple(Place(name, *span) for name, section in sections.items() for span in _spans(rule, section))
        marks = _take(free, places)
        ignored.append(IgnoredShare(rule, share_at(features, occurrences, marks), places))
    return ignored


def share_at(
    features: Features, occurrences: Sequence[Sequence[Occurrences]], places: Mapping[str, bytes | bytearray]
) -> Shares:
    """Return the share that each feature has at some places, given as one byte, 0 or 1, for each byte of a section."""
    before = {name: [0, *accumulate(marks)] for name, marks in places.items() if any(marks)}
    shares: dict[int, float] = {}
    for kind, of_kind in enumerate(occurrences):
        there = _covered([(found, before[found.section.name]) for found in of_kind if found.section.name in before])
        if there:
            covered = _covered([(found, range(len(found.section.shown) + 1)) for found in of_kind], there)
            begin, stop = features.offsets[kind], features.offsets[kind + 1]
            shares |= {
                bisect_left(features.buckets, bucket, begin, stop): n / covered[bucket] for bucket, n in there.items()
            }
    return shares


def _covered(
    occurrences: Sequence[tuple[Occurrences, Sequence[int]]], only: Container[int] | None = None
) -> dict[int, int]:
    """Return how many bytes each feature covers; the numbers of bytes before each position say which count."""
    covered: dict[int, int] = {}
    for found, before in occurrences:
        for bucket, start, end in zip(found.buckets, found.starts, found.ends, strict=True):
            if only is not None and bucket not in only:
                continue
            n = before[end] - before[start] if start < end < len(before) else _of_odd_span(start, end, before)
            if n:
                covered[bucket] = covered.get(bucket, 0) + n
    return covered


def _of_odd_span(start: int, end: int, before: Sequence[int]) -> int:
    """Return the bytes in a span that ends too late, or is empty, as an empty link is, and gets a neighbouring byte."""
    start = min(start, max(len(before) - 2, 0))
    return before[min(max(end, start + 1), len(before) - 1)] - before[start]


def _take(free: dict[str, bytearray], places: Sequence[Place]) -> dict[str, bytearray]:
    """Mark the bytes at places that are free, and take them, so that no later rule gets them."""
    marks = {section: bytearray(len(free[section])) for section, _, _ in places}
    for section, start, end in places:
        taken = free[section][start:end]
        marks[section][start:end] = bytes(map(max, marks[section][start:end], taken))
        free[section][start:end] = bytes(len(taken))
    return marks


def _spans(rule: Rule, section: Section) -> _Spans:
    """Yield the places of a rule in a section."""
    if rule.thing in {RuleThing.WORD, RuleThing.PHRASE}:
        words = words_of(rule.text.encode())
        if section.name in _TEXTS:
            yield from _runs(words, section.folded, 0)
        elif section.name == "headers":
            for _, colon, end in _lines(section.folded, b"subject"):
                yield from _runs(words, section.folded[colon:end], colon)
    elif rule.thing in {RuleThing.SENDER, RuleThing.DOMAIN}:
        if section.name == "sender":
            yield 0, len(section.shown)
        elif section.name == "headers":
            yield from ((start, end) for start, _, end in _lines(section.folded, b"from"))
    elif section.name == "headers":
        name, _, value = rule.text.partition(": ")
        for start, colon, end in _lines(section.folded, name.encode()):
            if value in folded_value(section.folded[colon + 1 : end].decode("utf-8", "replace")):
                yield start, end


def _lines(headers: bytes, name: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield start, colon and end of the header lines of a name, with the lines that continue them."""
    for line in _LINE.finditer(headers):
        colon = headers.find(b":", line.start(), line.end())
        if colon >= 0 and headers[line.start() : colon] == name:
            yield line.start(), colon, line.end()


def _runs(words: Sequence[bytes], text: bytes, offset: int) -> _Spans:
    """Yield where words are in a row in a text that begins at an offset."""
    spans = Tokens(text, False).spans()
    found = [text[start:end] for start, end in spans]
    for i in range(len(found) - len(words) + 1):
        if found[i : i + len(words)] == list(words):
            yield offset + spans[i][0], offset + spans[i + len(words) - 1][1]
