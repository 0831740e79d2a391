"""An explanation as HTML: a file of its own, or part of the daemon's page.

Every byte of the message is escaped, so nothing in it is markup, runs or loads. Its text is exactly what the filter
reads: a character that is invisible, or that would reverse the order of others, is kept, but alone in an element that
marks it. There are no inline styles, so a strict content security policy holds.
"""

import math
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from priory.filter.explanation import SHADES, round_to_sum
from priory.filter.verdict import digits, in_words, is_readable, sides
from priory.html.builder import Html, element, exact, together

if TYPE_CHECKING:
    from priory.filter.explanation import ColouredSection, Explanation, Span
    from priory.filter.reasons import VerdictReason
    from priory.filter.verdict import Evidence, Verdict


MOST_SPANS: Final = 3000  #: spans of a section that are coloured; a browser has to lay out each
_MOST_ROWS: Final = 12
_LONG, _MOST_LINES = 600, 15  # characters and lines of a section that need no box of their own
_MOST_OF_KIND: Final = 3
_MOST_REASONS: Final = 3
_ALONE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  background: var(--ground); color: var(--ink); }
h1 { font-size: 1.5rem; line-height: 1.3; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.75rem; }
.quiet { color: var(--muted); font-weight: 400; }
"""
_KINDS: Final = ("By kind", "features", "sum", "")
_SECTIONS: Final = ("By section", "sum", "")
_NUMBERS: Final = {"features", "sum"}


def page(explanation: "Explanation") -> str:
    """Return the explanation as a complete page, without scripts or external resources."""
    verdict = explanation.verdict
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{verdict.label} {digits(verdict.probability)}"),
        element(
            "style",
            Html(_read_asset("priory.html", "palette.css") + _ALONE + _read_asset("priory.filter", "explanation.css")),
        ),
    )
    body = element("body", element("main", headline(verdict), *reasons(explanation)))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _read_asset(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")


def headline(verdict: "Verdict", before: float | None = None, heading: str = "h1") -> Html:
    """Return the verdict in words and on the scale of probability; `before` marks an earlier probability."""
    text = f"{verdict.about} with probability {digits(verdict.probability)}"
    costs = ", ".join(f"{label} {cost:.2f}" for label, cost in verdict.expected_costs.items())
    return together(
        element(heading, element("span", verdict.label, class_=f"said {tone(verdict, verdict.label)}"), f" {text}"),
        element("p", verdict.reason, class_="reason") if verdict.reason else "",
        element("p", in_words(verdict), class_="own") if verdict.user and not verdict.is_untaught else "",
        scale(verdict, before),
        element("p", f"Probabilities: {verdict.of_each}.", class_="quiet") if verdict.of_each else "",
        element(
            "p",
            f"Expected cost of saying: {costs}." + (f" Thresholds: {verdict.steps}." if verdict.steps else ""),
            class_="quiet",
        ),
    )


def reasons(explanation: "Explanation", heading: str = "h2") -> list[Html]:
    """Return the reasons in words, the sums of the log-odds, the evidence on both sides, and the coloured message."""
    verdict = explanation.verdict
    shown = [section for section in explanation.sections if section.text.strip()]
    if verdict.is_untaught:
        return [_section(section, f"{section.total:+.3f}", heading) for section in shown]
    sums = round_to_sum(verdict.prior, [section.total for section in explanation.sections], verdict.log_odds)
    named = dict(zip([name for name, _ in explanation.sums], sums, strict=True))
    return [
        element("p", verdict.sentence, class_="sentence"),
        _strongest(explanation, heading),
        _sums(explanation, sums, heading),
        _sides(verdict, heading),
        element("p", _legend(verdict.about), class_="legend"),
        *(_section(section, named[section.name], heading) for section in shown),
        _whole_sum(named, verdict.log_odds),
    ]


def _strongest(explanation: "Explanation", heading: str) -> Html:
    """Return the strongest reasons for and against with their weightiest items, and how many lessons had these."""
    verdict, reasons = explanation.verdict, explanation.reasons
    sides = [[reason for reason in reasons if (reason.share > 0) is is_for][:_MOST_REASONS] for is_for in (True, False)]
    largest = max((abs(reason.share) for side in sides for reason in side), default=0.0) or 1.0
    tables = [
        _table((title, "lessons", "sum", ""), _reason_rows(side, tuple(verdict.claims), largest))
        for title, side in zip((f"For {verdict.about}", "Against"), sides, strict=True)
    ]
    return together(element(heading, "The strongest reasons"), element("div", *tables, class_="sides"))


def _reason_rows(reasons: "Iterable[VerdictReason]", labels: tuple[str, ...], largest: float) -> list[Html]:
    rows = []
    for reason in reasons:
        rows.append(_row((reason.what, "", f"{reason.share:+.3f}", _bar(reason.share, largest)), "sum"))
        for item in reason.items[:_MOST_REASONS]:
            counts = ", ".join(f"{n:,} {label}" for n, label in zip(item.counts, labels, strict=False))
            rows.append(_row((item.text, counts, f"{item.share:+.3f}", _bar(item.share, largest))))
    return rows


def _legend(about: str) -> Html:
    return together(
        element("span", "Orange", class_="p4"),
        f" adds to {about}, ",
        element("span", "blue", class_="m4"),
        " takes away. A dot in a box is a character that cannot be seen.",
    )


def _sums(explanation: "Explanation", section_sums: list[str], heading: str) -> Html:
    """Return the log-odds as a sum twice: by section, and by kind of feature."""
    verdict = explanation.verdict
    kinds = verdict.kinds
    of_kinds = [verdict.prior, *(kind.total for kind in kinds)]
    largest = max(abs(value) for value in (*of_kinds, *(value for _, value in explanation.sums))) or 1.0
    top = _weightiest_of_kinds(verdict.evidence)
    total = f"{verdict.log_odds:+.3f}"
    by_section = [
        _row((name, shown, _bar(value, largest)))
        for (name, value), shown in zip(explanation.sums, section_sums, strict=True)
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


def _section(section: "ColouredSection", shown_sum: str, heading: str) -> Html:
    spans = list(section.spans(SHADES))
    coloured, rest = spans[:MOST_SPANS], spans[MOST_SPANS:]
    text = [*map(_span, coloured), *(exact(span.text) for span in rest)]
    is_long = len(section.text) > _LONG or section.text.count("\n") > _MOST_LINES
    # A long section scrolls in its own box, which must be focusable; browsers drop a line feed that comes first.
    scrolling = {"class_": "long", "tabindex": "0"} if is_long else {}
    box = element("pre", Html("\n"), *text, dir="auto", **scrolling)
    left = f"Only the first {MOST_SPANS:,} pieces are coloured; the rest adds {sum(s.total for s in rest):+.3f}."
    return element(
        "section",
        element(heading, section.name.capitalize(), " ", element("span", shown_sum, class_="quiet n")),
        box,
        element("p", left, class_="quiet") if rest else "",
        class_="section",
        data_section=section.name,
    )


def _span(span: "Span") -> Html:
    text, side = exact(span.text), "p" if span.shade > 0 else "m"
    if not span.shade:
        return text
    return element("span", text, class_=f"{side}{abs(span.shade)}", title=f"{span.total:+.3f}")


def _whole_sum(sums: dict[str, str], log_odds: float) -> Html:
    """Return the sum in one line: prior + sections = log-odds, exact to the last digit shown."""
    parts: list[str] = []
    for name, shown in sums.items():
        parts += [element("span", f"{name} ", element("b", shown), class_="term"), " "]
    return element("p", *parts, "= log-odds ", element("b", f"{log_odds:+.3f}"), class_="whole-sum")


_LAST_TICK: Final = 0.9999
_TICKS: Final = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)


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
        parts.append(element("text", label, x=_percent(x + width / 2), y="14", class_="zone"))
    for tick in _TICKS:
        parts.append(element("line", x1=_percent(_place(tick)), x2=_percent(_place(tick)), y1="34", y2="39"))
        parts.append(element("text", f"{tick:g}", x=_percent(_place(tick)), y="52"))
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
