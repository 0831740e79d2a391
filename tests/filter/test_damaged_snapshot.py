"""A damaged snapshot is never used: not for a verdict, not for a lesson, and not for the next snapshot."""

import json
import multiprocessing
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from counted import bytes_of
from priory.bayes import Counts
from priory.demo import draw
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal.snapshot import DamagedSnapshotError, SnapshotPoint, load_snapshot, save_snapshot
from priory.native.blocks import MappedBlocks, block_checksums, checksum_of

MAIL = list(draw(330, seed=5))
TAUGHT, MORE, UNSEEN = MAIL[:260], MAIL[260:280], [drawn.raw for drawn in MAIL[280:]]
OPTIONS = Options(spec=Spec(bits=12), personal_bits=12)
BLOCK = 4096

Damage = Callable[[bytearray, random.Random], bytes]


def opened(home: Path) -> Filter:
    return Filter.open(home, OPTIONS)


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("taught")
    with opened(home) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in TAUGHT))
        filter_.learn(UNSEEN[0], "spam", user="ann")  # the table of users is stored, too
        filter_._counts.save()
        filter_.learn(UNSEEN[1], "ham")  # one lesson after the snapshot
    return home


@pytest.fixture
def home(taught: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(taught, tmp_path / "home"))


def verdicts(home: Path) -> list[float]:
    """What is said by filters that are opened for one message each, and by one for all."""
    said = []
    for raw in UNSEEN[2:6]:
        with opened(home) as filter_:
            said.append(filter_.check(raw, "ann").log_odds)
    with opened(home) as filter_:
        return said + [filter_.check(raw).log_odds for raw in UNSEEN]


