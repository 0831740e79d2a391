"""An explanation for the terminal: the reasons in words, the message in colours, and the sums.

Commands import this module only when they print for a person, because rich takes long to load.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from rich.columns import Columns
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from priory.filter.explanation import round_to_sum
from priory.filter.explanation_page import ShownReasons, is_for
from priory.filter.spamassassin import is_unwanted
from priory.filter.verdict import digits, in_words, remedy
from priory.filter.wording import deciding, forget_command, most_like, since, turn_sentences
from priory.html.text import printable

if TYPE_CHECKING:
    from priory.filter.background import Background
    from priory.filter.explanation import ColouredSection, Explanation
    from priory.filter.reasons import Item, VerdictReason
    from priory.filter.verdict import Verdict

FOR: Final = "#c0392b"
AGAINST: Final = "#1e8449"
_UNWANTED, _WANTED, _UNSURE = "bold white on #c0392b", "bold white on #1e8449", "bold black on #f1c40f"
_SHADES_FOR: Final = ("", "#ffffff on #5a2420", "#ffffff on #842c24", "#ffffff on #b93c2f")
_SHADES_AGAINST: Final = ("", "#ffffff on #1d4a2e", "#ffffff on #1f6b3d", "#ffffff on #1e8449")
_MOST_LINES: Final = 24  # of the coloured text
_MOST_ITEMS: Final = 4  # of a reason
_BAR: Final = 10  # characters

_Row = tuple[tuple[str, ...], float]  # cells, and their contribution to the log-odds


def show_explanation(
    explanation: "Explanation", console: Console | None = None, background: "Background | None" = None
) -> None:
    """Print the verdict in a sentence, its strongest reasons, the coloured text, and the sums of its log-odds.

    What is behind the verdict, if it is given, follows the reasons.
    """
    console = console or Console(highlight=False)
    verdict = explanation.verdict
    console.print(_headline(verdict))
    if verdict.reason:
        console.print(Text(f"{verdict.reason}; {remedy(verdict.reason)}"))
    if verdict.is_untaught:
        return
    console.print(Text(printable(verdict.sentence)))
    console.print()
    console.print(_reasons(explanation, console.width))
    if background is not None:
        _show_background(background, console)
    for section in explanation.sections:
        if section.name in ("headers", "text") and section.text.strip():
            console.print()
            console.print(Text(section.name, "bold"))
            console.print(Padding(_coloured(section), (0, 0, 0, 2)))
    console.print()
    console.print(_costs(verdict))
    if verdict.user:
        console.print(Text(in_words(verdict)))
    console.print()
    console.print(_sums(explanation))


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


def _reasons(explanation: "Explanation", width: int) -> Table:
    """Return the reasons for the verdict and against it that a page shows, too, with their weightiest items."""
    verdict, shown = explanation.verdict, ShownReasons.of(explanation)
    labels = tuple(verdict.claims)
    own, against = _titles(verdict)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column(own, no_wrap=True)
    table.add_column("sum", justify="right", no_wrap=True)
    table.add_column("lessons", no_wrap=True)
    room = max(width - 2 * 2 - len(" +0.000") - _widest_counts(explanation.reasons, labels), 16)
    for marked in shown.own:
        _add_reason(table, marked.reason, labels, room)
    if shown.against:
        table.add_row(Text(against, "bold"), "", "")
    for marked in shown.against:
        _add_reason(table, marked.reason, labels, room)
    return table


def _titles(verdict: "Verdict") -> tuple[str, str]:
    """Return what stands above the reasons for the verdict, and above those against it."""
    if verdict.label in verdict.claims:
        return f"for {verdict.label}", "against"
    return (f"for {verdict.about}", "against") if is_for(verdict) else (f"against {verdict.about}", "for")


def _widest_counts(reasons: "Iterable[VerdictReason]", labels: tuple[str, ...]) -> int:
    return max((len(_counts(item, labels)) for reason in reasons for item in reason.items), default=0)


def _add_reason(table: Table, reason: "VerdictReason", labels: tuple[str, ...], room: int) -> None:
    colour = FOR if reason.share > 0 else AGAINST
    table.add_row(Text(reason.what, colour), Text(f"{reason.share:+.3f}", colour), "")
    for item in reason.items[:_MOST_ITEMS]:
        text = printable(item.text)
        text = text if len(text) <= room - 2 else f"{text[: room - 3]}…"
        table.add_row(Text(f"  {text}"), f"{item.share:+.3f}", Text(_counts(item, labels), "dim"))


def _counts(item: "Item", labels: tuple[str, ...]) -> str:
    """Return how many lessons of each label had an item, and since when if that is known; empty if none had."""
    if not item.counts:
        return ""
    counts = [f"{n:,} {label}" for n, label in zip(item.counts, labels, strict=True)]
    return ", ".join(filter(None, (*counts, since(item))))


def _show_background(background: "Background", console: Console) -> None:
    """Print the lessons behind a verdict, those most like the message, and what would have changed it."""
    lessons, verdict = background.lessons, background.explanation.verdict
    moved: list[tuple[str, ...]] = [
        (lesson.words, lesson.effect, forget_command(lesson.lesson))
        for lesson in deciding(lessons.influential, verdict)
    ]
    alike: list[tuple[str, ...]] = [(f"{like.alike}  {like.words}",) for like in most_like(lessons.similar)]
    turns: list[tuple[str, ...]] = [(sentence,) for sentence in turn_sentences(background.turns)]
    titles = "single lessons that moved it most", "lessons most like it", "what would have changed it"
    for title, entries in zip(titles, (moved, alike, turns), strict=True):
        if entries:
            _show_list(title, entries, console)


def _show_list(title: str, entries: Sequence[tuple[str, ...]], console: Console) -> None:
    """Print a list, each entry with its notes below; the terminal wraps lines, so that a command can be copied."""
    console.print()
    console.print(Text(title, "bold"))
    for first, *notes in entries:
        console.print(Text(f"  {first}"), soft_wrap=True)
        for note in filter(None, notes):
            console.print(Text(f"      {note}", "dim"), soft_wrap=True)


def _coloured(section: "ColouredSection") -> Text:
    text = Text(overflow="fold")
    for span, level, *_ in section.spans(3):
        lines_shown = "\n".join(printable(line) for line in span.split("\n"))
        text.append(lines_shown, _SHADES_FOR[level] if level > 0 else _SHADES_AGAINST[-level])
    lines = text.split("\n")
    if len(lines) <= _MOST_LINES:
        return text
    return Text("\n").join([*lines[:_MOST_LINES], Text(f"… {len(lines) - _MOST_LINES} more lines", "dim")])
