from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

import pytest

from priory.demo.letter import AttachedFile, Body, Letter, compose, encoded_words, mailbox

CHARSETS = {
    "utf-8": "Grüße, привет, 你好",
    "iso-8859-1": "Grüße aus Köln und à bientôt",
    "windows-1252": "Grandpa’s watch – €20",
    "koi8-r": "Счёт за апрель",
    "iso-2022-jp": "請求書を添付します",
    "gb18030": "会议记录在附件里",
}
ENCODINGS = ("8bit", "quoted-printable", "base64")


def letter(*bodies: Body, subject: str = "Bill", files: tuple[AttachedFile, ...] = (), coding: str = "B") -> Letter:
    return Letter(
        message_id="<1@mail.example>",
        date=datetime(2025, 1, 6, 8, tzinfo=UTC),
        sender=("Jürgen Weiß", "juergen@mail.example"),
        recipient=("Ada Birch", "ada@harbourlight.example"),
        subject=subject,
        trace=("from a.example by b.example; Mon, 06 Jan 2025 08:00:00 +0000",),
        bodies=bodies,
        attachments=files,
        word_coding=coding,
    )


def read(raw: bytes) -> EmailMessage:
    message = message_from_bytes(raw, policy=default)
    assert isinstance(message, EmailMessage)
    return message


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("charset", CHARSETS)
def test_text_comes_back_from_every_charset_and_encoding(charset: str, encoding: str):
    text = f"{CHARSETS[charset]}\n" * 9
    assert read(compose(letter(Body(text, "plain", charset, encoding)))).get_content() == text


@pytest.mark.parametrize("coding", ["B", "Q"])
@pytest.mark.parametrize("charset", CHARSETS)
def test_subjects_come_back_from_encoded_words(charset: str, coding: str):
    subject = f"{CHARSETS[charset]} " * 6 + "5"
    message = read(compose(letter(Body("ok\n", "plain", charset, "base64"), subject=subject, coding=coding)))
    assert message["Subject"] == subject
    assert message["From"].addresses[0].display_name == "Jürgen Weiß"


@pytest.mark.parametrize("coding", ["B", "Q"])
@pytest.mark.parametrize("charset", CHARSETS)
def test_encoded_words_keep_to_the_limit_of_rfc_2047(charset: str, coding: str):
    words = encoded_words(CHARSETS[charset] * 20, charset, coding).split("\n ")
    assert len(words) > 1
    assert max(map(len, words)) <= 75


def test_alternatives_stand_inside_the_mixed_part_with_files():
    bodies = (Body("ok\n", "plain", "us-ascii", "7bit"), Body("<p>ok</p>\n", "html", "utf-8", "base64"))
    file = AttachedFile("счёт.pdf", "application/pdf", b"%PDF-1.4 \x00\xff")
    message = read(compose(letter(*bodies, files=(file,))))
    types = [part.get_content_type() for part in message.walk()]
    assert types == ["multipart/mixed", "multipart/alternative", "text/plain", "text/html", "application/pdf"]
    (attached,) = message.iter_attachments()
    assert attached.get_filename() == "счёт.pdf"
    assert attached.get_content() == file.content


def test_plain_ascii_needs_no_mime_header():
    raw = compose(letter(Body("see you\n", "plain", "us-ascii", "7bit")))
    assert b"MIME" not in raw
    assert raw.endswith(b"\n\nsee you\n")


def test_names_are_quoted_where_they_must_be():
    assert mailbox("", "ada@mail.example", "utf-8", "B") == "ada@mail.example"
    assert mailbox("Ada Birch", "ada@mail.example", "utf-8", "B") == "Ada Birch <ada@mail.example>"
    assert mailbox("Dr. Birch", "ada@mail.example", "utf-8", "B") == '"Dr. Birch" <ada@mail.example>'
    assert mailbox("Зоя", "zoya@mail.example", "us-ascii", "B") == "=?utf-8?B?0JfQvtGP?= <zoya@mail.example>"
