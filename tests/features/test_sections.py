"""A section has a shown and a lower-case form with the same byte positions, and is cut between characters."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from priory.features.sections import MOST_HEADER, MOST_HEADERS, MOST_LINK, MOST_LINKS, MOST_TEXT, Sections, section
from priory.message import parse


def in_step(text: str, most: int) -> bool:
    """Tell whether each character begins where its lower case begins."""
    made = section("text", text.encode(), most)
    shown, folded = made.shown.decode(), made.folded.decode()
    at, places = 0, []
    for letter in shown:
        places.append((at, letter.lower()))
        at += len(letter.encode())
    return (
        len(made.shown) == len(made.folded) <= most
        and all(
            made.folded[at : at + len(lower.encode())].decode().replace("ς", "σ") == lower.replace("ς", "σ")
            for at, lower in places
        )
        and len(folded) == len(shown)
    )


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 50))
def test_shown_and_folded_are_in_step(text, most):
    assert in_step(text, most)


def test_no_character_of_unicode_gets_out_of_step():
    everything = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    resized = [letter for letter in everything if len(letter.lower().encode()) != len(letter.encode())]
    assert len(resized) > 20
    for letter in resized:
        made = section("text", f"A{letter}B".encode(), 20)
        assert made.shown == b"A" + letter.lower().encode() + b"B"
        assert made.folded == b"a" + letter.lower().encode() + b"b"


def test_a_letter_that_grows_moves_nothing_where_the_section_is_cut():
    made = section("text", b"\xc4\xb0" + b"A" * 100, 50)
    assert (made.shown, made.folded) == ("i̇".encode() + b"A" * 47, "i̇".encode() + b"a" * 47)


def test_the_text_is_squeezed_before_it_is_cut():
    raw = b"Subject: x\n\n" + b" \n" * 60_000 + b"buy   pills"
    assert Sections(parse(raw)).text.shown == b"\nbuy pills"
    long = Sections(parse(b"Subject: x\n\n" + "ü".encode() * MOST_TEXT)).text
    assert long.shown.decode() == "ü" * (MOST_TEXT // 2)


def test_headers_stand_in_their_order_with_their_folds():
    raw = b"B: two\n  lines\nA: =?utf-8?q?=C3=9Cber?=\nC:" + b"x" * 999 + b"\n\n"
    assert Sections(parse(raw)).headers.shown.decode() == "B: two\n  lines\nA: Über\nC:" + "x" * MOST_HEADER


def test_links_stand_one_on_a_line_each_once():
    html = "".join(f"<a href='http://{i % 60}.example/ \n {'x' * 300}'>y</a>" for i in range(120))
    made = Sections(parse(b"Content-Type: text/html\n\n" + html.encode()))
    assert len(made.distinct_links) == MOST_LINKS
    assert all(len(target) <= MOST_LINK and b"\n" not in target for target, _ in made.distinct_links)
    assert made.links.shown.startswith(b"http://0.example/ xxx")
    lines = made.links.shown.split(b"\n")
    assert [line[:9] for line in lines[:3]] == [b"http://0.", b"http://1.", b"http://2."]


def test_headers_are_cut_where_the_longest_field_begins_at_their_end():
    full = b"A:" + b"x" * 398
    last = b"B:" + b"y" * 384
    raw = b"\n".join([*[full] * 14, last, b"C" * 200 + b":" + "𝄞".encode() * 500, b"", b""])
    headers = Sections(parse(raw)).headers.shown
    assert len(headers) == MOST_HEADERS
    assert headers.endswith(last)
