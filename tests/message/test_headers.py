"""Headers are found, unfolded and decoded; headers that filters and mailboxes wrote are ignored."""

import base64
import binascii
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from priory.features import KINDS, Spec, extract
from priory.message import Header, parse
from priory.message.headers import BOOKKEEPING, VERDICT_PREFIXES, decode_words, parameters
from priory.message.transfer import base64_bytes

NOT_READ = sorted({*BOOKKEEPING, *VERDICT_PREFIXES, *(prefix + "level" for prefix in VERDICT_PREFIXES)})
MESSAGES = (
    b"From: ann@home.example\nSubject: lunch\n on Friday?\nTo: bob@home.example\n\nAt noon?\n",
    b"From mbox Mon Jan  1 00:00:00 2024\nSubject: hi\n\nX-Spam: this is text\n",
    b"Content-Type: multipart/mixed; boundary=x\nSubject: two\n\n--x\n\none\n--x\nContent-Type: text/html\n\n<p>two\n",
    b"Subject: crlf\r\nFrom: a@b.example\r\n\r\nline\r\nline\r\n",
    b"\nno headers at all\n",
    b"Hello Bob,\nno headers at all\n\nAnn\n",
)


def test_encoded_words_of_both_encodings_are_decoded():
    assert parse(b"Subject: =?utf-8?B?R3LDvMOfZQ==?=\n\n").header("subject") == "Grüße"
    assert parse(b"Subject: =?iso-8859-1?q?Gr=FC=DFe_aus_K=F6ln?=\n\n").header("subject") == "Grüße aus Köln"
    assert parse(b"Subject: Re: =?UTF-8?Q?caf=C3=A9?= today\n\n").header("subject") == "Re: café today"
    assert decode_words("=?iso-8859-1*de?Q?Gr=FC=DFe?=") == "Grüße"


def test_white_space_between_encoded_words_disappears_and_other_does_not():
    assert decode_words("=?utf-8?q?ca?= =?utf-8?q?sino?=") == "casino"
    assert decode_words("=?utf-8?q?ca?=\n\t=?utf-8?q?sino?=") == "casino"
    assert decode_words("=?utf-8?q?ca?= x =?utf-8?q?sino?=") == "ca x sino"


def test_a_character_cut_between_two_encoded_words_is_joined():
    assert decode_words("=?utf-8?B?R3LD?= =?utf-8?B?vMOfZQ==?=") == "Grüße"
    assert decode_words("=?utf-8?Q?Gr=C3?= =?utf-8?B?vMOfZQ==?=") == "Grüße"
    assert decode_words("=?gb2312?B?zA==?=\n =?GB2312?B?2LzbIQ==?=") == "特价!"


def test_an_encoded_word_in_an_unknown_charset_is_read_as_well_as_can_be():
    assert decode_words("=?x-nobody?Q?caf=E9?=") == "café"
    assert decode_words("=?x-nobody?Q?caf=C3=A9?=") == "café"


def test_what_is_no_encoded_word_stays():
    for text in ("=?utf-8?q?open", "=?utf-8?x?what?=", "=?*?q?no charset?=", "=??q?a?=", "a =? b ?= c"):
        assert decode_words(text) == text


def test_broken_base64_in_a_header_is_decoded_as_far_as_it_goes():
    assert decode_words("=?utf-8?B?SGVsbG8?=") == "Hello"
    assert decode_words("=?utf-8?B?SGVs*bG8=?=") == "Hello"
    assert decode_words("=?utf-8?B?S?=") == ""


def test_an_encoded_line_end_forges_no_header():
    message = parse(b"Subject: =?utf-8?q?hi=0D=0AX-Forged:_yes=0A:empty?=\n\n")
    assert message.headers == (Header("Subject", " hi  X-Forged: yes :empty"),)


def test_half_a_character_in_utf_7_can_be_written_again():
    assert parse(b"Subject: =?utf-7?q?+2AA-?=\n\n").header("subject").encode() == b"?"


def test_raw_eight_bit_headers_are_decoded_and_noted():
    for raw in ("Grüße".encode(), "Grüße".encode("latin-1")):
        message = parse(b"Subject: " + raw + b"\n\n")
        assert message.header("subject") == "Grüße"
        assert message.defects == ("8-bit text in a header",)


