"""Mail that is piped in passes by once."""

import io
import sys

import pytest

from priory.corpus import CorpusError, read


@pytest.fixture
def pipe(monkeypatch):
    def fill(text: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))

    return fill


def test_one_message_is_read(pipe):
    pipe(b"Subject: caf\xe9\r\n\r\n>From here\r\n")
    assert [(message.source, message.raw) for message in read(["-"], "ham")] == [
        ("-", b"Subject: caf\xe9\r\n\r\n>From here\r\n")
    ]


def test_an_mbox_is_read(pipe):
    pipe(b"From ann\nSubject: a\n\nFrom bob\nSubject: b\n")
    assert [(message.source, message.raw) for message in read(["-"], "ham")] == [
        ("-:1", b"Subject: a\n"),
        ("-:2", b"Subject: b\n"),
    ]


def test_nothing_piped_in_is_no_mail(pipe):
    pipe(b"")
    assert list(read(["-"], "ham")) == []


def test_what_is_no_mail_is_refused(pipe):
    pipe(b"\x1f\x8b\x08\0")
    with pytest.raises(CorpusError) as error:
        list(read(["-"], "ham"))
    assert str(error.value) == "standard input is a gzip file, not mail; unpack it first"


def test_a_message_without_a_header_is_read(pipe):
    pipe(b"You won\n")
    assert [message.raw for message in read(["-"], "ham")] == [b"You won\n"]


def test_it_can_be_counted_only_after_it_was_read(pipe):
    pipe(b"From ann\nSubject: a\n\nFrom bob\nSubject: b\n")
    corpus = read(["-"], "ham")
    with pytest.raises(CorpusError) as error:
        corpus.count()
    assert str(error.value) == (
        "standard input cannot be counted before it is read; save the mail to a file to count it"
    )
    assert len(list(corpus)) == corpus.count() == 2


def test_it_can_be_read_only_once(pipe):
    pipe(b"Subject: a\n")
    corpus = read(["-"], "ham")
    list(corpus)
    with pytest.raises(CorpusError) as error:
        list(corpus)
    assert str(error.value) == ("standard input can be read only once; save the mail to a file and name that instead")
