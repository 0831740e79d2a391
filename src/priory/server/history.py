"""What the daemon has done over time, kept through restarts: how much of each thing was counted in each minute.

A scoreboard counts since the daemon's start. Here it is noted, beside how far it was, how much more it is than at the
last look; both in one transaction. So whoever looks, however often, and whichever process of a daemon dies meanwhile,
nothing is counted twice, and nothing is lost but what comes after the last look of a daemon that is killed.

Minutes are kept for two days, hours for 400. Mail does not need any of this: what is wrong with the file is told in the
log, and a damaged one is put aside.
"""

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from priory.journal.ownership import give_to_owner
from priory.server.scoreboard import Key, Scoreboard

NAME: Final = "history.sqlite"
MINUTE_S: Final = 60
HOUR_S: Final = 3600
DAY_S: Final = 86400
MINUTES_KEPT_S: Final = 2 * DAY_S
HOURS_KEPT_S: Final = 400 * DAY_S
#: The first words of the keys that are kept.
KEPT: Final = ("checked", "unchecked", "lessons", "autolearned", "refused", "errors", "bytes", "check_seconds")
_STEPS_S: Final = (MINUTE_S, 300, 900, HOUR_S, 3 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S, DAY_S, 7 * DAY_S)
_MOST_CHOSEN: Final = 100  # steps, where nobody says how long one is
_FORMAT: Final = 1
_DAEMONS_KEPT: Final = 10  # one that is about to end may still count
_WAIT_S: Final = 5.0
_SCHEMA: Final = """
CREATE TABLE keys (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE daemons (id INTEGER PRIMARY KEY, started REAL NOT NULL UNIQUE);
CREATE TABLE seen (daemon INTEGER, key INTEGER, total INTEGER, PRIMARY KEY (daemon, key)) WITHOUT ROWID;
CREATE TABLE minutes (at INTEGER, key INTEGER, n INTEGER, PRIMARY KEY (at, key)) WITHOUT ROWID;
CREATE TABLE hours (at INTEGER, key INTEGER, n INTEGER, PRIMARY KEY (at, key)) WITHOUT ROWID
"""
_ADD: Final = "INSERT INTO minutes VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n"


class HistoryError(Exception):
    """The history cannot be read or written; the text says why."""


class DamagedHistoryError(HistoryError):
    """The file is no history, or no longer."""


def chosen_step(span: int) -> int:
    """Return a step that fits a span.

    >>> chosen_step(3600), chosen_step(86400), chosen_step(30 * 86400)
    (60, 900, 43200)
    """
    return next(step for step in _STEPS_S if span <= step * _MOST_CHOSEN)


def totals(board: Scoreboard) -> dict[Key, int]:
    """Return how far a scoreboard is with all that is kept and of which there is something."""
    return {key: n for name in KEPT for key in board.keys(name) if (n := board.total(key))}


