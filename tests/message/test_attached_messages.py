"""A message that is forwarded as an attachment is recovered byte for byte."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mail_programs import ORIGINAL, PROGRAMS, thunderbird
from priory.demo import draw
from priory.message import attached_messages, parse

OTHERS = [drawn.raw for drawn in draw(8, seed=5)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("on_its_way", [lambda raw: raw, lambda raw: raw.replace(b"\r\n", b"\n")], ids=["CRLF", "LF"])
def test_it_has_the_digest_of_the_original(program: Callable[..., bytes], on_its_way: Callable[[bytes], bytes]) -> None:
    for original in (ORIGINAL, *OTHERS):
        (found,) = attached_messages(on_its_way(program(original)))
        assert parse(found).digest == parse(original).digest
    assert [parse(each).digest for each in attached_messages(on_its_way(program(*OTHERS)))] == [
        parse(each).digest for each in OTHERS
    ]


def test_what_an_attached_message_carries_is_part_of_it() -> None:
    assert len(attached_messages(ORIGINAL)) == 2
    assert len(attached_messages(thunderbird(ORIGINAL))) == 1


def test_a_report_that_is_nothing_but_a_message() -> None:
    raw = b"From ann Mon Jan  6 08:00:00 2025\nContent-Type: message/rfc822\n\n" + ORIGINAL
    assert attached_messages(raw) == [ORIGINAL]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"Subject: Fwd: spam\n\n---------- Forwarded message ---------\nFrom: parcels@depot.example\n",
        b"Content-Type: message/rfc822\n\n\n\n",
        b"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: application/pdf; name=b.pdf\n\nPK\n--x--\n",
        b"Content-Type: multipart/mixed\n\n--x\nContent-Type: message/rfc822\n\nSubject: hi\n--x--\n",
    ],
)
def test_where_no_message_is_attached_none_is_found(raw: bytes) -> None:
    assert attached_messages(raw) == []


@given(st.lists(st.sampled_from([b"--x", b"--x--", b"\n", b"Content-Type: message/rfc822\n", b"\n\n", b"a: b\n"])))
def test_whatever_is_attached_is_a_piece_of_the_report(pieces: list[bytes]) -> None:
    raw = b"Content-Type: multipart/mixed; boundary=x\n\n" + b"".join(pieces)
    assert all(each in raw for each in attached_messages(raw))


def test_a_great_many_attachments_end() -> None:
    part = b"--x\nContent-Type: message/rfc822\n\nSubject: hi\n\n"
    assert len(attached_messages(b"Content-Type: multipart/mixed; boundary=x\n\n" + part * 100_000)) < 300
    deep = b"Content-Type: multipart/mixed; boundary=x\n\n--x\n"
    assert attached_messages(deep * 100_000) == []
