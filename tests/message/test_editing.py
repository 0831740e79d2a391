"""Editing takes out what it is told to, in every encoding, and never fails on bad mail."""

import base64
import quopri

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile_mail import HOSTILE
from priory.message import parse
from priory.message.editing import without_headers, without_links, without_phrases, without_text

TEXT = "Grüße! Get your limited offer here: http://shop.example/x?a=1&b=2 now."


def mail(body: bytes, encoding: str, content_type: str = "text/plain") -> bytes:
    head = f"From: a@b.example\nSubject: hi\nContent-Type: {content_type}; charset=utf-8\n"
    return f"{head}Content-Transfer-Encoding: {encoding}\n\n".encode() + body


ENCODED = {
    "8bit": mail(TEXT.encode(), "8bit"),
    "base64": mail(base64.encodebytes(TEXT.encode()), "base64"),
    "quoted-printable": mail(quopri.encodestring(TEXT.encode()), "quoted-printable"),
    "html": mail(f"<p>{TEXT.replace('limited offer', '<b>limited</b>&nbsp;offer')}</p>".encode(), "8bit", "text/html"),
    "parts": b'Content-Type: multipart/mixed; boundary="x"\n\n--x\n' + mail(TEXT.encode(), "8bit") + b"\n--x--\n",
}


def text_of(raw: bytes) -> str:
    return " ".join(part.text for part in parse(raw).bodies)


@pytest.mark.parametrize("raw", ENCODED.values(), ids=ENCODED)
def test_a_phrase_is_taken_out_in_every_encoding(raw: bytes) -> None:
    left = text_of(without_phrases(raw, [["limited", "offer"]]))
    assert "limited" not in left
    assert "offer" not in left
    assert "Grüße" in left
    assert "now" in left


@pytest.mark.parametrize("raw", ENCODED.values(), ids=ENCODED)
def test_a_link_and_the_text_are_taken_out_in_every_encoding(raw: bytes) -> None:
    assert "shop.example" not in text_of(without_links(raw, ["http://shop.example/x?a=1&b=2"]))
    assert not text_of(without_text(raw)).strip()


def test_words_within_other_words_stay() -> None:
    assert b"unlimited offers" in without_phrases(
        b"Subject: x\n\nunlimited offers, limited offer", [["limited", "offer"]]
    )


def test_an_encoded_subject_is_edited() -> None:
    raw = b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe_und_ein_Angebot?=\n\nText"
    edited = parse(without_phrases(raw, [["ein", "Angebot"]]))
    assert edited.header("Subject").strip() == "Grüße und"


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "Received"]), st.text("xyz ", max_size=5)), max_size=8),
    st.data(),
)
def test_headers_that_are_not_named_stay_as_they_are(fields: list[tuple[str, str]], data: st.DataObject) -> None:
    lines = [f"{name}: {value}\n" for name, value in fields]
    places = [
        (name.lower(), sum(other.lower() == name.lower() for other, _ in fields[:i]))
        for i, (name, _) in enumerate(fields)
    ]
    gone = data.draw(st.sets(st.sampled_from(places))) if places else set()
    left = [line for line, place in zip(lines, places, strict=True) if place not in gone]
    raw = ("".join(lines) + "\nbody").encode()
    assert without_headers(raw, list(gone)) == ("".join(left) + "\nbody").encode()


def test_parts_that_are_nested_too_deeply_for_the_standard_library_stay() -> None:
    for depth in (300, 3_000):
        heads = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(depth))
        raw = heads + b"\nlimited offer\n"
        assert without_text(raw) == without_phrases(raw, [["limited"]]) == without_links(raw, ["offer"]) == raw


def test_a_very_long_subject_stays() -> None:
    subject = b"Subject: " + b"=?utf-8?q?offer?= " * 1_000
    assert without_phrases(subject + b"\n\nlimited offer", [["offer"]]) == subject + b"\n\nlimited "


@pytest.mark.parametrize("raw", HOSTILE.values() if isinstance(HOSTILE, dict) else HOSTILE)
def test_bad_mail_is_never_an_error(raw: bytes) -> None:
    for edited in (
        without_phrases(raw, [["offer"]]),
        without_links(raw, ["http://x.example"]),
        without_text(raw),
        without_headers(raw, [("from", 0), ("subject", 0)]),
    ):
        parse(edited)
