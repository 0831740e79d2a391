"""Inspect the file of a journal, and repair it: what can be read is copied into another file, which takes its place.

The damaged file stays beside it under another name. Nothing else may use the journal while it is repaired.
"""

import os
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from priory.journal.database import DamagedRowError
from priory.journal.files import private_opener, sync_folder
from priory.journal.journal import Journal
from priory.journal.lesson import JournalBusyError, JournalError, Lesson
from priory.journal.sqlite.database import SqliteDatabase, register_closed, register_open, translate_errors
from priory.journal.sqlite.file import open_file, require_format
from priory.journal.transfer import salvage

_LOG_FILES: Final = ("-wal", "-shm")
_MOST_NUMBERS: Final = 1 << 32  # of changes; a larger number is damage

ReadFeatures = Callable[[bytes, int], object]  #: of a table with 2^bits rows; raises ValueError for damaged ones


class JournalReport(NamedTuple):
    """The problems of a journal, and the number of its sound lessons."""

    problems: list[str]
    n_lessons: int  #: that are sound


class RepairedJournal(NamedTuple):
    """What became of a damaged journal."""

    aside: Path  #: the copy of the damaged file
    n_lessons: int  #: that were copied
    lost: list[str]  #: tables beside the lessons that could not be copied


def inspect_journal(path: Path, read_features: ReadFeatures, labels: Sequence[str]) -> JournalReport:
    """Read a whole journal and say what is wrong with it. Raises JournalError if its head is damaged."""
    with _opened(path, read_features) as (database, journal):
        problems = []
        try:
            journal.check()
        except JournalError as error:
            problems.append(str(error))
        tally = Counter(lesson.label for lesson in _sound_lessons(database, journal, labels, problems))
        for name, read in (("rules", journal.rules.load), ("notes about checked mail", journal.silence.load)):
            try:
                read()
            except (JournalError, sqlite3.Error) as error:
                problems.append(f"its {name} cannot be read: {error}")
        try:
            if not problems and journal.tally() != tally:
                problems.append("its tally and its lessons differ")
        except JournalError as error:
            problems.append(str(error))
    return JournalReport(problems, tally.total())


def repair_journal(
    path: Path, features_version: int, read_features: ReadFeatures, labels: Sequence[str]
) -> RepairedJournal:
    """Copy what is sound into another file that replaces the journal; the damaged one is kept under another name."""
    require_unused(path)
    aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    for suffix in ("", "-wal"):
        if (part := path.with_name(path.name + suffix)).exists():
            _copy_durably(part, aside.with_name(aside.name + suffix))
    repaired = path.with_name(f"{path.name}.repaired")
    for suffix in ("", *_LOG_FILES):
        repaired.with_name(repaired.name + suffix).unlink(missing_ok=True)
    with _opened(aside, read_features) as (database, source):
        target = open_file(repaired, features_version, source.bits, personal_bits=source.personal_bits)
        try:
            lessons = _sound_lessons(database, source, labels, [])
            n, lost = salvage(source, lessons, target, _known_labels(source, labels))
            target.check()
        finally:
            target.close()
    for suffix in _LOG_FILES:  # SQLite would apply the log of the damaged file to the repaired one
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    repaired.replace(path)
    sync_folder(path)
    return RepairedJournal(aside, n, lost)


def require_unused(path: Path) -> None:
    """Raise JournalBusyError if another process has the journal open."""
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        if "locked" in str(error):
            raise JournalBusyError(f"{path} is in use: stop the daemon, and repair it then.") from None
    finally:
        connection.close()


@contextmanager
def _opened(path: Path, read_features: ReadFeatures) -> Iterator[tuple[SqliteDatabase, Journal]]:
    """Open a journal, only to read."""
    with translate_errors(path, 0):
        file = register_open(path, lambda _: None)
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        database = SqliteDatabase(path, file, connection, 0)
        try:
            require_format(path, connection)
            journal = Journal(database)
            journal.verify_features(lambda features: read_features(features, journal.bits))
            yield database, journal
        finally:
            connection.close()
            register_closed(file)


def _known_labels(journal: Journal, labels: Sequence[str]) -> Sequence[str]:
    """Return the labels in the journal's order, or in that of the configuration if the journal's is damaged."""
    try:
        stored = journal.labels()
    except JournalError:
        stored = []
    return [*stored, *(label for label in labels if label not in stored)] if set(stored) & set(labels) else labels


def _sound_lessons(
    database: SqliteDatabase, journal: Journal, labels: Sequence[str], problems: list[str]
) -> Iterator[Lesson]:
    """Yield the lessons that are sound; append what is wrong with the others."""
    known, seen = set(_known_labels(journal, labels)), set()
    for number, lesson in database.salvaged_lessons(_last_number(database, journal)):
        key = lesson.digest[16:], lesson.user
        if lesson.label not in known:
            problems.append(f"lesson {number} has an unknown label")
        elif key in seen:
            problems.append(f"lesson {number} is there twice")
        else:
            seen.add(key)
            yield lesson
    problems += [f"{run} damaged" for run in _runs(sorted(database.unreadable))]


def _runs(numbers: Sequence[int]) -> Iterator[str]:
    """Yield the numbers of lessons as words, those in a row together.

    >>> list(_runs([3, 7, 8, 9]))
    ['lesson 3 is', 'lessons 7 to 9 are']
    """
    start = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[at - 1] + 1:
            first, last = numbers[start], numbers[at - 1]
            yield f"lesson {first} is" if first == last else f"lessons {first} to {last} are"
            start = at


def _last_number(database: SqliteDatabase, journal: Journal) -> int:
    """Return a number that no lesson exceeds."""
    try:
        numbers = [journal.position().change]
        numbers += [row[0] for row in database.rows("SELECT max(change) FROM lessons")]
    except (JournalError, DamagedRowError):
        numbers = [row[0] for row in database.rows("SELECT max(change) FROM lessons")]
    return min(max(number for number in numbers if isinstance(number, int)), _MOST_NUMBERS)


def _copy_durably(path: Path, target: Path) -> None:
    with path.open("rb") as original, open(target, "xb", opener=private_opener) as copied:
        shutil.copyfileobj(original, copied)
        copied.flush()
        os.fsync(copied.fileno())
    shutil.copystat(path, target)
    sync_folder(target)
