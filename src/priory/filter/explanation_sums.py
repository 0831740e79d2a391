"""The sums behind a verdict as HTML, for readers who want them: the whole sum, its parts, costs and thresholds."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from priory.filter.explanation import round_to_sum
from priory.filter.sentence import chance
from priory.filter.verdict import digits, in_words, is_readable, sides
from priory.html.builder import Html, element, together

if TYPE_CHECKING:
    from priory.filter.explanation import Explanation
    from priory.filter.verdict import Evidence, Verdict

_MOST_ROWS: Final = 12
_MOST_OF_KIND: Final = 3
_KINDS: Final = ("By kind", "features", "sum", "")
_SECTIONS: Final = ("By section", "sum", "")
_NUMBERS: Final = {"features", "sum"}
_LAST_TICK: Final = 0.9999
_TICKS: Final = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)


def costs_part(verdict: "Verdict", before: float | None, heading: str) -> Html:
    """Return the probability on its scale with the thresholds, and what each verdict may cost; `before` is marked."""
    costs = ", ".join(f"{label} {cost:.2f}" for label, cost in verdict.expected_costs.items())
    return element(
        "section",
        element(heading, f"The chance that it is {verdict.about}"),
        scale(verdict, before),
        element("p", f"Probabilities: {verdict.of_each}.", class_="quiet") if verdict.of_each else "",
        element(
            "p",
            f"It is {chance(verdict.probability)}. {_zones_in_words(verdict)}"
            f"Expected cost of each answer: {costs}. The lowest is given.",
            class_="quiet",
        ),
        class_="card costs",
    )


def _zones_in_words(verdict: "Verdict") -> str:
    """Return from which probability on each verdict is given, as a sentence; empty with more than two labels."""
    zones = _zones(verdict)
    return (
        f"Below {chance(zones[0][2])} it is called {zones[0][0]}"
        + "".join(f", from {chance(start)} on {label}" for label, start, _ in zones[1:])
        + ". "
        if len(zones) > 1
        else ""
    )


def section_sums(explanation: "Explanation") -> dict[str, str]:
    """Return the prior and the sum of each section, rounded so that they add up to the rounded log-odds."""
    verdict = explanation.verdict
    values = [section.total for section in explanation.sections]
    rounded = round_to_sum(verdict.prior, values, verdict.log_odds)
    return dict(zip([name for name, _ in explanation.sums], rounded, strict=True))


def sums_part(explanation: "Explanation", heading: str) -> Html:
    """Return the whole sum, its parts by section and by kind of feature, and the weightiest evidence on both sides."""
    verdict = explanation.verdict
    return element(
        "details",
        element("summary", "The whole sum, term by term"),
        _whole_sum(explanation),
        element("p", in_words(verdict), class_="own") if verdict.user else "",
        _sums(explanation, heading),
        _sides(verdict, heading),
        class_="card sums",
    )


def _whole_sum(explanation: "Explanation") -> Html:
    """Return the sum in one line: prior + sections = log-odds, exact to the last digit shown."""
    parts: list[str] = []
    for name, shown in section_sums(explanation).items():
        parts += [element("span", f"{name} ", element("b", shown), class_="term"), " "]
    return element("p", *parts, "= log-odds ", element("b", f"{explanation.verdict.log_odds:+.3f}"), class_="whole-sum")


def _sums(explanation: "Explanation", heading: str) -> Html:
    """Return the log-odds as a sum twice: by section, and by kind of feature."""
    verdict = explanation.verdict
    kinds = verdict.kinds
    of_kinds = [verdict.prior, *(kind.total for kind in kinds)]
    largest = max(abs(value) for value in (*of_kinds, *(value for _, value in explanation.sums))) or 1.0
    top = _weightiest_of_kinds(verdict.evidence)
    total = f"{verdict.log_odds:+.3f}"
    by_section = [
        _row((name, shown, _bar(value, largest)))
        for (name, value), shown in zip(explanation.sums, section_sums(explanation).values(), strict=True)
    ]
    kind_sums = round_to_sum(verdict.prior, of_kinds[1:], verdict.log_odds)
    names = [("prior", ""), *((kind.name, f"{kind.n_features:,}") for kind in kinds)]
    by_kind = [
        _row((_name_cell(name, top.get(name, ())), n, shown, _bar(value, largest)))
        for (name, n), shown, value in zip(names, kind_sums, of_kinds, strict=True)
    ]
    return together(
        element(heading, "Where the log-odds come from"),
        element(
            "div",
            _table(_KINDS, [*by_kind, _row(("log-odds", "", total, ""), "sum")]),
            _table(_SECTIONS, [*by_section, _row(("log-odds", total, ""), "sum")]),
            class_="sides",
        ),
    )


def _weightiest_of_kinds(evidence: "Iterable[Evidence]") -> dict[str, list[str]]:
    weightiest: dict[str, list[str]] = {}
    for feature, term, _ in evidence:
        kind, _, value = feature.partition(":")
        names = weightiest.setdefault(kind, [])
        if len(names) < _MOST_OF_KIND and is_readable(kind):
            names.append(f"{value} {term:+.3f}")
    return weightiest


def _name_cell(name: str, weightiest: Sequence[str]) -> Html:
    return together(name, element("span", ", ".join(weightiest), class_="words") if weightiest else "")


def _sides(verdict: "Verdict", heading: str) -> Html:
    """Return the weightiest evidence that a person can read, for and against, as bars."""
    evidence = verdict.readable
    largest = max((abs(e.term) for e in evidence), default=0.0) or 1.0
    towards, away = sides(evidence, _MOST_ROWS)
    return together(
        element(heading, "The weightiest evidence"),
        element(
            "div", _side(f"For {verdict.about}", towards, largest), _side("Against", away, largest), class_="sides"
        ),
    )


def _side(title: str, evidence: "list[Evidence]", largest: float) -> Html:
    if not evidence:
        return _table((title, "", ""), [_row(("nothing that a person can read", "", ""))])
    return _table((title, "", ""), [_row((e.feature, f"{e.term:+.3f}", _bar(e.term, largest))) for e in evidence])


def _table(titles: Sequence[str], rows: Iterable[Html]) -> Html:
    head = [element("th", title, class_="n" if title in _NUMBERS else None, scope="col") for title in titles]
    table = element("table", element("thead", element("tr", *head)), element("tbody", *rows))
    return element("div", table)


def _row(cells: Sequence[str], class_: str | None = None) -> Html:
    """Return a table row of a name, numbers and bars."""
    name, *rest = cells
    numbers = [element("td", cell, class_=_kind_of(cell)) for cell in rest]
    return element("tr", element("th", name, scope="row"), *numbers, class_=class_)


def _kind_of(cell: str) -> str | None:
    return "n" if re.fullmatch(r"[+-]?[\d,.]+", cell) else None


def _bar(value: float, largest: float) -> Html:
    side = "for" if value > 0 else "against"
    bar = element("rect", width=_percent(abs(value) / largest), height="10", class_=side)
    return element("svg", bar, class_="bar-of", width="100%", height="10", aria_hidden="true")


def tone(verdict: "Verdict", label: str) -> str:
    """Return the colour class of a label: *for* if the verdict is about it, *against* if not, *unsure* if neither."""
    if label not in verdict.claims:
        return "unsure"
    return "for" if label == verdict.about else "against"


def scale(verdict: "Verdict", before: float | None) -> Html:
    """Return the probability and the thresholds as SVG, on a scale of log-odds, which has room near 0 and 1."""
    zones = _zones(verdict)
    words = ", ".join(f"{label} from {start:.2f}" for label, start, _ in zones)
    parts: list[Html] = []
    for label, start, end in zones:
        x, width = _place(start), _place(end) - _place(start)
        parts.append(
            element("rect", x=_percent(x), y="22", width=_percent(width), height="12", class_=tone(verdict, label))
        )
        parts.append(element("text", label, x=_percent(x + width / 2), y="9", class_="zone"))
    for tick in _TICKS:
        parts.append(element("line", x1=_percent(_place(tick)), x2=_percent(_place(tick)), y1="34", y2="39"))
        parts.append(element("text", f"{100 * tick:g} %", x=_percent(_place(tick)), y="52"))
    if before is not None:
        parts.append(_marker(before, "before"))
    parts.append(_marker(verdict.probability, "now"))
    moved = "" if before is None else f"; before, it was {digits(before)}"
    label = f"Probability of {verdict.about}: {digits(verdict.probability)}{moved}. Verdicts: {words}."
    return element("svg", *parts, class_="scale", width="100%", height="58", role="img", aria_label=label)


def _zones(verdict: "Verdict") -> list[tuple[str, float, float]]:
    """Return each label with its range of probability; with more than two labels, one range: all of them decide."""
    if len(verdict.claims) != 2:
        return [(verdict.about, 0.0, 1.0)]
    (other,) = (label for label in verdict.claims if label != verdict.about)
    starts = {other: 0.0, **verdict.thresholds}
    ends = [*list(starts.values())[1:], 1.0]
    return [(label, start, end) for (label, start), end in zip(starts.items(), ends, strict=True) if start < end]


def _place(probability: float) -> float:
    """Return the position of a probability on the scale, from 0 to 1."""
    largest = math.log(_LAST_TICK / (1 - _LAST_TICK))
    if not 1 - _LAST_TICK < probability < _LAST_TICK:
        return float(probability >= 0.5)
    return 0.5 + math.log(probability / (1 - probability)) / (2 * largest)


def _percent(share: float) -> str:
    """Format a share as a percentage for an SVG attribute."""
    return f"{100 * share:.2f}%"


def _marker(probability: float, which: str) -> Html:
    arrow = element("path", d="M0 24 l-7 -11 h14 z M0 20 v16", class_=f"marker {which}")
    return element("svg", arrow, x=_percent(_place(probability)), overflow="visible", data_marker=which)
