"""The journal as an SQLite database in WAL mode: readers never wait for the writer, one writer at a time."""

import os
import sqlite3
import time
import uuid
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

from priory.journal import in_use
from priory.journal.automatic import Automatic, tallied, told_apart
from priory.journal.bundles import BUNDLES, Bundles
from priory.journal.confirmed import Confirmed
from priory.journal.lesson import AUTOMATIC, Change, JournalBusyError, JournalError, Lesson
from priory.journal.listing import Entry, Listing, Selection
from priory.journal.ownership import give_to_owner

FORMAT: Final = 3
APPLICATION_ID: Final = 0x50524A4C
_MAGIC: Final = b"SQLite format 3\0"
_HEAD_BYTES: Final = 100
_SCHEMA: Final = f"""
CREATE TABLE journal (
  id TEXT NOT NULL,                 -- tells this journal's snapshots from others
  features_version INTEGER NOT NULL,
  bits INTEGER NOT NULL,
  change INTEGER NOT NULL,          -- the number of the last change
  settled INTEGER NOT NULL,         -- lessons forgotten up to this change are gone from the list below
  labels TEXT NOT NULL,             -- in the order in which lessons were scored, new ones at the end
  snapshot TEXT NOT NULL            -- the digest of the counts as they stood then: no other snapshot fits
);
CREATE TABLE tally (label TEXT PRIMARY KEY, n INTEGER NOT NULL);  -- automatic lessons once more, see `tallied`
CREATE TABLE lessons (
  change INTEGER PRIMARY KEY,
  digest BLOB NOT NULL,
  user TEXT NOT NULL,
  label TEXT NOT NULL,
  time REAL NOT NULL,
  source TEXT NOT NULL,
  sender TEXT NOT NULL,
  held_out BLOB,
  start INTEGER NOT NULL,           -- where in its bundle its features are
  size INTEGER NOT NULL
);
CREATE UNIQUE INDEX learned_once ON lessons (substr(digest, 17), user);
{BUNDLES};
CREATE TABLE forgotten (
  change INTEGER PRIMARY KEY,
  learned INTEGER NOT NULL,
  label TEXT NOT NULL,
  held_out BLOB,
  start INTEGER NOT NULL,
  size INTEGER NOT NULL
);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
"""
#: The last 16 bytes of a digest tell messages apart; an index of all 32 would be a hundredth of the file.
_IS_LEARNED: Final = "substr(digest, 17) = substr(?1, 17) AND user = ?2"
_LESSON: Final = "change, start, size, digest, label, held_out, user, source, sender, time"
_CACHE_KB: Final = 16_000
_WAL_PAGES: Final = 4_000  #: then they are copied to the database: pages that change often are copied once
_MOST_WAITING: Final = 1_000
_MOST_ASKED: Final = 500  #: at once; some builds of SQLite take 999 values at most


