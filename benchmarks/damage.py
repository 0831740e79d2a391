"""Damages the files of a home at random, and counts what goes wrong silently.

    python benchmarks/damage.py counts [--damages 1000]
    python benchmarks/damage.py journal [--damages 10000]

`counts` damages the snapshot in a bit, in a bit of each page, in a block, by swapping blocks, by zeros, by truncation
or by extension. Then a filter is opened for a few messages one by one, and another for all. It counts verdicts that
differ from those of the undamaged home, and prints the time that opening and verifying take.

`journal` damages a column of a row, or bits of the file. It counts errors without an explanation, and lessons that
cannot be read afterwards, nor after the repair of `priory doctor` if the journal as a whole cannot be read. A damaged
row may cost its own lesson, a damaged bundle those whose features it holds, and a damaged page those in it.
"""

import argparse
import contextlib
import io
import math
import random
import shutil
import signal
import sqlite3
import statistics
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from priory.demo import Drawn, draw
from priory.features import VERSION, Spec, unpack_features
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.prepare import Prepared, prepare
from priory.journal import JournalError, Rule, RuleEffect, RuleThing, Selection, SelectionError
from priory.journal.sqlite.repair import repair_journal
from priory.message import parse

PAGE = 4096
LEARNED = 300
SMALL = Options(spec=Spec(bits=12), personal_bits=12)
Damage = Callable[[bytearray, random.Random], bytes]


