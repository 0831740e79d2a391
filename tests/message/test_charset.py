"""Text is decoded in its real charset, which is not always the declared one."""

import encodings
import re

from hypothesis import given
from hypothesis import strategies as st

from priory.message import parse
from priory.message.charset import codec_name, decode
from priory.message.plain_text import without_invisible


def test_a_true_claim_is_believed():
    for charset in ("utf-8", "gb2312", "gb18030", "utf-16", "utf-7"):
        assert decode("特价".encode(charset), charset) == ("特价", None)
    assert decode("Привет".encode("koi8-r"), "KOI8-R") == ("Привет", None)
    assert decode("価格".encode("iso-2022-jp"), "iso-2022-jp") == ("価格", None)
    assert decode("“5 €”".encode("cp1252"), "iso-8859-1") == ("“5 €”", None)


def test_a_lie_is_noted_and_the_text_read_anyway():
    assert decode("5 €".encode(), "us-ascii") == ("5 €", "utf-8 text claims to be us-ascii")
    assert decode(b"caf\xe9", "us-ascii") == ("café", "8-bit text claims to be us-ascii")
    assert decode(b"caf\xe9 \xc3\xa9", "utf-8") == ("caf� é", "text is not valid utf-8")
    assert decode("5 €".encode(), None) == ("5 €", "8-bit text without a charset")
    assert decode(b"caf\xe9", None) == ("café", "8-bit text without a charset")
    assert decode(b"plain", None) == ("plain", None)


def test_an_unknown_charset_is_noted():
    assert decode(b"plain", "x-nobody") == ("plain", "unknown charset")
    assert decode("5 €".encode(), "x-nobody") == ("5 €", "unknown charset")


def test_codecs_that_are_no_charsets_are_unknown():
    for name in (
        "rot13",
        "hex",
        "base64",
        "zlib",
        "idna",
        "punycode",
        "unicode_escape",
        "undefined",
        "aliases",
        "mbcs",
    ):
        assert codec_name(name) is None
    for name in ("", "\0", "é", "\ud800", "../utf_8", "utf-8" * 99):
        assert codec_name(name) is None


def test_names_are_known_with_quotes_and_in_any_case():
    for name in ("UTF-8", '"utf-8"', "'utf8'", " Utf_8 "):
        assert codec_name(name) == "utf-8"


def test_asking_for_names_nobody_has_costs_no_memory():
    before = len(encodings._cache)
    for i in range(1_000):
        codec_name(f"x-nobody-{i}")
        codec_name("latin" + "-" * (i % 30 + 1) + "1")
    assert len(encodings._cache) <= before + 1


@given(
    st.binary(), st.sampled_from((None, "utf-8", "utf-7", "utf-16", "gb2312", "hz", "shift_jis", "iso-2022-kr", "x"))
)
def test_any_bytes_give_text_that_can_be_written(data, charset):
    decode(data, charset)[0].encode()


def test_invisible_characters_are_dropped_and_noted():
    assert without_invisible("mon\u200bey\u202e\ufeff".encode()) == b"money"
    visible = "Grüße, 特价 €".encode()
    assert without_invisible(visible) is visible
    message = parse(b"Content-Type: text/html\n\nvia&shy;g&#8203;ra")
    assert (message.text, message.defects) == ("viagra", ("invisible characters",))


@given(st.text())
def test_invisible_are_those_of_no_width_and_those_that_change_direction(text):
    seen = re.sub("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+", "", text)
    assert without_invisible(text.encode("utf-8", "replace")) == seen.encode("utf-8", "replace")


def test_zero_bytes_are_spaces_and_noted():
    message = parse(b"Subject: x\n\nvia\0gra")
    assert (message.text, message.defects) == ("via gra", ("zero bytes in text",))


def test_a_charset_on_two_lines_is_one_name():
    message = parse(b'Content-Type: text/plain; charset="latin\n 1"\n\nGr\xc3\xbc\xc3\x9fe')
    assert message.texts[0].charset == "latin 1"
    assert message.defects == ("utf-8 text claims to be latin 1",)


def test_text_that_is_too_long_is_not_cut_through_a_character():
    body = "übergroße Grüße\n".encode() * 20_000
    for shift in range(20):
        message = parse(b"Subject: x\n\n" + b"x" * shift + body)
        assert message.text.endswith("Grüße\n") or message.text.endswith("übergroße ")
        assert message.defects == ("too much text", "8-bit text without a charset")