def flip_a_bit(data: bytearray, chance: random.Random) -> bytes:
    at = chance.randrange(8 * len(data))
    data[at // 8] ^= 1 << at % 8
    return bytes(data)


def flip_a_bit_in_each_page(data: bytearray, chance: random.Random) -> bytes:
    for start in range(BLOCK, len(data) - BLOCK, BLOCK):
        data[start + chance.randrange(BLOCK)] ^= 1 << chance.randrange(8)
    return bytes(data)


def overwrite_a_block(data: bytearray, chance: random.Random) -> bytes:
    start = chance.randrange(len(data))
    size = min(chance.randrange(1, 3 * BLOCK), len(data) - start)
    data[start : start + size] = chance.randbytes(size)
    return bytes(data)


def swap_blocks(data: bytearray, chance: random.Random) -> bytes:
    one, two = (BLOCK * chance.randrange(len(data) // BLOCK) for _ in range(2))
    data[one : one + BLOCK], data[two : two + BLOCK] = data[two : two + BLOCK], data[one : one + BLOCK]
    return bytes(data)


def zero_the_end(data: bytearray, chance: random.Random) -> bytes:
    start = chance.randrange(len(data))
    return bytes(data[:start]).ljust(len(data), b"\0")


def truncate(data: bytearray, chance: random.Random) -> bytes:
    return bytes(data[: chance.randrange(len(data))])


def extend(data: bytearray, chance: random.Random) -> bytes:
    return bytes(data) + bytes(chance.randrange(1, 2 * BLOCK))


@pytest.mark.parametrize(
    "damage", [flip_a_bit, flip_a_bit_in_each_page, overwrite_a_block, swap_blocks, zero_the_end, truncate, extend]
)
def test_verdicts_are_those_of_an_undamaged_filter_and_the_damage_is_said(
    taught: Path, tmp_path: Path, damage: Damage, capfd: pytest.CaptureFixture[str]
) -> None:
    right, data = verdicts(taught), (taught / "counts").read_bytes()
    for seed in range(12):
        home = Path(shutil.copytree(taught, tmp_path / f"home{seed}"))
        damaged = damage(bytearray(data), random.Random(seed))
        (home / "counts").write_bytes(damaged)
        capfd.readouterr()
        assert verdicts(home) == right, seed
        with opened(home) as filter_:
            filter_.refresh()
        lines = capfd.readouterr().err.splitlines()
        # The unused table and the padding are zero before and after; a digit in the magic is another version.
        assert bool(lines) or damaged == data or not damaged.startswith(b"priory counts 6"), seed
        assert all(f"{home / 'counts'} is damaged (" in line for line in lines), seed
        assert all(line.endswith("it is not used, and the counts are built from the journal") for line in lines), seed


def test_a_damaged_snapshot_is_replaced_by_what_the_journal_says(home: Path) -> None:
    (home / "counts").write_bytes(flip_a_bit_in_each_page(bytearray((home / "counts").read_bytes()), random.Random(1)))
    with opened(home) as filter_:
        filter_.check(UNSEEN[7])
    replaced = (home / "counts").read_bytes()
    with opened(home) as filter_:
        filter_.rebuild()
    assert (home / "counts").read_bytes() == replaced


def test_predictions_made_after_damage_are_those_of_an_undamaged_filter(home: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(home, tmp_path / "other"))
    (home / "counts").write_bytes(flip_a_bit_in_each_page(bytearray((home / "counts").read_bytes()), random.Random(2)))
    rows = []
    for place in (home, other):
        with opened(place) as filter_:
            filter_.check(UNSEEN[3])
            for drawn in MORE:
                filter_.learn(drawn.raw, drawn.label)
            rows.append([(lesson.digest, lesson.held_out) for lesson in filter_.journal.lessons()])
    assert rows[0] == rows[1]
    assert (home / "counts").exists()


def test_one_message_verifies_only_what_it_needs_and_all_is_verified_after_some(home: Path) -> None:
    options = Options(personal_bits=12)
    large = home.with_name("large")
    with Filter.open(large, options) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in TAUGHT))
    with Filter.open(large, options) as filter_:
        filter_.check(UNSEEN[0])
        blocks = filter_._counts.counts.names.blocks
        assert blocks is not None
        assert blocks.n_left > 0
        for raw in UNSEEN * 2:
            filter_.check(raw)
        assert blocks.are_verified


def test_counts_that_cannot_be_are_refused(tmp_path: Path) -> None:
    for spoil in (
        lambda counts: counts.held_out.cast("B").cast("q").__setitem__(7, 1000),
        lambda counts: counts.totals.__setitem__(0, -1),
    ):
        counts = Counts.empty(12, 2, 12)
        counts.totals[0] = counts.totals[1] = 10
        save_snapshot(tmp_path / "counts", counts, SnapshotPoint(20, ""), "id", ["ham", "spam"])
        assert load_snapshot(tmp_path / "counts", "id", ["ham", "spam"], 12, 12) is not None
        spoil(counts)
        save_snapshot(tmp_path / "counts", counts, SnapshotPoint(20, ""), "id", ["ham", "spam"])
        with pytest.raises(DamagedSnapshotError, match="it counts more predictions than messages"):
            load_snapshot(tmp_path / "counts", "id", ["ham", "spam"], 12, 12)


def test_a_snapshot_without_checksums_is_read_by_its_digest(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = (home / "counts").read_bytes()
    right = verdicts(home)
    with opened(home) as filter_:
        snapshot = load_snapshot(home / "counts", filter_.journal.id, ["ham", "spam"], 12, 12)
    assert snapshot is not None
    n_bytes = sum(map(len, snapshot.counts.parts))
    description = json.loads(data[16:BLOCK].partition(b"\n")[0])
    del description["sums"]
    head = b"priory counts 5\n" + json.dumps(description, sort_keys=True).encode() + b"\n"
    before = head.ljust(BLOCK, b"\0") + data[BLOCK : BLOCK + n_bytes]
    (home / "counts").write_bytes(before)
    assert verdicts(home) == right
    assert (home / "counts").read_bytes() == before
    assert capfd.readouterr().err == ""
    (home / "counts").write_bytes(before[:-1] + b"\1")
    assert verdicts(home) == right
    assert "is damaged (its digest is another)" in capfd.readouterr().err


def _check_while_the_file_is_truncated(home: Path, size: int, said: "multiprocessing.Queue[list[float]]") -> None:
    with opened(home) as filter_:
        first = filter_.check(UNSEEN[2]).log_odds
        os.truncate(home / "counts", size)
        said.put([first, *(filter_.check(raw).log_odds for raw in UNSEEN)])


@pytest.mark.parametrize("size", [0, 5000, 200_000])
def test_a_process_survives_that_the_file_is_truncated_while_it_is_mapped(home: Path, size: int) -> None:
    with opened(home) as filter_:
        right = [filter_.check(raw).log_odds for raw in (UNSEEN[2], *UNSEEN)]
    context = multiprocessing.get_context("fork")
    said: multiprocessing.Queue[list[float]] = context.Queue()
    process = context.Process(target=_check_while_the_file_is_truncated, args=(home, size, said))
    process.start()
    assert said.get(timeout=60) == right
    process.join()
    assert process.exitcode == 0


def test_a_lesson_taught_while_the_file_is_truncated_is_learned_by_right_counts(home: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(home, tmp_path / "other"))
    rows = []
    for place in (home, other):
        with opened(place) as filter_:
            filter_.refresh()
            if place == home:
                os.truncate(home / "counts", BLOCK)
                filter_.check(UNSEEN[9])
            filter_.learn(MORE[0].raw, MORE[0].label)
            rows.append([(lesson.digest, lesson.held_out) for lesson in filter_.journal.lessons()])
            counted = bytes_of(filter_.counts)
            filter_.rebuild()
            assert bytes_of(filter_.counts) == counted
    assert rows[0] == rows[1]


def test_block_checksums_do_not_depend_on_where_parts_end() -> None:
    data = random.Random(1).randbytes(3 * BLOCK + 17)
    expected = block_checksums([data])
    assert expected == b"".join(
        checksum_of(data[start : start + BLOCK]).to_bytes(8, "little") for start in range(0, len(data), BLOCK)
    )
    for cut in (0, 1, 100, BLOCK, BLOCK + 1, 3 * BLOCK + 17):
        assert block_checksums([data[:cut], b"", data[cut:]]) == expected


def test_any_change_of_eight_bytes_changes_the_checksum() -> None:
    chance = random.Random(3)
    data = bytearray(chance.randbytes(BLOCK))
    right = checksum_of(data)
    for word in range(0, BLOCK, 8):
        was = data[word : word + 8]
        data[word : word + 8] = chance.randbytes(8)
        assert checksum_of(data) != right
        data[word : word + 8] = was
    assert checksum_of(data) == right


def test_memory_without_its_checksums_is_refused() -> None:
    with pytest.raises(ValueError, match="5000 bytes do not have 1 checksums"):
        MappedBlocks(bytearray(5000), memoryview(bytes(8)).cast("Q"))
