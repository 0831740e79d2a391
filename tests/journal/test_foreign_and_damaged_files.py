"""What is no journal, or one that is damaged or of another version, is refused by name and left as it is."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from journals import Open, files, open_journal

from priory.demo import Drawn
from priory.features import VERSION
from priory.journal import JournalError, open_file
from priory.journal.sqlite.schema import FORMAT, OLDEST

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)


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
        "learn the mail anew into another home."
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
        f"{path} holds features of version {VERSION}, this Priory makes version {VERSION + 1}: learn the mail anew "
        "into another home."
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
