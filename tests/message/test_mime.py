"""The parts of a message are found as a mail program finds them, broken ones included."""

import base64
import hashlib

import pytest

from priory.message import Attachment, mime, parse
from priory.message.fields import Budget, Fields, leading_fields_end


def multipart(boundary: bytes, *parts: bytes, end: bytes = b"--\n") -> bytes:
    head = b'Content-Type: multipart/mixed; boundary="' + boundary + b'"\n\npreamble\n'
    pieces = b"".join(b"--" + boundary + b"\n" + part + b"\n" for part in parts)
    return head + pieces + (b"--" + boundary + end if end else b"")


def texts(raw: bytes) -> list[str]:
    return [part.text for part in parse(raw).texts]


@pytest.fixture(params=[b"\n", b"\r\n"], ids=["LF", "CRLF"])
def line_end(request):
    return request.param


def test_parts_are_found_in_order_with_either_line_end(line_end):
    raw = multipart(b"x", b"\none", b"Content-Type: text/html\n\n<p>two</p>", b"\nthree").replace(b"\n", line_end)
    assert [(part.content_type, part.text.strip()) for part in parse(raw).texts] == [
        ("text/plain", "one"),
        ("text/html", "two"),
        ("text/plain", "three"),
    ]
    assert parse(raw).defects == ()


def test_multiparts_nest():
    inner = multipart(b"inner", b"\none", b"\ntwo")
    outer = multipart(b"outer", inner, b"\nthree")
    assert texts(outer) == ["one", "two", "three"]


def test_the_line_end_before_a_boundary_belongs_to_the_boundary(line_end):
    raw = multipart(b"x", b"\none\n").replace(b"\n", line_end)
    assert texts(raw) == ["one" + line_end.decode()]


def test_a_missing_end_is_noted_and_nothing_is_lost():
    raw = multipart(b"x", b"\none", b"\ntwo", end=b"")
    assert texts(raw) == ["one", "two\n"]
    assert parse(raw).defects == ("multipart without end",)


def test_what_follows_the_end_is_not_shown():
    assert texts(multipart(b"x", b"\none") + b"epilogue\n--x\n\ntwo\n") == ["one"]


def test_a_boundary_may_be_the_beginning_of_another():
    inner = multipart(b"abc", b"\none", b"\ntwo")
    assert texts(multipart(b"ab", inner, b"\nthree")) == ["one", "two", "three"]
    inner = multipart(b"ab", b"\none", b"\ntwo")
    assert texts(multipart(b"abc", inner, b"\nthree")) == ["one", "two", "three"]


def test_a_boundary_inside_of_a_line_is_text():
    assert texts(multipart(b"x", b"\na --x\n --x\n--xy")) == ["a --x\n --x\n--xy"]


def test_white_space_after_a_boundary_does_not_count():
    assert texts(b'Content-Type: multipart/mixed; boundary="x "\n\n--x \t\n\none\n--x-- \n') == ["one"]


def test_a_boundary_may_have_bytes_beyond_ascii():
    for boundary in ("gruß".encode(), "gruß".encode("latin-1")):
        assert texts(multipart(boundary, b"\none")) == ["one"]


@pytest.mark.parametrize(
    "raw",
    [
        b"Content-Type: multipart/mixed\n\n--x\n\none\n--x--\n",
        b"Content-Type: multipart/mixed; boundary=\n\none\n",
        b"Content-Type: multipart/mixed; boundary=x\n\none\n",
        b"Content-Type: multipart/mixed; boundary=x\n\none\n--x--\n",
    ],
)
def test_a_multipart_without_parts_is_text(raw):
    message = parse(raw)
    assert "one" in message.text
    assert message.defects == ("multipart without parts",)


def test_an_empty_multipart_and_an_empty_part():
    assert parse(b"Content-Type: multipart/mixed; boundary=x\n\n").text == ""
    assert texts(b"Content-Type: multipart/mixed; boundary=x\n\n--x\n--x--\n") == [""]
    assert texts(b"Content-Type: multipart/mixed; boundary=x\n\n--x\n\n--x\n\n\n--x--\n") == ["", ""]


def test_a_part_without_headers_and_without_an_empty_line_is_text():
    assert texts(multipart(b"x", b"one\ntwo\n\nthree")) == ["one\ntwo\n\nthree"]


def test_a_message_inside_is_read_with_its_headers():
    inner = b"Content-Type: message/rfc822\n\nSubject: inner\nContent-Type: text/html\n\n<b>hello</b>"
    message = parse(multipart(b"x", b"\nsee below", inner))
    assert [part.text for part in message.texts] == ["see below", "hello"]
    assert "Subject" in [h.name for h in message.part_headers]
    assert message.header("subject") == ""


