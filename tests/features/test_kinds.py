"""Each kind of feature finds what its name says, gives readable names, and knows the positions."""

import hashlib

import numpy as np
import pytest

from priory.features import KINDS, Occurrences, Spec, extract, pack_features, unpack_features
from priory.features.kinds import GRAM_LENGTH, MOST_MARKUP, MOST_PART_HEADERS
from priory.features.sections import MOST_SOURCE
from priory.message import parse

EVERYTHING = Spec(kinds=frozenset(KINDS), patterns={"my-name": "(?i)bob", "money": r"\$\d+"})
MAIL = (
    b"Received: from mail.shop.example (unknown [192.0.2.7])\n\tby mx.home.example; Mon, 1 Jan 2024 00:00:00 +0200\n"
    b'From: "Shop" <news@mail.shop.example>\nReply-To: <sales@bad.test>\nTo: bob@home.example, ann@home.example\n'
    b"Subject: =?utf-8?q?LIMITED_OFFER_=E2=82=AC50?=\nDate: Mon, 1 Jan 2024 00:00:00 +0200\n"
    b"Message-ID: <1@mail.shop.example>\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n"
    b"--x\nContent-Type: text/plain; charset=utf-8\n\nDear Bob, a limited time offer: $99 watches!\n"
    + "特价商品 ซื้อ セール Grüße İstanbul ẞ\n".encode()
    + b"--x\nContent-Type: text/html\n\n<p CLASS=Big>Click <a href='http://login.bad.test:81/x.php?a=b'>bank.example</a>"
    b" <a href='/local'>here</a> <img src='http://192.0.2.9/p.gif'></p>\n"
    b'--x\nContent-Type: application/zip; name="bill\n .pdf.exe"\nContent-Transfer-Encoding: base64\n\nUEsDBA==\n'
    b"--x--\n"
)


def found_by_kind(raw: bytes, spec: Spec = EVERYTHING) -> dict[str, list[tuple[str, Occurrences, int]]]:
    features = extract(parse(raw), spec)
    return {
        kind: [(each.value(i), each, i) for each in several for i in range(len(each.buckets))]
        for kind, several in zip(KINDS, features.occurrences, strict=True)
    }


def names(raw: bytes, kind: str) -> list[str]:
    return [name for name, _, _ in found_by_kind(raw)[kind]]


def test_every_kind_is_found_in_a_message_that_has_everything():
    assert all(found_by_kind(MAIL).values())


@pytest.mark.parametrize("kind", KINDS)
def test_switching_a_kind_off_removes_its_features_and_no_others(kind):
    whole = extract(parse(MAIL), EVERYTHING)
    less = extract(parse(MAIL), Spec(EVERYTHING.kinds - {kind}, EVERYTHING.patterns))
    for i, each in enumerate(KINDS):
        expected = [] if each == kind else whole.buckets[whole.offsets[i] : whole.offsets[i + 1]].tolist()
        assert less.buckets[less.offsets[i] : less.offsets[i + 1]].tolist() == expected
        assert bool(less.occurrences[i]) == (each != kind)


def test_without_any_kind_there_are_no_features():
    assert len(extract(parse(MAIL), Spec(kinds=frozenset()))) == 0


def test_buckets_of_a_kind_are_those_found_each_once_in_order():
    features = extract(parse(MAIL), EVERYTHING)
    for i, several in enumerate(features.occurrences):
        expected = sorted({bucket for each in several for bucket in each.buckets.tolist()})
        assert features.buckets[features.offsets[i] : features.offsets[i + 1]].tolist() == expected


@pytest.mark.parametrize("bits", [1, 8, 28])
def test_the_numbers_of_names_have_five_bits_more_than_those_of_ngrams(bits):
    features = extract(parse(MAIL), Spec(EVERYTHING.kinds, EVERYTHING.patterns, bits))
    for i, kind in enumerate(KINDS):
        numbers = features.buckets[features.offsets[i] : features.offsets[i + 1]]
        width = bits if kind in {"source-gram", "header-gram"} else min(bits + 5, 28)
        assert 0 <= max(numbers) < 1 << width
    assert bits == 28 or max(features.buckets) >= 1 << bits
    assert len(features.offsets) == len(KINDS) + 1
    assert unpack_features(pack_features(features, bits), bits).buckets.tolist() == features.buckets.tolist()


def test_equal_names_share_a_bucket_and_others_hardly_ever_do():
    for several in found_by_kind(MAIL).values():
        pairs = {(name, int(each.buckets[i])) for name, each, i in several}
        assert len({name for name, _ in pairs}) == len({bucket for _, bucket in pairs}) == len(pairs)


def test_places_lie_inside_their_section_and_cover_something():
    for several in found_by_kind(MAIL).values():
        for _, each, i in several:
            assert 0 <= each.starts[i] < each.ends[i] <= len(each.section.shown) == len(each.section.folded)


def covered(each: Occurrences, i: int) -> str:
    return each.section.folded[each.starts[i] : each.ends[i]].decode("utf-8", "replace")


