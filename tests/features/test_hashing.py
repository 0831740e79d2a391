"""Each hashing kernel gives the same result as a few lines of Python, on any text."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counted import ALL_NAMED
from priory.features.hashing import Keys, Tokens, kind_seed
from priory.features.sections import Section
from priory.native.table import bits_of_names

WIDTH = 1 << 64
PRIME = 0x100000001B3
seeds = st.integers(0, WIDTH - 1)
bit_counts = st.integers(1, 28)


def mixed(h: int) -> int:
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 % WIDTH
    h = (h ^ h >> 27) * 0x94D049BB133111EB % WIDTH
    return h ^ h >> 31


def fnv(data: bytes, h: int = 0xCBF29CE484222325) -> int:
    for byte in data:
        h = (h ^ byte) * PRIME % WIDTH
    return h


def bucket(h: int, seed: int, bits: int) -> int:
    return mixed(h ^ seed) >> 64 - bits


def occurrences(method: str, *arguments: object, seed: int = 0, bits: int = 22) -> list[tuple[int, int, int]]:
    """Return bucket, start and end of all that a method of `Keys` finds; and check that names begin with the bucket."""
    found = numbered(method, *arguments, seed=seed, bits=bits, named=0)
    extra = bits_of_names(bits) - bits
    names = numbered(method, *arguments, seed=seed, bits=bits, named=ALL_NAMED)
    assert [(name >> extra, *place) for name, *place in names] == found
    return found


def numbered(method: str, *arguments: object, seed: int, bits: int, named: int) -> list[tuple[int, int, int]]:
    """Return number, start and end of all that a method of `Keys` finds; and check that it finds the same unlocated."""
    located, plain = Keys(bits, True, named), Keys(bits, False, named)
    for keys in (located, plain):
        keys.begin(3, seed)
        getattr(keys, method)(*arguments)
    located.close(Section("text", b"", b""))
    [(kind, (_, numbers, starts, ends, _))] = located.found()
    assert kind == 3
    distinct, offsets = plain.distinct(12)
    assert distinct.tolist() == np.unique(numbers).tolist()
    assert offsets.tolist() == [0] * 4 + [len(distinct)] * 9
    return list(zip(numbers.tolist(), starts.tolist(), ends.tolist(), strict=True))


@given(st.lists(st.binary(max_size=30)), seeds, bit_counts, st.booleans())
def test_values_are_hashed_to_numbers_and_are_their_names(values, seed, bits, is_named):
    keys = Keys(bits, True, is_named << 1)
    own_bits = bits_of_names(bits) if is_named else bits
    keys.begin(1, seed)
    for i, value in enumerate(values):
        keys.value(value, i, i + 1)
    keys.close(Section("facts", b"", b""))
    [(_, (_, buckets, starts, ends, name))] = keys.found()
    assert buckets.tolist() == [bucket(fnv(value), seed, own_bits) for value in values]
    assert [(s, e) for s, e in zip(starts, ends, strict=True)] == [(i, i + 1) for i in range(len(values))]
    assert [name(i) for i in range(len(values))] == [value.decode("utf-8", "replace") for value in values]


def test_kinds_have_different_seeds():
    assert kind_seed(b"word") == mixed(fnv(b"word")) != kind_seed(b"pair")


@given(st.text("ab."), seeds)
def test_domains_are_a_host_and_those_above_it(host, seed):
    labels = host.split(".")[-6:]
    expected = [".".join(labels[i:]) for i in range(max(len(labels) - 1, 1))] if host else []
    found = occurrences("domains", host.encode(), 2, 9, seed=seed)
    assert found == [(bucket(fnv(name.encode()), seed, 22), 2, 9) for name in expected]


@given(st.binary(max_size=60), st.integers(1, 8), st.sampled_from((1, 2, 4)), seeds, bit_counts)
def test_grams_are_all_stretches_of_n_bytes_thinned_by_their_hash(text, n, every, seed, bits):
    most = len(text) * 2 // 3
    cut = text[:most]
    hashes = [mixed(int.from_bytes(cut[i : i + n], "big") ^ seed) for i in range(len(cut) - n + 1)]
    kept = [(h >> 64 - bits, i, i + n) for i, h in enumerate(hashes) if h % every == 0]
    assert occurrences("grams", text, most, n, every, seed=seed, bits=bits) == kept


@pytest.mark.parametrize(("n", "every"), [(0, 1), (9, 1), (-1, 1), (6, 0), (6, -2), (6, 3)])
def test_impossible_grams_are_refused(n, every):
    with pytest.raises(
        ValueError, match=f"n-grams have 1 to 8 bytes and one in a power of two is kept, not {n}, one in {every}"
    ):
        Keys(22).grams(b"viagra", 100, n, every)


def spans(text: str, tagged: bool = False) -> list[str]:
    data = text.encode()
    return [data[start:end].decode() for start, end in Tokens(data, tagged).spans()]


ASCII_WORD = re.compile(r"[a-zA-Z0-9$]+(?:['.@_-][a-zA-Z0-9$]+)*")


@given(st.text(st.characters(max_codepoint=127)))
def test_words_are_runs_of_letters_with_single_joiners(text):
    assert spans(text) == [word for word in ASCII_WORD.findall(text) if 2 <= len(word) <= 40]


def test_words_of_other_scripts():
    assert spans("Grüße, 50 € für Владимир!") == ["Grüße", "50", "€", "für", "Владимир"]
    assert spans("مرحبا नमस्ते") == ["مرحبا", "नमस्ते"]


def test_scripts_without_spaces_give_pairs_of_characters():
    assert spans("特价商品 ok 券") == ["特价", "价商", "商品", "ok", "券"]
    assert spans("ซื้อ") == ["ซื", "ื้", "้อ"]
    assert spans("セール50%") == ["セー", "ール", "50"]
    assert spans("特。价") == ["特", "价"]
    assert spans("ok特ok") == ["ok", "特", "ok"]


def test_header_words_are_tagged_with_their_header():
    data = b"subject: big offer\n  more\nx-y: big offer\n"
    assert spans(data.decode(), True) == ["subject", "big", "offer", "more", "x-y", "big", "offer"]
    words = [bucket for bucket, _, _ in occurrences("runs", Tokens(data, True), 1)]
    named = [b"subject", b"subject=big", b"subject=offer", b"subject=more", b"x-y", b"x-y=big", b"x-y=offer"]
    assert words == [bucket(fnv(name), 0, 22) for name in named]
    pairs = [data[start:end] for _, start, end in occurrences("runs", Tokens(data, True), 2)]
    assert pairs == [b"big offer", b"offer\n  more", b"big offer"]


@given(st.one_of(st.binary(), st.text().map(str.encode), st.text("a:\n é特").map(str.encode)), st.booleans())
def test_tokens_lie_inside_any_text_in_order_and_are_not_empty(text, tagged):
    places = Tokens(text, tagged).spans()
    assert places == sorted(places)
    assert len(places) <= len(text) // 2 + 2
    assert all(0 <= start < end <= len(text) for start, end in places)
    if not tagged:
        found = occurrences("runs", Tokens(text, False), 1)
        assert found == [(bucket(fnv(text[start:end]), 0, 22), start, end) for start, end in places]


@given(st.text("ab. é特").map(str.encode), st.integers(1, 4), seeds, bit_counts)
def test_runs_are_consecutive_words(text, n, seed, bits):
    places = Tokens(text, False).spans()
    hashes = [fnv(text[start:end]) for start, end in places]
    expected = []
    for i in range(len(hashes) - n + 1):
        h = hashes[i]
        for following in hashes[i + 1 : i + n]:
            h = (mixed(h) ^ following) * PRIME % WIDTH
        expected.append((bucket(h, seed, bits), places[i][0], places[i + n - 1][1]))
    assert occurrences("runs", Tokens(text, False), n, seed=seed, bits=bits) == expected


def test_runs_of_no_words_are_refused():
    with pytest.raises(ValueError, match="runs need at least one word, not 0"):
        Keys(22).runs(Tokens(b"cheap pills", False), 0)


masks = st.just(0) | st.just(ALL_NAMED) | st.integers(0, (1 << 12) - 1)


@given(
    st.lists(st.lists(st.integers(0, 300), max_size=60), min_size=12, max_size=12),
    st.sampled_from((1, 8, 13, 22, 23, 28)),
    masks,
)
def test_keys_become_distinct_numbers_by_kind(found, bits, named):
    keys = Keys(bits, named=named)
    for kind, values in enumerate(found):
        keys.begin(kind, 0)
        for value in values:
            keys.value(b"%d" % value)
    numbers, offsets = keys.distinct(12)
    for kind, values in enumerate(found):
        own_bits = bits_of_names(bits) if named >> kind & 1 else bits
        expected = sorted({bucket(fnv(b"%d" % value), 0, own_bits) for value in values})
        assert numbers[offsets[kind] : offsets[kind + 1]].tolist() == expected
    assert (offsets[0], offsets[12]) == (0, len(numbers))


@given(st.sets(st.integers(0, 15)), st.integers(0, (1 << 16) - 1))
def test_kinds_that_are_left_out_are_empty(kinds, named):
    keys = Keys(22, named=named)
    for kind in sorted(kinds):
        keys.begin(kind, 0)
        keys.value(b"cheap")
    numbers, offsets = keys.distinct(16)
    for kind in range(16):
        own_bits = 27 if named >> kind & 1 else 22
        expected = [bucket(fnv(b"cheap"), 0, own_bits)] if kind in kinds else []
        assert numbers[offsets[kind] : offsets[kind + 1]].tolist() == expected


@pytest.mark.parametrize("named", [0, 0b0011, 0b0101, 0b1111])
def test_many_keys_are_sorted_in_a_room_that_grows(named):
    keys = Keys(22, named=named)
    for kind in range(4):
        keys.begin(kind, kind)
        for value in range(50_000):
            keys.value(b"%d" % value)
    numbers, offsets = keys.distinct(12)
    for kind in range(4):
        own_bits = 27 if named >> kind & 1 else 22
        expected = sorted({bucket(fnv(b"%d" % value), kind, own_bits) for value in range(50_000)})
        assert numbers[offsets[kind] : offsets[kind + 1]].tolist() == expected


@pytest.mark.parametrize("kind", [-1, 16])
def test_a_kind_that_has_no_room_above_the_bucket_is_refused(kind):
    with pytest.raises((ValueError, OverflowError)):
        Keys(28).begin(kind, 0)


@given(
    st.lists(st.sampled_from([b"<p>", b"<b class=x>", b"</p>", b"<>", b"< p>", b"text", b"<", b">", b"<td width=1"])),
    st.integers(0, 80),
)
def test_tags_are_those_of_a_regular_expression(pieces, most):
    skeleton = b"".join(pieces)[:most]
    found = [(match.start(), match.end(), match[1]) for match in re.finditer(rb"<([^\x00- >]+)[^>]*>", skeleton)]
    tags = occurrences("tags", b"".join(pieces), most, seed=7)
    n = len(found)
    assert tags[:n] == [(bucket(fnv(skeleton[start:end]), 7, 22), start, end) for start, end, _ in found]
    assert [(start, end) for _, start, end in tags[n:]] == [(a[0], b[1]) for a, b in pairwise(found)]
    by_names = dict(zip(((a[2], b[2]) for a, b in pairwise(found)), tags[n:], strict=True))
    assert all(by_names[a[2], b[2]][0] == pair[0] for (a, b), pair in zip(pairwise(found), tags[n:], strict=True))
