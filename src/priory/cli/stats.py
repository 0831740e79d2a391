"""`priory stats`: what a filter has learned."""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from priory.cli.options import HOME, Home, Json, open_filter

if TYPE_CHECKING:
    from priory.filter.options import Options
    from priory.filter.stats import Stats

_MOST_BEYOND: Final = 10_000  # lessons beyond the limits that are counted


def stats(home: Home = HOME, as_json: Json = False) -> None:
    """Show what has been learned, the calibration, how many labels look wrong, the thresholds and the limits.

    **Examples**

    `priory stats`

    `priory stats --json`
    """
    with open_filter(home) as filter_:
        figures, options = filter_.stats(), filter_.options
        n_beyond = len(filter_.ageing.due(time.time(), _MOST_BEYOND))
    if as_json:
        journal = {"home": str(home), **({"store": options.store.name} if options.store else {})}
        limits = {**asdict(options.limits), "beyond": n_beyond}
        print(json.dumps({**journal, **figures.as_dict(), "limits": limits}))  # noqa: T201
        return
    more = " or more" if n_beyond == _MOST_BEYOND else ""
    beyond = f"; {n_beyond:,}{more} lessons are beyond them, see priory age" if n_beyond else ""
    _show(figures, home, options, f"{options.limits}{beyond}")


def _show(stats: "Stats", home: Path, options: "Options", limits: str) -> None:
    from rich.console import Console  # noqa: PLC0415 - only for people
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from priory.filter.verdict import steps  # noqa: PLC0415
    from priory.html.text import printable  # noqa: PLC0415

    store = options.store
    table = Table.grid(padding=(0, 2))
    table.add_row("home", Text(str(home)))
    if store is not None:
        table.add_row("store", Text(f"{store.name}, here as {store.node}"))
    for label, n in stats.lessons.items():
        automatic = f", {stats.automatic[label]:,} automatically" if stats.automatic[label] else ""
        table.add_row(f"{label} learned", f"{n:,}, of which {stats.scored[label]:,} scored for calibration{automatic}")
    if stats.silence is not None:
        table.add_row("silence", str(stats.silence))
    for label, line in stats.calibration.items():
        sign = "-" if line.intercept < 0 else "+"
        sums = f"{line.slope:.3f} × score {sign} {abs(line.intercept):.3f}"
        caution = "" if line.caution == 1 else f", above 0 times {line.caution:.3f}"
        table.add_row("calibration", f"log-odds of {label} = {sums}{caution}")
    if stats.doubt:
        table.add_row("labels", f"{stats.doubt}; to see them: priory lab errors")
    if stats.lost_ham is not None:
        table.add_row("lost ham", str(stats.lost_ham))
    if stats.promise is not None:
        table.add_row("promise", str(stats.promise))
    if stats.origins:
        table.add_row("origins", Text(printable(f"{stats.origins.finding} {stats.origins.advice}")))
    table.add_row("thresholds", steps(stats.thresholds) or "by expected cost")
    nameless = f"; {stats.nameless:,} lessons of an older version have none" if stats.nameless else ""
    table.add_row("names", f"{stats.names:,}{nameless}")
    table.add_row("buckets in use", f"{stats.buckets_used:,} of {stats.buckets:,}")
    table.add_row("limits", limits)
    table.add_row("journal", f"{stats.journal_bytes / 1e6:,.1f} MB, {stats.changes:,} changes")
    Console(highlight=False).print(table)