@pytest.mark.parametrize("kind", ["word", "pair", "triple"])
def test_words_are_in_the_place_they_are_said_to_be(kind):
    for name, each, i in found_by_kind(MAIL)[kind]:
        assert name
        place = covered(each, i)
        assert place.startswith(name.split()[0])
        assert place.endswith(name.split()[-1])
        assert all(word in place for word in name.split())


def test_words_pairs_and_triples():
    raw = b"Subject: x\n\nA limited time-offer,\n50% off"
    assert names(raw, "word") == ["limited", "time-offer", "50", "off"]
    assert names(raw, "pair") == ["limited time-offer", "time-offer 50", "50 off"]
    assert names(raw, "triple") == ["limited time-offer 50", "time-offer 50 off"]


def test_words_of_links_are_words_too():
    assert names(b"Content-Type: text/html\n\n<a href='http://shop.example/buy?x=now'>go</a>", "word") == [
        "go",
        "http",
        "shop.example",
        "buy",
        "now",
    ]


def test_signs_that_count_as_words_have_names():
    assert names("Subject: x\n\n€ × 特".encode(), "word") == ["€", "×", "特"]


@pytest.mark.parametrize("text", ["特价商品大促销", "セールのお知らせ", "ซื้อเลยวันนี้"])
def test_languages_without_spaces_give_words_pairs_and_grams(text):
    raw = b"Subject: x\nContent-Type: text/plain; charset=utf-8\n\n" + text.encode()
    found = found_by_kind(raw)
    assert [name for name, _, _ in found["word"]] == [text[i : i + 2] for i in range(len(text) - 1)]
    assert len(found["pair"]) == len(text) - 2
    assert len(found["source-gram"]) > 5


def test_header_words_carry_their_headers_name():
    raw = b"Subject: Limited offer\n for =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nX-Mailer: Offer 2.0\n\n"
    assert names(raw, "header") == [
        "subject",
        "subject=limited",
        "subject=offer",
        "subject=for",
        "subject=grüße",
        "x-mailer",
        "x-mailer=offer",
        "x-mailer=2.0",
        "subject=limited offer",
        "subject=offer for",
        "subject=for grüße",
        "x-mailer=offer 2.0",
    ]
    for name, each, i in found_by_kind(raw)["header"]:
        assert covered(each, i).startswith(name.partition("=")[2].split(" ")[0] or name)


def test_a_header_whose_name_is_cut_off_is_named_as_far_as_it_goes():
    raw = b"".join(b"X-Filler-%03d: %b\n" % (i, b"x" * 60) for i in range(200)) + b"\n"
    for name, each, i in found_by_kind(raw)["header"]:
        assert name.partition("=")[0].startswith("x-f")
        assert "=" in name or name == covered(each, i)


def test_the_senders_domains():
    assert names(b"From: <a@b.c.d.example>\n\n", "sender") == ["b.c.d.example", "c.d.example", "d.example"]
    assert names(b"From: a@localhost\n\n", "sender") == ["localhost"]
    assert names(b"From: nobody\n\n", "sender") == []


def test_facts_say_what_is_missing_and_what_does_not_fit():
    facts = names(MAIL, "fact")
    assert "no subject" not in facts
    for fact in (
        "replies go elsewhere",
        "message-id of the sender's domain",
        "time zone +0200",
        "2 recipients",
        "1 received lines",
        "subject in capitals",
        "subject beyond ASCII",
        "text as text/html and text/plain",
        "charset utf-8",
        "1 attachments",
    ):
        assert fact in facts
    assert names(b"\nhi", "fact")[:6] == [
        f"no {n}" for n in ("from", "to", "subject", "date", "message-id", "received")
    ]
    assert "defect: no headers" in names(b"\nhi", "fact")
    assert "a reply to nothing" in names(b"Subject: Re: hi\n\n", "fact")
    assert "a reply to nothing" not in names(b"Subject: Re: hi\nIn-Reply-To: <1@x>\n\n", "fact")


def test_links_are_described():
    assert names(MAIL, "link") == [
        "http",
        "login.bad.test",
        "bad.test",
        "port 81",
        "ends in .php",
        "shows another host",
        "relative",
        "http",
        "192.0.2.9",
        "address of numbers",
        "ends in .gif",
    ]


def test_a_link_that_shows_its_own_organisation_does_not_lie():
    def link(shown):
        return names(b"Content-Type: text/html\n\n<a href='http://www.bank.example/x'>" + shown + b"</a>", "link")

    for honest in (b"bank.example", b"https://my.bank.example/login", b"click here", b""):
        assert "shows another host" not in link(honest)
    assert "shows another host" in link(b"www.bad.test")
    assert "shows another host" in link(b"<b>bad.test</b><img src=x>")


def test_a_link_to_nowhere_is_no_link():
    assert names(b"Content-Type: text/html\n\n<a href='  '>x</a>", "link") == []


def test_many_links_have_places_as_far_as_the_section_goes():
    for length in range(100, 130):
        targets = b"".join(b"<a href='http://%03d.example/%b'>x</a>" % (i, b"y" * length) for i in range(60))
        for _, each, i in found_by_kind(b"Content-Type: text/html\n\n" + targets)["link"]:
            assert 0 <= each.starts[i] < each.ends[i] <= len(each.section.shown)


