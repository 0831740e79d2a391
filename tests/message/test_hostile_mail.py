"""Mail that is made to break or stall a parser gives a message with a defect, features and a verdict, like all mail."""

import random
from collections.abc import Callable

import pytest

from priory.corpus import read_index
from priory.demo import draw
from priory.features import KINDS, Spec, extract, pack_features, unpack_features
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.verdict import UNFAMILIAR
from priory.message import MOST_LINKS, MOST_SKELETON_BYTES, MOST_TEXT_BYTES, Message, mime, parse

ALL_KINDS = Spec(kinds=frozenset(KINDS), patterns={"loop": r"(a+)+$", "wide": r"(.*)*x"})
MEGABYTE = 1 << 20


def filled(piece: bytes, size: int = MEGABYTE) -> bytes:
    return (piece * (size // len(piece) + 1))[:size]


def html(body: bytes) -> bytes:
    return b"Content-Type: text/html\n\n" + body


def nested(depth: int) -> bytes:
    heads = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(depth))
    return heads + b"\nhello\n" + b"".join(b"--b%d--\n" % i for i in reversed(range(depth)))


def prefixes() -> bytes:
    """Each boundary begins like the one outside of it, and a megabyte of lines begins like all of them."""
    names = [b"a" * n for n in range(1, 26)]
    heads = b"".join(b"Content-Type: multipart/mixed; boundary=%b\n\n--%b\n" % (name, name) for name in names)
    return heads + filled(b"\n--" + b"a" * 26)


def in_part(body: bytes, encoding: bytes, kind: bytes = b"text/plain") -> bytes:
    return b"Content-Type: %b\nContent-Transfer-Encoding: %b\n\n%b" % (kind, encoding, body)


ZEROS = "zero bytes in text"
HOSTILE: dict[str, tuple[Callable[[], bytes], str | None]] = {
    "nothing": (lambda: b"", "no headers"),
    "one byte": (lambda: b"x", "no headers"),
    "one zero": (lambda: b"\0", ZEROS),
    "one line end": (lambda: b"\n", "no headers"),
    "fifty megabytes of zeros": (lambda: bytes(50 * MEGABYTE), "too much text"),
    "nested multiparts": (lambda: nested(10_000), "nested too deeply"),
    "sibling parts": (
        lambda: b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\nhi\n" * 10_000 + b"--x--\n",
        "too many parts",
    ),
    "nested messages": (
        lambda: b"Content-Type: message/rfc822\n\n" * 10_000 + b"Subject: x\n\nhi",
        "nested too deeply",
    ),
    "boundaries that are prefixes": (prefixes, "multipart without end"),
    "boundary lines alone": (
        lambda: b"Content-Type: multipart/mixed; boundary=x\n\n" + filled(b"--x\n"),
        "too many parts",
    ),
    "a header of a megabyte": (lambda: b"Subject: " + filled(b"word ") + b"\n\nhi", "headers too long"),
    "a name of a megabyte": (lambda: filled(b"x") + b": y\n\nhi", "headers too long"),
    "a hundred thousand headers": (
        lambda: b"".join(b"X-%d: %d\n" % (i, i) for i in range(100_000)) + b"\n",
        "headers too long",
    ),
    "empty headers": (lambda: filled(b"a:\n"), "headers too long"),
    "folds": (lambda: b"Subject: x" + filled(b"\n ") + b"\n\n", "headers too long"),
    "spaces before a colon": (lambda: filled(b"a" + b" " * 9_999) + b":\n\n", "headers too long"),
    "a sender without an end": (lambda: b"From: " + filled(b"a", 250_000) + b"\n\n", None),
    "a sender of at signs": (lambda: b"From: " + filled(b"a@", 250_000) + b"\n\n", None),
    "an endless domain": (lambda: b"From: a@" + filled(b"b.", 250_000) + b"\n\n", None),
    "encoded words without an end": (lambda: b"Subject: " + filled(b"=?utf-8?q?a", 250_000) + b"\n\n", None),
    "encoded words in a row": (lambda: b"Subject: " + filled(b"=?utf-8?q?a?= ", 250_000) + b"\n\n", None),
    "languages of encoded words": (lambda: b"Subject: =?" + filled(b"a*", 250_000) + b"?q\n\n", None),
    "spaces after an encoded word": (lambda: b"Subject: =?a?q?b?=" + filled(b" ", 250_000) + b"x\n\n", None),
    "charsets nobody knows": (
        lambda: b"Subject: " + b" ".join(b"=?x%d?q?a?=" % i for i in range(15_000)) + b"\n\n",
        None,
    ),
    "parameters": (lambda: b"Content-Type: text/plain" + filled(b";a=b", 250_000) + b"\n\nhi", None),
    "numbered parameters": (
        lambda: b"Content-Type: text/plain" + b"".join(b";a*%d*=b" % i for i in range(20_000)) + b"\n\nhi",
        None,
    ),
    "a parameter's number": (lambda: b"Content-Type: text/plain; a*" + filled(b"9", 250_000) + b"=b\n\nhi", None),
    "quotes without an end": (lambda: b"Content-Type: text/plain" + filled(b';a="\\"', 250_000) + b"\n\nhi", None),
    "a parameter without a value": (lambda: b"Content-Type: text/plain;" + filled(b"a", 250_000) + b"\n\nhi", None),
    "spaces in a parameter": (lambda: b"Content-Type: text/plain;a" + filled(b" ", 250_000) + b"\n\nhi", None),
    "semicolons": (lambda: b"Content-Type: text/plain" + filled(b"; ", 250_000) + b"\n\nhi", None),
    "broken base64": (lambda: in_part(filled(b"A=B!"), b"base64"), "transfer encoding out of proportion"),
    "padding": (lambda: in_part(filled(b"="), b"base64"), "transfer encoding out of proportion"),
    "broken quoted-printable": (lambda: in_part(filled(b"=4=\n="), b"quoted-printable"), "too much text"),
    "soft line ends": (
        lambda: in_part(filled(b"=\n", 2 * MEGABYTE), b"quoted-printable"),
        "transfer encoding out of proportion",
    ),
    "surrogates in UTF-7": (lambda: b"Content-Type: text/plain; charset=utf-7\n\n" + filled(b"+2AA-"), "too much text"),
    "a line of letters": (lambda: b"\n" + filled(b"a"), "too much text"),
    "a line of words": (lambda: b"\n" + filled(b"a.b-c@d_e'"), "too much text"),
    "Chinese": (lambda: b"\n" + filled("特价".encode()), "too much text"),
    "addresses": (lambda: b"\n" + filled(b"http://a.b/" * 50 + b" "), "too much text"),
    "beginnings of addresses": (lambda: b"\n" + filled(b"http://"), "too much text"),
    "less than": (lambda: html(filled(b"<")), "too much text"),
    "links without an end": (lambda: html(filled(b'<a href="')), "too much text"),
    "links to endless addresses": (lambda: html(b"<a href='" + filled(b"a")), "too much text"),
    "links": (lambda: html(filled(b"<a href=x>x.example</a>")), "too much text"),
    "nested boxes": (lambda: html(filled(b"<div>")), "too much text"),
    "tags in other quotes": (lambda: html(filled(b"<a b='<c d=\"")), "too much text"),
    "attributes": (lambda: html(b"<p" + filled(b" a=b") + b">"), "too much text"),
    "comments without an end": (lambda: html(filled(b"<!--")), "too much text"),
    "declarations without an end": (lambda: html(filled(b"<!")), "too much text"),
    "ends of nothing": (lambda: html(filled(b"</")), "too much text"),
    "scripts without an end": (lambda: html(filled(b"<script>")), "too much text"),
    "ends of other scripts": (lambda: html(b"<script>" + filled(b"</scrip")), "too much text"),
    "titles": (lambda: html(filled(b"<title>")), "too much text"),
    "entities without a number": (lambda: html(filled(b"&#")), "too much text"),
    "an entity without an end": (lambda: html(b"&#" + filled(b"1")), "too much text"),
    "a hexadecimal without an end": (lambda: html(b"&#x" + filled(b"f")), "too much text"),
    "entities of many digits": (lambda: html(filled(b"&#" + b"9" * 4_200 + b";")), "too much text"),
    "entities nobody knows": (lambda: html(filled(b"&abcdefghijklmnopqrstuvwxyzabcdefgh")), "too much text"),
    "a link with an endless number": (lambda: html(b"<a href='&#" + b"7" * 5_000 + b"'>x</a>"), None),
    "a link shown as an endless host": (lambda: html(b"<a href=http://b.test>" + filled(b"a.", 200_000)), None),
    "a link shown as a host with an endless path": (
        lambda: html(b"<a href=http://b.test>a.example/" + filled(b"?", 200_000) + b"\n\n</a>"),
        None,
    ),
    "an attachment's name of dots": (
        lambda: b"Content-Type: a/b; name=" + filled(b".", 200_000) + b"\n\n",
        None,
    ),
    "a date of signs": (lambda: b"Date: " + filled(b"+1-2", 200_000) + b"\n\n", None),
    "recipients": (lambda: b"To: " + filled(b"a@b,", 200_000) + b"\n\n", None),
}


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    with Filter.open(tmp_path_factory.mktemp("home"), Options(spec=Spec(bits=18))) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in draw(200, seed=1)))
        yield filter_


