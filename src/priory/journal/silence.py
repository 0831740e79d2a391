"""What people said, and did not say, about mail that was checked: tables beside the lessons.

`told` has the messages that people have taught or forgotten, by their identity; the filter does not learn these. It is
kept for as long as a file of checked mail may ask for it. `judged` notes of a lesson what the filter had said about its
message, and ends with the lesson. `silence` counts the messages without a lesson, and holds the estimate that was made
from all of this. `concluded` names the files of checked mail that are counted already.

In a file, each table is created when it is first needed; a server has them all from the start.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from priory.journal.checked import DAY_S
from priory.journal.database import MAX_PARAMETERS, STORED_AUTOMATIC, Database, Row, stored_user
from priory.journal.lesson import LessonUser

RETENTION_DAYS: Final = 90  #: for which it is known what people said; older checked mail does not count
_MAKE: Final = (
    """
    CREATE TABLE IF NOT EXISTS told (
      letter BLOB PRIMARY KEY, message BLOB, "user" TEXT NOT NULL, time REAL NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE TABLE IF NOT EXISTS judged (change INTEGER PRIMARY KEY, decision TEXT NOT NULL, bins BLOB NOT NULL)",
    """
    CREATE TRIGGER IF NOT EXISTS judged_no_more AFTER DELETE ON lessons
    BEGIN DELETE FROM judged WHERE change = old.change; END
    """,
    "CREATE TABLE IF NOT EXISTS silence (labels TEXT NOT NULL, silent BLOB NOT NULL, estimate BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS concluded (file TEXT PRIMARY KEY, time REAL NOT NULL)",
    "DROP TABLE IF EXISTS peoples",
)
_TELL: Final = (
    'INSERT INTO told (letter, message, "user", time) VALUES (?, ?, ?, ?) ON CONFLICT (letter) '
    'DO UPDATE SET message = excluded.message, "user" = excluded."user", time = excluded.time'
)
_JUDGE: Final = (
    "INSERT INTO judged (change, decision, bins) VALUES (?, ?, ?) "
    "ON CONFLICT (change) DO UPDATE SET decision = excluded.decision, bins = excluded.bins"
)
_OF_PEOPLE: Final = 'substr(digest, 17) = ? AND "user" <> ? ORDER BY time DESC, change DESC LIMIT 1'


class Told(NamedTuple):
    """A message that a person has taught, or has forgotten."""

    identity: bytes
    digest: bytes | None  #: None if what was said about the message says nothing about where it lay
    user: str
    time: float


class JudgedLessons(NamedTuple):
    """Lessons about messages that were checked before, with equal values."""

    decision: str  #: a label, or *unsure*
    bins: bytes  #: of the scores, as they were stored
    label: str  #: of the lessons
    is_automatic: bool
    n: int


class StoredSilence(NamedTuple):
    """The numbers of silent messages without a lesson, and the estimate that was made last; both packed."""

    labels: str  #: in their order, joined by commas
    silent: bytes
    estimate: bytes


