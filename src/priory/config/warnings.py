"""Warnings about a valid configuration: values that are probably mistakes, and obstacles on this machine."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from priory.decision import UNSURE, Costs, decide
from priory.features import Spec
from priory.features.patterns import compile_patterns
from priory.filter.home import open_journal_to_read, refuse_other_label_order
from priory.filter.options import Options
from priory.filter.spamassassin import spam_label, unwanted_labels
from priory.filter.spool import FOLDER
from priory.journal import PERSONAL_BITS, Journal, JournalError, may_write
from priory.server.daemon.listeners import MAX_PATH_BYTES, is_listening, listen_problem
from priory.server.options import ServeOptions, is_local


class ConfigWarning(NamedTuple):
    """A warning, and the key that it is about."""

    text: str
    key: tuple[str, ...] = ()


def find_warnings(options: Options, serving: ServeOptions, home: Path) -> Iterator[ConfigWarning]:
    """Yield all warnings about a configuration for a home."""
    yield from _check_costs(options.costs)
    yield from _check_features(options)
    yield from _check_limits(options)
    yield from _check_spool(options, home)
    yield from _check_actions(options, serving)
    yield from _check_addresses(serving, home)
    if serving.max_connections < serving.workers:
        yield ConfigWarning(
            f"[serve] max_connections = {serving.max_connections} is less than the {serving.workers} workers; each "
            "worker takes one connection",
            ("serve", "max_connections"),
        )
    yield from _check_home(options, home)


def _check_costs(costs: Costs) -> Iterator[ConfigWarning]:
    if not costs.unsure:
        yield ConfigWarning("[costs] unsure costs nothing, so every message is unsure", ("costs", UNSURE))
        return
    for i, label in enumerate(costs.labels):
        verdict = decide([float(j == i) for j in range(len(costs.labels))], costs)
        if verdict != label:
            yield ConfigWarning(
                f"[costs] no message is judged {label}, however certain, because the verdict {verdict} costs nothing "
                f"if {label} is true",
                ("costs", verdict, label),
            )


def _check_features(options: Options) -> Iterator[ConfigWarning]:
    if not options.spec.kinds:
        yield ConfigWarning("[features] are all switched off, so the filter has no evidence", ("features",))
    for name, pattern in compile_patterns(options.spec.patterns):
        if pattern.search(b""):
            yield ConfigWarning(
                f"pattern {name!r} matches an empty text, so it matches every message", ("patterns", name)
            )


def _check_limits(options: Options) -> Iterator[ConfigWarning]:
    limits = options.limits
    least, most = limits.kept * len(options.labels), limits.lessons
    if most is not None and most < least:
        yield ConfigWarning(
            f"[limits] lessons = {most:,} is less than the {least:,} that always stay: the last {limits.kept} of each "
            "label",
            ("limits", "lessons"),
        )


def _check_spool(options: Options, home: Path) -> Iterator[ConfigWarning]:
    if options.spool is not None:
        yield ConfigWarning(
            f"[ask] spool: messages are stored in {home / FOLDER}; this account, and everyone with a token of scope "
            "learn, can read them",
            ("ask", "spool"),
        )


def _check_actions(options: Options, serving: ServeOptions) -> Iterator[ConfigWarning]:
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
            yield ConfigWarning(f"[milter] {action} is set, but mail servers cannot connect: set listen", key)
        for label, price in prices.items():
            if label not in unwanted and price < 0:
                yield ConfigWarning(
                    f"[milter] {action}: {label} = {price} makes it a benefit to {action} {label}; marking {label} as "
                    f"{spam} costs {marking[label]:g}, and this should cost more",
                    (*key, label),
                )
        if all(prices[label] >= marking[label] for label in costs.labels):  # marking is the alternative
            yield ConfigWarning(
                f"[milter] {action} never happens, because marking a message never costs more; set {spam} to a number "
                f"below {marking[spam]:g}",
                key,
            )


def _check_addresses(serving: ServeOptions, home: Path) -> Iterator[ConfigWarning]:
    home_socket = str(home / "socket")
    if len(os.fsencode(home_socket)) > MAX_PATH_BYTES:
        yield ConfigWarning(
            f"{home_socket} is longer than {MAX_PATH_BYTES} bytes, the limit for a socket; use a home with a "
            "shorter path"
        )
    is_running = is_listening(home_socket)
    users = {home_socket: "home"}
    for section, addresses in (("spamd", serving.spamd), ("milter", serving.milter), ("http", serving.http)):
        for address in dict.fromkeys(addresses):
            if address in users and not address.endswith(":0"):
                yield ConfigWarning(f"[{section}] {address} is already used by [{users[address]}]", (section, "listen"))
                continue
            users[address] = section
            if section == "spamd" and not is_local(address):
                yield ConfigWarning(
                    f"[spamd] listen: every machine that reaches {address} can teach the filter, because the protocol "
                    "has no passwords; use loopback or a socket, or block other machines with a firewall",
                    (section, "listen"),
                )
            if problem := listen_problem(address, is_running=is_running):
                yield ConfigWarning(f"[{section}] {problem}", (section, "listen"))


def _check_home(options: Options, home: Path) -> Iterator[ConfigWarning]:
    if not os.access(home, os.F_OK):
        yield ConfigWarning(f"there is no folder {home}; the first lesson creates it, the daemon does not")
        return
    if not os.access(home, os.R_OK | os.X_OK, effective_ids=True):
        yield ConfigWarning(f"{home} cannot be entered by this account, so no command works")
        return
    if not may_write(home):
        yield ConfigWarning(f"{home} cannot be written by this account: it can check mail, but neither learn nor serve")
    if options.store is None and not (home / "journal.sqlite").exists():
        return
    try:
        journal = open_journal_to_read(home, options.store)
    except JournalError as error:
        yield ConfigWarning(str(error))
        return
    try:
        yield from _check_labels(journal, options.labels)
        yield from _check_subjects(journal, options)
        yield from _check_table(journal, "bits", options.spec.bits, journal.bits, Spec().bits)
        yield from _check_table(journal, "personal_bits", options.personal_bits, journal.personal_bits, PERSONAL_BITS)
    finally:
        journal.close()


def _check_table(journal: Journal, key: str, bits: int, created_with: int, default: int) -> Iterator[ConfigWarning]:
    if bits not in (created_with, default):
        yield ConfigWarning(
            f"[table] {key} = {bits} has no effect: {journal.name} was created with {created_with}, which cannot be "
            "changed",
            ("table", key),
        )


def _check_subjects(journal: Journal, options: Options) -> Iterator[ConfigWarning]:
    n = journal.subjects.n()
    if n and not options.keeps_subjects:
        yield ConfigWarning(
            f"[journal] subjects is off, but {journal.name} still has {n:,} subjects of messages: delete them with "
            "priory forget --subjects --yes",
            ("journal", "subjects"),
        )


def _check_labels(journal: Journal, labels: tuple[str, ...]) -> Iterator[ConfigWarning]:
    try:
        refuse_other_label_order(journal, labels)
    except JournalError as error:
        yield ConfigWarning(str(error), ("labels",))
        return
    if unknown := [label for label in journal.tally() if label not in labels]:
        yield ConfigWarning(
            f"{journal.name} has lessons of {', '.join(unknown)}: add this to the end of labels", ("labels",)
        )
