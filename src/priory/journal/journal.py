"""A journal: lessons that are learned and forgotten, each change with its number, in whatever database."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, NamedTuple

from priory.journal.automatic import Automatic, Tallies, tallied, told_apart
from priory.journal.confirmed import Confirmed
from priory.journal.database import MOST_ASKED, Database, Row, SharedSnapshots
from priory.journal.lesson import AUTOMATIC, Change, Identity, JournalError, Lesson, Position, Rank, is_person
from priory.journal.listing import Listing
from priory.journal.persons import Persons
from priory.journal.tombstones import Tombstones

#: The last 16 bytes of a digest tell messages apart; an index of all 32 would be a hundredth of the file.
_IS_LEARNED: Final = 'substr(digest, 17) = ? AND "user" = ?'
_LESSON: Final = 'digest, label, held_out, "user", source, sender, time, shared, node'
_CHANGE: Final = 'label, held_out, "user", shared'
_MOST_WAITING: Final = 1_000


class _Head(NamedTuple):
    """What stands at the head of a journal, which nobody else changes while one writes."""

    position: Position
    labels: str


class Journal:
    """An open journal. Changes are made inside `with journal.writing():` and are durable when it ends."""

    def __init__(
        self, database: Database, node: str = "", shared: SharedSnapshots | None = None, known: Identity | None = None
    ) -> None:
        self._db = database
        self.node = node  #: which of several machines this is
        self.shared = shared  #: the snapshots that all machines start from, if several may use it at once
        self.listing = Listing(database)
        self.automatic = Automatic(database)
        self._confirmed = Confirmed(database)
        self.persons = Persons(database)
        self._tombstones = Tombstones(database) if shared else None
        self._tally: Counter[str] = Counter()
        self._moved: Counter[str] = Counter()  # by how much the lessons of persons that count for everyone
        self._waiting: dict[tuple[bytes, str], tuple[int, Lesson]] = {}  # learned, but not yet written down
        self._head: _Head | None = None  # while writing
        self.last_change = 0  #: while writing: the number of the last change, whether durable yet or not
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
        return Identity(*self._row("id, bits, personal_bits"))

    def get_known(self) -> None:
        """See what a journal is that could not be reached when it was opened, and of which nothing was known."""
        if not self.id:
            found = self._identity()
            if (found.bits, found.personal_bits) != (self.bits, self.personal_bits):
                raise JournalError(
                    f"{self.name} has other sizes than were assumed while it could not be reached: start again."
                )
            self.id = found.id

    @property
    def name(self) -> str:
        """What messages call it."""
        return self._db.name

    def _row(self, columns: str, lock: str = "") -> tuple[Any, ...]:
        rows = self._db.rows(f"SELECT {columns} FROM journal {lock}")  # noqa: S608
        if not rows:
            raise JournalError(f"{self.name} is not whole: a row is missing. Restore it from a backup.")
        return rows[0]

    @contextmanager
    def writing(self, *, wait: bool = True) -> Iterator[None]:
        """Make changes that become durable together at the end, or not at all."""
        with self._db.writing(wait=wait):
            self._head = self._read_head(self._db.lock)
            self.last_change, self._tally, self._moved = self._head.position.change, Counter(), Counter()
            try:
                yield
                self.number_changes()
            finally:
                self._head = None
                self._waiting.clear()

    def number_changes(self) -> None:
        """Write down the number of the last change, and how the tally has moved, if anything was changed."""
        if not self._tally:
            return
        self._write_down()
        self._db.number(self.last_change)
        self._db.run_many(
            "INSERT INTO tally (label, n) VALUES (?, ?) ON CONFLICT (label) DO UPDATE SET n = tally.n + excluded.n",
            self._tally.items(),
        )
        if self._moved:
            self.persons.note(self._moved)
        self._tally.clear()
        self._moved.clear()
        settled = self.position().settled
        self._head = self._head and self._head._replace(position=Position(self.last_change, settled, self.stamp))

    def taught_by(self, user: str) -> tuple[int, int]:
        """Return how many lessons of a person count for everyone, and of how many others some do; while writing."""
        own = self.persons.n_of(user)
        return own + self._moved[user], self.persons.n() - (own > 0)

    @property
    def stamp(self) -> str:
        """While writing: the stamp of the changes that are being made; empty where they need none."""
        return self._db.stamp

    def position(self) -> Position:
        """Return where the journal stands."""
        return (self._head or self._read_head()).position

    def _read_head(self, lock: str = "") -> "_Head":
        *position, labels = self._row(f"change, settled, {self._db.stamp_column}, labels", lock)
        return _Head(Position(*position), str(labels))

    def labels(self) -> list[str]:
        """Return the labels in the order in which lessons were scored; none if nothing was learned yet."""
        labels = (self._head or self._read_head()).labels
        return labels.split("\n") if labels else []

    def name_labels(self, labels: Sequence[str]) -> None:
        """Write down the order of the labels; those that a configuration leaves out keep their place."""
        if len(labels) > len(self.labels()):
            joined = "\n".join(labels)
            self._db.rows("UPDATE journal SET labels = ?", joined)
            self._head = self._head and self._head._replace(labels=joined)

    def snapshot(self) -> str:
        """Return the digest of the counts at the last settled change; empty if there was no snapshot yet."""
        (digest,) = self._row("snapshot")
        return str(digest)

    def tally(self) -> dict[str, int]:
        """Return how many lessons there are of each label."""
        return self.tallies().every

    def tallies(self) -> Tallies:
        """Return how many lessons there are of each label, and how many of what sort."""
        return told_apart(dict(self._db.rows("SELECT label, n FROM tally WHERE n > 0")))

    def label_of(self, digest: bytes, user: str = "") -> str | None:
        """Return the label under which a message was learned, if it was."""
        return self.labels_of([digest], user).get(digest)

    def users_of(self, digest: bytes) -> list[str]:
        """Return whose lessons a message has: the empty name is nobody in particular, AUTOMATIC no person."""
        self._write_down()
        rows = self._db.rows('SELECT "user" FROM lessons WHERE substr(digest, 17) = ?', digest[16:])
        return sorted(user for (user,) in rows)

    def labels_of(self, digests: Iterable[bytes], user: str = "") -> dict[bytes, str]:
        """Return the labels under which messages were learned, of those that were."""
        return {digest: rank.label for digest, rank in self.ranks_of(digests, user).items()}

    def ranks_of(self, digests: Iterable[bytes], user: str = "") -> dict[bytes, Rank]:
        """Return the ranks of the lessons about messages, of those that were learned."""
        ends = {digest[16:]: digest for digest in digests}
        ranks: dict[bytes, Rank] = {}
        self._write_down()
        asked = iter(ends)
        while some := list(islice(asked, MOST_ASKED)):
            are_learned = f'substr(digest, 17) IN ({", ".join("?" * len(some))}) AND "user" = ?'
            sql = f"SELECT substr(digest, 17), time, node, label FROM lessons WHERE {are_learned}"  # noqa: S608
            ranks.update((ends[end], Rank(*rank)) for end, *rank in self._db.rows(sql, *some, user))
        return ranks

    def _learned(self, columns: str, digest: bytes, user: str) -> tuple[Any, ...] | None:
        if (digest, user) in self._waiting:
            self._write_down()
        sql = f"SELECT {columns} FROM lessons WHERE {_IS_LEARNED}"  # noqa: S608
        rows = self._db.rows(sql, digest[16:], user)
        return rows[0] if rows else None

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
            tally.update(tallied(lesson.label, lesson.user, shared=lesson.shared))
            if lesson.shared and is_person(lesson.user):
                self._moved[lesson.user] += 1
        self.last_change = change

    def _write_down(self) -> None:
        """Give the lessons learned so far their rows: many at once cost less than each by itself."""
        if not self._waiting:
            return
        waiting = list(self._waiting.values())
        self._waiting.clear()
        if any(lesson.is_automatic for _, lesson in waiting):
            self.automatic.begin()
        stored = self._db.store([(change, lesson.features) for change, lesson in waiting])
        rows = [
            (change, *where, digest, label, *rest)
            for where, (change, (digest, label, _, *rest)) in zip(stored, waiting, strict=True)
        ]
        values = ", ".join("?" * len(rows[0]))
        self._db.run_many(f"INSERT INTO lessons (change, {self._db.features}, {_LESSON}) VALUES ({values})", rows)  # noqa: S608

    def forget(self, digest: bytes, user: str = "") -> Change | None:
        """Move a lesson to the forgotten ones and return what that means for counts; None if there is none."""
        row = self._learned("change", digest, user)
        if row is None:
            return None
        ((_, change),) = self._changes(-1, "change", "lessons", "change = ?", *row)
        kept = f"{self._db.features}, {_CHANGE}"
        self._db.run_many(
            f"INSERT INTO forgotten (change, learned, {kept}) SELECT ?, change, {kept} FROM lessons WHERE change = ?",  # noqa: S608
            [(self.last_change + 1, *row)],
        )
        self._db.run_many("DELETE FROM lessons WHERE change = ?", [row])
        self.last_change += 1
        self._tally.subtract(tallied(change.label, user, shared=change.shared))
        if change.shared and is_person(user):
            self._moved[user] -= 1
        return change

    def bury(self, lessons: Iterable[tuple[bytes, str]], time: float) -> None:
        """Note when lessons were to be forgotten, given by digest and user, where older ones may come later."""
        if self._tombstones:
            self._tombstones.bury(lessons, time, self.node)

    def is_buried(self, digest: bytes, user: str, time: float) -> bool:
        """Tell whether a lesson that this machine has learned at a time was to be forgotten after that."""
        last = self._tombstones and self._tombstones.last(digest, user)
        return bool(last and last > (time, self.node))

    def touch(self, digests: Sequence[tuple[bytes, float]], user: str) -> None:
        """Note that this machine was taught again what is learned, and when, where later ones are held against that."""
        if self.shared and digests:
            sql = f"UPDATE lessons SET time = ?, node = ? WHERE {_IS_LEARNED} AND (time, node) < (?, ?)"  # noqa: S608
            rows = [(time, self.node, digest[16:], user, time, self.node) for digest, time in digests]
            self._write_down()
            self._db.run_many(sql, rows)

    def changes_between(self, start: int, end: int) -> Iterator[Change]:
        """Yield what takes counts from a change to a later one, the additions first; inside `reading` or `writing`."""
        for where in (
            ("change", "lessons", "change > ? AND change <= ?", start, end),
            ("learned", "forgotten", "learned > ? AND learned <= ? AND change > ?", start, end, end),
        ):
            for _, learned in self._changes(1, *where):
                yield learned
        gone = "change > ? AND change <= ? AND learned <= ?"
        for _, forgotten in self._changes(-1, "learned", "forgotten", gone, start, end, start):
            yield forgotten

    def _changes(self, sign: int, number: str, table: str, where: str, *values: object) -> Iterator[tuple[int, Change]]:
        sql = f"SELECT {number}, {self._db.features}, {_CHANGE} FROM {table} WHERE {where} ORDER BY {number}"  # noqa: S608
        for learned, features, label, held_out, user, shared in self._db.with_features(self._db.rows(sql, *values)):
            yield learned, Change(sign, label, features, held_out, user, bool(shared))

    def settle(self, snapshot: str) -> None:
        """Drop what was forgotten: a snapshot at the last change has taken it in, no one else needs its features."""
        settled = self.position().settled
        gone = [learned for (learned,) in self._db.rows("SELECT learned FROM forgotten")]
        self._db.rows("DELETE FROM forgotten")
        self._db.tidy(gone, settled)
        self._db.rows("UPDATE journal SET settled = ?, snapshot = ?", self.last_change, snapshot)
        self._head = None

    def lessons(self) -> Iterator[Lesson]:
        """Yield all lessons in the order they were learned; meanwhile nothing can be written through this journal."""
        with self.reading():
            yield from self._lessons(self._db.each_row(self._select("TRUE ORDER BY change")))

    def lessons_of(self, user: str) -> Iterator[Lesson]:
        """Yield the lessons of a user in the order they were learned; meanwhile nothing can be written, as above."""
        with self.reading():
            yield from self._lessons(self._db.each_row(self._select(f"{self._db.has_user} ORDER BY change"), user))

    def erase(self, user: str) -> None:
        """Leave nothing of a user whose lessons are forgotten and settled; call inside `writing`."""
        if self._tombstones:
            self._tombstones.remove(user)

    def _select(self, where: str) -> str:
        return f"SELECT change, {self._db.features}, {_LESSON} FROM lessons WHERE {where}"  # noqa: S608

    def _lessons(self, rows: Iterable[Row]) -> Iterator[Lesson]:
        for _, features, digest, label, *rest, shared, node in self._db.with_features(rows):
            yield Lesson._make((digest, label, features, *rest, bool(shared), node))

    def lesson_of(self, digest: bytes, user: str) -> Lesson | None:
        """Return the lesson about a message; call inside `writing`."""
        row = self._learned("change", digest, user)
        if row is None:
            return None
        (lesson,) = self._lessons(self._db.rows(self._select("change = ?"), *row))
        return lesson

    def rank_of(self, digest: bytes, user: str) -> Rank | None:
        """Return the rank of the lesson about a message, which a later one must be above; None if there is none."""
        return self.ranks_of([digest], user).get(digest)

    def confirmed(self) -> set[int]:
        """Return the changes that learned the lessons whose labels were confirmed."""
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

        They count for everyone. If there are too few, those follow whose predictions have another size: from when there
        were other labels. All lessons are looked through: this is wanted a few times in a journal's life, an index
        would cost every lesson.
        """
        self._write_down()
        sql = self._select('"user" <> ? AND shared = ? AND label = ? AND %s ORDER BY digest LIMIT ?')
        found = self._db.rows(sql % "held_out IS NULL", AUTOMATIC, True, label, n)
        if len(found) < n:
            found += self._db.rows(sql % "length(held_out) <> ?", AUTOMATIC, True, label, size, n - len(found))
        return list(self._lessons(found))

    def predicted_with(self, label: str, n: int, at: int, part: bytes) -> list[Lesson]:
        """Return up to `n` lessons of people of a label whose predictions have these bytes at a place, by digest.

        They count for everyone, as above.
        """
        self._write_down()
        where = '"user" <> ? AND shared = ? AND label = ? AND substr(held_out, ?, ?) = ?'
        sql = self._select(f"{where} ORDER BY digest LIMIT ?")
        return list(self._lessons(self._db.rows(sql, AUTOMATIC, True, label, at + 1, len(part), part, n)))
