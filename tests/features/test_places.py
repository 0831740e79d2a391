"""Shares of a score, spread over the bytes of a message, are added up by units without any loss."""

import math
from array import array
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from priory.features import KINDS, Features, Spec, extract
from priory.features.places import GROUPS, Places, kind_totals
from priory.message import parse

SPEC = Spec(frozenset(KINDS), {"name": "(?i)dear", "nothing": "x*", "end": "$"}, bits=16)
HEADERS = {b"subject": GROUPS.index("subject"), b"from": GROUPS.index("sender"), b"received": GROUPS.index("route")}
HTML = b"""From: Ann <ann@mail.example>
Subject: Offer
Content-Type: text/html

<style>p {color: red}</style><p class=x>First <b>page</b> of&nbsp;Google</p><a href='http://rb.example/x'>here</a>"""
PIECES = (
    b"Subject: ", b"From: a@b.example\n", b"Content-Type: text/html\n\n", b"\n", b"\n\n", b"<p>", b"</p>", b"<b", b">",
    b"<!--", b"-->", b"<style>", b"</style>", b"&nbsp;", b"words of ", b"page", b"<ann@mail.example>", b"\xff", b"\0",
    "日本語 Grüße ".encode(), b"http://rb.example/ ", b"Content-Type: multipart/mixed; boundary=b\n\n--b\n", b"\n--b\n",
)  # fmt: skip


def placed(raw: bytes, spec: Spec = SPEC) -> tuple[Features, "array[float]", Places]:
    features = extract(parse(raw), spec, located=True)
    terms = array("d", (math.sin(1 + bucket) for bucket in features.buckets))
    return features, terms, features.places(terms, 1, HEADERS)


def text_of(places: Places, place: tuple[int, int, int, float]) -> str:
    section, first, last, _ = place
    return places.sections[section].shown[first:last].decode()


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=20), max_size=30).map(b"".join))
def test_units_and_items_add_up_to_all_terms_in_any_bytes(raw: bytes) -> None:
    features, terms, places = placed(raw)
    nowhere = [term for _, term in places.nowhere]
    whole = math.fsum(terms)
    close = pytest.approx(whole, abs=1e-10)
    assert math.fsum([*nowhere, *(share for *_, share in places.units)]) == close
    assert math.fsum([*nowhere, *(share for _, _, _, share, _ in places.pieces)]) == close
    assert math.fsum([*nowhere, *(share for _, share, _, _ in places.reasons(3, 0, 0, 0))]) == close
    assert math.fsum(kind_totals(terms, features.offsets, 1)) == close
    assert math.fsum(kind_totals(terms, features.offsets, -1)) == pytest.approx(-whole, abs=1e-10)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=9).map(str.encode), max_size=30).map(b"".join))
@example("Content-Type: text/html\n\n日本語 Grüße ".encode())
def test_units_follow_each_other_and_begin_and_end_at_characters(raw: bytes) -> None:
    _, _, places = placed(raw)
    for number, section in enumerate(places.sections):
        spans = [(first, last) for i, first, last, _ in places.units if i == number]
        assert all(0 <= first <= last <= len(section.shown) for first, last in spans)
        assert all(last <= first for (_, last), (first, _) in pairwise(spans))
        for first, last in spans:
            section.shown[first:last].decode()


def test_extraction_with_positions_finds_the_same_features_at_once() -> None:
    located, plain = extract(parse(HTML), SPEC, located=True), extract(parse(HTML), SPEC)
    assert (located.buckets, located.offsets) == (plain.buckets, plain.offsets)
    terms = array("d", [1.0] * len(plain))
    one, two = located.places(terms, 1, HEADERS), plain.places(terms, 1, HEADERS)
    assert (one.units, one.pieces, one.reasons(5, 0, 0, 1)) == (two.units, two.pieces, two.reasons(5, 0, 0, 1))


def test_the_source_between_tags_belongs_to_the_visible_words() -> None:
    _, _, places = placed(HTML, Spec(frozenset({"word", "source-gram"}), bits=16))
    shown = {text_of(places, unit): unit[3] for unit in places.units if places.sections[unit[0]].name == "text"}
    assert list(shown) == ["First", "page", "of", "Google", "here"]
    source = [unit for unit in places.units if places.sections[unit[0]].name == "source"]
    assert {text_of(places, unit) for unit in source if not unit[3]} >= set(shown)
    code = [text_of(places, unit) for unit in source if unit[3]]
    assert code[0].startswith("<style>p {color: red}")
    assert not set(code) & set(shown)


def test_the_domain_of_the_sender_belongs_to_the_header_from() -> None:
    features, terms, places = placed(HTML, Spec(frozenset({"sender", "header"}), bits=16))
    (author,) = [unit for unit in places.units if text_of(places, unit).startswith("From: ")]
    assert [text_of(places, unit) for unit in places.units if not unit[3]] == ["mail.example"]
    alone = placed(HTML, Spec(frozenset({"header"}), bits=16))[2].units[0]
    sender = kind_totals(terms, features.offsets, 1)[KINDS.index("sender")]
    assert text_of(places, author) == text_of(places, alone) == "From: Ann <ann@mail.example>"
    assert author[3] == pytest.approx(alone[3] + sender)


def test_adjacent_words_of_one_sign_are_a_phrase_and_equal_words_one_item() -> None:
    raw = b"\n\nbuy pills now\npills lunch pills"
    features = extract(parse(raw), Spec(frozenset({"word"}), bits=16), located=True)
    weights = {"buy": 2.0, "pills": 6.0, "now": 2.0, "lunch": -1.0}
    (occurrences,) = features.occurrences[0]
    named = {bucket: occurrences.value(i) for i, bucket in enumerate(occurrences.buckets)}
    terms = array("d", (weights[named[bucket]] for bucket in features.buckets))
    places = features.places(terms, 1, {})
    assert [text_of(places, piece[:4]) for piece in places.pieces] == ["buy pills now", "pills", "lunch", "pills"]
    (text,), (against,) = ([r for r in places.reasons(5, 0, 0, 1) if r[1] * sign > 0] for sign in (1, -1))
    items = [(item[2], pytest.approx(item[1])) for item in text[3]]
    assert items == [("buy pills now", 6.0), ("pills", 4.0)]
    assert len(places.places_of(text[3][1][0])) == 2
    assert against[:3] == (0, pytest.approx(-1.0), 1)
    assert text[3][0][3:6] == (0, next(b for b, name in named.items() if name == "pills"), "pills")
