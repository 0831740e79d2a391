"""The file of a journal: what is refused and left unchanged, and what happens without rights or room."""

import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from counted import bytes_of
from journals import CountsOf, Open, Unprivileged, files, only, open_journal
from priory.demo import Drawn
from priory.features import VERSION
from priory.journal import JournalError, open_file
from priory.journal.sqlite.schema import FORMAT, OLDEST

pytestmark = only("sqlite")


@pytest.fixture
def whole(tmp_path: Path, mail: list[Drawn], opened: Open) -> bytes:
    """The bytes of a journal with many pages."""
    with opened(tmp_path / "whole") as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:100]))
    return (tmp_path / "whole" / "journal.sqlite").read_bytes()


def foreign(path: Path, mode: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("CREATE TABLE bookmarks (address TEXT)")
    connection.execute("INSERT INTO bookmarks VALUES ('https://a.example')")
    connection.commit()
    connection.close()


NO_JOURNAL = "{path} is not a Priory journal. It was left as it is; name another home."
ANOTHER = "{path} is a database of another program. It was left as it is; name another home."


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"Dear diary,\n", NO_JOURNAL),
        (b"S", NO_JOURNAL),
        (np.random.default_rng(2).bytes(20_000), NO_JOURNAL),
        (bytes(8192), NO_JOURNAL),
        (b"SQLite format 3\0", ANOTHER),
        (b"SQLite format 3\0" + np.random.default_rng(2).bytes(20_000), ANOTHER),
    ],
    ids=["text", "one letter", "random", "zeros", "only the magic", "magic and random"],
)
def test_a_file_that_is_no_journal_is_refused_and_left_as_it_is(tmp_path: Path, data: bytes, text: str) -> None:
    path = tmp_path / "journal.sqlite"
    path.write_bytes(data)
    with pytest.raises(JournalError) as caught:
        open_journal(path)
    assert str(caught.value) == text.format(path=path)
    assert files(tmp_path) == {"journal.sqlite": data}


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "journal.sqlite"
    foreign(path, mode)
    before = files(tmp_path)
    with pytest.raises(JournalError) as caught:
        open_journal(path)
    assert str(caught.value) == ANOTHER.format(path=path)
    assert files(tmp_path) == before
    assert sqlite3.connect(path).execute("PRAGMA journal_mode").fetchone() == (mode.lower(),)


def test_a_journal_of_a_newer_format_is_refused_and_left_as_it_is(tmp_path: Path, whole: bytes) -> None:
    home = tmp_path / "newer"
    home.mkdir()
    path = home / "journal.sqlite"
    path.write_bytes(whole)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    connection.close()
    before = files(home)
    with pytest.raises(JournalError) as caught:
        open_journal(path)
    assert str(caught.value) == f"{path} has format {FORMAT + 1}, this Priory knows up to {FORMAT}: use a newer Priory."
    assert files(home) == before


def test_a_journal_of_a_format_too_old_is_refused_with_what_to_do_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    open_file(path, VERSION, 8).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {OLDEST - 1}")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(JournalError) as caught:
        open_file(path, VERSION, 8)
    assert str(caught.value) == (
        f"{path} has format {OLDEST - 1} of an older Priory, this one knows {OLDEST} and later. It was left as it is: "
        "learn the mail again in another home."
    )
    assert path.read_bytes() == before


def test_a_newer_format_that_is_only_in_the_wal_yet_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    open_journal(path).close()
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version = {FORMAT + 1}")
    with pytest.raises(JournalError, match=f"has format {FORMAT + 1}, this Priory knows up to {FORMAT}: use a newer"):
        open_journal(path)
    newer.close()


def test_features_of_another_version_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    open_journal(path).close()
    before = files(tmp_path)
    with pytest.raises(JournalError) as caught:
        open_file(path, VERSION + 1, 12)
    assert str(caught.value) == (
        f"{path} holds features of version {VERSION}, this Priory makes version {VERSION + 1}: learn the mail again "
        "in another home."
    )
    assert files(tmp_path) == before


def test_a_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    path.mkdir()
    with pytest.raises(JournalError) as caught:
        open_journal(path)
    assert str(caught.value) == f"{path} cannot be read: Is a directory. Make it readable or name another home."
    assert list(path.iterdir()) == []


@pytest.mark.parametrize("kept", [512, 4096, 5000, 0.3, 0.9])
def test_a_truncated_journal_is_refused_and_left_as_it_is(
    tmp_path: Path, whole: bytes, opened: Open, kept: float
) -> None:
    home = tmp_path / "cut"
    home.mkdir()
    path = home / "journal.sqlite"
    data = whole[: kept if isinstance(kept, int) else int(kept * len(whole))]
    path.write_bytes(data)
    with pytest.raises(JournalError) as caught, opened(home) as filter_:
        filter_.check(b"Subject: hello\n\n")
    assert str(caught.value) == (
        f"{path} is damaged (database disk image is malformed). It was left as it is; restore it from a backup."
    )
    assert files(home) == {"journal.sqlite": data}


