"""Personal models: whether they help, whom one person can mislead, and what ten thousand users cost.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/users.py recipients|preferences|poison|many [--json FILE]

recipients   trec07p in its order, each message for its recipient, who teaches it at once
preferences  real mail, drawn preferences: every list and newsletter of trec07p goes to some of a hundred users, who
             want it or not, as drawn; all other mail goes to one of them with its true label
poison       one of a hundred users teaches thousands of wrong lessons
many         10,000 users × 100 lessons about drawn mail on which they disagree

The verdict for everyone and that for the user come from the same filter, just before it may be taught the message. A
second filter is taught the same under no name: it knows no users, and nobody's lessons are bounded.
"""

import argparse
import hashlib
import json
import re
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from email.utils import parseaddr
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from mail import trec07p
from priory.demo import draw
from priory.features import Features, Spec
from priory.filter import Filter
from priory.options import Options
from priory.reading import Prepared, prepare

SPEC = Spec()
USERS = 100
COPIES = 6  #: of each message of a list
LEAST = 30  #: messages that a list has, to be one


class Event(NamedTuple):
    """A message arrives for somebody, for whom it has this label."""

    message: int
    user: str
    label: str
    is_bulk: bool = False


class Said(NamedTuple):
    """The log-odds of spam for each event."""

    nameless: NDArray[np.float64]  #: of a filter that knows no users
    everyone: NDArray[np.float64]
    user: NDArray[np.float64]


def read() -> tuple[list[Prepared], list[str], list[bytes]]:
    """Return the messages of the corpus, their labels and their headers."""
    mail = trec07p()
    messages, heads = [], []
    for _, name in mail.entries:
        raw = (mail.folder / name).read_bytes()
        digest, sender, features, *_ = prepare(raw, SPEC)
        messages.append(Prepared(digest, sender, Features(features.buckets, features.offsets)))
        heads.append(raw.partition(b"\n\n")[0] + b"\n")
    return messages, [label for label, _ in mail.entries], heads


def field(head: bytes, name: bytes) -> str:
    """Return the value of a header, unfolded; nothing if there is none."""
    found = re.search(rb"(?im)^(?:%s):((?:.*\n)(?:[ \t].*\n)*)" % name, head)
    return " ".join(found.group(1).decode("latin-1").split()) if found else ""


def recipients(labels: list[str], heads: list[bytes]) -> list[Event]:
    """Each message for the one it was sent to."""
    users = (parseaddr(field(head, rb"x-original-to|delivered-to|to"))[1].lower() for head in heads)
    return [Event(i, user, label) for i, (user, label) in enumerate(zip(users, labels, strict=True)) if user]


def bulk_of(label: str, head: bytes) -> str:
    """Return the list or the sender of mail that goes to many; nothing for spam and for letters."""
    if label == "spam":
        return ""
    named = re.search(r"<([^>]+)>", field(head, b"list-id")) or re.search(r"mailto:([^>?]+)", field(head, b"list-post"))
    if named:
        return named.group(1).lower().replace("@", ".")
    if not field(head, b"list-unsubscribe|precedence|errors-to"):
        return ""
    return ".".join(parseaddr(field(head, b"from"))[1].lower().rpartition("@")[2].split(".")[-2:])


def preferences(labels: list[str], heads: list[bytes], wanted: float) -> list[Event]:
    """Every list to some users, each of whom wants it with this probability."""
    random = np.random.default_rng(1)
    groups = list(map(bulk_of, labels, heads))
    lists = {name for name, n in Counter(groups).items() if name and n >= LEAST}
    wants = {(user, name): random.random() < wanted for user in range(USERS) for name in sorted(lists)}
    events = []
    for i, (label, name) in enumerate(zip(labels, groups, strict=True)):
        if name in lists:
            users = random.choice(USERS, COPIES, replace=False).tolist()
            events += [Event(i, f"user {user}", "ham" if wants[user, name] else "spam", True) for user in users]
        else:
            events.append(Event(i, f"user {random.integers(USERS)}", label))
    return events


