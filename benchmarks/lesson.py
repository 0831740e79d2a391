"""Measures one lesson in a large filter: the time until it is durable, and until it is forgotten."""

import random
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from mail import Mail
from peers import PRIORY, Priory
from priory.filter.filter import Filter
from priory.message import parse
from report import Table, between
from rounds import run, spread

LEARNED = 20_000
PER_ROUND = 10  #: lessons in a running process for each in a fresh process, which takes much longer
FRESH, RUNNING = "by a fresh process, ms", "by Filter in a process that runs, ms"
LEARN, FORGET, FORGET_OLD = "learn a message", "forget it again", f"forget one of the {LEARNED:,}"


class Message(NamedTuple):
    """A message file and its label."""

    path: Path
    label: str


def measured(mail: Mail, folder: Path, rounds: int) -> tuple[Table, dict[str, object]]:
    """Return milliseconds per lesson, in fresh processes and in a running one."""
    home = folder / "lesson"
    Priory().learn(mail[:LEARNED], home)
    n = (PER_ROUND + 1) * rounds
    turns = iter(list(zip(picked(mail[LEARNED:], home, n, False), picked(mail[:LEARNED], home, n, True), strict=True)))
    fresh = [by_fresh_processes(home, new, old) for new, old in islice(turns, rounds)]
    with Filter.open(home) as filter_:
        filter_.stats()
        running = [by_filter(filter_, new, old) for new, old in turns]
    rows, figures = [], {}
    for act in (LEARN, FORGET, FORGET_OLD):
        both = {FRESH: spread(turn[act] for turn in fresh), RUNNING: spread(turn[act] for turn in running)}
        figures[act] = {how: own.as_dict() for how, own in both.items()}
        rows.append([act, *(between(own, 1) for own in both.values())])
    note = (
        f"{LEARNED:,} messages of trec07p learned in bulk before. {len(fresh)} turns by fresh processes, "
        f"{len(running)} in one that runs, each with other messages."
    )
    return Table("lesson", "One lesson", ["", FRESH, RUNNING], rows, [note]), figures


def picked(mail: Mail, home: Path, n: int, are_known: bool) -> list[Message]:
    """Return n distinct random messages that a filter has learned, or that it has not."""
    entries = random.Random(1).sample(mail.entries, min(2 * n, len(mail)))  # noqa: S311
    found: dict[bytes, Message] = {}
    with Filter.open(home) as filter_:
        for label, name in entries:
            digest = parse((mail.folder / name).read_bytes()).digest
            if (filter_.journal.label_of(digest) is not None) == are_known:
                found[digest] = Message(mail.folder / name, label)
    return list(found.values())[:n]


def by_fresh_processes(home: Path, new: Message, old: Message) -> dict[str, float]:
    """Return the milliseconds of the commands."""
    commands = {
        LEARN: ["learn", new.label, str(new.path)],
        FORGET: ["forget", str(new.path)],
        FORGET_OLD: ["forget", str(old.path)],
    }
    return {act: 1000 * run([PRIORY, *command, "--home", str(home)]).seconds for act, command in commands.items()}


def by_filter(filter_: Filter, new: Message, old: Message) -> dict[str, float]:
    """Return the milliseconds of the methods."""
    new_raw, old_raw = new.path.read_bytes(), old.path.read_bytes()
    return {
        LEARN: _milliseconds(lambda: filter_.learn(new_raw, new.label)),
        FORGET: _milliseconds(lambda: filter_.forget(new_raw).was),
        FORGET_OLD: _milliseconds(lambda: filter_.forget(old_raw).was),
    }


def _milliseconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    if act() is None:
        raise AssertionError("there was no such lesson to take back")
    return 1000 * (time.perf_counter() - start)
