"""Requests in spamd's protocol as clients send them: whole, in pieces, malformed, endless."""

import zlib
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from priory.wire.spamd import LONGEST_LINE, MOST_FIELDS, Incoming, Rating, Refused, Request, rating_answer, tell_answer

MOST = 10_000
MAIL = b"From: ann@mail.example\r\nSubject: lunch?\r\n\r\nOn Friday?\r\n"
PACKED = zlib.compress(MAIL)
SPAM = Rating(is_spam=True, points=7.94, threshold=5.0)
HAM = Rating(is_spam=False, points=-3.0, threshold=5.0)


def outcome(pieces: list[bytes], *, is_end: bool = False) -> Request | bytes | None:
    """Return the result of a request that is sent in pieces: the request, the refusal, or None."""
    incoming = Incoming(MOST)
    try:
        for piece in pieces:
            request = incoming.receive(piece)
            if request is not None:
                return request
        return incoming.finish() if is_end else None
    except Refused as refused:
        return refused.answer


def with_length(first: bytes, *fields: bytes, body: bytes = MAIL) -> bytes:
    return b"\r\n".join([first, *fields, b"Content-length: %d" % len(body), b"", b""]) + body


#: What spamc 4.0.1 sends, and others: the bytes, and what they ask for.
COMPLETE = [
    (with_length(b"CHECK SPAMC/1.5", b"User: root"), Request("CHECK", 5, len(MAIL), user="root", body=MAIL)),
    (with_length(b"PROCESS SPAMC/1.2"), Request("PROCESS", 2, len(MAIL), body=MAIL)),
    (with_length(b"HEADERS SPAMC/1.4", b"X-Unknown: 7"), Request("HEADERS", 4, len(MAIL), body=MAIL)),
    (with_length(b"REPORT_IFSPAM SPAMC/1.3", body=b""), Request("REPORT_IFSPAM", 3, 0)),
    (with_length(b"SYMBOLS SPAMC/1.3").replace(b"\r\n", b"\n", 3), Request("SYMBOLS", 3, len(MAIL), body=MAIL)),
    (
        with_length(b"REPORT SPAMC/1.5", b"Compress: zlib", body=PACKED),
        Request("REPORT", 5, len(PACKED), is_compressed=True, body=MAIL),
    ),
    (
        with_length(b"TELL SPAMC/1.5", b"Message-class: spam", b"Set: local,remote", "User: Jörg".encode()),
        Request("TELL", 5, len(MAIL), user="Jörg", message_class="spam", set_local=True, body=MAIL),
    ),
    (
        with_length(b"TELL SPAMC/1.5", b"message-CLASS:ham", b"Set: LOCAL", b"Remove: remote"),
        Request("TELL", 5, len(MAIL), message_class="ham", set_local=True, body=MAIL),
    ),
    (with_length(b"TELL SPAMC/1.3", b"Remove: local"), Request("TELL", 3, len(MAIL), remove_local=True, body=MAIL)),
    (b"PING SPAMC/1.2\r\n", Request("PING", 2)),
    (b"PING SPAMC/1.5\r\n\r\n", Request("PING", 5)),
    (b"SKIP SPAMC/1.4\r\n", Request("SKIP", 4)),
]

