"""Damages the files of a home at random, and counts what goes wrong silently.

    python benchmarks/damage.py counts [--damages 1000]

`counts` damages the snapshot in a bit, in a bit of each page, in a block, by swapping blocks, by zeros, by truncation
or by extension. Then a filter is opened for a few messages one by one, and another for all. It counts verdicts that
differ from those of the undamaged home, and prints the time that opening and verifying take.
"""

import argparse
import contextlib
import io
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from priory.demo import draw
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.prepare import Prepared, prepare

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
    parser.add_argument("file", choices=["counts"])
    parser.add_argument("--damages", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        damage_counts(Path(folder), arguments.damages)


if __name__ == "__main__":
    main()
