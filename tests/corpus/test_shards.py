"""An mbox that is read in shards gives the same messages as one that is read whole."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from priory.corpus import folder, mbox, shards
from priory.corpus.part import Part

PIECES = (b"From ", b"\n", b"\r\n", b"\n\nFrom ", b"\n\r\nFrom ", b">From ", b"a", b"Subject: x\n", b"long line " * 30)


def whole(path: Path) -> list[tuple[str, bytes | None]]:
    return list(folder.read_named(str(path)))


def in_shards(path: Path, shard_bytes: int) -> list[tuple[str, bytes | None]]:
    part = Part("ham", str(path), folder.read_named, (str(path),), "file")
    several = shards.shards(part, path.stat().st_size, shard_bytes)
    assert several is not None
    numbering = shards.ShardNumbering()
    return [(numbering.number(source), raw) for each in several for source, raw in each.read()]


@settings(max_examples=300, deadline=None)
@given(rest=st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join), shard_bytes=st.integers(1, 60))
@example(rest=b"\n\nFrom \n\nFrom ", shard_bytes=1)
@example(rest=b"\r\n\r\nFrom b\r\n\r\n", shard_bytes=3)
def test_any_mbox_in_shards_of_any_size_is_the_same(tmp_path_factory, rest: bytes, shard_bytes: int):
    path = tmp_path_factory.getbasetemp() / "some.mbox"
    path.write_bytes(mbox.FROM + rest)
    assert in_shards(path, shard_bytes) == whole(path)


@pytest.mark.parametrize("shard_bytes", [100_000, mbox.BLOCK, mbox.BLOCK + 1, 3_000_000])
def test_messages_larger_than_blocks_and_shards_are_the_same(tmp_path: Path, shard_bytes: int, monkeypatch):
    monkeypatch.setattr(mbox, "LARGEST_MESSAGE", 700_000)
    path = tmp_path / "large.mbox"
    sizes = (10, 300_000, 5, 900_000, 700_000, 699_990, 1)
    path.write_bytes(b"".join(b"From a\n" + b"x" * size + b"\n\n" for size in sizes))
    assert in_shards(path, shard_bytes) == whole(path)
    assert len(whole(path)) == len(sizes)


def test_what_is_appended_meanwhile_is_read_too(tmp_path: Path):
    path = tmp_path / "inbox.mbox"
    path.write_bytes(b"From a\nSubject: lunch?\n\n")
    several = shards.shards(Part("ham", str(path), folder.read_named, (str(path),), "file"), path.stat().st_size, 5)
    with path.open("ab") as inbox:
        inbox.write(b"From b\nSubject: yes\n\n")
    assert [raw for each in several or () for _, raw in each.read()] == [b"Subject: lunch?\n", b"Subject: yes\n"]


def test_a_message_is_no_mbox(tmp_path: Path):
    path = tmp_path / "lunch.eml"
    path.write_bytes(b"Subject: lunch?\n")
    assert shards.shards(Part("ham", str(path), folder.read_named, (str(path),), "file"), 16, 8) is None
