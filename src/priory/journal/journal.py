"""A journal: lessons that are learned and forgotten, each change with its number, in any database."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from priory.journal.database import (
    MAX_PARAMETERS,
    REPAIR,
    STORED_AUTOMATIC,
    DamagedRowError,
    Database,
    is_text,
    leave_out,
    loaded_tallies,
    loaded_user,
    stored_tally,
    stored_user,
    tally_rows,
)
from priory.journal.lesson import (
    Change,
    DamagedJournalError,
    Identity,
    JournalError,
    Lesson,
    LessonUser,
    Position,
    Rank,
    Tallies,
    TallyKind,
    is_person,
)
from priory.journal.notes import MAKE_AUTOMATIC, Confirmations, Subjects, Tombstones, UserCounts
from priory.journal.queries import LessonQueries, Selection
from priory.journal.rules import RuleTable
from priory.journal.silence import SilenceNotes

if TYPE_CHECKING:
    from priory.journal.postgres.snapshots import SharedSnapshots

#: The last 16 bytes of a digest tell messages apart; an index of all 32 would be a hundredth of the file.
_IS_LEARNED: Final = 'substr(digest, 17) = ? AND "user" = ?'
_MAX_UNWRITTEN: Final = 1_000
MOST_BITS: Final = 28  #: of a table with a row for each bucket


class _Head(NamedTuple):
    """The head of the journal, which no other process changes while this one writes."""

    position: Position
    labels: str


class Journal:
    """An open journal. Changes are made inside `with journal.writing():` and are durable when the block ends."""

    def __init__(
        self,
        database: Database,
        node: str = "",
        shared: "SharedSnapshots | None" = None,
        known: Identity | None = None,
    ) -> None:
        self._db = database
        self.node = node  #: the name of this machine, if several share the journal
        self.shared = shared  #: the snapshots that all machines start from, if several share the journal
        self.queries = LessonQueries(database)
        self.silence = SilenceNotes(database)
        self.rules = RuleTable(database)
        self._confirmations = Confirmations(database)
        self.subjects = Subjects(database)
        self.users = UserCounts(database)
        self._tombstones = Tombstones(database) if shared else None
        self._tally: Counter[tuple[str, TallyKind]] = Counter()  # differences that are not written yet
        self._user_counts: Counter[str] = Counter()  # likewise
        self._unwritten: dict[tuple[bytes, LessonUser], tuple[int, Lesson]] = {}  # learned lessons without rows yet
        self._head: _Head | None = None  # while writing
        self.last_change = 0  #: while writing: the number of the last change, which may not be durable yet
        self.now = database.now
        self.stamp_of = database.stamp_of
        self.version = database.version
        self.reading = database.reading
        self.size_bytes = database.size_bytes
        self.used_bytes = database.used_bytes
        self.wipe = database.wipe
        self.check = database.check
        self.close = database.close
        self.id, self.bits, self.personal_bits = known or self._identity()

    def _identity(self) -> Identity:
        identity = Identity(*self._head_row("id, bits, personal_bits"))
        sizes = identity.bits, identity.personal_bits
        if not (isinstance(identity.id, str) and all(isinstance(n, int) and 0 < n <= MOST_BITS for n in sizes)):
            raise self._headless()
        return identity

    def read_identity(self) -> None:
        """Read the identity of a journal that was opened while its server could not be reached."""
        if not self.id:
            identity = self._identity()
            if (identity.bits, identity.personal_bits) != (self.bits, self.personal_bits):
                raise JournalError(
                    f"{self.name} has tables of other sizes than were assumed while it could not be reached: restart."
                )
            self.id = identity.id

    @property
    def name(self) -> str:
        """The name for messages."""
        return self._db.name

    def _head_row(self, columns: str) -> tuple[Any, ...]:
        rows = self._db.rows(f"SELECT {columns} FROM journal")  # noqa: S608
        if not rows:
            raise self._headless()
        return rows[0]

    def _headless(self) -> DamagedJournalError:
        return DamagedJournalError(f"{self.name} is damaged: its head is missing or damaged. Restore it from a backup.")

    @contextmanager
    def writing(self, *, wait: bool = True) -> Iterator[None]:
        """Make changes that become durable together at the end, or not at all."""
        with self._db.writing(wait=wait):
            # The lock comes before anything is read: numbers are given out from here, and no other writer may.
            self._head = self._read_head(lock=True)
            self.last_change, self._tally, self._user_counts = self._head.position.change, Counter(), Counter()
            try:
                yield
                self.number_changes()
            finally:
                self._head = None
                self._unwritten.clear()

    def number_changes(self) -> None:
        """Write the number of the last change and the differences of the tally, if anything was changed."""
        if self._head is None or self.last_change == self._head.position.change:
            return
        self.write_lessons()
        self._db.number(self.last_change)
        self._db.run_many(
            "INSERT INTO tally (label, n) VALUES (?, ?) ON CONFLICT (label) DO UPDATE SET n = tally.n + excluded.n",
            stored_tally(self._tally),
        )
        if self._user_counts:
            self.users.add(self._user_counts)
        self._tally.clear()
        self._user_counts.clear()
        settled = self.position().settled
        self._head = self._head and self._head._replace(position=Position(self.last_change, settled, self.stamp))

    def n_own_and_other_users(self, user: str) -> tuple[int, int]:
        """While writing: return how many lessons of a user count for everyone, and how many other users have such."""
        own = self.users.n_of(user)
        return own + self._user_counts[user], self.users.n() - (own > 0)

    @property
    def stamp(self) -> str:
        """While writing: the stamp of the changes in this transaction; empty if changes have none."""
        return self._db.stamp

    def position(self) -> Position:
        """Return where the journal stands."""
        return (self._head or self._read_head()).position

    def _read_head(self, *, lock: bool = False) -> _Head:
        head = self._db.head(lock=lock)
        if head is None:
            raise self._headless()
        (change, settled, _), labels = head
        if not (isinstance(change, int) and isinstance(settled, int) and 0 <= settled <= change < 1 << 62):
            raise self._headless()
        if not (isinstance(labels, str) and is_text(labels)):
            raise self._headless()
        return _Head(*head)

    def labels(self) -> list[str]:
        """Return the labels in the order in which predictions are stored; empty before the first lesson."""
        labels = (self._head or self._read_head()).labels
        return labels.split("\n") if labels else []

    def name_labels(self, labels: Sequence[str]) -> None:
        """Write the order of the labels; labels that a configuration leaves out keep their place."""
        if len(labels) > len(self.labels()):
            joined = "\n".join(labels)
            self._db.rows("UPDATE journal SET labels = ?", joined)
            self._head = self._head and self._head._replace(labels=joined)

    def snapshot(self) -> str:
        """Return the digest of the counts at the last settled change; empty if there was no snapshot yet."""
        (digest,) = self._head_row("snapshot")
        return str(digest)

    def tally(self) -> dict[str, int]:
        """Return how many lessons each label has."""
        return self.tallies().every

    def tallies(self) -> Tallies:
        """Return how many lessons each label has, and how many of these are automatic or unshared."""
        try:
            return loaded_tallies(self._db.rows("SELECT label, n FROM tally WHERE n > 0"))
        except DamagedRowError as error:
            raise DamagedJournalError(f"the tally of {self.name} is damaged ({error}): {REPAIR}.") from None

    @property
    def n_unreadable(self) -> int:
        """How many lessons were found to be damaged, and left out."""
        return len(self._db.unreadable)

    def verify_features(self, read: Callable[[bytes], object]) -> None:
        """Leave out lessons whose features `read` refuses by ValueError."""
        self._db.read_features = read

    def leave_out(self, number: int, why: str) -> None:
        """Leave out a lesson that is damaged, and log it."""
        leave_out(self._db, number, why)

    def label_of(self, digest: bytes, user: LessonUser = "") -> str | None:
        """Return the label under which a message was learned, if it was."""
        return self.labels_of([digest], user).get(digest)

    def users_of(self, digest: bytes) -> list[LessonUser]:
        """Return who has taught a message."""
        self.write_lessons()
        rows = self._db.rows('SELECT "user" FROM lessons WHERE substr(digest, 17) = ?', digest[16:])
        return [loaded_user(user) for (user,) in sorted(rows)]

    def labels_of(self, digests: Iterable[bytes], user: LessonUser = "") -> dict[bytes, str]:
        """Return the labels of those messages that were learned."""
        return {digest: rank.label for digest, rank in self.ranks_of(digests, user).items()}

    def ranks_of(self, digests: Iterable[bytes], user: LessonUser = "") -> dict[bytes, Rank]:
        """Return the ranks of the lessons about those messages that were learned."""
        ends = {digest[16:]: digest for digest in digests}
        ranks: dict[bytes, Rank] = {}
        self.write_lessons()
        remaining = iter(ends)
        while group := list(islice(remaining, MAX_PARAMETERS)):
            are_learned = f'substr(digest, 17) IN ({", ".join("?" * len(group))}) AND "user" = ?'
            sql = f"SELECT substr(digest, 17), time, node, label FROM lessons WHERE {are_learned}"  # noqa: S608
            ranks.update((ends[end], Rank(*rank)) for end, *rank in self._db.rows(sql, *group, stored_user(user)))
        return ranks

    def rank_of(self, digest: bytes, user: LessonUser) -> Rank | None:
        """Return the rank of the lesson about a message, which a newer lesson must exceed; None if it has no lesson."""
        return self.ranks_of([digest], user).get(digest)

    def _find_lesson(self, columns: str, digest: bytes, user: LessonUser) -> tuple[Any, ...] | None:
        if (digest, user) in self._unwritten:
            self.write_lessons()
        sql = f"SELECT {columns} FROM lessons WHERE {_IS_LEARNED}"  # noqa: S608
        rows = self._db.rows(sql, digest[16:], stored_user(user))
        return rows[0] if rows else None

    def learn(self, lesson: Lesson) -> None:
        """Append a lesson; a message is learned once per user, so an earlier lesson must be forgotten first."""
        self.learn_many([lesson])

    def learn_many(self, lessons: Iterable[Lesson]) -> None:
        """Append lessons in their order."""
        unwritten, tally, change = self._unwritten, self._tally, self.last_change
        for lesson in lessons:
            key = lesson.digest, lesson.user
            if key in unwritten or len(unwritten) == _MAX_UNWRITTEN:
                self.write_lessons()
            change += 1
            unwritten[key] = change, lesson
            tally.update(tally_rows(lesson.label, lesson.user, shared=lesson.shared))
            if lesson.shared and is_person(lesson.user):
                self._user_counts[lesson.user] += 1
        self.last_change = change

    def write_lessons(self) -> None:
        """Insert the lessons learned so far; many at once take less time than one by one."""
        if not self._unwritten:
            return
        lessons = list(self._unwritten.values())
        self._unwritten.clear()
        if any(lesson.is_automatic for _, lesson in lessons):
            self._db.make(MAKE_AUTOMATIC)
        self._db.insert_lessons(lessons)
        self.subjects.add(lessons)

    def forget(self, digest: bytes, user: LessonUser = "") -> Change | None:
        """Move a lesson to the forgotten ones and return the effect on the counts; None if there is no such lesson."""
        row = self._find_lesson("change", digest, user)
        if row is None:
            return None
        change = next(self._db.changes(-1, "lessons", "change = ?", *row), None)
        if change is None:
            raise self._damaged(row[0])
        self._db.move_to_forgotten(row[0], self.last_change + 1)
        self.last_change += 1
        self._tally.subtract(tally_rows(change.label, user, shared=change.shared))
        if change.shared and is_person(user):
            self._user_counts[user] -= 1
        return change

    def mark_change(self) -> None:
        """Count a change that no lesson makes, so that all processes read what stands beside the lessons again."""
        self.last_change += 1

    def bury(self, lessons: Iterable[tuple[bytes, LessonUser]], time: float) -> None:
        """Leave tombstones for lessons, given by digest and user, so that older copies from other machines stay out."""
        if self._tombstones:
            self._tombstones.bury(lessons, time, self.node)

    def is_buried(self, digest: bytes, user: LessonUser, time: float) -> bool:
        """Tell whether a lesson that this machine learned at a time was forgotten after that."""
        last = self._tombstones and self._tombstones.last(digest, user)
        return bool(last and last > (time, self.node))

    def touch(self, digests: Sequence[tuple[bytes, float]], user: LessonUser) -> None:
        """Note when known lessons were taught again on this machine, so that they outrank lessons from before."""
        if self.shared and digests:
            sql = f"UPDATE lessons SET time = ?, node = ? WHERE {_IS_LEARNED} AND (time, node) < (?, ?)"  # noqa: S608
            name = stored_user(user)
            rows = [(time, self.node, digest[16:], name, time, self.node) for digest, time in digests]
            self.write_lessons()
            self._db.run_many(sql, rows)

    def changes_between(self, start: int, end: int) -> Iterator[Change]:
        """Yield the changes after `start` up to `end`, the additions first; inside `reading` or `writing`."""
        yield from self._db.changes(1, "lessons", "change > ? AND change <= ?", start, end)
        since_forgotten = "learned > ? AND learned <= ? AND change > ?"
        yield from self._db.changes(1, "forgotten", since_forgotten, start, end, end)
        gone = "change > ? AND change <= ? AND learned <= ?"
        yield from self._db.changes(-1, "forgotten", gone, start, end, start)

    def next_number(self, after: int, last: int) -> int:
        """Return the next number, up to `last`, of a lesson or of a forgotten one; the number after `last` if none."""
        columns = ("change", "lessons"), ("change", "forgotten"), ("learned", "forgotten")
        sql = "SELECT min({0}) FROM {1} WHERE {0} > ?"
        numbers = [self._db.rows(sql.format(*column), after)[0][0] for column in columns]
        return min([number for number in numbers if isinstance(number, int)] + [last + 1])

    def settle(self, snapshot: str) -> None:
        """Delete the forgotten lessons: a snapshot at the last change includes them, so no one needs their features."""
        settled = self.position().settled
        gone = [learned for (learned,) in self._db.rows("SELECT learned FROM forgotten")]
        self._db.rows("DELETE FROM forgotten")
        self._db.tidy(gone, settled)
        self._db.rows("UPDATE journal SET settled = ?, snapshot = ?", self.last_change, snapshot)
        self.silence.delete_old(self.now())
        self._head = None

    def erase(self, user: str) -> None:
        """Delete rules and traces of a user whose lessons are forgotten and settled; call inside `writing`."""
        self.silence.erase(user)
        if self._tombstones:
            self._tombstones.remove(user)
        if self.rules.erase(user):
            self.mark_change()

    def lessons(self) -> Iterator[Lesson]:
        """Yield all lessons in the order they were learned; nothing can be written through this journal meanwhile."""
        with self.reading():
            yield from (lesson for _, lesson in self._db.each_lesson("TRUE ORDER BY change"))

    def lessons_of(self, user: str) -> Iterator[Lesson]:
        """Yield the lessons of a user, with the same order and restriction."""
        where, values = self._db.condition(Selection(user=user))
        with self.reading():
            yield from (lesson for _, lesson in self._db.each_lesson(f"{where} ORDER BY change", *values))

    def lesson_of(self, digest: bytes, user: LessonUser) -> Lesson | None:
        """Return the lesson about a message; call inside `writing`."""
        row = self._find_lesson("change", digest, user)
        if row is None:
            return None
        for _, lesson in self._db.lessons("change = ?", *row):
            return lesson
        raise self._damaged(row[0])

    def _damaged(self, number: int) -> JournalError:
        return JournalError(f"lesson {number} of {self.name} is damaged: {REPAIR}.")

    def confirmed_changes(self) -> set[int]:
        """Return the changes that learned the lessons whose labels are confirmed."""
        return self._confirmations.changes()

    def is_confirmed(self, digest: bytes, user: LessonUser) -> bool:
        """Tell whether the label of a lesson is confirmed."""
        row = self._find_lesson("change", digest, user)
        return row is not None and self._confirmations.has(*row)

    def confirm(self, digest: bytes, user: LessonUser, label: str, *, right: bool = True) -> bool:
        """Confirm the label of a lesson, or withdraw the confirmation; return False if there is no such lesson."""
        row = self._find_lesson("change, label", digest, user)
        if row is None or row[1] != label:
            return False
        self._confirmations.note(row[0], right=right)
        return True

    def unscored_lessons(self, label: str, n: int, size: int) -> list[Lesson]:
        """Return up to `n` shared lessons of a label, taught by people, that have no predictions of `size` bytes.

        Lessons without any come first, then those with predictions of another size, made for other labels. They are
        picked in the order of their digests, as if at random. This reads the whole table: it is needed a few times in
        a journal's life, and an index would cost every lesson.
        """
        self.write_lessons()
        where = '"user" <> ? AND shared = ? AND label = ? AND %s ORDER BY digest LIMIT ?'
        lessons = [
            lesson for _, lesson in self._db.lessons(where % "held_out IS NULL", STORED_AUTOMATIC, True, label, n)
        ]
        if len(lessons) < n:
            others = where % "length(held_out) <> ?"
            more = self._db.lessons(others, STORED_AUTOMATIC, True, label, size, n - len(lessons))
            lessons += [lesson for _, lesson in more]
        return lessons

    def lessons_with_prediction(self, label: str, n: int, at: int, part: bytes) -> list[Lesson]:
        """Return up to `n` shared lessons of a label, taught by people, with these bytes of predictions at an offset.

        They come in the order of their digests.
        """
        self.write_lessons()
        where = '"user" <> ? AND shared = ? AND label = ? AND substr(held_out, ?, ?) = ? ORDER BY digest LIMIT ?'
        lessons = self._db.lessons(where, STORED_AUTOMATIC, True, label, at + 1, len(part), part, n)
        return [lesson for _, lesson in lessons]
