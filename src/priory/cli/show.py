"""Verdicts and figures for the terminal."""

from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.columns import Columns
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from priory.autolearn import is_ready
from priory.explanation import added_up
from priory.points import is_unwanted
from priory.verdict import digits, in_words, printable, remedy, steps

if TYPE_CHECKING:
    from priory.explanation import Coloured, Explanation
    from priory.options import Options
    from priory.stats import Stats
    from priory.verdict import Evidence, Verdict

FOR: Final = "#c0392b"
AGAINST: Final = "#1e8449"
_UNWANTED, _WANTED, _UNSURE = "bold white on #c0392b", "bold white on #1e8449", "bold black on #f1c40f"
_SHADES_FOR: Final = ("", "#ffffff on #5a2420", "#ffffff on #842c24", "#ffffff on #b93c2f")
_SHADES_AGAINST: Final = ("", "#ffffff on #1d4a2e", "#ffffff on #1f6b3d", "#ffffff on #1e8449")
_MOST_LINES: Final = 24
_MOST_ROWS: Final = 8
_BAR: Final = 10

_Row = tuple[tuple[str, ...], float]  # cells, and what they add to the log-odds


def show(explanation: "Explanation", console: Console | None = None) -> None:
    """Print a verdict, where its log-odds come from, the weightiest evidence, and the coloured text."""
    console = console or Console(highlight=False)
    verdict = explanation.verdict
    console.print(_headline(verdict))
    if verdict.reason:
        console.print(Text(f"{verdict.reason}; {remedy(verdict.reason)}"))
        return
    console.print(_costs(verdict))
    if verdict.user:
        console.print(Text(in_words(verdict)))
    console.print()
    console.print(_sums(explanation))
    console.print()
    console.print(_evidence(verdict, console.width))
    for section in explanation.sections:
        if section.name in ("headers", "text") and section.text.strip():
            console.print()
            console.print(Text(section.name, "bold"))
            console.print(Padding(_coloured(section), (0, 0, 0, 2)))


def _headline(verdict: "Verdict") -> Text:
    is_said = verdict.label in verdict.claims
    style = (_UNWANTED if is_unwanted(verdict) else _WANTED) if is_said else _UNSURE
    return Text.assemble(
        (f" {verdict.label} ", style), "  ", (f"{verdict.about} with probability {digits(verdict.probability)}", "bold")
    )


def _costs(verdict: "Verdict") -> Text:
    costs = "  ".join(f"{said} {cost:.2f}" for said, cost in verdict.expected_costs.items())
    line = Text(f"expected cost of saying  {costs}", "dim")
    if verdict.steps:
        line.append(f"   ({verdict.steps})")
    return Text(f"probability of  {verdict.of_each}\n", "dim").append_text(line) if verdict.of_each else line


def _sums(explanation: "Explanation") -> Columns:
    """The log-odds added up twice, by section and by kind of feature: side by side where there is room."""
    verdict = explanation.verdict
    sections: list[_Row] = [((name,), value) for name, value in explanation.sums]
    kinds: list[_Row] = [(("prior", ""), verdict.prior)]
    kinds += [((kind.name, f"{kind.n_features:,}"), kind.total) for kind in verdict.kinds]
    largest = max(abs(value) for _, value in (*sections, *kinds))
    added = (("by section",), sections), (("by kind", "features"), kinds)
    return Columns([_added(titles, rows, largest, verdict.log_odds) for titles, rows in added], padding=(1, 3))


def _added(titles: tuple[str, ...], rows: list[_Row], largest: float, log_odds: float) -> Table:
    """Rows with their sums, and what they add up to."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column(titles[0], no_wrap=True)
    for title in (*titles[1:], "sum"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, width=_BAR)
    prior, *others = (value for _, value in rows)
    for (cells, value), shown in zip(rows, added_up(prior, others, log_odds), strict=True):
        table.add_row(*cells, shown, _bar(value, largest))
    table.add_row(*("log-odds", "")[: len(titles)], f"{log_odds:+.3f}", "", style="bold")
    return table


def _bar(value: float, largest: float) -> Text:
    length = round(_BAR * abs(value) / largest) if largest else 0
    return Text("█" * length, FOR if value > 0 else AGAINST)


def _evidence(verdict: "Verdict", width: int) -> Table:
    """The weightiest words and facts on both sides; n-grams are in the sums and in the colours."""
    towards = [e for e in verdict.readable if e.term > 0][:_MOST_ROWS]
    away = [e for e in verdict.readable if e.term < 0][:_MOST_ROWS]
    room = max((width - 2 * len(" +0.000  ")) // 2 - 2, 8)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title, colour in ((f"for {verdict.about}", FOR), ("against", AGAINST)):
        table.add_column(title, style=colour, no_wrap=True)
        table.add_column("", justify="right", no_wrap=True)
    for one, other in zip_longest(towards, away):
        table.add_row(*_cells(one, room), *_cells(other, room))
    return table


def _cells(evidence: "Evidence | None", room: int) -> tuple[Text, str]:
    """A name, shortened to the room there is, and its term, which never is."""
    if evidence is None:
        return Text(""), ""
    name = printable(evidence.feature)
    return Text(name if len(name) <= room else f"{name[: room - 1]}…"), f"{evidence.term:+.3f}"


def _coloured(section: "Coloured") -> Text:
    text = Text(overflow="fold")
    for stretch, level, _ in section.spans(3):
        shown = "\n".join(printable(line) for line in stretch.split("\n"))
        text.append(shown, _SHADES_FOR[level] if level > 0 else _SHADES_AGAINST[-level])
    lines = text.split("\n")
    if len(lines) <= _MOST_LINES:
        return text
    return Text("\n").join([*lines[:_MOST_LINES], Text(f"… {len(lines) - _MOST_LINES} more lines", "dim")])


def show_stats(stats: "Stats", home: Path, options: "Options", limits: str) -> None:
    """Print what a filter knows, where the journal is if not at home, and whether it learns by itself."""
    autolearn, store = options.autolearn, options.store
    table = Table.grid(padding=(0, 2))
    table.add_row("home", Text(str(home)))
    if store is not None:
        table.add_row("store", Text(f"{store.name}, here as {store.node}"))
    for label, n in stats.lessons.items():
        by_itself = f", {stats.automatic[label]:,} automatically" if stats.automatic[label] else ""
        table.add_row(f"{label} learned", f"{n:,}, of which {stats.scored[label]:,} scored for calibration{by_itself}")
    if autolearn is not None:
        waits = f"waits until {autolearn.after:,} of each label are scored"
        table.add_row("autolearning", "is on" if is_ready(autolearn, list(stats.scored.values())) else waits)
    for label, line in stats.calibration.items():
        table.add_row(f"log-odds of {label}", f"{line.slope:.3f} · score {line.intercept:+.3f}")
    table.add_row("thresholds", steps(stats.thresholds) or "by expected cost")
    table.add_row("buckets in use", f"{stats.buckets_used:,} of {stats.buckets:,}")
    table.add_row("limits", limits)
    table.add_row("journal", f"{stats.journal_bytes / 1e6:,.1f} MB, {stats.changes:,} changes")
    Console(highlight=False).print(table)
