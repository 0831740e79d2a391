import re

from hypothesis import given
from hypothesis import strategies as st

from priory.features.folding import squeeze
from priory.features.sections import section

#: White space in runs and alone, letters at all places of a word of eight bytes.
pieces = st.sampled_from((b" ", b"\n", b"\t", b"\0", b"a", b"abcdefg", b"\xc3\xa9"))
texts = st.binary() | st.lists(pieces).map(b"".join)


@given(texts, st.integers(0, 40))
def test_white_space_is_squeezed(text, most):
    def one(run):
        return b"\n" if b"\n" in run[0] else b" "

    assert squeeze(text, most) == re.sub(rb"[\x00-\x20]+", one, text)[:most]


def test_every_byte_of_ascii_is_folded_at_every_place():
    for byte in range(128):
        for before in range(9):
            text = b"." * before + bytes([byte]) + b"Z" * 8
            assert section("text", text, 100).folded == text.lower()
