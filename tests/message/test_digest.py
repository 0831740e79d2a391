"""The digest identifies a message: changes by transports, mailboxes and filters do not change it."""

from hypothesis import given
from hypothesis import strategies as st

from priory.message import parse

RAW = b"From: ann@home.example\nSubject: lunch\n on Friday?\n\nAt noon?\n\nAnn\n"


def digest(raw: bytes) -> bytes:
    return parse(raw).digest


def test_line_ends_do_not_count():
    assert digest(RAW.replace(b"\n", b"\r\n")) == digest(RAW)


def test_an_envelope_line_does_not_count():
    assert digest(b"From ann@home.example Mon Jan  1 00:00:00 2024\n" + RAW) == digest(RAW)
    assert digest(b"From MAILER-DAEMON\r\n" + RAW.replace(b"\n", b"\r\n")) == digest(RAW)


def test_an_empty_end_does_not_count():
    assert digest(RAW + b"\n\r\n\n") == digest(RAW.rstrip()) == digest(RAW)


def test_headers_of_filters_do_not_count():
    assert digest(b"X-Priory-Verdict: spam; 0.99\nX-Spam-Status: Yes,\n\tscore=7\n" + RAW) == digest(RAW)
    assert digest(RAW.replace(b"\n\n", b"\nX-Spam-Flag: YES\nStatus: RO\n\n", 1)) == digest(RAW)


def test_spaces_at_the_end_of_a_header_do_not_count():
    assert digest(RAW.replace(b"Friday?\n", b"Friday? \t\n")) == digest(RAW)


def test_headers_and_body_count():
    others = [
        RAW.replace(b"noon", b"nine"),
        RAW.replace(b"ann@", b"bob@"),
        RAW.replace(b"Subject", b"Comment"),
        RAW.replace(b"noon?\n\n", b"noon?\n"),
        b"Received: x\n" + RAW,
        b"\n" + RAW,
        b"",
    ]
    assert len({digest(raw) for raw in [RAW, *others]}) == len(others) + 1


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_different_bodies_have_different_names(one, other):
    def same_but_for_its_end(body):
        return body.replace(b"\r\n", b"\n").rstrip(b"\r\n")

    named_alike = digest(b"Subject: hi\n\n" + one) == digest(b"Subject: hi\n\n" + other)
    assert named_alike == (same_but_for_its_end(one) == same_but_for_its_end(other))
