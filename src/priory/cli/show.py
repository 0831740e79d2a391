"""Verdicts and figures for the terminal."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from priory.verdict import digits

if TYPE_CHECKING:
    from priory.explanation import Coloured, Explanation
    from priory.filter import Stats
    from priory.verdict import Evidence, Verdict

FOR: Final = "#c0392b"
AGAINST: Final = "#1e8449"
_COLOURS: Final = {"spam": "bold white on #c0392b", "ham": "bold white on #1e8449"}
_SHADES_FOR: Final = ("", "on #3d1512", "on #6b211b", "on #a93226")
_SHADES_AGAINST: Final = ("", "on #10301c", "on #185c33", "on #1e8449")
_MOST_LINES: Final = 24
_MOST_ROWS: Final = 8
_BAR: Final = 24


def show(explanation: "Explanation", console: Console | None = None) -> None:
    """Print a verdict, where its log-odds come from, the weightiest evidence, and the coloured text."""
    console = console or Console(highlight=False)
    verdict = explanation.verdict
    console.print(_headline(verdict))
    if verdict.reason:
        console.print(f"{verdict.reason}; teach it with: priory learn LABEL PATH…")
        return
    console.print(_costs(verdict))
    console.print()
    console.print(_sums(explanation))
    console.print()
    console.print(_evidence(verdict))
    for section in explanation.sections:
        if section.name in ("headers", "text") and section.text.strip():
            console.print()
            console.print(Text(section.name, "bold"))
            console.print(Padding(_coloured(section), (0, 0, 0, 2)))


def _headline(verdict: "Verdict") -> Text:
    style = _COLOURS.get(verdict.label, "bold black on #f1c40f")
    return Text.assemble(
        (f" {verdict.label} ", style), "  ", (f"{verdict.about} with probability {digits(verdict.probability)}", "bold")
    )


def _costs(verdict: "Verdict") -> Text:
    costs = "  ".join(f"{said} {cost:.2f}" for said, cost in verdict.expected_costs.items())
    line = Text(f"expected cost of saying  {costs}", "dim")
    if verdict.thresholds:
        steps = ", ".join(f"{said} from {p:.2f}" for said, p in verdict.thresholds.items())
        line.append(f"   ({steps})")
    return line


def _sums(explanation: "Explanation") -> Table:
    """Prior and sections with their sums: they add up to the log-odds."""
    verdict = explanation.verdict
    rows = [("prior", verdict.prior), *((section.name, section.total) for section in explanation.sections)]
    largest = max(abs(value) for _, value in rows)
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(name, Text(f"{value:+.3f}", justify="right"), _bar(value, largest))
    table.add_row(Text("log-odds", "bold"), Text(f"{verdict.log_odds:+.3f}", "bold", justify="right"), "")
    return table


def _bar(value: float, largest: float) -> Text:
    length = round(_BAR * abs(value) / largest) if largest else 0
    return Text("█" * length, FOR if value > 0 else AGAINST)


def _evidence(verdict: "Verdict") -> Table:
    """The weightiest words and facts on both sides; n-grams are in the sums and in the colours."""
    readable = [e for e in verdict.evidence if "gram:" not in e.feature]
    towards = [e for e in readable if e.term > 0][:_MOST_ROWS]
    away = [e for e in readable if e.term < 0][:_MOST_ROWS]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(f"for {verdict.about}", style=FOR, no_wrap=True, max_width=40)
    table.add_column("", justify="right")
    table.add_column("against", style=AGAINST, no_wrap=True, max_width=40)
    table.add_column("", justify="right")
    for i in range(max(len(towards), len(away))):
        table.add_row(*_cells(towards, i), *_cells(away, i))
    return table


def _cells(evidence: "list[Evidence]", i: int) -> tuple[Text, str]:
    if i >= len(evidence):
        return Text(""), ""
    return Text(evidence[i].feature, no_wrap=True), f"{evidence[i].term:+.3f}"


def levels(heat: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """Return a shade from −n to n for each character; the strongest twentieth has the deepest."""
    if not len(heat):
        return np.zeros(0, np.int64)
    scale = float(np.quantile(np.abs(heat), 0.95)) or float(np.abs(heat).max()) or 1.0
    return np.clip(np.round(n * heat / scale), -n, n).astype(np.int64)


def runs(section: "Coloured", n: int) -> Iterator[tuple[str, int]]:
    """Yield stretches of equally shaded text."""
    shades = zip(section.text, levels(section.heat, n).tolist(), strict=True)
    for level, stretch in groupby(shades, key=lambda pair: pair[1]):
        yield "".join(character for character, _ in stretch), level


def _coloured(section: "Coloured") -> Text:
    text = Text(overflow="fold")
    for stretch, level in runs(section, 3):
        printable = "".join(c if c == "\n" or c.isprintable() else " " if c == "\t" else "·" for c in stretch)
        text.append(printable, _SHADES_FOR[level] if level > 0 else _SHADES_AGAINST[-level])
    lines = text.split("\n")
    if len(lines) <= _MOST_LINES:
        return text
    return Text("\n").join([*lines[:_MOST_LINES], Text(f"… {len(lines) - _MOST_LINES} more lines", "dim")])


def show_stats(stats: "Stats", home: Path) -> None:
    """Print what a filter knows."""
    table = Table.grid(padding=(0, 2))
    table.add_row("home", str(home))
    for label, n in stats.lessons.items():
        table.add_row(f"{label} learned", f"{n:,}")
    table.add_row("buckets in use", f"{stats.buckets_used:,} of {stats.buckets:,}")
    table.add_row("journal", f"{stats.journal_bytes / 1e6:,.1f} MB, {stats.changes:,} changes")
    table.add_row("scored before learned", f"{stats.held_out:,}")
    table.add_row("log-odds", f"{stats.calibration.slope:.3f} · score {stats.calibration.intercept:+.3f}")
    steps = ", ".join(f"{said} from {p:.2f}" for said, p in stats.thresholds.items())
    table.add_row("thresholds", steps or "by expected cost")
    Console(highlight=False).print(table)