def a_bit(data: bytearray, chance: random.Random) -> bytes:
    at = chance.randrange(8 * len(data))
    data[at // 8] ^= 1 << at % 8
    return bytes(data)


def a_bit_in_each_page(data: bytearray, chance: random.Random) -> bytes:
    for start in range(0, len(data) - PAGE, PAGE):
        data[start + chance.randrange(PAGE)] ^= 1 << chance.randrange(8)
    return bytes(data)


def a_block(data: bytearray, chance: random.Random) -> bytes:
    start = chance.randrange(len(data))
    size = min(chance.randrange(1, 3 * PAGE), len(data) - start)
    data[start : start + size] = chance.randbytes(size)
    return bytes(data)


def swapped_blocks(data: bytearray, chance: random.Random) -> bytes:
    one, two = (PAGE * chance.randrange(len(data) // PAGE) for _ in range(2))
    data[one : one + PAGE], data[two : two + PAGE] = data[two : two + PAGE], data[one : one + PAGE]
    return bytes(data)


def zeros_at_the_end(data: bytearray, chance: random.Random) -> bytes:
    return bytes(data[: chance.randrange(len(data))]).ljust(len(data), b"\0")


def truncation(data: bytearray, chance: random.Random) -> bytes:
    return bytes(data[: chance.randrange(len(data))])


def extension(data: bytearray, chance: random.Random) -> bytes:
    return bytes(data) + bytes(chance.randrange(1, 2 * PAGE))


DAMAGES: tuple[Damage, ...] = (
    *(a_bit, a_bit_in_each_page, a_block, swapped_blocks, zeros_at_the_end),
    *(truncation, extension),
)


@contextlib.contextmanager
def without_log() -> Iterator[None]:
    with contextlib.redirect_stderr(io.StringIO()):
        yield


def taught_home(home: Path, options: Options) -> list[Prepared]:
    """Teach a filter, save its snapshot, and return mail that it has not seen."""
    mail = list(draw(LEARNED + 40, seed=7))
    with Filter.open(home, options) as filter_:
        for _ in filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:LEARNED]):
            pass
        filter_._counts.save()
        return [prepare(drawn.raw, filter_.spec) for drawn in mail[LEARNED:]]


def verdicts(home: Path, unseen: list[Prepared]) -> list[float]:
    said = []
    for message in unseen[:5]:
        with Filter.open(home, SMALL) as filter_:
            said.append(filter_.check(message).log_odds)
    with Filter.open(home, SMALL) as filter_:
        return said + [verdict.log_odds for verdict in filter_.check_many(unseen)]


def damage_counts(folder: Path, n: int) -> None:
    unseen = taught_home(folder / "taught", SMALL)
    right, data = verdicts(folder / "taught", unseen), (folder / "taught" / "counts").read_bytes()
    for number, damage in enumerate(DAMAGES):
        n_wrong = n_homes = 0
        for seed in range(number, n, len(DAMAGES)):
            home = Path(shutil.copytree(folder / "taught", folder / "damaged"))
            (home / "counts").write_bytes(damage(bytearray(data), random.Random(seed)))  # noqa: S311
            with without_log():
                n_wrong += sum(now != before for now, before in zip(verdicts(home, unseen), right, strict=True))
            n_homes += 1
            shutil.rmtree(home)
        print(f"{damage.__name__:22}{n_homes:6,} damages, {n_wrong:,} of {n_homes * len(right):,} verdicts differ")
    measure_opening(folder / "large")


BAD_TEXT = 0.2  # how often a text is not UTF-8
VALUES: tuple[object, ...] = (
    *(None, 0, -1, 1, 7, 1 << 40, (1 << 63) - 1, -(1 << 63), 1.5, -0.5, 1e308, -1e308, math.inf, math.nan),
    *("", "x", "12", "\n", "ham", "\tauto", "\0", "ä" * 40, "y" * 100_000),
    *(b"", b"\0", b"\xff", bytes(5), bytes(32), b"\xff" * 40, bytes(100_000)),
)


def damage_row(path: Path, chance: random.Random) -> int:
    """Overwrite a column of a row with another value; return how many lessons that may cost."""
    n_damaged = 0
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        table = chance.choice([*tables, "lessons", "lessons", "bundles"])
        column = chance.choice([row[1] for row in db.execute(f"PRAGMA table_info({table})")])
        value = f"CAST(x'{chance.randbytes(6).hex()}ff' AS TEXT)" if chance.random() < BAD_TEXT else "?"
        where = "TRUE"
        if table in {"lessons", "bundles", "forgotten"}:
            ((n,),) = db.execute(f"SELECT count(*) FROM {table}")  # noqa: S608
            at = chance.randrange(max(n, 1))
            where = f"rowid IN (SELECT rowid FROM {table} ORDER BY rowid LIMIT 1 OFFSET {at})"  # noqa: S608
            n_damaged = lessons_behind(db, table, where)
        with contextlib.suppress(sqlite3.IntegrityError):
            values = (chance.choice(VALUES),) if value == "?" else ()
            db.execute(f"UPDATE OR IGNORE {table} SET {column} = {value} WHERE {where}", values)  # noqa: S608
    return n_damaged


def lessons_behind(db: sqlite3.Connection, table: str, where: str) -> int:
    """Return how many lessons need a row: that lesson, or those whose features are in that bundle."""
    if table != "bundles":
        return int(table == "lessons")
    ((first,),) = db.execute(f"SELECT first FROM bundles WHERE {where}").fetchall()  # noqa: S608
    after = "coalesce((SELECT min(first) FROM bundles WHERE first > ?), 1 << 62)"
    ((n,),) = db.execute(f"SELECT count(*) FROM lessons WHERE change >= ? AND change < {after}", (first, first))  # noqa: S608
    return int(n)


def readable(home: Path) -> tuple[set[tuple[bytes, object]], bool]:
    """Return digest and user of all lessons that can be read, and whether the journal had to be repaired for it."""

    def read() -> set[tuple[bytes, object]]:
        with Filter.open(home, SMALL) as filter_:
            return {(lesson.digest, lesson.user) for lesson in filter_.journal.lessons()}

    with without_log():
        try:
            return read(), False
        except JournalError:
            with contextlib.suppress(JournalError):
                repair_journal(home / "journal.sqlite", VERSION, unpack_features, SMALL.labels)
                return read(), True
            return set(), True


def damage_page(path: Path, chance: random.Random) -> int:
    """Flip some bits of the file; return 0, because it is not known which lessons are in these pages."""
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 2, 10])):
        at = chance.randrange(100, len(data))
        data[at] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    return 0


def exercise(home: Path, unseen: list[Drawn], taught: list[Drawn]) -> Iterator[Callable[[], object]]:
    """Yield what people do with a filter, each by a filter of its own, as commands do it."""

    def with_filter(act: Callable[[Filter], object]) -> Callable[[], object]:
        def run() -> object:
            with Filter.open(home, SMALL) as filter_:
                return act(filter_)

        return run

    yield with_filter(lambda filter_: filter_.check(unseen[0].raw))
    yield with_filter(lambda filter_: filter_.check(unseen[1].raw, "ann"))
    yield with_filter(lambda filter_: filter_.stats().as_dict())
    yield with_filter(lambda filter_: [lesson.as_dict() for lesson in filter_.lessons.page(most=500).lessons])
    yield with_filter(lambda filter_: list(filter_.journal.lessons()))
    yield with_filter(lambda filter_: filter_.users.every())
    yield with_filter(lambda filter_: [rule.as_dict() for rule in filter_.journal.rules.every()])
    yield with_filter(lambda filter_: filter_.lessons_behind(unseen[2].raw))
    yield with_filter(lambda filter_: filter_.learn(unseen[3].raw, unseen[3].label))
    yield with_filter(lambda filter_: filter_.learn(unseen[4].raw, unseen[4].label, user="ann"))
    yield with_filter(lambda filter_: filter_.forget(taught[5].raw))
    yield with_filter(lambda filter_: filter_.learn(taught[6].raw, "spam" if taught[6].label == "ham" else "ham"))
    yield with_filter(lambda filter_: list(filter_.forget_many(Selection(source="folder"))))
    yield with_filter(lambda filter_: filter_.lessons.page(Selection(certainty_below=0.7)))
    yield with_filter(lambda filter_: filter_.silence.conclude_due())
    yield with_filter(lambda filter_: filter_._counts.save())
    yield with_filter(lambda filter_: filter_.rebuild())