def test_markup_is_tags_and_pairs_of_tags():
    raw = b"Content-Type: text/html\n\n<P Class=Big>x<b>y</b></P>"
    assert names(raw, "markup") == ["<p class=big>", "<b>", "</b>", "</p>", "<p><b>", "<b></b>", "</b></p>"]
    for name, each, i in found_by_kind(raw)["markup"]:
        assert covered(each, i).startswith(name.partition(">")[0])


def test_attachments_are_described():
    assert names(MAIL, "attachment") == [
        "application/zip",
        "ends in .exe",
        "ends in .pdf.exe",
        "size about 8",
        "digest " + parse(MAIL).attachments[0].digest[:16],
    ]


def test_a_line_end_in_a_files_name_moves_no_place():
    parts = b"".join(b"--x\nContent-Type: a/b; name*=''%d%%0A%%0Ax\n\n%d\n" % (i, i) for i in range(3))
    raw = b"Content-Type: multipart/mixed; boundary=x\n\n" + parts + b"--x--\n"
    places = [
        (name, covered(each, i)) for name, each, i in found_by_kind(raw)["attachment"] if name.startswith("digest")
    ]
    digests = [hashlib.sha256(b"%d" % i).hexdigest()[:16] for i in range(3)]
    assert places == [(f"digest {digest}", f"{i}  x (a/b)") for i, digest in enumerate(digests)]


@pytest.mark.parametrize("kind", ["source-gram", "header-gram"])
def test_grams_are_six_bytes_as_they_stand(kind):
    for name, each, i in found_by_kind(MAIL)[kind]:
        stretch = each.section.shown[each.starts[i] : each.ends[i]]
        assert len(stretch) == GRAM_LENGTH
        assert name == repr(stretch.decode("utf-8", "replace"))


def test_a_capital_letter_makes_another_gram_but_the_same_word():
    one, other = found_by_kind(b"Subject: x\n\nviagra pills"), found_by_kind(b"Subject: x\n\nVIAGRA PILLS")
    assert [name for name, _, _ in one["word"]] == [name for name, _, _ in other["word"]]
    assert not {name for name, _, _ in one["source-gram"]} & {name for name, _, _ in other["source-gram"]}


def test_grams_see_the_markup_and_of_plain_text_what_a_person_sees():
    html = found_by_kind(b"Subject: x\nContent-Type: text/html\n\n<b class=offer>cheap</b> pills")["source-gram"]
    assert {each.section.name for _, each, _ in html} == {"source"}
    assert "offer>" in {covered(each, i) for _, each, i in html} | {name.strip("'") for name, _, _ in html}
    plain = found_by_kind(b"Subject: x\n\ncheap pills, all   of them")["source-gram"]
    assert {each.section.name for _, each, _ in plain} == {"text"}


def test_what_lies_beyond_the_limits_is_not_looked_at():
    long = b"".join(b"%06d " % i for i in range(4_000))
    found = found_by_kind(b"Subject: x\n\n" + long)
    assert max(each.ends[i] for _, each, i in found["source-gram"]) <= MOST_SOURCE - len("Subject: x")
    assert max(each.ends[i] for _, each, i in found["word"]) <= 12_000
    assert [name for name, _, _ in found["word"][-2:]] == ["001713", "00"]
    headers = b"".join(b"X-%04d: %04d\n" % (i, i) for i in range(1_000))
    part = b"Content-Type: multipart/mixed; boundary=x\n\n--x\n" + headers + b"\n\n--x--\n"
    found = found_by_kind(headers + part)
    ends = {each.section.name: each.ends[i] for _, each, i in found["header-gram"]}
    assert ends["headers"] <= MOST_SOURCE
    assert not found["source-gram"], "the headers have taken all the room"
    assert ends["part headers"] <= MOST_PART_HEADERS
    tags = b"Content-Type: text/html\n\n" + b"<p>" * 2_000
    assert max(each.ends[i] for _, each, i in found_by_kind(tags)["markup"]) <= MOST_MARKUP


def test_unknown_kinds_and_impossible_sizes_are_refused():
    with pytest.raises(ValueError, match=r"^unknown kinds of features: wrod; known are word, pair, "):
        Spec(kinds=frozenset({"wrod"}))
    for bits in (0, 29):
        with pytest.raises(ValueError, match=rf"^features have 2\^1 to 2\^28 buckets, not 2\^{bits}$"):
            Spec(bits=bits)


def test_features_from_the_journal_have_buckets_and_no_names():
    features = extract(parse(MAIL), EVERYTHING)
    restored = unpack_features(pack_features(features, 22), 22)
    assert restored.occurrences == ()
    assert np.array_equal(restored.buckets, features.buckets)
    assert np.array_equal(restored.offsets, features.offsets)
    assert len(restored) == len(features)


def test_extracting_twice_gives_the_same():
    one, other = extract(parse(MAIL), EVERYTHING), extract(parse(MAIL), EVERYTHING)
    assert one.buckets.tobytes() == other.buckets.tobytes()
