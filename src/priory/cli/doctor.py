"""`priory doctor`: check everything in a home, and repair what can be repaired."""

import contextlib
import io
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from priory.cli.options import HOME, CommandError, Home, Json, config_path, require_home

if TYPE_CHECKING:
    from priory.filter.options import Options
    from priory.journal import StoreAddress


MOST_NAMED = 20  #: problems of the journal


class Finding(NamedTuple):
    """Something that is wrong in a home."""

    part: str
    text: str
    repair: Callable[[], str] | None = None  #: repairs it and says how; None if only a person can


def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what can be repaired; damaged files are kept under another name.")
    ] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Check all files of a home, and say in plain words what is wrong.

    Checked are configuration, journal, snapshot, outbox, checked mail, spool, tokens and history. A journal on a server
    is not checked.

    Nothing is changed without --repair. The exit status is 1 if something is wrong and was not repaired.

    **Examples**

    `priory doctor`

    `priory doctor --repair`
    """
    path = require_home(home)
    shown = []
    for part, check in _checks(path).items():
        with contextlib.redirect_stderr(io.StringIO()):  # the log would name each damaged lesson, too
            findings = list(check())
            outcomes = [_repaired(finding) if repair else None for finding in findings]
        shown += [
            {"part": part, "problem": finding.text, "can_be_repaired": finding.repair is not None, "repaired": outcome}
            for finding, outcome in zip(findings, outcomes, strict=True)
        ]
    unchecked = _unchecked(path)
    report = {"home": str(home), "findings": shown, "not_checked": unchecked}
    print(json.dumps(report) if as_json else _in_words(home, shown, unchecked))  # noqa: T201
    if any(finding["repaired"] is None for finding in shown):
        raise typer.Exit(1)


def _repaired(finding: Finding) -> str | None:
    from priory.journal import JournalError  # noqa: PLC0415
    from priory.server.metrics.history import HistoryError  # noqa: PLC0415

    try:
        return finding.repair() if finding.repair else None
    except (JournalError, HistoryError) as error:
        raise CommandError(str(error)) from None


def _in_words(home: Path, findings: list[dict[str, Any]], unchecked: list[str]) -> str:
    lines = []
    for finding in findings:
        lines.append(f"{finding['part']}: {finding['problem']}")
        if finding["repaired"]:
            lines.append(f"  repaired: {finding['repaired']}")
        elif finding["can_be_repaired"]:
            lines.append("  priory doctor --repair repairs this")
    return "\n".join([*(lines or [f"nothing is wrong in {home}"]), *(f"not checked: {text}" for text in unchecked)])


def _checks(home: Path) -> dict[str, Callable[[], Iterator[Finding]]]:
    """Return the checks of a home by part; the journal comes before the snapshot, which is built from it."""
    from priory.config import ConfigError, load  # noqa: PLC0415

    options: Options | None = None
    problem = ""
    try:
        options = load(config_path(home))
    except ConfigError as error:
        problem = str(error)

    def configuration() -> Iterator[Finding]:
        if problem:
            yield Finding("configuration", problem)

    checks = {
        "configuration": configuration,
        "outbox": lambda: _outbox(home),
        "checked mail": lambda: _checked_mail(home),
        "spool": lambda: _spool(home),
        "tokens": lambda: _tokens(home),
        "history": lambda: _history(home),
    }
    if options is not None and options.store is None and (home / "journal.sqlite").exists():
        known = options
        checks |= {"journal": lambda: _journal(home, known), "snapshot": lambda: _snapshot(home, known)}
    if options is not None and options.store is not None:
        shared, store = options, options.store
        checks["snapshot"] = lambda: _shared_snapshot(home, shared, store)
    return checks


def _unchecked(home: Path) -> list[str]:
    """Return what is not in the home and therefore not checked."""
    from priory.config import ConfigError, load  # noqa: PLC0415

    with contextlib.suppress(ConfigError):
        if store := load(config_path(home)).store:
            return [f"the journal on {store.name}: the log names its rows that cannot be read"]
    return []


def _journal(home: Path, options: "Options") -> Iterator[Finding]:
    from priory.features import VERSION, unpack_features  # noqa: PLC0415
    from priory.filter.filter import Filter  # noqa: PLC0415
    from priory.journal import JournalError  # noqa: PLC0415
    from priory.journal.sqlite.repair import inspect_journal, repair_journal  # noqa: PLC0415

    path = home / "journal.sqlite"

    def repair() -> str:
        repaired = repair_journal(path, VERSION, unpack_features, options.labels)
        with Filter.open(home, options) as filter_:
            filter_.rebuild()
        lost = f" Not readable were the {' and the '.join(repaired.lost)}." if repaired.lost else ""
        return f"{repaired.n_lessons:,} lessons were kept; the damaged file is {repaired.aside}.{lost}"

    try:
        report = inspect_journal(path, unpack_features, options.labels)
    except JournalError as error:
        yield Finding("journal", str(error))
        return
    if report.problems:
        more = len(report.problems) - MOST_NAMED
        named = "; ".join(report.problems[:MOST_NAMED]) + (f"; and {more:,} more" if more > 0 else "")
        yield Finding("journal", f"{named}. {report.n_lessons:,} lessons are sound.", repair)


def _snapshot(home: Path, options: "Options") -> Iterator[Finding]:
    from priory.filter.filter import Filter  # noqa: PLC0415
    from priory.filter.home import open_journal_to_read  # noqa: PLC0415
    from priory.journal import JournalError  # noqa: PLC0415
    from priory.journal.snapshot import load_snapshot  # noqa: PLC0415

    def repair() -> str:
        with Filter.open(home, options) as filter_:
            filter_.rebuild()
        return "built from the journal"

    try:
        journal = open_journal_to_read(home, None)
    except JournalError:
        return  # it is named already
    try:
        snapshot = load_snapshot(home / "counts", journal.id, options.labels, journal.bits, journal.personal_bits)
        if snapshot and snapshot.counts.names.blocks:
            snapshot.counts.names.blocks.require_all()
    except ValueError as error:
        yield Finding("snapshot", f"{home / 'counts'} is damaged ({error})", repair)
    finally:
        journal.close()


def _shared_snapshot(home: Path, options: "Options", store: "StoreAddress") -> Iterator[Finding]:
    from priory.journal.shared.store import recall_identity  # noqa: PLC0415
    from priory.journal.snapshot import load_snapshot  # noqa: PLC0415

    path = home / "shared-counts"
    identity = recall_identity(home, store)
    if identity is None:
        if path.exists():
            yield Finding("snapshot", f"{path} cannot be used without the server: no file says whose it is")
        return
    try:
        snapshot = load_snapshot(path, identity.id, options.labels, identity.bits, identity.personal_bits)
        if snapshot and snapshot.counts.names.blocks:
            snapshot.counts.names.blocks.require_all()
    except ValueError as error:
        yield Finding(
            "snapshot", f"{path} is damaged ({error}). It is not used, and replaced when the server is reached"
        )


def _outbox(home: Path) -> Iterator[Finding]:
    from priory.journal.shared.outbox import NAME  # noqa: PLC0415

    path = home / NAME
    if not path.exists():
        return
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            ((result,),) = db.execute("PRAGMA integrity_check(1)").fetchall()
    except sqlite3.Error as error:
        result = str(error)
    if result != "ok":
        yield Finding("outbox", f"{path} is damaged ({result}). Lessons in it were not delivered: restore a backup")


def _checked_mail(home: Path) -> Iterator[Finding]:
    from priory.journal.checked import FOLDER, n_damaged_bytes  # noqa: PLC0415

    for path in sorted((home / FOLDER).glob("*.*")):
        if n := n_damaged_bytes(path):
            yield Finding("checked mail", f"{path} has {n:,} damaged bytes, which are skipped when it is read")


def _spool(home: Path) -> Iterator[Finding]:
    from priory.filter.spool import Spool  # noqa: PLC0415

    for path in Spool(home, None).damaged():
        yield Finding("spool", f"{path} is damaged; it is deleted when messages are asked about")


def _tokens(home: Path) -> Iterator[Finding]:
    from priory.server.tokens import TokenError, read_tokens  # noqa: PLC0415

    try:
        read_tokens(home)
    except TokenError as error:
        yield Finding("tokens", str(error))


def _history(home: Path) -> Iterator[Finding]:
    from priory.server.metrics.history import NAME, DamagedHistoryError, History, HistoryError  # noqa: PLC0415

    history = History(home)
    if not (home / NAME).exists():
        return
    try:
        history.check()
    except DamagedHistoryError as error:
        yield Finding("history", str(error), lambda: f"renamed to {history.put_aside()}; a new one begins")
    except HistoryError as error:
        yield Finding("history", str(error))
