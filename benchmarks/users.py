"""Measures personal counts: whether they help, how far one user can mislead others, and the cost of 10,000 users.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/users.py recipients|preferences|poison|many [--json FILE]

recipients   trec07p in order; the recipient of each message teaches it immediately
preferences  real mail, drawn preferences: every list and newsletter of trec07p goes to some of a hundred users, who
             want it or not, as drawn; all other mail goes to one of them with its true label
poison       one of a hundred users teaches thousands of wrong lessons
many         10,000 users × 100 lessons about drawn mail on which they disagree

The verdict for everyone and that for the user come from the same filter, just before it may be taught the message. A
second filter learns the same lessons without user names, so it has no personal counts and no limits per user.
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
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.prepare import Prepared, prepare

SPEC = Spec()
USERS = 100
COPIES = 6  #: of each message of a list
LEAST = 30  #: messages that a list has, to be one


class Event(NamedTuple):
    """A message that arrives for a user, and its label for that user."""

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
    """Return the unfolded value of a header, or an empty string."""
    found = re.search(rb"(?im)^(?:%s):((?:.*\n)(?:[ \t].*\n)*)" % name, head)
    return " ".join(found.group(1).decode("latin-1").split()) if found else ""


def recipients(labels: list[str], heads: list[bytes]) -> list[Event]:
    """Return each message with its recipient as the user."""
    users = (parseaddr(field(head, rb"x-original-to|delivered-to|to"))[1].lower() for head in heads)
    return [Event(i, user, label) for i, (user, label) in enumerate(zip(users, labels, strict=True)) if user]


def bulk_of(label: str, head: bytes) -> str:
    """Return the list or sender of bulk mail; an empty string for spam and personal mail."""
    if label == "spam":
        return ""
    named = re.search(r"<([^>]+)>", field(head, b"list-id")) or re.search(r"mailto:([^>?]+)", field(head, b"list-post"))
    if named:
        return named.group(1).lower().replace("@", ".")
    if not field(head, b"list-unsubscribe|precedence|errors-to"):
        return ""
    return ".".join(parseaddr(field(head, b"from"))[1].lower().rpartition("@")[2].split(".")[-2:])


def preferences(labels: list[str], heads: list[bytes], wanted: float) -> list[Event]:
    """Send every list to some users, each of whom wants it with this probability."""
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
    """Open a temporary filter."""
    with TemporaryDirectory(dir="/dev/shm") as home, Filter.open(home) as filter_:
        yield filter_


def figures(log_odds: NDArray[np.float64], is_spam: NDArray[np.bool_]) -> dict[str, float]:
    """Return errors in percent, the mean log loss, and 1-ROCA in percent."""
    return {
        "errors %": 100 * float(((log_odds > 0) != is_spam).mean()),
        "log loss": float(np.logaddexp(0, np.where(is_spam, -log_odds, log_odds)).mean()),
        "1-ROCA %": 100 * (1 - float(roc_auc_score(is_spam, log_odds))),
    }


def compared(events: list[Event], said: Said) -> dict[str, dict[str, dict[str, float]]]:
    """Return the figures of all three, for list mail and for other mail."""
    is_spam, is_bulk = (np.array([each[i] for each in events]) for i in (2, 3))
    is_spam = is_spam == "spam"
    parts = {"bulk": is_bulk, "rest": ~is_bulk} if is_bulk.any() else {"all": ~is_bulk}
    return {
        part: {who: figures(each[chosen], is_spam[chosen]) for who, each in said._asdict().items()}
        for part, chosen in parts.items()
    }


def poison() -> dict[str, Any]:
    """Measure the verdicts of 99 users while one teaches more and more wrong lessons, with the limit and without."""
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
    """Return drawn messages with their senders and labels."""
    return [
        (Prepared(read.digest, read.sender, Features(read.features.buckets, read.features.offsets)), read.sender, spam)
        for seed in range(-(-n // 1000))
        for read, spam in ((prepare(each.raw, SPEC), each.label == "spam") for each in draw(1000, seed=seed))
    ][:n]


def lessons_of(user: int, pool: list[tuple[Prepared, str, bool]], n: int) -> Iterator[tuple[Prepared, str, str]]:
    """Return lessons of a user, who wants the mail of each sender or not, at random."""
    random = np.random.default_rng(user)
    for i in random.choice(len(pool), n, replace=False).tolist():
        message, sender, _ = pool[i]
        wants = hashlib.blake2b(f"{user} {sender}".encode(), digest_size=1).digest()[0] < 128
        yield message, "ham" if wants else "spam", ""


def resident_mb() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def many(users: int, each: int, bits: int) -> dict[str, Any]:
    """Measure many users with many lessons each."""
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
    """Return the time of a check from bytes, without a user and for users, in turns."""
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
    """Return how often verdicts agree with the users' wishes about mail that they have not taught."""
    right: dict[str, list[bool]] = {"nobody": [], "user": []}
    for user in range(0, users, max(users // 200, 1)):
        taught = {lesson[0].digest for lesson in lessons_of(user, pool, each)}
        for message, label, _ in lessons_of(user, pool, 3 * each):
            if message.digest not in taught:
                for who, name in (("nobody", ""), ("user", f"user {user}")):
                    right[who].append((filter_.check(message, name).log_odds > 0) == (label == "spam"))
    return {f"errors % for {who}": 100 * (1 - float(np.mean(each))) for who, each in right.items()}


def told(found: dict[str, Any], indent: str = "") -> Iterable[str]:
    """Yield the figures, one per line."""
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
    parser.add_argument("--wanted", type=float, default=0.5, help="probability that a user wants a list")
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