def test_a_damaged_page_in_the_middle_is_found_and_nothing_is_overwritten(
    tmp_path: Path, whole: bytes, opened: Open
) -> None:
    home = tmp_path / "damaged"
    home.mkdir()
    path = home / "journal.sqlite"
    page_bytes = int.from_bytes(whole[16:18])
    outcomes = []
    for page in range(1, len(whole) // page_bytes):
        data = whole[: page * page_bytes] + b"\xaa" * page_bytes + whole[(page + 1) * page_bytes :]
        path.write_bytes(data)
        try:
            with opened(home) as filter_:
                filter_.rebuild()
            outcomes.append("unnoticed")
        except JournalError as error:
            text = str(error)
            assert text.startswith(f"{path} is damaged"), text
            assert text.lower().endswith("restore it from a backup."), text
            assert "\n" not in text
            outcomes.append("named")
            assert files(home) == {"journal.sqlite": data}
        for left in home.iterdir():
            left.unlink()
    assert outcomes.count("named") == len(outcomes)


def test_an_empty_file_becomes_a_journal(tmp_path: Path) -> None:
    """A process that was ended before its first commit leaves one."""
    path = tmp_path / "journal.sqlite"
    path.touch()
    journal = open_journal(path)
    assert journal.position() == (0, 0, "")
    journal.close()


def test_a_home_that_cannot_be_read_is_named(open_folder: Path, unprivileged: Unprivileged, opened: Open) -> None:
    open_journal(open_folder / "journal.sqlite").close()
    (open_folder / "journal.sqlite").chmod(0)
    with unprivileged(), pytest.raises(JournalError) as caught:
        opened(open_folder)
    path = open_folder / "journal.sqlite"
    assert str(caught.value) == f"{path} cannot be read: Permission denied. Make it readable or name another home."


def test_a_home_that_cannot_be_made_is_named(open_folder: Path, unprivileged: Unprivileged, opened: Open) -> None:
    open_folder.chmod(0o555)
    with unprivileged(), pytest.raises(JournalError) as caught:
        opened(open_folder / "new")
    assert str(caught.value) == f"{open_folder / 'new'} cannot be made: Permission denied. Name another home."


def test_a_home_that_cannot_be_written_to_is_named_and_left_as_it_is(
    open_folder: Path, unprivileged: Unprivileged, opened: Open
) -> None:
    path = open_folder / "journal.sqlite"
    open_folder.chmod(0o555)
    with unprivileged(), pytest.raises(JournalError) as caught:
        opened(open_folder)
    assert str(caught.value) == (f"{path} cannot be created: Permission denied. Check that the folder is writable.")
    assert files(open_folder) == {}


def test_a_journal_that_may_only_be_read_refuses_lessons_and_keeps_what_it_has(
    open_folder: Path, unprivileged: Unprivileged, mail: list[Drawn], opened: Open
) -> None:
    with opened(open_folder) as filter_:
        filter_.learn(mail[0].raw, "ham")
    before = files(open_folder)
    path = open_folder / "journal.sqlite"
    path.chmod(0o444)
    open_folder.chmod(0o555)
    with unprivileged(), pytest.raises(JournalError) as caught, opened(open_folder) as filter_:
        filter_.learn(mail[1].raw, "spam")
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).endswith(". Check that the folder is writable and the disk is not full.")
    assert files(open_folder) == before


@contextmanager
def largest_file(size_bytes: int) -> Iterator[None]:
    """No file may grow beyond this: writes fail as they do on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_when_the_database_is_full_nothing_is_lost_and_learning_goes_on_later(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    with opened(tmp_path) as filter_:
        ((pages,),) = filter_.journal._db.rows("PRAGMA page_count")
        filter_.journal._db._db.execute(f"PRAGMA max_page_count = {pages + 5}")
        with pytest.raises(JournalError) as caught:
            list(filter_.learn_many(((drawn.raw, drawn.label, "") for drawn in mail), group=1))
        assert str(caught.value) == (
            f"{filter_.journal.name}: database or disk is full. Check that the folder is writable and the disk is not "
            "full."
        )
        learned = sum(filter_.stats().lessons.values())
        assert 0 < learned < len(mail)
        assert all(filter_.learn(drawn.raw, drawn.label).outcome == "known" for drawn in mail[:learned])
        filter_.check(mail[0].raw)
        filter_.journal._db._db.execute("PRAGMA max_page_count = 100000")
        assert filter_.learn(mail[learned].raw, mail[learned].label).outcome == "learned"
        before = bytes_of(counts_of(filter_))
        filter_.rebuild()
        assert bytes_of(filter_._counts.counts) == before


def test_when_the_disk_fills_up_in_the_middle_of_a_group_all_of_it_is_undone(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    with opened(tmp_path) as filter_:
        for drawn in mail[:20]:
            filter_.learn(drawn.raw, drawn.label)
        before = bytes_of(counts_of(filter_))
        wal = tmp_path / "journal.sqlite-wal"
        group = [(drawn.raw, drawn.label, "") for drawn in mail[20:]]
        with largest_file(wal.stat().st_size + 10_000), pytest.raises(JournalError) as caught:
            list(filter_.learn_many(group))
        assert str(caught.value).startswith(f"{filter_.journal.name}: ")
        assert str(caught.value).endswith(". Check that the folder is writable and the disk is not full.")
        assert bytes_of(counts_of(filter_)) == before
        (done,) = filter_.learn_many(group)
        assert len(done) == len(group)
        filter_.journal.check()
        before = bytes_of(counts_of(filter_))
        filter_.rebuild()
        assert bytes_of(filter_._counts.counts) == before


def test_a_snapshot_that_cannot_be_written_does_not_hinder_learning(
    tmp_path: Path, mail: list[Drawn], opened: Open
) -> None:
    group = [(drawn.raw, drawn.label, "") for drawn in mail]
    with opened(tmp_path) as filter_:
        list(filter_.learn_many(group))
        with largest_file(20_000):
            with pytest.raises(JournalError) as caught:
                filter_._counts.save()
            filter_._counts.save_if_due(1)
        assert str(caught.value) == (
            f"{tmp_path / 'counts'} cannot be written: File too large. Check that the folder is writable and the disk "
            "is not full."
        )
        assert not (tmp_path / "counts").exists()
        assert not (tmp_path / "counts.new").exists()
        (tmp_path / "counts").mkdir()
    with opened(tmp_path) as filter_:
        assert sum(filter_.stats().lessons.values()) == len(mail)