BAD = "SPAMD/1.0 76 Bad header line: "
REFUSED = [
    (b"GET / HTTP/1.1\r\n", BAD + "GET / HTTP/1.1"),
    (b"\r\n", BAD),
    (b"\xff\x00\x1b[2J\n", BAD + "???[2J"),
    (b"CHECK SPAMC/1.0\r\n", BAD + "CHECK SPAMC/1.0"),
    (b"check SPAMC/1.5\r\n", BAD + "check SPAMC/1.5"),
    (b"EXEC SPAMC/1.5\r\n", BAD + "EXEC SPAMC/1.5"),
    (b"x" * (LONGEST_LINE + 1), f"{BAD}(line longer than {LONGEST_LINE} bytes)"),
    (b"CHECK SPAMC/1.5\r\nUser\r\n", BAD + "(header not in 'Name: value' format)"),
    (b"CHECK SPAMC/1.5\r\nUser: a\tb\r\n", BAD + "(User header contains control chars)"),
    (b"CHECK SPAMC/1.5\r\nContent-length: -1\r\n", BAD + "(Content-Length contains non-numeric bytes)"),
    (b"CHECK SPAMC/1.5\r\nContent-length: \r\n", BAD + "(Content-Length contains non-numeric bytes)"),
    (b"CHECK SPAMC/1.5\r\nCompress: lzma\r\n", BAD + "(compression type not supported) lzma"),
    (b"CHECK SPAMC/1.5\r\n" + b"A: b\r\n" * (MOST_FIELDS + 1), BAD + "(too many headers)"),
    (
        b"CHECK SPAMC/1.5\r\nContent-length: 10001\r\n\r\n",
        "SPAMD/1.0 98 Message too big: at most 10000 bytes are taken",
    ),
    (
        b"CHECK SPAMC/1.5\r\nContent-length: %s\r\n\r\n" % (b"9" * 900),
        "SPAMD/1.0 98 Message too big: at most 10000 bytes are taken",
    ),
    (b"CHECK SPAMC/1.5\r\n\r\n" + b"x" * 10_001, "SPAMD/1.0 98 Message too big: at most 10000 bytes are taken"),
    (
        with_length(b"CHECK SPAMC/1.5", b"Compress: zlib", body=zlib.compress(bytes(50_000_000), 9)[:9_000]),
        "SPAMD/1.0 98 Message too big: at most 10000 bytes are taken",
    ),
    (
        with_length(b"CHECK SPAMC/1.5", b"Compress: zlib", body=PACKED[:-5]),
        "SPAMD/1.0 69 Service Unavailable: zlib: failed to find end of zlib stream",
    ),
    (
        with_length(b"CHECK SPAMC/1.5", b"Compress: zlib", body=MAIL),
        "SPAMD/1.0 69 Service Unavailable: zlib: the data are damaged",
    ),
    (
        b"CHECK SPAMC/1.5\r\nCompress: zlib\r\n\r\n",
        "SPAMD/1.0 69 Service Unavailable: Compress requires Content-length header",
    ),
    (
        with_length(b"TELL SPAMC/1.5", b"Message-class: spam", b"Set: local", b"Remove: local"),
        BAD + "Unable to set local and remove local in the same operation.",
    ),
    (with_length(b"TELL SPAMC/1.5", b"Set: local"), BAD + "(Set needs a Message-class)"),
]


@pytest.mark.parametrize(("sent", "asked"), COMPLETE, ids=[request.verb for _, request in COMPLETE])
def test_a_request_is_the_same_wherever_it_is_cut(sent: bytes, asked: Request):
    for cut in range(len(sent) + 1):
        assert outcome([sent[:cut], sent[cut:]]) == asked
    assert outcome([sent[i : i + 1] for i in range(len(sent))]) == asked
    assert outcome([sent + b"what follows is ignored"]) == asked


@pytest.mark.parametrize(("sent", "asked"), COMPLETE, ids=[request.verb for _, request in COMPLETE])
def test_before_its_last_byte_no_request_is_complete(sent: bytes, asked: Request):
    assert outcome([sent[:-1]]) is None


@pytest.mark.parametrize(("sent", "answer"), REFUSED)
def test_what_is_wrong_is_answered_in_the_words_of_the_original(sent: bytes, answer: str):
    expected = f"{answer}\r\n".encode()
    assert outcome([sent]) == expected
    assert outcome([sent[i : i + 97] for i in range(0, len(sent), 97)]) == expected


def test_without_a_length_the_body_ends_where_the_client_stops():
    sent = b"CHECK SPAMC/1.5\r\n\r\n" + MAIL
    assert outcome([sent]) is None
    assert outcome([sent], is_end=True) == Request("CHECK", 5, body=MAIL)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", "(closed before headers)"),
        (b"CHE", "(EOF during headers)"),
        (b"CHECK SPAMC/1.5\r\nUser: a\r\n", "(EOF during headers)"),
        (
            b"CHECK SPAMC/1.5\r\nContent-length: 9\r\n\r\nabc",
            "(Content-Length mismatch: Expected 9 bytes, got 3 bytes)",
        ),
    ],
)
def test_a_client_that_stops_too_early_is_told(sent: bytes, said: str):
    assert outcome([sent], is_end=True) == f"{BAD}{said}\r\n".encode()


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=6), st.booleans())
@example(b"PING SPAMC/1.5\r\n\r\n", [3], True)
def test_any_bytes_are_a_request_or_refused_however_they_are_cut(sent: bytes, cuts: list[int], is_end: bool):
    edges = [0, *sorted(cuts), len(sent)]
    pieces = [sent[a:b] for a, b in pairwise(edges)]
    assert outcome(pieces, is_end=is_end) == outcome([sent], is_end=is_end)