def replayed(messages: list[Prepared], events: list[Event], taught: float) -> Said:
    """Check each message for everyone and for its user, who then teaches it with this probability."""
    random = np.random.default_rng(7)
    said = Said(*np.zeros((3, len(events))))
    with opened() as filter_, opened() as nameless:
        for i, event in enumerate(events):
            message = messages[event.message]
            said.nameless[i] = nameless.check(message).log_odds
            said.everyone[i] = filter_.check(message).log_odds
            said.user[i] = filter_.check(message, event.user).log_odds
            if random.random() < taught:
                filter_.learn(message, event.label, user=event.user)
                copy = hashlib.sha256(message.digest + event.user.encode()).digest()
                nameless.learn(message._replace(digest=copy), event.label)
    return said


@contextmanager
def opened() -> Iterator[Filter]:
    """Open a filter that is gone afterwards."""
    with TemporaryDirectory(dir="/dev/shm") as home, Filter.open(home) as filter_:
        yield filter_


def figures(log_odds: NDArray[np.float64], is_spam: NDArray[np.bool_]) -> dict[str, float]:
    """Errors in percent, the mean logarithmic loss, and 1-ROCA in percent."""
    return {
        "errors %": 100 * float(((log_odds > 0) != is_spam).mean()),
        "log loss": float(np.logaddexp(0, np.where(is_spam, -log_odds, log_odds)).mean()),
        "1-ROCA %": 100 * (1 - float(roc_auc_score(is_spam, log_odds))),
    }


def compared(events: list[Event], said: Said) -> dict[str, dict[str, dict[str, float]]]:
    """The figures of all three, for mail of lists and for the rest."""
    is_spam, is_bulk = (np.array([each[i] for each in events]) for i in (2, 3))
    is_spam = is_spam == "spam"
    parts = {"bulk": is_bulk, "rest": ~is_bulk} if is_bulk.any() else {"all": ~is_bulk}
    return {
        part: {who: figures(each[chosen], is_spam[chosen]) for who, each in said._asdict().items()}
        for part, chosen in parts.items()
    }


def poison() -> dict[str, Any]:
    """The verdicts of ninety-nine users after one has taught ever more wrong lessons; the bound, and without it."""
    messages, labels, _ = read()
    n = 5_000
    order = np.random.default_rng(3).permutation(len(messages)).tolist()
    taught, held_out, others = order[:n], order[n : 2 * n], order[2 * n :]
    is_spam = np.array([labels[i] == "spam" for i in held_out])
    found: dict[str, Any] = {}
    for name, who in (("bounded", "mallory"), ("under no name, unbounded", "")):
        with opened() as filter_:
            by_user = defaultdict(list)
            for at, i in enumerate(taught):
                by_user[at % USERS].append((messages[i], labels[i], ""))
            for user, lessons in by_user.items():
                list(filter_.learn_many(lessons, f"user {user}"))
            for wrong in (0, 100, 1_000, 5_000):
                flipped = [(messages[i], "ham" if labels[i] == "spam" else "spam", "") for i in others[:wrong]]
                list(filter_.learn_many(flipped, who))
                log_odds = np.array([filter_.check(messages[i], "user 1").log_odds for i in held_out])
                found[f"{name}, {wrong} wrong lessons"] = figures(log_odds, is_spam)
    return found