class History:
    """The history in a home; the file is opened for each look at it, and made by the first who adds something.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     history = History(Path(home))
    ...     history.add(1.0, lambda: {("lessons", "learned"): 3}, now=7200.0)
    ...     history.add(1.0, lambda: {("lessons", "learned"): 5}, now=7260.0)
    ...     history.steps(7200, 7320, 60)
    {7200: Counter({('lessons', 'learned'): 3}), 7260: Counter({('lessons', 'learned'): 2})}
    """

    def __init__(self, home: Path) -> None:
        self.path: Final = home / NAME

    def add(self, daemon: float, so_far: Callable[[], Mapping[Key, int]], now: float) -> None:
        """Note how far a daemon is, which is known by when it was started; what is more than before, counts for now.

        How far it is, is asked only when nobody else can write: so it never goes back.
        """
        with self._opened() as db:
            db.execute("BEGIN IMMEDIATE")
            number = _number_of(db, "daemons", "started", daemon)
            before = dict(db.execute("SELECT key, total FROM seen WHERE daemon = ?", (number,)))
            at = int(now // MINUTE_S) * MINUTE_S
            for name, total in so_far().items():
                key = _number_of(db, "keys", "key", json.dumps(name))
                if total > before.get(key, 0):
                    db.execute(_ADD, (at, key, total - before.get(key, 0)))
                    db.execute("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", (number, key, total))
            db.execute("DELETE FROM seen WHERE daemon <= ?", (number - _DAEMONS_KEPT,))
            db.execute("DELETE FROM daemons WHERE id <= ?", (number - _DAEMONS_KEPT,))
            _thin(db, int(now))
            db.execute("COMMIT")

    def steps(self, begin: int, end: int, step: int, shift: int = 0) -> dict[int, Counter[Key]]:
        """Return what was counted in steps of so many seconds, for each in which there was anything; by its begin.

        Steps begin at multiples, moved back by a shift: so days can be those of a zone. Begin and end are taken to be
        where steps begin. What is older than two days is known by the hour.
        """
        found: dict[int, Counter[Key]] = {}
        if not self.path.exists():
            return found
        with self._opened() as db:
            keys = {number: tuple(json.loads(key)) for number, key in db.execute("SELECT id, key FROM keys")}
            rows = db.execute(
                "SELECT (at + :shift) / :step * :step - :shift AS begin, key, sum(n) FROM "
                "(SELECT * FROM minutes WHERE at >= :begin AND at < :end UNION ALL "
                "SELECT * FROM hours WHERE at >= :begin AND at < :end) GROUP BY begin, key ORDER BY begin, key",
                {"begin": begin, "end": end, "step": step, "shift": shift},
            )
            for at, key, n in rows:
                found.setdefault(at, Counter())[keys[key]] = n
        return found

    def since(self) -> int | None:
        """Return when the first that is kept was counted; None if nothing was."""
        if not self.path.exists():
            return None
        with self._opened() as db:
            (at,) = db.execute("SELECT min(at) FROM (SELECT at FROM minutes UNION ALL SELECT at FROM hours)").fetchone()
            return None if at is None else int(at)

    def size_bytes(self) -> int:
        """Return the bytes of the file; none if there is no file."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def put_aside(self) -> Path:
        """Give a damaged file another name, in place of one that was put aside before."""
        aside = self.path.with_suffix(".damaged")
        try:
            self.path.replace(aside)
            self.path.with_name(f"{NAME}-journal").unlink(missing_ok=True)  # SQLite would apply it to the next file
        except OSError as error:
            raise HistoryError(f"{self.path} cannot be put aside: {error.strerror}.") from None
        return aside

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            os.close(os.open(self.path, os.O_RDONLY | os.O_CREAT, 0o600))
            give_to_owner(self.path)
            with closing(sqlite3.connect(self.path, timeout=_WAIT_S, isolation_level=None)) as db:
                self._make(db)
                yield db
        except OSError as error:
            raise HistoryError(f"{self.path} cannot be opened: {error.strerror}.") from None
        except sqlite3.OperationalError as error:
            raise HistoryError(f"{self.path}: {error}.") from None
        except sqlite3.DatabaseError as error:
            raise DamagedHistoryError(f"{self.path} is damaged: {error}.") from None

    def _make(self, db: sqlite3.Connection) -> None:
        """Make the tables of an empty file; the first process to come does it, the others wait."""
        if _format(db) == 0:
            db.execute("BEGIN IMMEDIATE")
            if _format(db) == 0:
                if db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                    raise DamagedHistoryError(f"{self.path} is a database of another program.")
                for statement in _SCHEMA.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {_FORMAT}")
            db.execute("COMMIT")
        if _format(db) != _FORMAT:
            raise HistoryError(f"{self.path} is of another Priory: use a newer one, or move it away.")


def _format(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _number_of(db: sqlite3.Connection, table: str, column: str, value: object) -> int:
    """Return the number of a row; make it if there is none."""
    find = f"SELECT id FROM {table} WHERE {column} = ?"  # noqa: S608
    row = db.execute(find, (value,)).fetchone()
    if row is None:
        row = (db.execute(f"INSERT INTO {table} ({column}) VALUES (?)", (value,)).lastrowid,)  # noqa: S608
    return int(row[0])


def _thin(db: sqlite3.Connection, now: int) -> None:
    """Make hours of old minutes, and forget old hours."""
    old = (now - MINUTES_KEPT_S) // HOUR_S * HOUR_S
    db.execute(
        "INSERT INTO hours SELECT at / :hour * :hour, key, sum(n) FROM minutes WHERE at < :old GROUP BY 1, 2 "
        "ON CONFLICT DO UPDATE SET n = n + excluded.n",
        {"hour": HOUR_S, "old": old},
    )
    db.execute("DELETE FROM minutes WHERE at < ?", (old,))
    db.execute("DELETE FROM hours WHERE at < ?", (now - HOURS_KEPT_S,))