def test_an_encoded_message_inside_is_an_attachment():
    inner = b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" + base64.b64encode(
        b"Subject: x\n\ny"
    )
    assert [a.content_type for a in parse(multipart(b"x", inner)).attachments] == ["message/rfc822"]


def encoded(encoding: bytes, body: bytes) -> bytes:
    return b"Content-Type: text/plain\nContent-Transfer-Encoding: " + encoding + b"\n\n" + body


def test_base64_is_decoded_also_when_broken_or_cut():
    whole = base64.encodebytes(b"cheap pills, cheap watches " * 5)
    assert texts(encoded(b"base64", whole)) == ["cheap pills, cheap watches " * 5]
    assert texts(encoded(b"Base64 ", whole.replace(b"\n", b"\r\n!*\r\n"))) == ["cheap pills, cheap watches " * 5]
    for cut in range(len(whole)):
        assert ("cheap pills, cheap watches " * 5).startswith(texts(encoded(b"base64", whole[:cut]))[0])


def test_quoted_printable_is_decoded_also_when_broken():
    assert texts(encoded(b"quoted-printable", b"caf=C3=A9 =\n=3D tea=\r\nroom")) == ["café = tearoom"]
    assert texts(encoded(b"Quoted-Printable", b"50=zz off=4 =")) == ["50=zz off=4 "]


def test_encoding_that_encodes_nothing_is_noted():
    assert (
        "transfer encoding out of proportion" in parse(encoded(b"quoted-printable", b"=\n" * 2_000_000 + b"hi")).defects
    )


def test_an_unknown_transfer_encoding_is_noted_and_left_alone():
    message = parse(encoded(b"x-secret", b"hello"))
    assert (message.text, message.defects) == ("hello", ("unknown transfer encoding",))
    for encoding in (b"7bit", b"8BIT", b"binary", b""):
        assert parse(encoded(encoding, b"hello")).defects == ()


def test_a_malformed_content_type_is_noted_and_guessed():
    def guessed(content_type):
        message = parse(b"Content-Type: " + content_type + b"\n\n<b>hi</b>")
        return message.texts[0].content_type, message.text, message.defects

    assert guessed(b"nonsense") == ("text/plain", "<b>hi</b>", ("malformed content type",))
    assert guessed(b"text/html charset=utf-8") == ("text/html", "hi", ("malformed content type",))
    assert guessed(b"text/html/x; a=b") == ("text/plain", "<b>hi</b>", ("malformed content type",))
    assert guessed(b"") == ("text/plain", "<b>hi</b>", ())


def test_attachments_are_described_by_type_name_size_and_digest():
    data = bytes(range(256)) * 9
    part = (
        b'Content-Type: application/pdf; name="old.pdf"\nContent-Transfer-Encoding: base64\n'
        b"Content-Disposition: attachment;\n filename*0*=utf-8''bill%20; filename*1=\"2024.pdf\"\n\n"
    )
    message = parse(multipart(b"x", b"\nhi", part + base64.encodebytes(data)))
    digest = hashlib.sha256(data).hexdigest()[:32]
    assert message.attachments == (Attachment("application/pdf", "bill 2024.pdf", len(data), digest),)
    assert message.text == "hi"


def test_a_text_that_is_offered_as_a_file_is_text_and_attachment():
    message = parse(
        multipart(b"x", b"Content-Type: text/csv; name=a.csv\n\n1,2", b"Content-Disposition: attachment\n\nhi")
    )
    assert [part.text for part in message.texts] == ["1,2", "hi"]
    assert [(a.content_type, a.filename, a.size_bytes) for a in message.attachments] == [
        ("text/csv", "a.csv", 3),
        ("text/plain", "", 2),
    ]


def test_addresses_in_plain_text_are_links():
    message = parse(
        b'Subject: x\n\nsee http://a.example/x?y=1, <HTTPS://b.example> "ftp://c.example/d" or mailto:e@f.example'
    )
    assert [link.target for link in message.links] == [
        "http://a.example/x?y=1,",
        "HTTPS://b.example",
        "ftp://c.example/d",
    ]
    assert all(link.target == link.text for link in message.links)
    assert [link.target for link in parse(b"Subject: x\n\nsee http://a.example/x").links] == ["http://a.example/x"]


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2), (0, 4)])
def test_what_lies_outside_of_the_bytes_is_refused(start, end):
    for read in (lambda *where: Fields(*where, Budget()), leading_fields_end, mime.header_end):
        with pytest.raises(IndexError, match=f"^{start} to {end} is not within 3 bytes$"):
            read(b"a:b", start, end)