def assert_judged(raw: bytes, filter_: Filter) -> None:
    verdict = filter_.check(raw)
    assert verdict.label in ("ham", "unsure", "spam")
    assert 0 <= verdict.probability <= 1
    assert verdict.reason in ("", UNFAMILIAR)


def assert_within_limits(message: Message) -> None:
    assert sum(len(part.text) for part in message.texts) <= MOST_TEXT_BYTES
    assert len(message.links) <= MOST_LINKS
    assert len(message.skeleton) <= MOST_SKELETON_BYTES
    assert len(message.texts) + len(message.attachments) <= 2 * mime.MOST_PARTS
    assert sum(len(h.name) + len(h.value) for h in message.headers) <= mime.MOST_HEADER_BYTES
    assert len(message.sender_domain) <= 255
    assert all(len(defect) < 100 and "\n" not in defect for defect in message.defects)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_mail_stays_within_limits_and_its_defect_is_named(name, taught):
    build, defect = HOSTILE[name]
    raw = build()
    assert_judged(raw, taught)
    message = parse(raw)
    assert_within_limits(message)
    assert defect is None or defect in message.defects
    features = extract(message, ALL_KINDS)
    assert len(features) == len(features.buckets) == features.offsets[-1]
    assert len(features) < 40_000


HTML = b"""Content-Type: text/html; charset="iso-8859-1"
Content-Transfer-Encoding: quoted-printable

<html><p>V<b></b>iagra <a href=3D'http://bad.test/x?y=3D1&amp;z=3D2'>bank.example</a><!-- x --><style>p{}</style>=
"""
PARTS = b"""MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="=_a"

preamble
--=_a
Content-Type: multipart/alternative; boundary=b

--b

plain
--b
Content-Type: text/html

<p>rich</p>
--b--

--=_a
Content-Type: application/pdf; name*0*=utf-8''bill%20; name*1="2024.pdf"
Content-Transfer-Encoding: base64
Content-Disposition: attachment

JVBERi0xLjQK
--=_a--
epilogue
"""
BUILT = [
    HTML,
    PARTS,
    b"From: Ann <ann@home.example>\nTo: bob@home.example\nSubject: lunch on Friday?\n\nShall we meet at noon?\n\nAnn\n",
    b"From bob Mon Jan  1 00:00:00 2024\r\nSubject: =?utf-8?B?R3LDvMOfZQ==?=\r\n\r\nViele Gr\xc3\xbc\xc3\x9fe\r\n",
    b"Subject: =?gb2312?B?zNi82w==?=\nContent-Type: text/plain; charset=gb2312\n\n\xcc\xd8\xbc\xdb 100\n",
    b"Content-Type: message/rfc822\n\nSubject: inner\nX-Spam-Status: Yes\n\nforwarded\n",
    b"Received: from a (b [192.0.2.1])\n\tby c; Mon, 1 Jan 2024 00:00:00 +0000\nReply-To: x@y.example\n\n\xe7\x89\xb9",
]
INSERTS = (
    b"\0", b"\xff", b"\xff" * 9, b"\n", b"\r\n\r\n", b"\n--=_a\n", b"\n--b--\n", b"--", b"=", b"=?utf-8?b?", b"?=",
    b'"', b";", b"<", b"<!--", b"<script>", b"<a href='", b">", b"&#99999999999999999999;", b"&#xd800;", b"%ff",
    b"9" * 5_000, b"\nContent-Type: multipart/mixed; boundary=\n", b"\nContent-Transfer-Encoding: base64\n", b"\x1b$B",
    b"charset=utf-16", b"charset=utf-7", b"+2AA-", b"*0*=''", b"\nFrom: @\n", b"\n:\n", b" \t \n", b"\xe2\x80",
    b"\xc4\xb0\xe1\xba\x9e",
)  # fmt: skip


