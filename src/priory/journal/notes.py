"""Tables beside the lessons: confirmed labels, subjects, lesson counts per user, and tombstones; and automatic lessons.

In a file, each table is created when it is first needed; a server has them all from the start. Only a server has
tombstones.

Automatic lessons, learned by the filter itself, stand among the other lessons under `AUTOMATIC`. They have the identity
of the message (`priory.message.identity`) in place of its digest: a person's copy has other headers than the copy that
was learned.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from priory.journal.database import STORED_AUTOMATIC, Database, is_text, stored_user
from priory.journal.lesson import Lesson, LessonUser

TOMBSTONE_RETENTION_S: Final = 30 * 24 * 3600.0  #: the longest that a machine may be cut off and deliver its lessons

# The condition holds a literal, as the index does: with a parameter, SQLite would not use a partial index.
_ARE_AUTOMATIC: Final = f"\"user\" = '{STORED_AUTOMATIC}'"
MAKE_AUTOMATIC: Final = (  #: finds the lessons that the filter learned by itself
    f"CREATE INDEX IF NOT EXISTS automatic ON lessons (label, time) WHERE {_ARE_AUTOMATIC}",
)
_MAKE_CONFIRMED: Final = (
    "CREATE TABLE IF NOT EXISTS confirmed (change INTEGER PRIMARY KEY)",
    """
    CREATE TRIGGER IF NOT EXISTS confirmed_no_more AFTER DELETE ON lessons
    BEGIN DELETE FROM confirmed WHERE change = old.change; END
    """,
)
_MAKE_SUBJECTS: Final = (
    "CREATE TABLE IF NOT EXISTS subjects (change INTEGER PRIMARY KEY, subject TEXT NOT NULL)",
    """
    CREATE TRIGGER IF NOT EXISTS subjects_no_more AFTER DELETE ON lessons
    BEGIN DELETE FROM subjects WHERE change = old.change; END
    """,
)
_SUBJECT: Final = "coalesce((SELECT subject FROM subjects WHERE subjects.change = lessons.change), '')"
_SET_SUBJECT: Final = (
    'INSERT INTO subjects (change, subject) SELECT change, ? FROM lessons WHERE substr(digest, 17) = ? AND "user" = ? '
    "ON CONFLICT (change) DO UPDATE SET subject = excluded.subject"
)
_MAKE_TAUGHT: Final = ('CREATE TABLE IF NOT EXISTS taught ("user" TEXT PRIMARY KEY, n INTEGER NOT NULL)',)
_SET_TAUGHT: Final = 'INSERT INTO taught ("user", n) VALUES (?, ?) ON CONFLICT ("user") DO UPDATE SET n = excluded.n'
_BURY: Final = (
    'INSERT INTO tombstones (message, "user", time, node) VALUES (?, ?, ?, ?) ON CONFLICT (message, "user") '
    "DO UPDATE SET time = excluded.time, node = excluded.node "
    "WHERE (tombstones.time, tombstones.node) < (excluded.time, excluded.node)"
)
_MOST: Final = 1 << 53
_N_USERS: Final = ""  # the row of this name in `taught` holds the number of users


class Confirmations:
    """Labels that look wrong and that a person has confirmed, so that they are not shown again.

    A confirmation has the number of the change that learned the lesson. It ends with the lesson: when that is
    forgotten, or relearned under another label.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    def changes(self) -> set[int]:
        """Return the changes that learned the confirmed lessons."""
        return {change for (change,) in self._db.rows("SELECT change FROM confirmed")} if self._exists else set()

    def has(self, change: int) -> bool:
        """Tell whether the lesson that a change learned is confirmed."""
        return self._exists and bool(self._db.rows("SELECT 1 FROM confirmed WHERE change = ?", change))

    @property
    def _exists(self) -> bool:
        return self._db.has("confirmed")

    def note(self, change: int, *, right: bool) -> None:
        """Confirm the label of a lesson, or withdraw the confirmation; call inside `writing`."""
        self._db.make(_MAKE_CONFIRMED)
        if right:
            self._db.rows("INSERT INTO confirmed VALUES (?) ON CONFLICT DO NOTHING", change)
        else:
            self._db.rows("DELETE FROM confirmed WHERE change = ?", change)


def subject_column(database: Database) -> str:
    """Return the SQL that selects the subject of a lesson; empty text for a lesson without one."""
    return _SUBJECT if database.has("subjects") else "''"


