"""An explanation for the terminal: the sums, the strongest evidence, and the message in colours.

Commands import this module only when they print for a person, because rich takes long to load.
"""

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from rich.columns import Columns
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from priory.filter.explanation import round_to_sum
from priory.filter.spamassassin import is_unwanted
from priory.filter.verdict import digits, in_words, remedy
from priory.html.text import printable

if TYPE_CHECKING:
    from priory.filter.explanation import ColouredSection, Explanation
    from priory.filter.verdict import Evidence, Verdict

FOR: Final = "#c0392b"
AGAINST: Final = "#1e8449"
_UNWANTED, _WANTED, _UNSURE = "bold white on #c0392b", "bold white on #1e8449", "bold black on #f1c40f"
_SHADES_FOR: Final = ("", "#ffffff on #5a2420", "#ffffff on #842c24", "#ffffff on #b93c2f")
_SHADES_AGAINST: Final = ("", "#ffffff on #1d4a2e", "#ffffff on #1f6b3d", "#ffffff on #1e8449")
_MOST_LINES: Final = 24  # of the coloured text
_MOST_ROWS: Final = 8  # of the evidence on each side
_BAR: Final = 10  # characters

_Row = tuple[tuple[str, ...], float]  # cells, and their contribution to the log-odds


def show_explanation(explanation: "Explanation", console: Console | None = None) -> None:
    """Print the verdict, the sums of its log-odds, the strongest evidence, and the coloured text."""
    console = console or Console(highlight=False)
    verdict = explanation.verdict
    console.print(_headline(verdict))
    if verdict.reason:
        console.print(Text(f"{verdict.reason}; {remedy(verdict.reason)}"))
    if verdict.is_untaught:
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
    is_label = verdict.label in verdict.claims  # otherwise it is "unsure"
    style = (_UNWANTED if is_unwanted(verdict) else _WANTED) if is_label else _UNSURE
    return Text.assemble(
        (f" {verdict.label} ", style), "  ", (f"{verdict.about} with probability {digits(verdict.probability)}", "bold")
    )


def _costs(verdict: "Verdict") -> Text:
    costs = "  ".join(f"{answer} {cost:.2f}" for answer, cost in verdict.expected_costs.items())
    line = Text(f"expected cost of saying  {costs}", "dim")
    if verdict.steps:
        line.append(f"   ({verdict.steps})")
    return Text(f"probability of  {verdict.of_each}\n", "dim").append_text(line) if verdict.of_each else line


def _sums(explanation: "Explanation") -> Columns:
    """Return the log-odds added up by section and by kind of feature, side by side if there is room."""
    verdict = explanation.verdict
    sections: list[_Row] = [((name,), value) for name, value in explanation.sums]
    kinds: list[_Row] = [(("prior", ""), verdict.prior)]
    kinds += [((kind.name, f"{kind.n_features:,}"), kind.total) for kind in verdict.kinds]
    largest = max(abs(value) for _, value in (*sections, *kinds))
    tables = (("by section",), sections), (("by kind", "features"), kinds)
    return Columns([_sum_table(titles, rows, largest, verdict.log_odds) for titles, rows in tables], padding=(1, 3))


def _sum_table(titles: tuple[str, ...], rows: list[_Row], largest: float, log_odds: float) -> Table:
    """Return a table of rows with their sums, and the total below."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column(titles[0], no_wrap=True)
    for title in (*titles[1:], "sum"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, width=_BAR)
    prior, *others = (value for _, value in rows)
    for (cells, value), rounded in zip(rows, round_to_sum(prior, others, log_odds), strict=True):
        table.add_row(*cells, rounded, _bar(value, largest))
    table.add_row(*("log-odds", "")[: len(titles)], f"{log_odds:+.3f}", "", style="bold")
    return table


def _bar(value: float, largest: float) -> Text:
    length = round(_BAR * abs(value) / largest) if largest else 0
    return Text("█" * length, FOR if value > 0 else AGAINST)


def _evidence(verdict: "Verdict", width: int) -> Table:
    """Return the strongest words and facts on both sides; n-grams appear only in the sums and colours."""
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
    """Return the feature's name, shortened to the available width, and its term."""
    if evidence is None:
        return Text(""), ""
    name = printable(evidence.feature)
    return Text(name if len(name) <= room else f"{name[: room - 1]}…"), f"{evidence.term:+.3f}"


def _coloured(section: "ColouredSection") -> Text:
    text = Text(overflow="fold")
    for span, level, _ in section.spans(3):
        lines_shown = "\n".join(printable(line) for line in span.split("\n"))
        text.append(lines_shown, _SHADES_FOR[level] if level > 0 else _SHADES_AGAINST[-level])
    lines = text.split("\n")
    if len(lines) <= _MOST_LINES:
        return text
    return Text("\n").join([*lines[:_MOST_LINES], Text(f"… {len(lines) - _MOST_LINES} more lines", "dim")])