def mutated(raw: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Return the message with a few bytes flipped, deleted, doubled, inserted, cut off, or taken from another one."""
    for _ in range(chance.randint(1, 6)):
        at, length = chance.randrange(len(raw) + 1), chance.choice((1, 2, 9, 80, 2_000))
        piece, after = raw[at : at + length], raw[at + length :]
        match chance.randrange(6):
            case 0:
                raw = raw[:at] + bytes(byte ^ 1 << chance.randrange(8) for byte in piece) + after
            case 1:
                raw = raw[:at] + after
            case 2:
                raw = raw[:at] + piece * chance.choice((2, 3, 50)) + after
            case 3:
                raw = raw[:at] + chance.choice(INSERTS) + raw[at:]
            case 4:
                other = chance.choice(others)
                raw = raw[:at] + other[chance.randrange(len(other) + 1) :]
            case _:
                raw = raw[: max(at, 40)]
    return raw[:200_000]


def assert_whole(raw: bytes) -> None:
    message = parse(raw)
    assert_within_limits(message)
    for text in (
        message.text,
        message.skeleton,
        *(h.value for h in message.headers),
        *(x.target for x in message.links),
    ):
        text.encode()
    assert "\0" not in message.text
    features = extract(message, ALL_KINDS)
    for several in features.occurrences:
        for found in several:
            starts, ends = found.starts, found.ends
            assert all(0 <= start <= end <= len(found.section.shown) for start, end in zip(starts, ends, strict=True))
    restored = unpack_features(pack_features(features, ALL_KINDS.bits), ALL_KINDS.bits)
    assert restored.buckets.tolist() == features.buckets.tolist()
    assert restored.offsets.tolist() == features.offsets.tolist()


@pytest.mark.slow
def test_built_mail_with_thousands_of_mutations_is_read():
    chance = random.Random(7)
    for _ in range(2_000):
        assert_whole(mutated(chance.choice(BUILT), BUILT, chance))


@pytest.mark.corpora
def test_real_mail_with_ten_thousand_mutations_is_read_and_judged(corpora, taught):
    chance = random.Random(8)
    paths = [*sorted(corpora.glob("modern/*/*")), *sorted(corpora.glob("spamassassin/*/*"))]
    mail = [path.read_bytes()[:30_000] for path in chance.sample(paths, 200)]
    for i in range(10_000):
        raw = mutated(mail[i % len(mail)], mail, chance)
        assert_whole(raw)
        assert_judged(raw, taught)


@pytest.mark.corpora
def test_every_modern_message_is_judged_and_its_evidence_adds_up(corpora, taught):
    for i, message in enumerate(read_index(corpora / "modern" / "index")):
        assert_judged(message.raw, taught)
        if i % 50 == 0:
            verdict = taught.check(message.raw)
            assert verdict.prior + sum(e.term for e in verdict.evidence) == pytest.approx(verdict.log_odds, abs=1e-9)


def test_a_message_cut_anywhere_is_read():
    for raw in BUILT:
        for end in range(len(raw)):
            assert_whole(raw[:end])