class Journal:
    """An open journal. Changes are made inside `with journal.writing():` and are durable when it ends."""

    def __init__(self, path: Path, file: in_use.File, connection: sqlite3.Connection, wait_s: float) -> None:
        self.path = path
        self._file: in_use.File | None = file
        self._db = connection
        self._wait_s = wait_s
        self._cursor = connection.cursor()  # for what is asked at every check
        self._bundles = Bundles(connection)
        self._listing = Listing(connection)
        self.automatic = Automatic(connection)
        self._confirmed = Confirmed(connection)
        self._tally: Counter[str] = Counter()
        self._waiting: dict[tuple[bytes, str], tuple[int, Lesson]] = {}  # learned, but not yet written down
        self.last_change = 0  #: while writing: the number of the last change, whether durable yet or not
        self.id: str
        self.bits: int
        self.id, self.features_version, self.bits = self._row("SELECT id, features_version, bits FROM journal")

    @classmethod
    def open(cls, path: Path, features_version: int, bits: int, wait_s: float = 10.0) -> Self:
        """Open a journal, or make one where there is no file. A file that is none is refused and left as it is."""
        file = in_use.enter(path, _seen_and_made)
        with _errors_named(path, wait_s), _left_if_unopened(file):
            connection = sqlite3.connect(path, timeout=wait_s, isolation_level=None)
            try:
                _create(connection, features_version, bits)
                _refuse_other_format(path, connection.execute("PRAGMA user_version").fetchone()[0])
                _write_ahead(connection, wait_s)
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
                connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
                connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
                journal = cls(path, file, connection, wait_s)
                journal._refuse_features(features_version)
            except BaseException:
                connection.close()
                raise
        return journal

    def _refuse_features(self, version: int) -> None:
        if self.features_version != version:
            raise JournalError(
                f"{self.path} holds features of version {self.features_version}, this Priory makes version "
                f"{version}: learn the mail anew into another home."
            )

    @classmethod
    def open_to_read(cls, path: Path, features_version: int) -> Self:
        """Open a journal that is there and change nothing about it, also where this account may only read."""
        if not path.exists():
            raise JournalError(f"there is no journal {path}.")
        if not path.is_file() or not path.stat().st_size:
            raise JournalError(f"{path} is not a Priory journal: there is nothing in it.")
        file = in_use.enter(path, _refuse_foreign)
        # Where nobody can write, nobody can change it meanwhile; elsewhere SQLite needs its own files beside it.
        mode = "mode=ro" if may_write(path.parent) else "mode=ro&immutable=1"
        with _errors_named(path, 0), _left_if_unopened(file):
            connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
            try:
                _refuse_other_format(path, connection.execute("PRAGMA user_version").fetchone()[0])
                journal = cls(path, file, connection, 0)
                journal._refuse_features(features_version)
            except BaseException:
                connection.close()
                raise
        return journal

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()
        if self._file is not None:
            in_use.leave(self._file)
            self._file = None

    def _row(self, sql: str, *values: object) -> tuple[Any, ...]:
        with _errors_named(self.path, self._wait_s):
            row: tuple[Any, ...] | None = self._db.execute(sql, values).fetchone()
        if row is None:
            raise JournalError(f"{self.path} is not whole: a row is missing. Restore it from a backup.")
        return row

    def version(self) -> int:
        """Return a number that differs whenever another connection has changed the journal; asked at every check."""
        try:
            (number,) = self._cursor.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            (number,) = self._row("PRAGMA data_version")  # says what is wrong
        return int(number)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one state of the journal, whatever others do meanwhile."""
        with _errors_named(self.path, self._wait_s):
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                with suppress(sqlite3.ProgrammingError):  # closed meanwhile
                    self._rollback()

    @contextmanager
    def writing(self, *, wait: bool = True) -> Iterator[None]:
        """Make changes that become durable together at the end, or not at all."""
        wait_s = self._wait_s if wait else 0.0
        with _errors_named(self.path, wait_s):
            self._begin_writing(wait_s)
            try:
                self.last_change, self._tally = self.position()[0], Counter()
                yield
                self._number_changes()
                self._db.execute("COMMIT")
            except BaseException:
                self._waiting.clear()
                self._rollback()
                raise

    def _begin_writing(self, wait_s: float) -> None:
        self._db.execute(f"PRAGMA busy_timeout = {wait_s * 1000:.0f}")
        try:
            self._db.execute("BEGIN IMMEDIATE")
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {self._wait_s * 1000:.0f}")

    def _rollback(self) -> None:
        """Undo what is open; on a full disk SQLite has done so itself."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _number_changes(self) -> None:
        """Write down the number of the last change, and how the tally has moved, if anything was changed."""
        if not self._tally:
            return
        self._write_down()
        self._db.execute("UPDATE journal SET change = ?", (self.last_change,))
        self._db.executemany(
            "INSERT INTO tally (label, n) VALUES (?, ?) ON CONFLICT (label) DO UPDATE SET n = n + excluded.n",
            self._tally.items(),
        )
        self._tally.clear()

    def size_bytes(self) -> int:
        """Return what the journal takes on disk, with the log in which the latest changes are."""
        log = self.path.with_name(f"{self.path.name}-wal")
        return sum(path.stat().st_size for path in (self.path, log) if path.exists())

    def position(self) -> tuple[int, int]:
        """Return the number of the last change, and the last one whose forgotten lessons are gone."""
        change, settled = self._row("SELECT change, settled FROM journal")
        return int(change), int(settled)

    def labels(self) -> list[str]:
        """Return the labels in the order in which lessons were scored; none if nothing was learned yet."""
        (labels,) = self._row("SELECT labels FROM journal")
        return str(labels).split("\n") if labels else []

    def name_labels(self, labels: Sequence[str]) -> None:
        """Write down the order of the labels; those that a configuration leaves out keep their place."""
        if len(labels) > len(self.labels()):
            self._db.execute("UPDATE journal SET labels = ?", ("\n".join(labels),))

    def snapshot(self) -> str:
        """Return the digest of the counts at the last settled change; empty if there was no snapshot yet."""
        (digest,) = self._row("SELECT snapshot FROM journal")
        return str(digest)

    def tally(self) -> dict[str, int]:
        """Return how many lessons there are of each label."""
        return self.tallies()[0]

    def tallies(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return how many lessons there are of each label, and how many of these are automatic."""
        with _errors_named(self.path, self._wait_s):
            return told_apart(dict(self._db.execute("SELECT label, n FROM tally WHERE n > 0 ORDER BY label")))

    def label_of(self, digest: bytes, user: str = "") -> str | None:
        """Return the label under which a message was learned, if it was."""
        return self.labels_of([digest], user).get(digest)

    def users_of(self, digest: bytes) -> list[str]:
        """Return whose lessons a message has: the empty name is nobody in particular, AUTOMATIC no person."""
        with _errors_named(self.path, self._wait_s):
            self._write_down()
            rows = self._db.execute("SELECT user FROM lessons WHERE substr(digest, 17) = substr(?, 17)", (digest,))
            return sorted(user for (user,) in rows)

    def labels_of(self, digests: Iterable[bytes], user: str = "") -> dict[bytes, str]:
        """Return the labels under which messages were learned, of those that were."""
        ends = {digest[16:]: digest for digest in digests}
        labels: dict[bytes, str] = {}
        with _errors_named(self.path, self._wait_s):
            self._write_down()
            asked = iter(ends)
            while some := list(islice(asked, _MOST_ASKED)):
                are_learned = f"substr(digest, 17) IN ({', '.join('?' * len(some))}) AND user = ?"
                sql = f"SELECT substr(digest, 17), label FROM lessons WHERE {are_learned}"  # noqa: S608
                labels.update((ends[end], label) for end, label in self._db.execute(sql, (*some, user)))
        return labels

    def _learned(self, columns: str, digest: bytes, user: str) -> tuple[Any, ...] | None:
        if (digest, user) in self._waiting:
            self._write_down()
        sql = f"SELECT {columns} FROM lessons WHERE {_IS_LEARNED}"  # noqa: S608
        row: tuple[Any, ...] | None = self._db.execute(sql, (digest, user)).fetchone()
        return row

    def learn(self, lesson: Lesson) -> None:
        """Append a lesson; a message is learned once per user, so an earlier lesson must be forgotten first."""
        self.learn_many([lesson])

    def learn_many(self, lessons: Iterable[Lesson]) -> None:
        """Append lessons in their order."""
        waiting, tally, change = self._waiting, self._tally, self.last_change
        for lesson in lessons:
            key = lesson.digest, lesson.user
            if key in waiting or len(waiting) == _MOST_WAITING:
                self._write_down()
            change += 1
            waiting[key] = change, lesson
            tally.update(tallied(lesson.label, lesson.user))
        self.last_change = change

    def _write_down(self) -> None:
        """Give the lessons learned so far their rows: many at once cost less than each by itself."""
        if not self._waiting:
            return
        waiting = list(self._waiting.values())
        self._waiting.clear()
        if any(lesson.is_automatic for _, lesson in waiting):
            self.automatic.begin()
        starts = self._bundles.append((change, lesson.features) for change, lesson in waiting)
        self._db.executemany(
            f"INSERT INTO lessons ({_LESSON}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            [
                (change, start, len(features), digest, label, *rest)
                for start, (change, (digest, label, features, *rest)) in zip(starts, waiting, strict=True)
            ],
        )

    def forget(self, digest: bytes, user: str = "") -> Change | None:
        """Move a lesson to the forgotten ones and return what that means for counts; None if there is none."""
        row = self._learned("change, start, size, label, held_out", digest, user)
        if row is None:
            return None
        (((learned, start, size, label, held_out), features),) = self._bundles.read([row])
        self._db.execute(
            "INSERT INTO forgotten (change, learned, label, held_out, start, size) VALUES (?, ?, ?, ?, ?, ?)",
            (self.last_change + 1, learned, label, held_out, start, size),
        )
        self._db.execute("DELETE FROM lessons WHERE change = ?", (learned,))
        self.last_change += 1
        self._tally.subtract(tallied(label, user))
        return Change(-1, label, features, held_out)

    def changes_since(self, change: int) -> Iterator[Change]:
        """Yield what brings counts at `change` up to date, the additions first; call inside `reading` or `writing`."""
        yield from self._changes(
            1, "SELECT change, start, size, label, held_out FROM lessons WHERE change > ? ORDER BY change", change
        )
        yield from self._changes(
            -1,
            "SELECT learned, start, size, label, held_out FROM forgotten WHERE change > ?1 AND learned <= ?1 "
            "ORDER BY learned",
            change,
        )

    def _changes(self, sign: int, sql: str, change: int) -> Iterator[Change]:
        for (_, _, _, label, held_out), features in self._bundles.read(self._db.execute(sql, (change,))):
            yield Change(sign, label, features, held_out)

    def settle(self, snapshot: str) -> None:
        """Drop what was forgotten: a snapshot at the last change has taken it in, no one else needs its features."""
        _, settled = self.position()
        gone = self._db.execute("SELECT learned FROM forgotten").fetchall()
        self._db.execute("DELETE FROM forgotten")
        self._bundles.tidy((learned for (learned,) in gone), settled)
        self._db.execute("UPDATE journal SET settled = ?, snapshot = ?", (self.last_change, snapshot))

    def lessons(self) -> Iterator[Lesson]:
        """Yield all lessons in the order they were learned; meanwhile nothing can be written through this journal."""
        with self.reading():
            yield from self._lessons(f"SELECT {_LESSON} FROM lessons ORDER BY change")  # noqa: S608

    def _lessons(self, sql: str, *values: object) -> Iterator[Lesson]:
        for (_, _, _, digest, label, *rest), features in self._bundles.read(self._db.execute(sql, values)):
            yield Lesson(digest, label, features, *rest)

    def page(self, selection: Selection, most: int, after: str | None = None) -> list[Entry]:
        """Return the latest lessons of a selection, or the latest of those after a place."""
        with _errors_named(self.path, self._wait_s):
            return self._listing.page(selection, most, after)

    def n_of(self, selection: Selection) -> int:
        """Return how many lessons a selection has."""
        with _errors_named(self.path, self._wait_s):
            return self._listing.n_of(selection)

    def changes_of(self, selection: Selection) -> list[int]:
        """Return the numbers of the changes that learned the lessons of a selection, in order."""
        with _errors_named(self.path, self._wait_s):
            return self._listing.changes_of(selection)

    def predicted(self, label: str, size: int) -> tuple["array[int]", bytes]:
        """Return the changes that learned the lessons of a label, and one after the other what was predicted of each.

        Those of which something else was predicted, or nothing, are left out.
        """
        with _errors_named(self.path, self._wait_s):
            return self._listing.predicted(label, size)

    def still(self, changes: Iterable[int]) -> list[tuple[bytes, str]]:
        """Return digest and user of the lessons that these changes learned and that are still there."""
        with _errors_named(self.path, self._wait_s):
            return self._listing.still(changes)

    def times_of(self, changes: Iterable[int]) -> list[float | None]:
        """Return when these changes learned their lessons; None for those that are gone."""
        with _errors_named(self.path, self._wait_s):
            return self._listing.times_of(changes)

    def lesson_of(self, digest: bytes, user: str) -> Lesson | None:
        """Return the lesson about a message; call inside `writing`."""
        row = self._learned("change", digest, user)
        if row is None:
            return None
        (lesson,) = self._lessons(f"SELECT {_LESSON} FROM lessons WHERE change = ?", *row)  # noqa: S608
        return lesson

    def confirmed(self) -> set[int]:
        """Return the changes that learned the lessons whose labels were confirmed."""
        with _errors_named(self.path, self._wait_s):
            return self._confirmed.changes()

    def is_confirmed(self, digest: bytes, user: str) -> bool:
        """Tell whether the label of a lesson was confirmed."""
        row = self._learned("change", digest, user)
        return row is not None and self._confirmed.has(*row)

    def confirm(self, digest: bytes, user: str, label: str, *, right: bool = True) -> bool:
        """Note that the label of a lesson is right, or that nobody is sure of it; tell whether there is that lesson."""
        row = self._learned("change, label", digest, user)
        if row is None or row[1] != label:
            return False
        self._confirmed.note(row[0], right=right)
        return True

    def unscored(self, label: str, n: int, size: int) -> list[Lesson]:
        """Return up to `n` lessons of people of a label without predictions, picked by digest, as if at random.

        If there are too few, those follow whose predictions have another size: from when there were other labels. All
        lessons are looked through: this is wanted a few times in a journal's life, an index would cost every lesson.
        """
        self._write_down()
        are_meant = "user <> ? AND label = ? AND"
        sql = f"SELECT {_LESSON} FROM lessons WHERE {are_meant} %s ORDER BY digest LIMIT ?"  # noqa: S608
        found = list(self._lessons(sql % "held_out IS NULL", AUTOMATIC, label, n))
        if len(found) < n:
            found += self._lessons(sql % "length(held_out) <> ?", AUTOMATIC, label, size, n - len(found))
        return found

    def predicted_with(self, label: str, n: int, at: int, part: bytes) -> list[Lesson]:
        """Return up to `n` lessons of people of a label whose predictions have this part at a place, by digest."""
        self._write_down()
        sql = (
            f"SELECT {_LESSON} FROM lessons WHERE user <> ? AND label = ? "  # noqa: S608
            "AND substr(held_out, ?, ?) = ? ORDER BY digest LIMIT ?"
        )
        return list(self._lessons(sql, AUTOMATIC, label, at + 1, len(part), part, n))

    def merge(self, other: "Journal") -> dict[str, int]:
        """Take in the lessons of another journal; where both have a message, the later lesson counts.

        Also where both say the same: a third journal may disagree, and its time must be held against the later one.
        What people had a hand in, in either, has no automatic lesson.
        """
        done = {"added": 0, "relabelled": 0, "known": 0}
        self._leave_to_people(other.automatic.ends_of_peoples())
        for lesson in other.lessons():
            if lesson.is_automatic and self._is_peoples(lesson.digest):
                done["known"] += 1
                continue
            row = self._learned("label, time", lesson.digest, lesson.user)
            is_later = row is None or (lesson.time, lesson.label) > (row[1], row[0])
            if row is None:
                done["added"] += 1
            elif is_later and row[0] != lesson.label:
                done["relabelled"] += 1
            else:
                done["known"] += 1
            if is_later:
                self.forget(lesson.digest, lesson.user)
                self.learn(lesson)
        self._number_changes()
        return done

    def _leave_to_people(self, ends: list[bytes]) -> None:
        """Take back what was learned automatically of letters that people had a hand in, given by their ends."""
        if ends:
            self.automatic.begin()
            letters = [bytes(16) + end for end in ends]
            self.automatic.leave_to_people(letters)
            for letter in letters:
                self.forget(letter, AUTOMATIC)

    def _is_peoples(self, letter: bytes) -> bool:
        self.automatic.begin()
        return self.automatic.is_peoples(letter)

    def check(self) -> None:
        """Read the whole file and raise JournalError if it is damaged."""
        (said,) = self._row("PRAGMA integrity_check(1)")
        if said != "ok":
            raise JournalError(f"{self.path} is damaged ({' '.join(said.split())}). Restore it from a backup.")


def _create(connection: sqlite3.Connection, features_version: int, bits: int) -> None:
    """Make the tables of an empty database; the first process to come does it, the others wait.

    This comes before the WAL, so that the first bytes of the file itself say what it is from the first moment on.
    """
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        return
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0:
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO journal VALUES (?, ?, ?, 0, 0, '', '')", (uuid.uuid4().hex, features_version, bits)
        )
    connection.execute("COMMIT")


def _write_ahead(connection: sqlite3.Connection, wait_s: float) -> None:
    """Go over to the write-ahead log; SQLite does not wait here for others who are about to do the same, so we do."""
    until = time.monotonic() + wait_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def may_write(path: Path) -> bool:
    """Tell whether this account, as it acts now, may write to a file or a folder."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


@contextmanager
def _left_if_unopened(file: in_use.File) -> Iterator[None]:
    try:
        yield
    except BaseException:
        in_use.leave(file)
        raise


def _seen_and_made(path: Path) -> None:
    _refuse_foreign(path)
    _touch(path)


def _touch(path: Path) -> None:
    """Make the file, for its owner alone; SQLite gives the files beside it the same mode."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))
        give_to_owner(path)
    except OSError as error:
        raise JournalError(
            f"{path} cannot be made: {os.strerror(error.errno or 0)}. Check that the folder is writable."
        ) from None


def _refuse_foreign(path: Path) -> None:
    """Look at a file's first bytes before SQLite does: it would take some for its own, and tidy up after others."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except FileNotFoundError:
        return
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise JournalError(f"{path} cannot be read: {reason}. Make it readable or name another home.") from None
    if not head:
        return
    if not head.startswith(_MAGIC):
        raise JournalError(f"{path} is not a Priory journal. It was left as it is; name another home.")
    # https://sqlite.org/fileformat2.html#the_database_header
    if int.from_bytes(head[68:72]) != APPLICATION_ID:
        raise JournalError(f"{path} is a database of another program. It was left as it is; name another home.")
    _refuse_other_format(path, int.from_bytes(head[60:64]))


def _refuse_other_format(path: Path, found: int) -> None:
    """A number of 0 is a journal that is just being made."""
    if found > FORMAT:
        raise JournalError(f"{path} has format {found}, this Priory knows up to {FORMAT}: use a newer Priory.")
    if 0 < found < FORMAT:
        raise JournalError(
            f"{path} has format {found} of an older Priory, this one writes {FORMAT}. It was left as it is: learn the "
            "mail anew into another home."
        )


@contextmanager
def _errors_named(path: Path, wait_s: float) -> Iterator[None]:
    """Turn SQLite's errors into ours: which file, what is wrong, what to do."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
        raise  # a mistake in the calling code, nothing that is wrong with the file
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise JournalBusyError(
                f"{path} is being written to by another process, which did not finish within {wait_s:g} s: "
                "try again later."
            ) from None
        raise JournalError(f"{path}: {error}. Check that the folder is writable and the disk is not full.") from None
    except sqlite3.DatabaseError as error:
        raise JournalError(f"{path} is damaged ({error}). It was left as it is; restore it from a backup.") from None
