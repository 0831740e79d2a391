"""Guards the speed of the hot path: instructions per message of checking and of learning, against committed counts.

    python benchmarks/instructions.py             # fails where one is more than 10 % above benchmarks/instructions.json
    python benchmarks/instructions.py --refresh   # after an intended increase or a saving: commit the file

Mail of the demo's generator is learned and checked under valgrind in three processes; the second learns as many
messages more, the third checks as many more. The differences are what those messages cost, and nothing else.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from counting import CountingError, instructions_of_each, made_with

COMMITTED = Path(__file__).with_suffix(".json")
REFRESH = "python benchmarks/instructions.py --refresh"
MESSAGES = 150
TOLERANCE = 0.10


def work(home: str, n_learned: int, n_checked: int) -> None:
    """Draw a fixed number of messages, then learn the first and check the last."""
    from priory.demo import draw
    from priory.filter.filter import Filter

    mail = list(draw(4 * MESSAGES, seed=1))
    filter_ = Filter.open(home)
    for _ in filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:n_learned]):
        pass
    for drawn in mail[len(mail) - n_checked :]:
        filter_.check(drawn.raw)
    os._exit(0)  # the final snapshot is not part of the hot path


def counted() -> dict[str, int]:
    """Return the instructions per message of learning and of checking."""
    with tempfile.TemporaryDirectory() as folder:
        plan = [(MESSAGES, MESSAGES), (2 * MESSAGES, MESSAGES), (MESSAGES, 2 * MESSAGES)]
        commands = [
            [sys.executable, __file__, "--work", f"{folder}/{i}", str(n_learned), str(n_checked)]
            for i, (n_learned, n_checked) in enumerate(plan)
        ]
        both, more_learned, more_checked = instructions_of_each(commands)
    return {"learn": round((more_learned - both) / MESSAGES), "check": round((more_checked - both) / MESSAGES)}


def too_many(now: dict[str, int], before: dict[str, int]) -> list[str]:
    """Return a line for every act that exceeds the tolerance.

    >>> too_many({"check": 1200, "learn": 900}, {"check": 1000, "learn": 1000})
    ['check: 1,200 instructions per message, 20.0 % above the committed 1,000']
    """
    return [
        f"{act}: {now[act]:,} instructions per message, {100 * now[act] / n - 100:.1f} % above the committed {n:,}"
        for act, n in before.items()
        if now[act] > (1 + TOLERANCE) * n
    ]


def differences(before: dict[str, str]) -> list[str]:
    """Return a line for every other difference to the run that made the committed counts."""
    now = made_with()
    return [f"{name}: {now[name]}, was {before.get(name)}" for name in now if now[name] != before.get(name)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--refresh", action="store_true", help="write the counts to the committed file")
    parser.add_argument("--work", nargs=3, metavar=("HOME", "LEARNED", "CHECKED"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        home, n_learned, n_checked = arguments.work
        work(home, int(n_learned), int(n_checked))
    try:
        now = counted()
    except CountingError as error:
        sys.exit(str(error))
    if arguments.refresh:
        COMMITTED.write_text(json.dumps({"per_message": now, "made_with": made_with()}, indent=2) + "\n")
    committed = json.loads(COMMITTED.read_text())
    for act, n in now.items():
        more = 100 * n / committed["per_message"][act] - 100
        print(f"{act}: {n:,} instructions per message ({more:+.2f} % against the committed)")
    failures = too_many(now, committed["per_message"])
    if failures:
        sys.exit("\n".join([*failures, *differences(committed["made_with"]), f"If that is meant: {REFRESH}"]))


if __name__ == "__main__":
    main()