def test_repeated_headers_are_kept_in_order_and_the_first_is_the_one():
    message = parse(b"Received: one\nSubject: first\nReceived: two\nsubject: second\n\n")
    assert [(h.name, " ".join(h.value.split())) for h in message.headers] == [
        ("Received", "one"),
        ("Subject", "first"),
        ("Received", "two"),
        ("subject", "second"),
    ]
    assert message.header("SUBJECT") == "first"
    assert message.header("absent") == ""


def test_folds_are_kept_in_the_value_and_joined_on_one_line():
    message = parse(b"Subject: lunch\r\n on\r\n\tFriday?\r\nTo: ann\r\n\r\n")
    assert message.headers[0] == Header("Subject", " lunch\n on\n\tFriday?")
    assert message.header("subject") == "lunch on Friday?"


def test_lines_that_are_no_header_are_passed_over():
    message = parse(b"Subject: hi\nthis is nothing\n  nor this\nTo : ann\nb\xe4d: no\n\nbody")
    assert [(h.name, h.value) for h in message.headers] == [("Subject", " hi"), ("To", " ann")]
    assert message.text == "body"


def test_the_senders_domain_is_that_of_the_last_address():
    def domain(sender):
        return parse(b"From: " + sender + b"\n\n").sender_domain

    assert domain(b"Ann <ann@Mail.Home.Example>") == "mail.home.example"
    assert domain(b'"service@bank.example" <x@bad.test>') == "bad.test"
    assert domain(b"ann@home.example (Ann)") == "home.example"
    assert domain(b"Ann") == domain(b"") == domain(b"@") == domain(b"<@x>") == domain(b"ann@.") == ""


PIECES = st.sampled_from(
    ["a", "b@", "@", ".", "-", "_", "<", '"', "(", ",", ";", ":", " ", "\t", "A.B", "\x1c", "é", "€"]
)
ADDRESS = re.compile(r"(?<=[^\s<>@\"(),;:])@([\w.-]{1,255})")


@given(st.lists(PIECES, max_size=12).map("".join))
def test_the_senders_domain_is_that_of_a_regular_expression(sender):
    found = ADDRESS.findall(sender)
    expected = found[-1].lower().strip(".") if found else ""
    assert parse(b"From:" + sender.encode() + b"\n\n").sender_domain == expected


def test_text_without_headers_is_all_text():
    message = parse(b"Dear friend,\n\nI am a prince.\n")
    assert message.text == "Dear friend,\n\nI am a prince.\n"
    assert message.defects == ("no headers",)
    assert parse(b"just a line").text == "just a line"
    assert parse(b"X-Spam-Flag: YES\njust a line").text == "just a line"
    assert parse(b"X-Spam-Flag: YES\n\njust a line").text == "just a line"


def test_verdicts_and_bookkeeping_are_not_read_wherever_they_stand():
    raw = (
        b"X-Spam-Status: Yes, score=9\n tests=LONG,\n\tFOLDED\nSubject: hi\nx-bogosity : Spam\nSTATUS: RO\n"
        b"Content-Type: multipart/mixed; boundary=x\nX-Mozilla-Status: 0001\n\n"
        b"--x\nX-SPAM-Flag: YES\nContent-Type: text/plain\nX-Virus-Scanned: by\n us\n\nhi\n"
        b"--x\nContent-Type: message/rfc822\n\nX-Spam-Level: ***\nSubject: inner\n\nhi\n--x--\n"
    )
    message = parse(raw)
    assert [h.name for h in message.headers] == ["Subject", "Content-Type"]
    assert [h.name for h in message.part_headers] == ["Content-Type", "Content-Type", "Subject"]


