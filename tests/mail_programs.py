"""A message forwarded as an attachment, as common mail programs do it."""

import base64
import binascii

#: With much that a mail program could spoil: 8-bit text, a message within, a line like an mbox's, two empty lines.
ORIGINAL = """Return-Path: <parcels@depot.example>
Delivered-To: bob@home.example
Received: from mx.depot.example (mx.depot.example [203.0.113.7])
\tby mx.home.example (Postfix) with ESMTP id 4XyZ
\tfor <bob@home.example>; Mon,  6 Jan 2025 08:00:01 +0000 (UTC)
From: "Parcels" <parcels@depot.example>
To: bob@home.example
Subject: Ihr Paket =?utf-8?Q?wartet_f=C3=BCr?= Sie
Date: Mon, 6 Jan 2025 08:00:00 +0000
Message-ID: <77@depot.example>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="inner"

This is a message in MIME format.
--inner
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

Grüße! Your parcel could not be delivered = pay the customs fee:\x20\x20
From now on it costs more. http://depot.example/pay


--inner
Content-Type: message/rfc822

From: clerk@depot.example
Subject: the bill

2.99
--inner
Content-Type: application/octet-stream; name="older.eml"

Subject: not a message of its own
--inner--
""".encode()


def _wrapped(head: str, *parts: bytes, boundary: str, newline: bytes = b"\r\n") -> bytes:
    """A multipart message as it is sent."""
    lines = [head.encode(), b""]
    for part in parts:
        lines += [f"--{boundary}".encode(), part]
    lines += [f"--{boundary}--".encode(), b""]
    return b"\n".join(lines).replace(b"\r\n", b"\n").replace(b"\n", newline)


def _head(program: str, boundary: str) -> str:
    return (
        "From: Bob <bob@home.example>\nTo: spam@home.example\nSubject: Fwd: Ihr Paket\n"
        f"Message-ID: <fwd@home.example>\nDate: Mon, 6 Jan 2025 09:00:00 +0100\n{program}\nMIME-Version: 1.0\n"
        f'Content-Type: multipart/mixed;\n boundary="{boundary}"\n'
    ).rstrip("\n") + "\n"


def _attached(fields: str, data: bytes) -> bytes:
    return fields.encode() + b"\n\n" + data


def thunderbird(*messages: bytes) -> bytes:
    boundary = "------------X5tWZ0bHq1"
    text = b"Content-Type: text/plain; charset=UTF-8; format=flowed\nContent-Transfer-Encoding: 7bit\n\n\n"
    fields = (
        'Content-Type: message/rfc822; charset=UTF-8;\n name="Ihr Paket wartet.eml"\n'
        'Content-Disposition: attachment; filename="Ihr Paket wartet.eml"\nContent-Transfer-Encoding: 8bit'
    )
    head = _head("User-Agent: Mozilla Thunderbird\nContent-Language: en-GB", boundary)
    return _wrapped(head, text, *(_attached(fields, message) for message in messages), boundary=boundary)


def apple_mail(*messages: bytes) -> bytes:
    boundary = "Apple-Mail=_7E0D2A6B-66F1-4D1C"
    text = b"Content-Transfer-Encoding: 7bit\nContent-Type: text/plain;\n\tcharset=us-ascii\n\n\n"
    fields = (
        "Content-Disposition: attachment;\n\tfilename*=utf-8''Ihr%20Paket.eml\nContent-Type: message/rfc822;\n"
        '\tname="Ihr Paket.eml";\n\tx-apple-part-url="C1"\nContent-Transfer-Encoding: 7bit'
    )
    head = _head("X-Mailer: Apple Mail (2.3774.300.61.1.2)", boundary)
    return _wrapped(head, text, *(_attached(fields, message) for message in messages), text, boundary=boundary)


def outlook(*messages: bytes) -> bytes:
    boundary = "_004_DB9PR01MB7_"
    text = (
        b'Content-Type: multipart/alternative;\n\tboundary="_000_DB9_"\n\n--_000_DB9_\n'
        b'Content-Type: text/plain; charset="us-ascii"\n\nplease look\n\n--_000_DB9_\n'
        b'Content-Type: text/html; charset="us-ascii"\n\n<p>please look</p>\n\n--_000_DB9_--\n'
    )
    fields = (
        "Content-Type: message/rfc822\nContent-Disposition: attachment;\n"
        '\tcreation-date="Mon, 06 Jan 2025 08:59:12 GMT"'
    )
    head = _head("Thread-Index: AdtgB0==\nX-MS-Has-Attach: yes", boundary)
    return _wrapped(head, text, *(_attached(fields, message) for message in messages), boundary=boundary)


def mutt(*messages: bytes) -> bytes:
    boundary = "ZPt4rx8FFjLCG7dd"
    text = b"Content-Type: text/plain; charset=us-ascii\nContent-Disposition: inline\n\n"
    fields = "Content-Type: message/rfc822\nContent-Disposition: inline\nContent-Transfer-Encoding: 8bit"
    head = _head("User-Agent: Mutt/2.2.9", boundary)
    attached = (_attached(fields, message) for message in messages)
    return _wrapped(head, text, *attached, boundary=boundary, newline=b"\n")


def gmail(*messages: bytes) -> bytes:
    """Encoded, which RFC 2046 forbids; in a multipart within a multipart."""
    boundary = "000000000000d1e8a5062b0c1f3a"
    fields = (
        'Content-Type: message/rfc822; name="Ihr Paket.eml"\n'
        'Content-Disposition: attachment; filename="Ihr Paket.eml"\n'
        "Content-Transfer-Encoding: base64\nX-Attachment-Id: f_m5k0\nContent-ID: <f_m5k0>"
    )
    inner = f'Content-Type: multipart/related; boundary="r{boundary}"\n\n'.encode() + b"".join(
        f"--r{boundary}\n".encode() + _attached(fields, base64.encodebytes(message)) for message in messages
    )
    text = b'Content-Type: text/plain; charset="UTF-8"\n\n\n'
    return _wrapped(_head("X-Gm: 1", boundary), text, inner + f"--r{boundary}--\n".encode(), boundary=boundary)


def webmail(*messages: bytes) -> bytes:
    """A file that was saved and attached again."""
    boundary = "=_c9d1"
    fields = (
        "Content-Type: application/octet-stream;\n name=paket.EML\nContent-Transfer-Encoding: base64\n"
        "Content-Disposition: attachment;\n filename=paket.EML"
    )
    text = b"Content-Type: text/plain; charset=US-ASCII\n\nspam\n"
    encoded = (_attached(fields, base64.encodebytes(message.replace(b"\n", b"\r\n"))) for message in messages)
    return _wrapped(_head("X-Sender: bob@home.example", boundary), text, *encoded, boundary=boundary)


def quoted(*messages: bytes) -> bytes:
    boundary = "qp"
    fields = "Content-Type: message/rfc822\nContent-Transfer-Encoding: quoted-printable"
    encoded = (_attached(fields, binascii.b2a_qp(message, istext=True)) for message in messages)
    return _wrapped(_head("X-Mailer: other", boundary), *encoded, boundary=boundary)


PROGRAMS = (thunderbird, apple_mail, outlook, mutt, gmail, webmail, quoted)
