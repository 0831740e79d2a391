"""The program of a node: it learns, relearns and forgets at random in a shared journal.

    python node_program.py URL HOME NAME SEED MESSAGES

Like a worker of the daemon it checks with one filter, which follows the others, and learns with another. It notes what
it is about to do, and what was acknowledged. Told a number on its standard input it stops, and once it has
delivered what it kept and followed up to that number it says what it counts.
"""

import hashlib
import json
import random
import select
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from priory.demo import draw
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import JournalAwayError, JournalError, StoreAddress
from priory.message import parse

BITS = 16  #: of the journal, so that all is quick that goes through all counts
USERS = ("", "ann", "bob")
LABELS = ("ham", "spam", None)  #: what can be said of a message; None: its lesson is forgotten


def act(filter_: Filter, raw: bytes, user: str, label: str | None) -> str:
    """Say something about a message; return what was acknowledged."""
    if label is None:
        return filter_.forget(raw, user).outcome
    return filter_.learn(raw, label, user=user).outcome


def act_until_told(learning: Filter, checking: Filter, mail: list[bytes], notes: IO[str], seed: int) -> None:
    """Do one thing after the other, and note it before and after; what fails may have been done or not."""
    chance = random.Random(seed)
    digests = [parse(raw).digest.hex() for raw in mail]
    while not select.select([sys.stdin], [], [], 0.005)[0]:
        which, user = chance.randrange(len(mail)), chance.choice(USERS)
        label = chance.choices(LABELS, (4, 4, 2))[0]
        note = {"digest": digests[which], "user": user, "label": label, "began": time.time()}
        print(json.dumps(note), file=notes, flush=True)
        try:
            outcome = act(learning, mail[which], user, label)
        except JournalError as error:
            print(json.dumps({"failed": str(error)}), file=notes, flush=True)
        else:
            print(json.dumps({"outcome": outcome, "ended": time.time()}), file=notes, flush=True)
        checking.check(chance.choice(mail))


def counted(filter_: Filter) -> str:
    """Return a digest of what a filter counts."""
    return hashlib.sha256(b"".join(bytes(part) for part in filter_.counts.parts)).hexdigest()


def say(line: str) -> None:
    """Tell the test something."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(url: str, home: str, name: str, seed: str, n_messages: str) -> None:
    """Act until told to stop."""
    options = Options(store=StoreAddress(url, name), spec=Spec(bits=BITS))
    mail = [drawn.raw for drawn in draw(int(n_messages), seed=7)]
    folder = Path(home)
    with Filter.open(folder, options) as learning, Filter.open(folder, options) as checking:
        checking.follow()
        with suppress(JournalAwayError):
            learning.rebuild()  # which leaves a snapshot to start from without the server
        with (folder / "notes").open("a") as notes:
            say("ready")
            act_until_told(learning, checking, mail, notes, int(seed))
        sys.stdin.readline()
        while learning.deliver():
            time.sleep(0.05)
        say("delivered")
        last = int(sys.stdin.readline())
        for filter_ in (learning, checking):
            while filter_.check(b"") and filter_.change < last:
                time.sleep(0.01)
            say(counted(filter_))


if __name__ == "__main__":
    main(*sys.argv[1:])
