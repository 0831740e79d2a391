"""The work on a message is bounded: beyond its budget nothing is read, and that is a defect and evidence."""

import tracemalloc
from collections.abc import Callable

import pytest

from priory.features import KINDS, Spec, extract
from priory.message import parse
from priory.message.charset import decode
from priory.message.fields import MOST_STEPS, MOST_VALUE_BYTES
from priory.message.headers import READ_PARAMETERS, parameters
from priory.message.mime import TOO_MUCH_WORK, structure
from priory.message.transfer import base64_bytes

HEAD = b"Subject: =?utf-8?q?caf=C3=A9?=\nContent-Type: multipart/mixed; boundary=x\n\n"


def in_parts(header: bytes, n_parts: int = 40) -> bytes:
    return HEAD + (b"--x\n" + header + b"\n\nhi\n") * n_parts + b"--x--\n"


def numbered(piece: bytes, n: int) -> bytes:
    return b"".join(piece % i for i in range(n))


def prefixes(n_lines: int) -> bytes:
    """Each boundary begins like the one outside of it, and all lines begin like all of them."""
    names = [b"a" * n for n in range(1, 26)]
    heads = b"".join(b"Content-Type: multipart/mixed; boundary=%b\n\n--%b\n" % (name, name) for name in names)
    return b"Subject: =?utf-8?q?caf=C3=A9?=\n" + heads + (b"\n--" + b"a" * 26) * n_lines


DEAR: dict[str, Callable[[], bytes]] = {
    "header lines beyond ASCII": lambda: in_parts(b"a:\x81\n" * 2_000),
    "empty header lines": lambda: in_parts(b"a:\n" * 2_000),
    "percent-encoded parameters": lambda: in_parts(b"Content-Disposition: a" + numbered(b";a%d*=%%81", 2_000)),
    "segments of a parameter": lambda: in_parts(b"Content-Disposition: a" + numbered(b";name*%d*=%%81", 2_000)),
    "a long encoded parameter": lambda: in_parts(b"Content-Disposition: a; name*=" + b"%81" * 10_000),
    "encoded words": lambda: in_parts(b"X: " + b"=?utf-8?q?=81?= " * 1_500),
    "charsets nobody knows": lambda: in_parts(b"X: " + numbered(b"=?x%d?q?a?= ", 1_500)),
    "a file's name of encoded words": lambda: in_parts(
        b'Content-Disposition: a; filename="' + numbered(b"=?x%d?q?a?= ", 1_500) + b'"'
    ),
    "boundaries that are prefixes": lambda: prefixes(20_000),
}


def facts(raw: bytes) -> list[str]:
    features = extract(parse(raw), Spec(kinds=frozenset({"fact"})))
    (found,) = features.occurrences[KINDS.index("fact")]
    return [found.value(i) for i in range(len(found.buckets))]


@pytest.mark.parametrize("name", DEAR)
def test_what_exceeds_the_budget_is_a_defect_and_evidence(name):
    raw = DEAR[name]()
    assert TOO_MUCH_WORK in parse(raw).defects
    assert f"defect: {TOO_MUCH_WORK}" in facts(raw)


@pytest.mark.parametrize("name", DEAR)
def test_the_own_headers_are_decoded_whatever_the_parts_are(name):
    assert parse(DEAR[name]()).header("subject") == "café"


@pytest.mark.parametrize("name", DEAR)
def test_memory_is_at_most_eight_times_the_message(name):
    raw = DEAR[name]()
    assert peak_bytes(lambda: parse(raw)) < 8 * len(raw) + 1_000_000


def test_fields_beyond_the_budget_are_not_read():
    message = parse(in_parts(b"a:\n" * 2_000))
    assert MOST_STEPS // 2 < len(message.part_headers) <= MOST_STEPS


def test_values_beyond_the_budget_are_not_decoded():
    message = parse(in_parts(b"a:=?utf-8?q?a?=\n" * 1_000))
    decoded = [header for header in message.part_headers if header.value == "a"]
    assert MOST_STEPS // 8 < len(decoded) <= MOST_STEPS // 2
    assert {header.value for header in message.part_headers} == {"a", ""}


def test_parts_beyond_the_budget_are_not_read():
    parts = structure(in_parts(b"Content-Disposition: a" + b";a=b" * 2_000), 0)
    assert 5 < len(parts.parts) < 40
    assert -2 * MOST_VALUE_BYTES < parts.budget.left <= 0


@pytest.mark.parametrize("piece", [b"a:\n", b";a=b", b";a*1*=%81", b"=?x?q?a?= "])
def test_the_price_grows_in_proportion_to_the_headers(piece):
    def price(n: int) -> int:
        return MOST_STEPS - structure(in_parts(b"Content-Disposition: a" + piece * n, 2), 0).budget.left

    assert price(2_000) - price(1_000) == pytest.approx(price(1_000) - price(0), abs=4)


def test_the_price_grows_in_proportion_to_lines_that_begin_like_boundaries():
    def price(n: int) -> int:
        return MOST_STEPS - structure(prefixes(n), 0).budget.left

    assert price(200) - price(100) == 100 * 25
    assert price(1_000) - price(500) == pytest.approx(500 * 25, rel=0.02)


def test_a_message_whose_budget_is_spent_at_its_boundaries_is_read_as_text():
    raw = HEAD + b"--xx\n" * MOST_STEPS + b"--x\n\nhello\n--x--\n"
    message = parse(raw)
    assert TOO_MUCH_WORK in message.defects
    assert message.texts


def test_ordinary_mail_spends_little():
    part = b"Content-Type: text/plain; charset=utf-8\nContent-Disposition: attachment; filename=a.txt"
    assert MOST_STEPS - structure(in_parts(part), 0).budget.left < MOST_STEPS // 100


def test_a_value_that_is_too_long_is_read_up_to_a_character_and_noted():
    message = parse(b"Subject: " + "é".encode() * MOST_VALUE_BYTES + b"\n\nhi")
    assert "headers too long" in message.defects
    assert set(message.header("subject")) == {"é"}
    assert len(message.header("subject").encode()) <= MOST_VALUE_BYTES


def test_a_value_of_too_many_parameters_is_noted():
    assert "headers too long" in parse(b"Content-Type: text/plain" + b";a=b" * MOST_VALUE_BYTES + b"\n\nhi").defects


def test_parameters_that_nobody_reads_are_not_decoded():
    assert parameters("a/b; x*=%81; y=\x81; z=1; x*0*=a; name=\xe9; name=\xe8")[1] == {"z": "1", "name": "é"}
    assert "x" not in READ_PARAMETERS


def test_junk_between_the_letters_of_base64_takes_little_memory():
    data = b"A!" * 500_000 + b"A"
    assert base64_bytes(data) == bytes(375_000)
    assert peak_bytes(lambda: base64_bytes(data)) < 4 * len(data)


def test_bytes_without_a_meaning_in_windows_1252_become_replacement_characters():
    data = bytes(range(128, 256)) + b"\xff"
    assert decode(data, None)[0] == data.decode("cp1252", "replace")


def peak_bytes(act: Callable[[], object]) -> int:
    act()  # fills caches
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
