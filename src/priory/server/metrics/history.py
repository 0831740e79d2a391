"""The history of the daemon's counters: how much was counted in each minute, across restarts.

A scoreboard counts from the daemon's start. One transaction adds the increase since the last recording to the current
minute, and stores the total that this increase was computed from. So any number of processes may record as often as
they like, and any of them may die, and nothing is counted twice. Counts after the last recording are lost if the daemon
is killed.

Minutes are kept for two days, hours for 400 days. Mail does not depend on the file: errors are logged, and a damaged
file is renamed.
"""

import asyncio
import json
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from priory.journal.files import give_to_owner
from priory.processes.log import log
from priory.server.metrics.scoreboard import Key, Scoreboard

NAME: Final = "history.sqlite"
MINUTE_S: Final = 60
HOUR_S: Final = 3600
DAY_S: Final = 86400
MINUTES_KEPT_S: Final = 2 * DAY_S
HOURS_KEPT_S: Final = 400 * DAY_S
RECORD_EVERY_S: Final = 10.0
#: The first words of the keys that are recorded.
RECORDED: Final = ("checked", "unchecked", "lessons", "autolearned", "refused", "errors", "bytes", "check_seconds")
_STEPS_S: Final = (MINUTE_S, 300, 900, HOUR_S, 3 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S, DAY_S, 7 * DAY_S)
_MAX_STEPS: Final = 100  # where the caller does not choose a step
_FORMAT: Final = 1
_DAEMONS_KEPT: Final = 10  # a daemon that is about to end may still record beside its successor
_LOCK_TIMEOUT_S: Final = 5.0
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
    """The file is not a history, or is damaged."""


def default_step(span: int) -> int:
    """Return a length of steps that suits a span, both in seconds.

    >>> default_step(3600), default_step(86400), default_step(30 * 86400)
    (60, 900, 43200)
    """
    return next(step for step in _STEPS_S if span <= step * _MAX_STEPS)


def totals(board: Scoreboard) -> dict[Key, int]:
    """Return the totals of all recorded keys that are not zero."""
    return {key: n for name in RECORDED for key in board.keys(name) if (n := board.total(key))}


