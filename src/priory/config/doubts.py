"""What a configuration may say, but can hardly mean; and what stands in its way on this machine."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from priory.decision import UNSURE, Costs, decide
from priory.features import Spec
from priory.features.patterns import compiled
from priory.journal import PERSONAL_BITS, Journal, JournalError, may_write
from priory.memory.home import open_journal_to_read
from priory.memory.memory import refuse_another_order
from priory.options import Options
from priory.points import spam_label, unwanted_labels
from priory.server.listeners import LONGEST_PATH, answers, obstacle
from priory.server.options import Serving, is_local


class Doubt(NamedTuple):
    """What looks wrong, and the key that it is about."""

    text: str
    key: tuple[str, ...] = ()


def doubts(options: Options, serving: Serving, home: Path) -> Iterator[Doubt]:
    """Yield what looks wrong about a configuration for a home."""
    yield from _about_costs(options.costs)
    yield from _about_features(options)
    yield from _about_limits(options)
    yield from _about_actions(options, serving)
    yield from _about_addresses(serving, home)
    if serving.max_connections < serving.workers:
        yield Doubt(
            f"[serve] max_connections = {serving.max_connections} is less than one for each of the "
            f"{serving.workers} workers, who take one each",
            ("serve", "max_connections"),
        )
    yield from _about_home(options, home)


def _about_costs(costs: Costs) -> Iterator[Doubt]:
    if not costs.unsure:
        yield Doubt("[costs] unsure costs nothing, so it is said of every message", ("costs", UNSURE))
        return
    for i, label in enumerate(costs.labels):
        said = decide([float(j == i) for j in range(len(costs.labels))], costs)
        if said != label:
            why = f"to say {said} when {label} is true costs nothing, too"
            yield Doubt(f"[costs] {label} is never said, not even where it is certain: {why}", ("costs", said, label))


def _about_features(options: Options) -> Iterator[Doubt]:
    if not options.spec.kinds:
        yield Doubt("[features] are all switched off, so there is nothing to judge by", ("features",))
    for name, pattern in compiled(options.spec.patterns):
        if pattern.search(b""):
            yield Doubt(f"pattern {name!r} matches an empty text, so it is in every message", ("patterns", name))


def _about_limits(options: Options) -> Iterator[Doubt]:
    limits = options.limits
    kept, most = limits.kept * len(options.labels), limits.lessons
    if most is not None and most < kept:
        yield Doubt(
            f"[limits] lessons = {most:,} is less than the {kept:,} that stay: the last {limits.kept} of each label",
            ("limits", "lessons"),
        )


def _about_actions(options: Options, serving: Serving) -> Iterator[Doubt]:
    costs = options.costs
    unwanted = unwanted_labels(costs.labels, options.unwanted)
    spam = spam_label(costs.labels, unwanted)
    rows = [costs.matrix[costs.labels.index(label)] for label in unwanted]
    marking = {label: min(row[i] for row in rows) for i, label in enumerate(costs.labels)}
    for action, prices in (("reject", serving.policy.reject), ("quarantine", serving.policy.quarantine)):
        if prices is None:
            continue
        key = ("milter", action)
        if not serving.milter:
            yield Doubt(f"[milter] {action} is set, but no mail server can ask: add listen", key)
        for label, price in prices.items():
            if label not in unwanted and price < 0:
                yield Doubt(
                    f"[milter] {action}: {label} = {price} says that to do this to {label} saves something; to mark "
                    f"{label} as {spam} costs {marking[label]:g}, and this should cost more",
                    (*key, label),
                )
        if all(prices[label] >= marking[label] for label in costs.labels):  # marking is right for any of the unwanted
            yield Doubt(
                f"[milter] {action} never happens, as to mark a message costs no more, whatever it is; say a number "
                f"below {marking[spam]:g} for {spam}",
                key,
            )


def _about_addresses(serving: Serving, home: Path) -> Iterator[Doubt]:
    ours = str(home / "socket")
    if len(os.fsencode(ours)) > LONGEST_PATH:
        yield Doubt(f"{ours} is longer than the {LONGEST_PATH} bytes of a socket's path; the home needs a shorter name")
    is_running = answers(ours)
    seen = {ours: "home"}
    for section, addresses in (("spamd", serving.spamd), ("milter", serving.milter), ("http", serving.http)):
        for address in dict.fromkeys(addresses):
            if address in seen and not address.endswith(":0"):
                yield Doubt(f"[{section}] {address} is taken by [{seen[address]}] already", (section, "listen"))
                continue
            seen[address] = section
            if section == "spamd" and not is_local(address):
                yield Doubt(
                    f"[spamd] listen: whoever can reach {address} can teach the filter, as the protocol knows no "
                    "passwords; use loopback or a socket, or let a firewall keep others away",
                    (section, "listen"),
                )
            if why := obstacle(address, is_running=is_running):
                yield Doubt(f"[{section}] {why}", (section, "listen"))


def _about_home(options: Options, home: Path) -> Iterator[Doubt]:
    if not os.access(home, os.F_OK):
        yield Doubt(f"there is no folder {home}; the first lesson makes it, the daemon does not")
        return
    if not os.access(home, os.R_OK | os.X_OK, effective_ids=True):
        yield Doubt(f"{home} cannot be entered by this account, so it can do nothing there")
        return
    if not may_write(home):
        yield Doubt(f"{home} cannot be written by this account, so it can check mail but neither learn nor serve")
    if options.store is None and not (home / "journal.sqlite").exists():
        return
    try:
        journal = open_journal_to_read(home, options.store)
    except JournalError as error:
        yield Doubt(str(error))
        return
    try:
        yield from _about_labels(journal, options.labels)
        yield from _about_table(journal, "bits", options.spec.bits, journal.bits, Spec().bits)
        yield from _about_table(journal, "personal_bits", options.personal_bits, journal.personal_bits, PERSONAL_BITS)
    finally:
        journal.close()


def _about_table(journal: Journal, key: str, bits: int, made_with: int, usual: int) -> Iterator[Doubt]:
    if bits not in (made_with, usual):
        yield Doubt(
            f"[table] {key} = {bits} is for a journal that is yet to be made; {journal.name} was made with "
            f"{made_with} and keeps them",
            ("table", key),
        )


def _about_labels(journal: Journal, labels: tuple[str, ...]) -> Iterator[Doubt]:
    try:
        refuse_another_order(journal, labels)
    except JournalError as error:
        yield Doubt(str(error), ("labels",))
        return
    if unknown := [label for label in journal.tally() if label not in labels]:
        yield Doubt(
            f"{journal.name} has lessons of {', '.join(unknown)}: add that to the labels, at the end", ("labels",)
        )
