"""The static parts of a page: figures of all models, comparisons, worst errors, feature weights."""

import math
from collections.abc import Collection, Iterable, Sequence

from priory.html.builder import Html, element, scroll_box, table, together
from priory.lab.measures import Disagreement
from priory.lab.report.numbers import UNKNOWN, digits, exact_percent, figure, fixed, memory, p_value, seconds
from priory.lab.report.report import Disagreements, JudgedRun, ModelComparison, Report
from priory.lab.run import Mistake, Weight

N_DISAGREEMENTS = 50
N_WEIGHTS = 15
MINUS = "−"


def captioned_table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, words: Collection[int] = (), name: str = ""
) -> Html:
    """Return a table in a box that scrolls by itself; the first cell of each row names the row.

    `words` are the columns aligned as words, the others are numbers; `name` is for screen readers.
    """
    classes = ["word" if number in words else None for number in range(len(head))]
    return scroll_box(table(head, rows, caption=caption, classes=classes), name or caption)


def figures_table(report: Report) -> Html:
    """Return the figures of the models with intervals, their training errors, times and memory."""
    names = list(report.runs[0].summary.figures)
    train = any(judged.run.train_error is not None for judged in report.runs)
    head = ["model", *names, *(["train error"] if train else []), "learning", "predicting", "memory"]
    return captioned_table(
        "With 95 % intervals",
        head,
        (_figures_row(judged, names, train) for judged in report.runs),
        name="Figures of each model",
    )


def _figures_row(judged: JudgedRun, names: Sequence[str], train: bool) -> list[str]:
    run = judged.run
    error = UNKNOWN if run.train_error is None else exact_percent(run.train_error)
    cells = [_with_interval(*figure(judged.summary.figures[name])) for name in names]
    return [
        run.model,
        *cells,
        *([error] if train else []),
        seconds(run.seconds_learning),
        seconds(run.seconds_predicting),
        memory(run.peak_bytes),
    ]


def _with_interval(estimate: str, span: str) -> Html:
    shown, around = (text.replace("-", MINUS) for text in (estimate, span))
    return together(element("span", shown, class_="estimate"), element("span", around, class_="span"))


def bars(
    caption: str,
    rows: Sequence[tuple[str, float]],
    greatest: float,
    *,
    messages: Sequence[int] = (),
    side: str = "both",
) -> Html:
    """Return features with bars: to the right for the second class, to the left for the first; or all one way."""
    head = ["feature", "log-odds", *(["messages"] if messages else [])]
    table_rows: list[list[str]] = [[element("code", feature), _bar(term, greatest, side)] for feature, term in rows]
    for row, n in zip(table_rows, messages, strict=False):
        row.append(f"{n:,}")
    return captioned_table(caption, head, table_rows)


def _bar(term: float, greatest: float, side: str) -> Html:
    length = 100 * abs(term) / greatest if greatest else 0.0
    kind = f"bar {side} {'for' if term > 0 else 'against'}"
    number = element("span", f"{term:+.2f}".replace("-", MINUS))
    return element("span", element("span", class_=kind, style=f"--length:{length:.2f}%"), number, class_="adds")


def mistakes_part(judged: JudgedRun) -> Html:
    """Return the worst errors of a model, with reasons if they are known."""
    if not judged.mistakes:
        return element("p", "No message was misjudged.", class_="quiet")
    return element("ol", *(_mistake(judged, of) for of in judged.mistakes), class_="mistakes")


def _mistake(judged: JudgedRun, of: Mistake) -> Html:
    name = element("code", judged.run.predictions.names[of.number], class_="name")
    line = together(name, element("span", judged.words(of), class_="verdict"))
    if not of.reasons:
        return element("li", element("p", line))
    rows = [("prior", of.prior), *((reason.feature, reason.term) for reason in of.reasons)]
    greatest = max(abs(term) for _, term in rows)
    caption = f"What spoke for {of.about} (+) and against it (−)" if of.about else "Reasons"
    return element("li", element("details", element("summary", line), bars(caption, rows, greatest)))


def weights_part(judged: JudgedRun) -> Html:
    """Return the features with the largest weights, for the second class and for the first."""
    weights = [weight for weight in judged.run.weights if math.isfinite(weight.mean_term)]
    if not weights:
        return element("p", f"{judged.run.model} has no weights of features.", class_="quiet")
    by_term = sorted(weights, key=lambda weight: weight.mean_term)
    against = [weight for weight in by_term[:N_WEIGHTS] if weight.mean_term < 0]
    in_favour = [weight for weight in by_term[: -N_WEIGHTS - 1 : -1] if weight.mean_term > 0]
    greatest = max((abs(weight.mean_term) for weight in weights), default=0.0)
    classes = judged.run.predictions.classes
    sides = [(in_favour, classes[-1]), (against, classes[0] if len(classes) == 2 else "the others")]
    return element("div", *(_weights(of, name, greatest) for of, name in sides if of), class_="pair")


def _weights(weights: Sequence[Weight], name: str, greatest: float) -> Html:
    rows = [(weight.feature, weight.mean_term) for weight in weights]
    counts = [weight.n_examples for weight in weights]
    return bars(f"Features that speak for {name}", rows, greatest, messages=counts, side="one")


def comparisons_table(comparisons: Sequence[ModelComparison]) -> Html:
    """Return the differences between models, with intervals and p-values."""
    head = ["models", "figure", "first", "second", "difference", "p-value", "test"]
    rows = map(_comparison, comparisons)
    return captioned_table("Differences on the same messages, first less second", head, rows, words=(0, 1, 6))


def _comparison(of: ModelComparison) -> list[str]:
    places = digits(of.result.difference)
    values = [fixed(of.result.one, places), fixed(of.result.two, places)]
    return [
        f"{of.one} and {of.two}",
        of.figure,
        *values,
        _with_interval(*figure(of.result.difference)),
        p_value(of.result.p_value),
        of.result.test,
    ]


def disagreements_table(pair: Disagreements, classes: Sequence[str]) -> Html:
    """Return the messages about which two models differ."""
    title = f"{pair.one} and {pair.two} disagree about {len(pair.messages):,} messages"
    if len(pair.messages) > N_DISAGREEMENTS:
        title += f"; here are the {N_DISAGREEMENTS} with the greatest difference"
    about = classes[1] if len(classes) == 2 else "the most probable class"
    head = ["message", "is", f"{pair.one} says", f"{pair.two} says"]
    rows = map(_disagreement, pair.messages[:N_DISAGREEMENTS])
    content = captioned_table(f"With the probability of {about}", head, rows, words=(0, 1, 2, 3), name=title)
    return element("details", element("summary", title), content)


def _disagreement(of: Disagreement) -> list[str]:
    one, two = (
        f"{decision} ({exact_percent(p[1] if len(p) == 2 else max(p))})"
        for decision, p in ((of.said_one, of.one), (of.said_two, of.two))
    )
    return [element("code", of.name), of.truth, one, two]
