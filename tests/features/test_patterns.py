"""A user's pattern is a feature with the pattern's name, at its first match, in linear time."""

import pytest

from priory.features import Spec, extract
from priory.features.patterns import PatternError, compile_patterns
from priory.message import parse

RAW = b"From: ann@home.example\nSubject: For Bob\n\nDear Bob,\nyou won $1,000. " + "Grüße, ÄRGER\n".encode()


def matches(patterns: dict[str, str], raw: bytes = RAW) -> list[tuple[str, str, str]]:
    features = extract(parse(raw), Spec(kinds=frozenset({"pattern"}), patterns=patterns))
    return [
        (each.value(i), each.section.name, each.section.shown[each.starts[i] : each.ends[i]].decode())
        for each in features.occurrences[-1]
        for i in range(len(each.buckets))
    ]


def test_a_pattern_is_found_first_in_headers_and_first_in_text():
    assert matches({"my-name": "Bob"}) == [("my-name", "headers", "Bob"), ("my-name", "text", "Bob")]
    assert matches({"money": r"\$[\d,]+"}) == [("money", "text", "$1,000")]
    assert matches({"nothing": "viagra"}) == []
    assert matches({}) == []


def test_a_pattern_counts_once_however_often_and_wherever_it_matches():
    spec = Spec(kinds=frozenset({"pattern"}), patterns={"my-name": "Bob", "other": "bob", "money": r"\$"})
    assert len(extract(parse(RAW), spec)) == 2


def test_patterns_know_letters_beyond_ascii():
    assert matches({"greeting": "(?i)GR[ÜU]SSE|grü.e"}) == [("greeting", "text", "Grüße")]
    assert matches({"anger": "(?i)ärger"}) == [("anger", "text", "ÄRGER")]


def test_a_pattern_may_match_nothing():
    assert matches({"always": "x*"}) == [("always", "headers", ""), ("always", "text", "")]


@pytest.mark.parametrize("pattern", ["(?=offer)", r"(a)\1", "(", "[a", "a{2000}", "*", "(?P<x", r"\p{Nope}"])
def test_a_pattern_that_cannot_be_used_is_named_with_the_reason(pattern):
    with pytest.raises(PatternError) as error:
        compile_patterns({"fine": "a", "mine": pattern})
    text = str(error.value)
    assert text.startswith("pattern 'mine': ")
    assert text.endswith(". Patterns are RE2 expressions: no look-around, no back-references.")
    assert len(text) > len("pattern 'mine': . Patterns are RE2 expressions: no look-around, no back-references.")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a*)*c", "(?:a?){500}a{500}", "(.*)(.*)(.*)(.*)x"])
def test_a_pattern_that_explodes_elsewhere_is_harmless(pattern):
    raw = b"Subject: " + b"a" * 200_000 + b"\n\n" + b"a" * (1 << 20) + b"!"
    extract(parse(raw), Spec(patterns={"bomb": pattern}))
