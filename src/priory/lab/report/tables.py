"""The parts of a page that do not move: figures of all models, comparisons, worst errors, weights."""

import math
from collections.abc import Collection, Iterable, Sequence

from priory.lab.measures import Disagreement
from priory.lab.report.compared import Compared, Pair
from priory.lab.report.numbers import UNKNOWN, digits, figure, fixed, memory, p_value, percent, seconds
from priory.lab.report.report import Judged, Report
from priory.lab.run import Mistake, Weight
from priory.markup import Html, element, together

N_DISAGREEMENTS = 50
N_WEIGHTS = 15
MINUS = "−"


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, words: Collection[int] = (), name: str = ""
) -> Html:
    """Return a table in a box that scrolls by itself; the first cell of each row names the row.

    `words` are the columns to align like words, others are numbers; `name` is for those who hear the page.
    """
    kinds = ["word" if number in words else None for number in range(len(head))]
    header = element(
        "tr", *(element("th", cell, scope="col", class_=kind) for cell, kind in zip(head, kinds, strict=True))
    )
    body = [
        element(
            "tr",
            element("th", first, scope="row"),
            *(element("td", cell, class_=kind) for cell, kind in zip(rest, kinds[1:], strict=True)),
        )
        for first, *rest in rows
    ]
    made = element("table", element("caption", caption), element("thead", header), element("tbody", *body))
    return element("div", made, class_="scroll", tabindex="0", role="region", aria_label=name or caption)


def figures_table(report: Report) -> Html:
    """Models and their figures with intervals, what they took, and how they did on what they had learned."""
    names = list(report.runs[0].summary.figures)
    train = any(judged.run.train_error is not None for judged in report.runs)
    head = ["model", *names, *(["train error"] if train else []), "learning", "predicting", "memory"]
    return table(
        "With 95 % intervals",
        head,
        (_figures_row(judged, names, train) for judged in report.runs),
        name="Figures of each model",
    )


def _figures_row(judged: Judged, names: Sequence[str], train: bool) -> list[str]:
    run = judged.run
    error = UNKNOWN if run.train_error is None else percent(run.train_error)
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
    """Return features with bars, which go right for the second class and left for the first; or all one way."""
    head = ["feature", "log-odds", *(["messages"] if messages else [])]
    made: list[list[str]] = [[element("code", feature), _bar(term, greatest, side)] for feature, term in rows]
    for row, n in zip(made, messages, strict=False):
        row.append(f"{n:,}")
    return table(caption, head, made)


def _bar(term: float, greatest: float, side: str) -> Html:
    length = 100 * abs(term) / greatest if greatest else 0.0
    kind = f"bar {side} {'for' if term > 0 else 'against'}"
    number = element("span", f"{term:+.2f}".replace("-", MINUS))
    return element("span", element("span", class_=kind, style=f"--length:{length:.2f}%"), number, class_="adds")


def mistakes_part(judged: Judged) -> Html:
    """The worst errors of a model, each with the reasons that are known."""
    if not judged.mistakes:
        return element("p", "No message was misjudged.", class_="quiet")
    return element("ol", *(_mistake(judged, of) for of in judged.mistakes), class_="mistakes")


def _mistake(judged: Judged, of: Mistake) -> Html:
    name = element("code", judged.run.predictions.names[of.number], class_="name")
    line = together(name, element("span", judged.words(of), class_="verdict"))
    if not of.reasons:
        return element("li", element("p", line))
    rows = [("prior", of.prior), *((reason.feature, reason.term) for reason in of.reasons)]
    greatest = max(abs(term) for _, term in rows)
    caption = f"What spoke for {of.about} (+) and against it (−)" if of.about else "Reasons"
    return element("li", element("details", element("summary", line), bars(caption, rows, greatest)))


def weights_part(judged: Judged) -> Html:
    """The features that weigh most, for the second class and for the first."""
    weights = [weight for weight in judged.run.weights if math.isfinite(weight.mean_term)]
    if not weights:
        return element("p", f"{judged.run.model} does not tell what its features weigh.", class_="quiet")
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


def comparisons_table(comparisons: Sequence[Compared]) -> Html:
    """The differences between models, with intervals, and how probable one as great is among equals."""
    head = ["models", "figure", "first", "second", "difference", "p-value", "test"]
    rows = map(_comparison, comparisons)
    return table("Differences on the same messages, first less second", head, rows, words=(0, 1, 6))


def _comparison(of: Compared) -> list[str]:
    places = digits(of.found.difference)
    values = [fixed(of.found.one, places), fixed(of.found.two, places)]
    return [
        f"{of.one} and {of.two}",
        of.figure,
        *values,
        _with_interval(*figure(of.found.difference)),
        p_value(of.found.p_value),
        of.found.test,
    ]


def disagreements_table(pair: Pair, classes: Sequence[str]) -> Html:
    """The messages about which two models say different things."""
    title = f"{pair.one} and {pair.two} disagree about {len(pair.found):,} messages"
    if len(pair.found) > N_DISAGREEMENTS:
        title += f"; here are the {N_DISAGREEMENTS} with the greatest difference"
    about = classes[1] if len(classes) == 2 else "the most probable class"
    head = ["message", "is", f"{pair.one} says", f"{pair.two} says"]
    rows = map(_disagreement, pair.found[:N_DISAGREEMENTS])
    made = table(f"With the probability of {about}", head, rows, words=(0, 1, 2, 3), name=title)
    return element("details", element("summary", title), made)


def _disagreement(of: Disagreement) -> list[str]:
    one, two = (
        f"{said} ({percent(p[1] if len(p) == 2 else max(p))})"
        for said, p in ((of.said_one, of.one), (of.said_two, of.two))
    )
    return [element("code", of.name), of.truth, one, two]
