"""`priory merge`: add the lessons of other filters to this one."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.options import HOME, CommandError, Home, Json, command_errors, expand_user, journal_file, open_filter

if TYPE_CHECKING:
    from priory.filter.filter import Filter


def merge(
    others: Annotated[list[str], typer.Argument(metavar="HOME…", help="Other homes, or their journal.sqlite.")],
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Add the lessons and rules of other filters; a lesson that both have is not added twice.

    If both filters know a message, or have a rule about the same thing, the later counts.

    **Example**

    `priory merge /mnt/old-server/.priory`
    """
    counts: Counter[str] = Counter()
    with open_filter(home, make=True) as filter_:
        before = {*filter_.rules.every()}
        for other in others:
            counts.update(_merge(filter_, other))
        n_rules = len({*filter_.rules.every()} - before)
    if as_json:
        print(json.dumps({**counts, "rules": n_rules}))  # noqa: T201
        return
    rules = f"; {n_rules:,} {'rule' if n_rules == 1 else 'rules'} added or replaced" if n_rules else ""
    print(  # noqa: T201
        f"added {counts['added']:,}, relabelled {counts['relabelled']:,}, already known {counts['known']:,}{rules}"
    )


def _merge(filter_: "Filter", other: str) -> dict[str, int]:
    from priory.config.values import is_store_url  # noqa: PLC0415
    from priory.features import VERSION  # noqa: PLC0415
    from priory.journal import StoreAddress, open_file_to_read  # noqa: PLC0415

    if is_store_url(other):
        raise CommandError(
            f"merge takes homes; copy the journal into one first: priory move {StoreAddress(other).name} HOME"
        )
    path = journal_file(expand_user(Path(other)))
    with command_errors():
        journal = open_file_to_read(path, VERSION)
        try:
            return filter_.merge(journal)
        finally:
            journal.close()
