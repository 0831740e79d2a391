"""An mbox is split where its separators are, and nowhere else."""

import io
import random
from pathlib import Path

import pytest

from priory.corpus import LARGEST_MESSAGE, mbox, read
from priory.corpus.storage import file_bytes

TWO = b"From ann@example.org Mon Jan  1 09:00:00 2024\nSubject: lunch?\n\nAt noon.\n\nFrom bob\nSubject: yes\n"


def messages(text: bytes) -> list[bytes]:
    return [raw for _, raw in mbox.read(io.BytesIO(text), "inbox")]


def by_lines(text: bytes) -> list[bytes]:
    """Split an mbox line by line, as its definition says."""
    found: list[list[bytes]] = []
    blank = True
    for line in io.BytesIO(text):
        if blank and line.startswith(b"From "):
            found.append([])
        else:
            found[-1].append(line[1:] if line.lstrip(b">").startswith(b"From ") and line.startswith(b">") else line)
        blank = line in (b"\n", b"\r\n")
    return [b"".join(lines[:-1] if lines and lines[-1] in (b"\n", b"\r\n") else lines) for lines in found]


def test_envelope_lines_and_the_blank_lines_before_them_belong_to_no_message():
    assert messages(TWO) == [b"Subject: lunch?\n\nAt noon.\n", b"Subject: yes\n"]


def test_messages_are_numbered_from_one():
    assert [source for source, _ in mbox.read(io.BytesIO(TWO), "inbox.mbox")] == ["inbox.mbox:1", "inbox.mbox:2"]


def test_quoted_from_lines_lose_one_mark():
    body = b"From a\n>From the start\nSubject: x\n\n>From one\n>>From two\n> From reply\n>Fromage\n >From inside\n"
    assert messages(body) == [
        b"From the start\nSubject: x\n\nFrom one\n>From two\n> From reply\n>Fromage\n >From inside\n"
    ]


def test_a_from_line_after_text_is_part_of_the_message():
    assert messages(b"From a\nSubject: x\n\nWe ate\nFrom noon on.\n") == [b"Subject: x\n\nWe ate\nFrom noon on.\n"]


def test_crlf_stays_crlf():
    assert messages(TWO.replace(b"\n", b"\r\n")) == [b"Subject: lunch?\r\n\r\nAt noon.\r\n", b"Subject: yes\r\n"]


def test_the_last_line_may_lack_its_newline():
    assert messages(TWO.removesuffix(b"\n")) == [b"Subject: lunch?\n\nAt noon.\n", b"Subject: yes"]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_message_keeps_its_bytes_when_the_next_is_appended(newline):
    one = b"From ann@example.org\nSubject: lunch?\n\nAt noon.\n\n".replace(b"\n", newline)
    assert messages(one)[0] == messages(one + b"From bob@example.org\n")[0]


def test_only_one_blank_line_is_dropped():
    assert messages(b"From a\nx\n\n\n\nFrom b\ny\n\n\n") == [b"x\n\n\n", b"y\n\n"]


def test_a_message_may_be_empty():
    assert messages(b"From a\n\nFrom b\n") == [b"", b""]
    assert messages(b"From ") == [b""]


def test_a_file_without_envelope_is_one_message_left_as_it_is():
    raw = b"Subject: x\n\n>From here\n\nFrom there\n\n"
    assert list(mbox.read(io.BytesIO(raw), "1.eml")) == [("1.eml", raw)]
    assert mbox.count(io.BytesIO(raw)) == 1


def test_an_empty_file_holds_no_message():
    assert messages(b"") == []
    assert mbox.count(io.BytesIO(b"")) == 0


def test_a_file_shorter_than_the_word_from_is_a_message():
    assert messages(b"Hi") == [b"Hi"]


def test_the_only_message_of_a_file_is_not_split():
    assert mbox.single_message(b"From a\nSubject: x\n\n>From b\n\nFrom c\n\n") == b"Subject: x\n\nFrom b\n\nFrom c\n"
    assert mbox.single_message(b"Subject: x\n\n>From b\n\n") == b"Subject: x\n\n>From b\n\n"


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_separator_is_found_wherever_a_block_ends(newline):
    separator = newline + newline + b"From bob@example.org" + newline
    for padding in range(mbox.BLOCK - len(separator) - 8, mbox.BLOCK + 8):
        text = b"From a\n" + b"x" * padding + separator + b"Subject: yes\n"
        assert [len(raw) for raw in messages(text)] == [padding + len(newline), len(b"Subject: yes\n")]
        assert mbox.count(io.BytesIO(text)) == 2


def test_what_was_read_ahead_is_not_lost():
    for text in (TWO, b"Subject: x\n\nFrom here\n", b"Hi"):
        for n_ahead in range(5, len(text) + 1):
            ahead, rest = text[:n_ahead], text[n_ahead:]
            assert [raw for _, raw in mbox.read(io.BytesIO(rest), "inbox", ahead)] == messages(text)
            assert mbox.count(io.BytesIO(rest), ahead) == len(messages(text))


class Dripping(io.BytesIO):
    """A stream that hands out a few bytes at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 0, self.most))


def test_blocks_give_what_lines_give():
    chance = random.Random(1)
    parts = [b"From ", b"\n", b"\n", b"\r\n", b">", b"x", b"From", b" ", b">From ", b"\n\n"]
    for most in range(5, 24):
        for _ in range(300):
            text = b"From " + b"".join(chance.choices(parts, k=chance.randrange(30)))
            stream = Dripping(text)
            stream.most = most
            assert [raw for _, raw in mbox.read(stream, "inbox")] == by_lines(text)
            assert mbox.count(io.BytesIO(text)) == len(by_lines(text))


@pytest.mark.slow
def test_what_is_beyond_the_largest_message_is_cut_off(tmp_path: Path):
    large = b"Subject: " + b"x" * (LARGEST_MESSAGE + 1000)
    (tmp_path / "1.eml").write_bytes(large)
    (tmp_path / "2.mbox").write_bytes(b"From a\n" + large + b"\n\nFrom b\nSubject: yes\n")
    sizes = [len(message.raw) for message in read([tmp_path], "ham")]
    assert sizes[0] == LARGEST_MESSAGE
    assert LARGEST_MESSAGE - 10 <= sizes[1] <= LARGEST_MESSAGE
    assert sizes[2:] == [len(b"Subject: yes\n")]
    assert file_bytes(str(tmp_path / "1.eml")) == large[:LARGEST_MESSAGE]