class SilenceNotes:
    """The tables about silence. Call `create_tables` inside `writing`, before anything is written."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def create_tables(self) -> None:
        """Create the tables if they are missing."""
        self._db.make(_MAKE)

    @property
    def exists(self) -> bool:
        """Whether the tables exist: if not, no checked mail was ever counted."""
        return self._db.has("silence")

    # What people said

    def tell(self, told: Iterable[Told]) -> None:
        """Note that people have spoken about messages."""
        rows = [(identity[16:], digest and digest[16:], user, time) for identity, digest, user, time in told]
        self._db.run_many(_TELL, rows)

    def told(self, identities: Iterable[bytes]) -> dict[bytes, bytes | None]:
        """Return the ends of the digests of those messages that people spoke about."""
        known: dict[bytes, bytes | None] = {}
        remaining = iter(identities)
        while self.exists and (group := list(islice(remaining, MAX_PARAMETERS))):
            sql = f"SELECT letter, message FROM told WHERE letter IN ({', '.join('?' * len(group))})"  # noqa: S608
            ends = {identity[16:]: identity for identity in group}
            rows = self._db.rows(sql, *ends)
            known.update((ends[end], message) for end, message in rows if isinstance(message, bytes | None))
        return known

    def every_told(self) -> list[Told]:
        """Return all messages that people spoke about; only the last 16 bytes of identity and digest are known."""
        if not self.exists:
            return []
        rows = self._db.rows('SELECT letter, message, "user", time FROM told')
        return [
            Told(bytes(16) + end, message and bytes(16) + message, user, time)
            for end, message, user, time in rows
            if isinstance(end, bytes) and isinstance(message, bytes | None) and isinstance(user, str)
            if isinstance(time, float)
        ]

    def erase(self, user: str) -> None:
        """Delete what a user said."""
        if self.exists:
            self._db.rows('DELETE FROM told WHERE "user" = ?', stored_user(user))

    # What the filter had said about the messages of lessons

    def judge_taught(self, digest_end: bytes, decision: str, bins: bytes) -> None:
        """Note what the filter had said about a message that people taught; nothing if the lesson is gone."""
        rows = self._db.rows(f"SELECT change FROM lessons WHERE {_OF_PEOPLE}", digest_end, STORED_AUTOMATIC)  # noqa: S608
        for (change,) in rows:
            self._db.rows(_JUDGE, change, decision, bins)

    def judge(self, digest: bytes, user: LessonUser, decision: str, bins: bytes) -> None:
        """Note what the filter had said about the message of a lesson that has a row."""
        sql = 'SELECT change FROM lessons WHERE substr(digest, 17) = ? AND "user" = ?'
        for (change,) in self._db.rows(sql, digest[16:], stored_user(user)):
            self._db.rows(_JUDGE, change, decision, bins)

    def judgement(self, digest: bytes, user: LessonUser) -> tuple[str, bytes] | None:
        """Return decision and bins that were noted of a lesson; None if there are none."""
        if not self.exists:
            return None
        sql = (
            'SELECT decision, bins FROM judged JOIN lessons USING (change) WHERE substr(digest, 17) = ? AND "user" = ?'
        )
        rows = self._db.rows(sql, digest[16:], stored_user(user))
        return (rows[0][0], rows[0][1]) if rows and isinstance(rows[0][1], bytes) else None

    def judged_lessons(self) -> list[JudgedLessons]:
        """Return the numbers of lessons about messages that were checked before."""
        if not self.exists:
            return []
        sql = (
            'SELECT decision, bins, label, "user" = ?, count(*) FROM judged JOIN lessons USING (change) '
            "GROUP BY 1, 2, 3, 4"
        )
        rows = self._db.rows(sql, STORED_AUTOMATIC)
        return [
            JudgedLessons(decision, bins, label, bool(automatic), int(n))
            for decision, bins, label, automatic, n in rows
            if isinstance(bins, bytes)
        ]

    def every_judged(self) -> list[Row]:
        """Return digest, column `user`, decision and bins of every lesson about a message that was checked before."""
        if not self.exists:
            return []
        sql = 'SELECT digest, "user", decision, bins FROM judged JOIN lessons USING (change) ORDER BY change'
        rows = self._db.rows(sql)
        return [
            row for row in rows if isinstance(row[0], bytes) and isinstance(row[1], str) and isinstance(row[3], bytes)
        ]

    # Silent messages without a lesson

    def load(self) -> StoredSilence | None:
        """Return what is stored; None if nothing was concluded yet."""
        rows = self._db.rows("SELECT labels, silent, estimate FROM silence") if self.exists else []
        if not rows or not (isinstance(rows[0][1], bytes) and isinstance(rows[0][2], bytes)):
            return None
        return StoredSilence(*rows[0])

    def store(self, silence: StoredSilence) -> None:
        """Replace what is stored."""
        self._db.rows("DELETE FROM silence")
        self._db.rows("INSERT INTO silence (labels, silent, estimate) VALUES (?, ?, ?)", *silence)

    def is_concluded(self, file: str) -> bool:
        """Tell whether a file of checked mail is counted already."""
        return self.exists and bool(self._db.rows("SELECT 1 FROM concluded WHERE file = ?", file))

    def conclude(self, file: str, time: float) -> None:
        """Note that a file of checked mail is counted."""
        self._db.rows("INSERT INTO concluded (file, time) VALUES (?, ?)", file, time)
        self.delete_old(time)

    def delete_old(self, now: float) -> None:
        """Delete what people said, and the names of files, from a time that no file of checked mail is from."""
        for table in ("told", "concluded") if self.exists else ():
            self._db.rows(f"DELETE FROM {table} WHERE time < ?", now - RETENTION_DAYS * DAY_S)  # noqa: S608

    def concluded_files(self) -> Sequence[tuple[str, float]]:
        """Return the files that were counted, and when."""
        return [(file, time) for file, time in self._db.rows("SELECT file, time FROM concluded")]
