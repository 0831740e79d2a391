"""Where rights or room are missing, the place is named and nothing that was learned is lost."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from journals import CountsOf, Open, Unprivileged, files, open_journal

from priory.demo import Drawn
from priory.journal import JournalError

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)


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
    assert str(caught.value) == (f"{path} cannot be made: Permission denied. Check that the folder is writable.")
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
        table = counts_of(filter_).table.copy()
        filter_.rebuild()
        assert np.array_equal(filter_._memory.view.counts.table, table)


def test_when_the_disk_fills_up_in_the_middle_of_a_group_all_of_it_is_undone(
    tmp_path: Path, mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    with opened(tmp_path) as filter_:
        for drawn in mail[:20]:
            filter_.learn(drawn.raw, drawn.label)
        table = counts_of(filter_).table.copy()
        wal = tmp_path / "journal.sqlite-wal"
        group = [(drawn.raw, drawn.label, "") for drawn in mail[20:]]
        with largest_file(wal.stat().st_size + 10_000), pytest.raises(JournalError) as caught:
            list(filter_.learn_many(group))
        assert str(caught.value).startswith(f"{filter_.journal.name}: ")
        assert str(caught.value).endswith(". Check that the folder is writable and the disk is not full.")
        assert np.array_equal(counts_of(filter_).table, table)
        (done,) = filter_.learn_many(group)
        assert len(done) == len(group)
        filter_.journal.check()
        table = counts_of(filter_).table.copy()
        filter_.rebuild()
        assert np.array_equal(filter_._memory.view.counts.table, table)


def test_a_snapshot_that_cannot_be_written_does_not_hinder_learning(
    tmp_path: Path, mail: list[Drawn], opened: Open
) -> None:
    group = [(drawn.raw, drawn.label, "") for drawn in mail]
    with opened(tmp_path) as filter_:
        list(filter_.learn_many(group))
        with largest_file(20_000):
            with pytest.raises(JournalError) as caught:
                filter_._memory.view.save()
            filter_._memory.view.save_if_due(1)
        assert str(caught.value) == (
            f"{tmp_path / 'counts'} cannot be written: File too large. Check that the folder is writable and the disk "
            "is not full."
        )
        assert not (tmp_path / "counts").exists()
        assert not (tmp_path / "counts.new").exists()
        (tmp_path / "counts").mkdir()
    with opened(tmp_path) as filter_:
        assert sum(filter_.stats().lessons.values()) == len(mail)