@dataclass
class Losses:
    """The lessons that damages have cost."""

    n_damages: int = 0
    n_lessons: int = 0
    n_lost: int = 0
    n_beyond: int = 0  #: more than were damaged
    n_repaired: int = 0
    n_unreadable: int = 0

    def add(self, left: set[tuple[bytes, object]], is_repaired: bool, every: set[tuple[bytes, object]], n: int) -> None:
        n_lost = len(every - left)
        self.n_damages += 1
        self.n_lessons += len(every)
        self.n_lost += n_lost
        self.n_beyond += max(n_lost - n, 0)
        self.n_repaired += is_repaired
        self.n_unreadable += not left

    def __str__(self) -> str:
        return (
            f"{self.n_damages:,} damages, {self.n_lost:,} of {self.n_lessons:,} lessons lost, {self.n_beyond:,} beyond "
            f"the damaged rows; {self.n_repaired:,} journals needed repair, {self.n_unreadable:,} could not be read"
        )


def damage_journal(folder: Path, n: int) -> None:
    mail = list(draw(120, seed=7))
    taught, unseen = mail[:100], mail[100:]
    home = folder / "taught"
    with Filter.open(home, replace(SMALL, keeps_subjects=True)) as filter_:
        for drawn in taught[:90]:
            filter_.learn(drawn.raw, drawn.label, "folder" if drawn is taught[0] else "")
        for drawn in taught[90:]:
            filter_.learn(drawn.raw, drawn.label, user="ann")
        filter_.rules.set(Rule("ann", RuleThing.SENDER, "bob@mail.example", RuleEffect.ALLOW))
        filter_.confirm(parse(taught[1].raw).digest, taught[1].label)
        filter_._counts.save()
        filter_.forget(taught[2].raw)
        filter_.learn(unseen[-1].raw, unseen[-1].label)
    every, _ = readable(home)
    errors: Counter[str] = Counter()
    n_refused = 0
    losses = {damage: Losses() for damage in (damage_row, damage_page)}
    for seed in range(n):
        chance = random.Random(seed)  # noqa: S311
        damaged = Path(shutil.copytree(home, folder / "damaged"))
        damage = damage_row if seed % 2 else damage_page
        n_damaged = damage(damaged / "journal.sqlite", chance)
        if seed % 3 == 0:
            (damaged / "counts").unlink()
        copy = Path(shutil.copytree(damaged, folder / "copy"))
        losses[damage].add(*readable(copy), every, n_damaged)
        shutil.rmtree(copy)
        for number, act in enumerate(exercise(damaged, unseen, taught)):
            signal.alarm(20)
            try:
                with without_log():
                    act()
            except (JournalError, SelectionError):
                n_refused += 1
            except Exception as error:
                at = traceback.extract_tb(error.__traceback__)[-1]
                errors[
                    f"act {number}: {type(error).__name__} at {at.filename.split('priory/')[-1]}:{at.lineno}: {error}"[
                        :150
                    ]
                ] += 1
            finally:
                signal.alarm(0)
        shutil.rmtree(damaged)
    print(f"{n:,} damages: {sum(errors.values()):,} tracebacks, {n_refused:,} clear errors")
    for damage, loss in losses.items():
        print(f"{damage.__name__}: {loss}")
    for error, times in errors.most_common(40):
        print(f"{times:6,} {error}")


def measure_opening(home: Path) -> None:
    """Print how long it takes to open a snapshot of the usual size and to verify it."""
    unseen = taught_home(home, Options())
    opening, verifying = [], []
    for message in unseen:
        start = time.process_time()
        with Filter.open(home) as filter_:
            filter_.check(message)
            opening.append(time.process_time() - start)
            start = time.process_time()
            filter_.refresh()
            verifying.append(time.process_time() - start)
    size = (home / "counts").stat().st_size
    for name, seconds in (("opening and the first verdict", opening), ("verifying the rest", verifying)):
        print(f"{name}: {1000 * statistics.median(seconds):.2f} ms of processor time, {size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", choices=["counts", "journal"])
    parser.add_argument("--damages", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (damage_counts if arguments.file == "counts" else damage_journal)(Path(folder), arguments.damages)


if __name__ == "__main__":
    main()