class Subjects:
    """The subjects of learned messages, for people who want to recognise their lessons.

    A subject has the number of the change that learned the lesson. It is deleted with the lesson.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, lessons: Iterable[tuple[int, Lesson]]) -> None:
        """Store the subjects of new lessons, given with the numbers of their changes."""
        subjects = [(change, lesson.subject) for change, lesson in lessons if lesson.subject]
        if subjects:
            self._db.make(_MAKE_SUBJECTS)
            self._db.run_many("INSERT INTO subjects (change, subject) VALUES (?, ?)", subjects)

    def replace(self, subjects: Sequence[tuple[bytes, str]], user: LessonUser) -> None:
        """Store the subjects of known lessons of a user, given by digest."""
        if subjects:
            self._db.make(_MAKE_SUBJECTS)
            name = stored_user(user)
            self._db.run_many(_SET_SUBJECT, [(subject, digest[16:], name) for digest, subject in subjects])

    def n(self) -> int:
        """Return how many subjects are stored."""
        return int(self._db.rows("SELECT count(*) FROM subjects")[0][0]) if self._db.has("subjects") else 0

    def delete(self) -> None:
        """Delete all subjects."""
        if self._db.has("subjects"):
            self._db.rows("DELETE FROM subjects")


class User(NamedTuple):
    """A user who has taught lessons."""

    name: str
    lessons: dict[str, int]  #: of each label
    unshared: int  #: lessons that count for this user alone


class UserCounts:
    """How many lessons each user has taught that count for everyone.

    These numbers are needed at each lesson of a user (see `priory.filter.personal`), so they are stored.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    def n(self) -> int:
        """Return how many users there are."""
        return self.n_of(_N_USERS)

    def n_of(self, user: str) -> int:
        """Return how many lessons of a user count for everyone."""
        return self._row(user) or 0 if self._db.has("taught") else 0

    def _row(self, user: str) -> int | None:
        rows = self._db.rows('SELECT n FROM taught WHERE "user" = ?', user)
        n = rows[0][0] if rows else None
        return n if isinstance(n, int) and 0 <= n <= _MOST else None  # what is damaged is counted again

    def every(self) -> list[User]:
        """Return all users by name; this reads the whole table of lessons."""
        sql = (
            'SELECT "user", label, count(*), sum(CASE WHEN shared THEN 0 ELSE 1 END) FROM lessons '
            'WHERE "user" <> ? AND "user" <> ? GROUP BY "user", label ORDER BY "user", label'
        )
        users: dict[str, User] = {}
        for name, label, n, unshared in self._db.rows(sql, "", STORED_AUTOMATIC):
            if not (isinstance(name, str) and isinstance(label, str) and is_text(name)):
                continue  # `lessons` names it
            user = users.get(name, User(name, {}, 0))
            users[name] = User(name, {**user.lessons, label: int(n)}, user.unshared + int(unshared))
        return list(users.values())

    def add(self, differences: Mapping[str, int]) -> None:
        """Add to the numbers of users; call after the lessons themselves are written."""
        self._db.make(_MAKE_TAUGHT)
        n_users = self._row(_N_USERS)
        if n_users is None:
            self._count()
            return
        for user, difference in differences.items():
            was = self.n_of(user)
            n = was + difference
            n_users += (n > 0) - (was > 0)
            if n > 0:
                self._db.rows(_SET_TAUGHT, user, n)
            else:
                self._db.rows('DELETE FROM taught WHERE "user" = ?', user)
        self._db.rows(_SET_TAUGHT, _N_USERS, n_users)

    def _count(self) -> None:
        """Fill the table from the lessons, which may be older than it."""
        sql = 'SELECT "user", count(*) FROM lessons WHERE shared = ? AND "user" <> ? AND "user" <> ? GROUP BY "user"'
        rows = self._db.rows(sql, True, "", STORED_AUTOMATIC)
        self._db.run_many(_SET_TAUGHT, [*rows, (_N_USERS, len(rows))])


class Tombstones:
    """Lessons that were forgotten in a journal that several machines share, and when.

    A machine that was cut off delivers its lessons later. A lesson that is older than the request to forget it must not
    come back. The last 16 bytes of a digest identify a message.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    def bury(self, lessons: Iterable[tuple[bytes, LessonUser]], time: float, node: str) -> None:
        """Leave tombstones for lessons, given by digest and user, whether or not they exist here yet."""
        self._db.run_many(_BURY, [(digest[16:], stored_user(user), time, node) for digest, user in lessons])

    def remove(self, user: str) -> None:
        """Delete the tombstones of a user."""
        self._db.rows('DELETE FROM tombstones WHERE "user" = ?', stored_user(user))

    def last(self, digest: bytes, user: LessonUser) -> tuple[float, str] | None:
        """Return when and by which machine a lesson was forgotten, if it was."""
        sql = 'SELECT time, node FROM tombstones WHERE message = ? AND "user" = ?'
        rows = self._db.rows(sql, digest[16:], stored_user(user))
        return (rows[0][0], rows[0][1]) if rows else None