def drawn(n: int) -> list[tuple[Prepared, str, bool]]:
    """Return drawn messages, where each came from, and whether it is spam."""
    return [
        (Prepared(read.digest, read.sender, Features(read.features.buckets, read.features.offsets)), read.sender, spam)
        for seed in range(-(-n // 1000))
        for read, spam in ((prepare(each.raw, SPEC), each.label == "spam") for each in draw(1000, seed=seed))
    ][:n]


def lessons_of(user: int, pool: list[tuple[Prepared, str, bool]], n: int) -> Iterator[tuple[Prepared, str, str]]:
    """Lessons of a user, who wants the mail of a sender or not, as drawn."""
    random = np.random.default_rng(user)
    for i in random.choice(len(pool), n, replace=False).tolist():
        message, sender, _ = pool[i]
        wants = hashlib.blake2b(f"{user} {sender}".encode(), digest_size=1).digest()[0] < 128
        yield message, "ham" if wants else "spam", ""


def resident_mb() -> float:
    """The memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def many(users: int, each: int, bits: int) -> dict[str, Any]:
    """What so many users with so many lessons each take."""
    pool = drawn(20_000)
    found: dict[str, Any] = {"users": users, "lessons each": each, "rows for persons": 1 << bits}
    with TemporaryDirectory() as home:
        options = Options(personal_bits=bits)
        before, begun = resident_mb(), time.perf_counter()
        with Filter.open(home, options) as filter_:
            for user in range(users):
                for _ in filter_.learn_many(lessons_of(user, pool, each), f"user {user}"):
                    pass
            found["lessons/s"] = users * each / (time.perf_counter() - begun)
            found["memory of the filter, MB"] = resident_mb() - before
            table = np.asarray(filter_.counts.personal)
            found["rows for persons in use"] = float(table.any(axis=1).mean())
            found["counted for persons"] = sum(filter_.counts.personal_totals)
            found |= timed(filter_, users)
            found |= agreement(filter_, pool, users, each)
            filter_.rebuild()
        found["journal, MB"] = (Path(home) / "journal.sqlite").stat().st_size / 1e6
        found["snapshot, MB"] = (Path(home) / "counts").stat().st_size / 1e6
    return found


def timed(filter_: Filter, users: int) -> dict[str, float]:
    """How long a check takes from bytes, for nobody and for users, in turns."""
    raws = [each.raw for each in draw(1000, seed=10**6)]
    seconds: dict[str, list[float]] = {"nobody": [], "user": []}
    for turn in range(11):
        for who in ("nobody", "user") if turn % 2 else ("user", "nobody"):
            begun = time.perf_counter()
            for i, raw in enumerate(raws):
                filter_.check(raw, "" if who == "nobody" else f"user {i * 7919 % users}")
            seconds[who].append((time.perf_counter() - begun) / len(raws))
    ratios = [user / nobody for user, nobody in zip(seconds["user"][1:], seconds["nobody"][1:], strict=True)]
    return {
        "check for nobody, µs": 1e6 * float(np.median(seconds["nobody"][1:])),
        "check for a user, µs": 1e6 * float(np.median(seconds["user"][1:])),
        "ratio": float(np.median(ratios)),
    }


def agreement(filter_: Filter, pool: list[tuple[Prepared, str, bool]], users: int, each: int) -> dict[str, float]:
    """How often verdicts agree with what users want of mail that they have not taught."""
    right: dict[str, list[bool]] = {"nobody": [], "user": []}
    for user in range(0, users, max(users // 200, 1)):
        taught = {lesson[0].digest for lesson in lessons_of(user, pool, each)}
        for message, label, _ in lessons_of(user, pool, 3 * each):
            if message.digest not in taught:
                for who, name in (("nobody", ""), ("user", f"user {user}")):
                    right[who].append((filter_.check(message, name).log_odds > 0) == (label == "spam"))
    return {f"errors % for {who}": 100 * (1 - float(np.mean(each))) for who, each in right.items()}


def told(found: dict[str, Any], indent: str = "") -> Iterable[str]:
    """Yield the figures, a line each."""
    for name, value in found.items():
        if isinstance(value, dict):
            yield f"{indent}{name}"
            yield from told(value, f"{indent}  ")
        else:
            yield f"{indent}{name}: {value:,.4f}" if isinstance(value, float) else f"{indent}{name}: {value:,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["recipients", "preferences", "poison", "many"])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--taught", type=float, default=None, help="the share of messages that are taught")
    parser.add_argument("--wanted", type=float, default=0.5, help="how probable it is that somebody wants a list")
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--bits", type=int, default=24)
    arguments = parser.parse_args()
    if arguments.what == "many":
        found = many(arguments.users, arguments.each, arguments.bits)
    elif arguments.what == "poison":
        found = poison()
    else:
        messages, labels, heads = read()
        is_drawn = arguments.what == "preferences"
        events = preferences(labels, heads, arguments.wanted) if is_drawn else recipients(labels, heads)
        taught = arguments.taught or (0.3 if is_drawn else 1.0)
        found = {"messages": len(events), **compared(events, replayed(messages, events, taught))}
    print("\n".join(told(found)))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