@given(data=st.data(), name=st.sampled_from(NOT_READ), message=st.sampled_from(MESSAGES))
def test_a_header_that_is_not_read_changes_nothing(data, name, message):
    line_end = b"\r\n" if b"\r\n" in message else b"\n"
    lines = message.split(line_end)
    head = lines[: lines.index(b"") + 1] if b":" in message[: message.find(line_end * 2)] else lines[:1]
    places = [n for n, line in enumerate(head) if not line.startswith((b" ", b"From "))]
    spelling = "".join(data.draw(st.sampled_from((letter.lower(), letter.upper()))) for letter in name)
    fold = data.draw(st.sampled_from((b"", line_end + b" folded: yes", line_end + b"\t")))
    lines.insert(data.draw(st.sampled_from(places)), spelling.encode() + b": Yes, 99.9" + fold)
    with_verdict, without = parse(line_end.join(lines)), parse(message)
    assert with_verdict == without
    spec = Spec(kinds=frozenset(KINDS))
    assert extract(with_verdict, spec).buckets.tolist() == extract(without, spec).buckets.tolist()


def test_parameters_of_structured_headers():
    assert parameters("TEXT/Plain") == ("text/plain", {})
    assert parameters('text/plain; Charset="utf-8"; format=flowed') == (
        "text/plain",
        {"charset": "utf-8", "format": "flowed"},
    )
    assert parameters('a/b; name="semi;colon \\"quoted\\" C:\\dir\\file"')[1] == {
        "name": 'semi;colon "quoted" C:\\dir\\file'
    }
    assert parameters('a/b;\n\tname = "x"')[1] == {"name": "x"}
    assert parameters("a/b; name=; x=y")[1] == {"name": "", "x": "y"}


def test_the_first_of_two_equal_parameters_counts():
    assert parameters("a/b; boundary=one; boundary=two")[1] == {"boundary": "one"}


def test_a_quote_that_is_never_closed_is_taken_off():
    assert parameters('text/html; charset="iso-8859-1')[1] == {"charset": "iso-8859-1"}
    assert parameters('text/html; charset="')[1] == {"charset": ""}


def test_continued_and_extended_parameters():
    def name(text):
        return parameters("a/b; " + text)[1]["name"]

    assert name("name*=utf-8'de'Gr%C3%BC%C3%9Fe.pdf") == "Grüße.pdf"
    assert name("name*=iso-8859-1''Gr%FC%DFe.pdf") == "Grüße.pdf"
    assert name('name*0="a"; name*1="b"; name*2="c"') == "abc"
    assert name('name*1="b"; name*0="a"') == "ab"
    assert name("name*0*=utf-8''a%20; name*1=b%20c") == "a b%20c"
    assert name("name*0*=utf-8''%C3; name*1*=%BC") == "ü"
    assert name("name=plain; name*=utf-8''better") == "better"
    assert name("name*=it's%20broken") == "it's broken"


def test_raw_and_encoded_word_filenames_are_decoded():
    def filename(parameter):
        return parse(b"Content-Type: a/b; name=" + parameter + b"\n\n").attachments[0].filename

    assert filename('"Größe.pdf"'.encode()) == filename('"Größe.pdf"'.encode("latin-1")) == "Größe.pdf"
    assert filename(b'"=?utf-8?b?R3LDtsOfZS5wZGY=?="') == "Größe.pdf"


@given(st.binary())
def test_base64_is_decoded_as_far_as_it_goes(data):
    whole = base64.b64encode(data)
    assert base64_bytes(whole) == data
    assert base64_bytes(whole.rstrip(b"=")) == data
    for cut in range(len(whole)):
        assert data.startswith(base64_bytes(whole[:cut]))


@given(
    st.lists(st.sampled_from([b"SGVs", b"bG8=", b"=", b"==", b"\n", b"\r\n", b"!", b"Q", b"QQ", b" ", b"+/9z"])).map(
        b"".join
    )
)
def test_base64_is_that_of_the_standard_library_where_that_can_read_it(data):
    try:
        expected = binascii.a2b_base64(data)
    except binascii.Error:
        kept = re.sub(rb"[^A-Za-z0-9+/]", b"", data)
        kept = kept[: len(kept) - (len(kept) % 4 == 1)]
        expected = binascii.a2b_base64(kept + b"=" * (-len(kept) % 4))
    assert base64_bytes(data) == expected


def test_every_header_that_is_never_read_is_documented():
    documented = (Path(__file__).parents[2] / "docs" / "headers.md").read_text().lower()
    assert [name for name in (*VERDICT_PREFIXES, *BOOKKEEPING) if f"`{name}" not in documented] == []
