"""A report as text for the terminal: figures, trust, errors and feature weights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from priory.decision import Costs
from priory.html.text import printable
from priory.lab.evaluation.learning_curve import LearningCurve
from priory.lab.measures.drift import drift
from priory.lab.report.numbers import exact_percent, figure, memory, p_value, seconds
from priory.lab.report.report import JudgedRun, ModelComparison, Report
from priory.lab.run import Mistake

_FOR: Final = "#b8480f"
_AGAINST: Final = "#2563a8"
_BAR: Final = 20
_FIRST_COLUMN: Final = 20
_COLUMN: Final = 26
_NARROW: Final = 9
_CHOSEN_BY: Final = ("accuracy %", "cost per message", "1-ROCA%", "h=0.1%")
_N_MISTAKES: Final = 5
_N_REASONS: Final = 4
_N_WEIGHTS: Final = 8
_N_DISAGREEMENTS: Final = 5
_HEIGHTS: Final = "▁▂▃▄▅▆▇█"


def text(report: Report) -> "_ReportText":
    """Return a report for printing with rich, as wide as the terminal; colours appear only in a terminal.

    >>> from priory.decision import Costs
    >>> from priory.lab.predictions import Predictions
    >>> from priory.lab.run import Run
    >>> seen = Predictions.of(["ham", "spam"], ["ham", "ham", "spam"], [[0.99, 0.01], [0.7, 0.3], [0.01, 0.99]])
    >>> report = Report.of([Run("BernoulliNB", seen, "one look")], Costs(), title="Mail of 2024")
    >>> Console(width=80).print(text(report))                                      # doctest: +ELLIPSIS
    Mail of 2024
    BernoulliNB · 3 messages: 2 ham, 1 spam · one look
    ...
    """
    return _ReportText(report)


@dataclass(frozen=True, slots=True, eq=False)
class _ReportText:
    report: Report

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        for number, part in enumerate(_parts(self.report, options.max_width)):
            if number:
                yield ""
            yield part


def _parts(report: Report, width: int) -> Iterator[RenderableType]:
    yield _headline(report)
    if report.lines:
        yield Text("\n").join(Text(f"! {printable(line)}", "bold yellow") for line in report.lines)
    first, n_fit = report.runs[0], max(1, (width - _FIRST_COLUMN) // _COLUMN)
    if len(report.runs) > n_fit:
        yield _overview(report.runs, width)
        yield _figures([first])
    else:
        yield _figures(report.runs)
    yield _confusion(first)
    if len(first.drift) > 1:
        yield _drift(first)
    yield from (_quarters(judged, report.costs) for judged in report.runs if judged.run.in_order)
    for name, curve in report.learning_curves:
        yield _learning_curve(name, curve)
    for one, several in groupby(report.comparisons, key=lambda compared: compared.one):
        yield _comparisons(one, list(several))
    yield from _disagreements(report)
    if first.mistakes:
        yield _mistakes(first, width)
    if first.run.weights:
        yield _weights(first, width)


def _headline(report: Report) -> Text:
    return Text.assemble((printable(report.title), "bold"), "\n", (printable(report.subtitle), "dim"))


def _with_title(title: str, table: Table) -> Group:
    return Group(Text(printable(title), "bold"), table)


def _plain_table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for number, column in enumerate(columns):
        table.add_column(Text(printable(column)), justify="right" if number else "left", overflow="fold")
    return table


def _overview(runs: Sequence[JudgedRun], width: int) -> Group:
    """Return the main figures of all models, as many as fit; the page and the JSON have all of them."""
    n_fit = (width - _FIRST_COLUMN - 2 * _NARROW) // _COLUMN
    chosen = [name for name in _CHOSEN_BY if name in runs[0].summary.figures][: max(1, n_fit)]
    table = _plain_table("", *chosen, "time", "memory")
    for judged in runs:
        figures = (_cell(*figure(judged.summary.figures[name])) for name in chosen)
        time = seconds(judged.run.seconds_learning + judged.run.seconds_predicting)
        table.add_row(Text(printable(judged.run.model)), *figures, time, memory(judged.run.peak_bytes))
    return _with_title("Models, with 95 % intervals", table)


def _figures(runs: Sequence[JudgedRun]) -> Group:
    table = _plain_table("", *(judged.run.model for judged in runs))
    for name in runs[0].summary.figures:
        table.add_row(Text(printable(name)), *(_cell(*figure(judged.summary.figures[name])) for judged in runs))
    if any(judged.run.train_error is not None for judged in runs):
        errors = [judged.run.train_error for judged in runs]
        table.add_row("train error", *("–" if error is None else exact_percent(error) for error in errors))
    table.add_row("learning", *(seconds(judged.run.seconds_learning) for judged in runs))
    table.add_row("predicting", *(seconds(judged.run.seconds_predicting) for judged in runs))
    table.add_row("memory", *(memory(judged.run.peak_bytes) for judged in runs))
    return _with_title("Figures, with 95 % intervals", table)


def _cell(estimate: str, span: str) -> Text:
    return Text.assemble(estimate, (f" ({span})" if span else "", "dim"))


def _confusion(judged: JudgedRun) -> Group:
    matrix = judged.summary.confusion
    table = _plain_table("is, said", *matrix.said)
    for name, counts, shares in zip(matrix.classes, matrix.counts, matrix.by_row, strict=True):
        cells = (_cell(f"{n:,}", exact_percent(float(share))) for n, share in zip(counts, shares, strict=True))
        table.add_row(Text(printable(name), "bold"), *cells)
    return _with_title(f"Confusion matrix of {judged.run.model}", table)


def _drift(judged: JudgedRun) -> Text:
    """Return the errors over the order of messages, as a row of small bars."""
    wrong = [window.wrong.estimate for window in judged.drift]
    return Text.assemble(
        ("Errors over the order of messages  ", "bold"), sparkline(wrong), f"  0 to {exact_percent(max(wrong))}"
    )


def _quarters(judged: JudgedRun, costs: Costs) -> Group:
    """Return what happened in each quarter of the messages: mistakes, costs, and how well the probabilities fit."""
    quarters, classes = drift(judged.run.predictions, costs, n_windows=4), judged.run.predictions.classes
    rates = [f"{name} {word} %" for name in classes for word in ("wrong", "unsure")]
    table = _plain_table("from", *rates, "cost", f"{classes[-1]} mean p", "share", "ECE %")
    for quarter in quarters:
        n_by_class, unsure = quarter.counts.sum(axis=1).tolist(), quarter.counts[:, -1].tolist()
        right = quarter.counts.diagonal().tolist()
        shares = [
            f"{100 * k / n:.2f}" if n else "–"
            for n, n_right, n_unsure in zip(n_by_class, right, unsure, strict=True)
            for k in (n - n_right - n_unsure, n_unsure)
        ]
        fit = (
            f"{quarter.mean_probability[-1]:.3f}",
            f"{quarter.shares[-1]:.3f}",
            f"{100 * quarter.calibration_error:.2f}",
        )
        table.add_row(f"{quarter.begin + 1:,}", *shares, f"{quarter.cost:.3f}", *fit)
    return _with_title(f"{judged.run.model}, quarter by quarter in order of arrival", table)


def _learning_curve(name: str, curve: LearningCurve) -> Group:
    table = _plain_table("learned", "training error %", "validation error %", "gap %")
    for point in curve.points:
        errors = (_cell(*figure(error.times(100))) for error in (point.train, point.validation, point.gap))
        table.add_row(f"{point.n_examples:,}", *errors)
    return Group(_with_title(f"Learning curve of {name}", table), Text(printable(curve.words)))


def sparkline(values: Sequence[float]) -> str:
    """Return numbers of 0 or more as small bars.

    >>> sparkline([0, 1, 2, 4])
    '▁▃▅█'
    """
    greatest = max(values) or 1
    return "".join(_HEIGHTS[round(value / greatest * (len(_HEIGHTS) - 1))] for value in values)


def _comparisons(one: str, several: Sequence[ModelComparison]) -> Group:
    table = _plain_table("less that of", "figure", "difference", "p-value")
    for of in several:
        table.add_row(
            Text(printable(of.two)),
            of.figure,
            _cell(*figure(of.result.difference)),
            p_value(of.result.p_value),
        )
    tests = " and ".join(dict.fromkeys(of.result.test for of in several))
    return _with_title(f"Comparisons of {one}, by {tests}", table)


def _disagreements(report: Report) -> Iterator[Group]:
    """Return the disagreements of the first two models; the page has all other pairs."""
    for pair in report.disagreements[:1]:
        if pair.messages:
            table = _plain_table("message", "is", pair.one, pair.two)
            for of in pair.messages[:_N_DISAGREEMENTS]:
                table.add_row(*(Text(printable(cell)) for cell in (of.name, of.truth, of.said_one, of.said_two)))
            yield _with_title(
                f"{pair.one} and {pair.two} disagree about {len(pair.messages):,} messages, such as", table
            )


def _mistakes(judged: JudgedRun, width: int) -> RenderableType:
    lines = [Text("Worst errors", "bold")]
    for of in judged.mistakes[:_N_MISTAKES]:
        lines += _mistake(judged, of, width)
    return Text("\n").join(lines)


def _mistake(judged: JudgedRun, of: Mistake, width: int) -> Iterator[Text]:
    about = f", for {of.about}:" if of.about and len(judged.run.predictions.classes) > 2 else ""
    yield Text(printable(f"{judged.run.predictions.names[of.number]}  {judged.words(of)}{about}"))
    for reason in of.reasons[:_N_REASONS]:
        yield Text.assemble("  ", _term(reason.term), "  ", shorten_name(reason.feature, width - 12))


def _term(term: float) -> tuple[str, str]:
    return f"{term:+7.2f}", _FOR if term > 0 else _AGAINST


def shorten_name(name: str, room: int) -> str:
    """Return a name that is safe to print, cut to the available width."""
    shown = printable(name)
    return shown if len(shown) <= room else f"{shown[: max(room, 2) - 1]}…"


def _weights(judged: JudgedRun, width: int) -> Group:
    table = Table.grid(padding=(0, 2))
    by_term = sorted(judged.run.weights, key=lambda weight: -weight.mean_term)
    shown = dict.fromkeys([*by_term[:_N_WEIGHTS], *by_term[-_N_WEIGHTS:]])
    greatest = max(abs(weight.mean_term) for weight in shown) or 1
    for weight in shown:
        bar = Text("█" * round(_BAR * abs(weight.mean_term) / greatest), _term(weight.mean_term)[1])
        name = shorten_name(weight.feature, width - _BAR - 24)
        table.add_row(Text(name), Text(*_term(weight.mean_term)), bar, f"{weight.n_examples:,} messages")
    return _with_title("Feature weights", table)