_LINES = st.sampled_from(
    b"CHECK SPAMC/1.5|TELL SPAMC/1.2|PING SPAMC/1.4|Content-length: 7|Compress: zlib|Set: local|Message-class: spam|"
    b"User: ann|Remove: local||nonsense|\x78\x9c\x03\x00".split(b"|")
)


@given(st.lists(_LINES, max_size=8), st.sampled_from([b"\n", b"\r\n"]), st.integers(0, 200))
def test_any_lines_are_a_request_or_refused_however_they_are_cut(lines: list[bytes], line_end: bytes, cut: int):
    sent = line_end.join(lines)
    found = outcome([sent[:cut], sent[cut:]], is_end=True)
    assert found == outcome([sent], is_end=True)
    if isinstance(found, bytes):
        assert found.startswith(b"SPAMD/1.0 ")
        assert found.endswith(b"\r\n")
        assert found.count(b"\n") == 1
        assert found.isascii()


@pytest.mark.parametrize(
    ("verb", "minor", "rating", "body", "answer"),
    [
        ("CHECK", 5, SPAM, b"", b"SPAMD/1.1 0 EX_OK\r\nSpam: True ; 7.9 / 5.0\r\n\r\n"),
        ("CHECK", 2, HAM, b"", b"SPAMD/1.1 0 EX_OK\r\nSpam: False ; -3.0 / 5.0\r\n\r\n"),
        ("PROCESS", 5, SPAM, b"Mail", b"SPAMD/1.1 0 EX_OK\r\nContent-length: 4\r\nSpam: True ; 7.9 / 5.0\r\n\r\nMail"),
        ("PROCESS", 2, SPAM, b"Mail", b"SPAMD/1.1 0 EX_OK\r\nContent-length: 4\r\n\r\nMail"),
        ("REPORT", 2, HAM, b"Why", b"SPAMD/1.1 0 EX_OK\r\nSpam: False ; -3.0 / 5.0\r\n\r\nWhy"),
        (
            "REPORT_IFSPAM",
            3,
            SPAM,
            b"Why",
            b"SPAMD/1.1 0 EX_OK\r\nContent-length: 3\r\nSpam: Yes ; 7.9 / 5.0\r\n\r\nWhy",
        ),
        ("REPORT_IFSPAM", 3, HAM, b"", b"SPAMD/1.1 0 EX_OK\r\nContent-length: 0\r\nSpam: No ; -3.0 / 5.0\r\n\r\n"),
        ("SYMBOLS", 3, HAM, b"A,B", b"SPAMD/1.1 0 EX_OK\r\nContent-length: 3\r\nSpam: False ; -3.0 / 5.0\r\n\r\nA,B"),
        ("SYMBOLS", 2, HAM, b"A,B", b"SPAMD/1.1 0 EX_OK\r\nSpam: False ; -3.0 / 5.0\r\n\r\nA,B\r\n"),
    ],
)
def test_each_version_is_answered_with_the_fields_it_knows(
    verb: str, minor: int, rating: Rating, body: bytes, answer: bytes
):
    assert rating_answer(Request(verb, minor), rating, body) == answer


def test_other_fields_come_last_as_exim_counts_on_the_first_two():
    answer = rating_answer(Request("HEADERS", 5), HAM, b"", [("Labels", "2")])
    assert answer == b"SPAMD/1.1 0 EX_OK\r\nContent-length: 0\r\nSpam: False ; -3.0 / 5.0\r\nLabels: 2\r\n\r\n"


def test_what_was_done_is_told():
    assert tell_answer(did_set=False, did_remove=True) == b"SPAMD/1.1 0 EX_OK\r\nDidRemove: local\r\n\r\n\r\n"
    assert tell_answer(did_set=False, did_remove=False) == b"SPAMD/1.1 0 EX_OK\r\n\r\n\r\n"
