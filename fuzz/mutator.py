"""Change mail at random and pass it through the native code: mail of the corpora if there are any, else of the demo.

usage: mutator.py SECONDS
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from message_fuzzer import fuzz_message

from priory.demo import draw

MOST_MESSAGES = 2_000


def originals() -> list[bytes]:
    """Return the messages to change."""
    if folder := os.environ.get("PRIORY_CORPORA"):
        index = Path(folder, "modern/index")
        paths = [line.split(" ", 1)[1] for line in index.read_text().splitlines()[:MOST_MESSAGES]]
        return [(index.parent / path).read_bytes() for path in paths]
    return [message.raw for message in draw(MOST_MESSAGES // 10)]


def mutants(messages: list[bytes], random: Random) -> Iterator[bytes]:
    """Yield changed messages without end."""
    while True:
        data = bytearray(random.choice(messages))
        for _ in range(random.randrange(1, 9)):
            at, size = random.randrange(len(data) + 1), random.choice((1, 1, 2, 4, 40, 400))
            change = random.randrange(5)
            if change == 0:
                data[at : at + size] = random.randbytes(size)
            elif change == 1:
                del data[at : at + size]
            elif change == 2:
                data[at:at] = data[at : at + size] * random.randrange(1, 9)
            elif change == 3:
                other = random.choice(messages)
                start = random.randrange(len(other) + 1)
                data[at:at] = other[start : start + size * 10]
            else:
                del data[at:]
        yield bytes(data)


def main(seconds: float) -> None:
    """Read messages as they are for half the time, then changed ones until the time is over."""
    random, messages = Random(22), originals()
    begin, n = time.monotonic(), 0
    for message in messages:
        fuzz_message(message)
        if time.monotonic() > begin + seconds / 2:
            break
    for mutant in mutants(messages, random):
        if time.monotonic() > begin + seconds:
            break
        fuzz_message(mutant)
        n += 1
    print(f"mutator: {n:,} changed messages in {seconds:g} s")


if __name__ == "__main__":
    main(float(sys.argv[1]))