class History:
    """The history file of a home; it is opened for each access, and created when something is added.

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

    def add(self, daemon: float, read_totals: Callable[[], Mapping[Key, int]], now: float) -> None:
        """Add to the current minute what a daemon has counted since its totals were last added.

        A daemon is identified by the time of its start. The totals are read inside the transaction, so that of two
        processes the later one never has the smaller totals.
        """
        with self._open() as db:
            db.execute("BEGIN IMMEDIATE")
            number = _row_id(db, "daemons", "started", daemon)
            before = dict(db.execute("SELECT key, total FROM seen WHERE daemon = ?", (number,)))
            at = int(now // MINUTE_S) * MINUTE_S
            for name, total in read_totals().items():
                key = _row_id(db, "keys", "key", json.dumps(name))
                if total > before.get(key, 0):
                    db.execute(_ADD, (at, key, total - before.get(key, 0)))
                    db.execute("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", (number, key, total))
            db.execute("DELETE FROM seen WHERE daemon <= ?", (number - _DAEMONS_KEPT,))
            db.execute("DELETE FROM daemons WHERE id <= ?", (number - _DAEMONS_KEPT,))
            _compact(db, int(now))
            db.execute("COMMIT")

    def steps(self, begin: int, end: int, step: int, shift: int = 0) -> dict[int, Counter[Key]]:
        """Return the counts of each step of `step` seconds by the time at which it begins, without empty steps.

        Steps begin at multiples of their length, moved back by `shift`, so that days can follow a time zone. Begin
        and end must be such times. Counts older than two days are known by the hour only.
        """
        steps: dict[int, Counter[Key]] = {}
        if not self.path.exists():
            return steps
        with self._open() as db:
            keys = {number: tuple(json.loads(key)) for number, key in db.execute("SELECT id, key FROM keys")}
            rows = db.execute(
                "SELECT (at + :shift) / :step * :step - :shift AS begin, key, sum(n) FROM "
                "(SELECT * FROM minutes WHERE at >= :begin AND at < :end UNION ALL "
                "SELECT * FROM hours WHERE at >= :begin AND at < :end) GROUP BY begin, key ORDER BY begin, key",
                {"begin": begin, "end": end, "step": step, "shift": shift},
            )
            for at, key, n in rows:
                steps.setdefault(at, Counter())[keys[key]] = n
        return steps

    def check(self) -> None:
        """Read the whole file. Raises HistoryError."""
        with self._open() as db:
            ((result,),) = db.execute("PRAGMA integrity_check(1)").fetchall()
        if result != "ok":
            raise DamagedHistoryError(f"{self.path} is damaged: {result}.")

    def put_aside(self) -> Path:
        """Rename a damaged file, replacing one that was renamed before; return the new path."""
        aside = self.path.with_suffix(".damaged")
        try:
            self.path.replace(aside)
            # SQLite would roll back the new file with it.
            self.path.with_name(f"{NAME}-journal").unlink(missing_ok=True)
        except OSError as error:
            raise HistoryError(f"{self.path} cannot be renamed: {error.strerror}.") from None
        return aside

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            os.close(os.open(self.path, os.O_RDONLY | os.O_CREAT, 0o600))
            give_to_owner(self.path)
            with closing(sqlite3.connect(self.path, timeout=_LOCK_TIMEOUT_S, isolation_level=None)) as db:
                self._create_tables(db)
                yield db
        except OSError as error:
            raise HistoryError(f"{self.path} cannot be opened: {error.strerror}.") from None
        except sqlite3.OperationalError as error:
            raise HistoryError(f"{self.path}: {error}.") from None
        except sqlite3.DatabaseError as error:
            raise DamagedHistoryError(f"{self.path} is damaged: {error}.") from None

    def _create_tables(self, db: sqlite3.Connection) -> None:
        """Create the tables of an empty file. The first process does it, others wait for its transaction."""
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
            raise HistoryError(
                f"{self.path} was written by another version of Priory. Use that version, or move the file away."
            )


def _format(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _row_id(db: sqlite3.Connection, table: str, column: str, value: object) -> int:
    """Return the id of the row with a value; insert the row if there is none."""
    find = f"SELECT id FROM {table} WHERE {column} = ?"  # noqa: S608
    row = db.execute(find, (value,)).fetchone()
    if row is None:
        row = (db.execute(f"INSERT INTO {table} ({column}) VALUES (?)", (value,)).lastrowid,)  # noqa: S608
    return int(row[0])


def _compact(db: sqlite3.Connection, now: int) -> None:
    """Merge old minutes into hours, and delete old hours."""
    old = (now - MINUTES_KEPT_S) // HOUR_S * HOUR_S
    db.execute(
        "INSERT INTO hours SELECT at / :hour * :hour, key, sum(n) FROM minutes WHERE at < :old GROUP BY 1, 2 "
        "ON CONFLICT DO UPDATE SET n = n + excluded.n",
        {"hour": HOUR_S, "old": old},
    )
    db.execute("DELETE FROM minutes WHERE at < ?", (old,))
    db.execute("DELETE FROM hours WHERE at < ?", (now - HOURS_KEPT_S,))


class HistoryRecorder:
    """Records a daemon's scoreboard in the history of a home; several processes may do so at a time.

    Errors are logged, each once until the next success, and never raised: mail does not depend on the history.
    """

    def __init__(self, home: Path, board: Scoreboard, started: float) -> None:
        self.history: Final = History(home)
        self._board = board
        self._started = started
        self._recorded: dict[Key, int] = {}
        self._logged = ""

    async def run(self) -> None:
        """Record every few seconds, until cancelled."""
        while True:
            await asyncio.to_thread(self.record)
            await asyncio.sleep(RECORD_EVERY_S)

    def record(self) -> None:
        """Record the counts since the last call; without any change the file is not touched."""
        current = totals(self._board)
        if current == self._recorded:
            return
        try:
            self._add_or_replace()
        except HistoryError as error:
            self._log(str(error))
        else:
            self._recorded, self._logged = current, ""

    def _add_or_replace(self) -> None:
        try:
            self._add()
        except DamagedHistoryError as error:
            renamed = self.history.put_aside()
            self._log(f"{error} It was renamed to {renamed}, and a new history was begun.")
            self._add()

    def _add(self) -> None:
        self.history.add(self._started, lambda: totals(self._board), time.time())

    def _log(self, text: str) -> None:
        if text != self._logged:
            log("error", what=repr(text))
            self._logged = text
