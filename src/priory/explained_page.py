"""An explanation as HTML, for who looks at it in a browser: alone in a file, or within the daemon's page.

Every byte of the message is escaped, so nothing in it is markup, runs or loads; and its text is exactly what the filter
reads: a character that cannot be seen, or that would turn the order of others round, is kept, but alone in an element
that marks it. Nothing is styled in place: a strict content security policy holds.
"""

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from priory.explanation import SHADES, added_up
from priory.markup import Html, element, exact, together
from priory.scale import percent, scale, tone
from priory.verdict import digits, in_words, is_readable

if TYPE_CHECKING:
    from priory.explanation import Coloured, Explanation, Span
    from priory.verdict import Evidence, Verdict

MOST_SPANS: Final = 3000  #: of a section that are coloured; a browser has to lay out each
_MOST_ROWS: Final = 12
_LONG, _MOST_LINES = 600, 15  # characters and lines of a section that need no box of their own
_MOST_OF_KIND: Final = 3
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
    """Return the page that stands alone: no script, nothing loaded."""
    verdict = explanation.verdict
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{verdict.label} {digits(verdict.probability)}"),
        element("style", Html(_styled("palette.css") + _ALONE + _styled("explained.css"))),
    )
    body = element("body", element("main", headline(verdict), *reasons(explanation)))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _styled(name: str) -> str:
    return files("priory").joinpath(name).read_text(encoding="utf-8")


def headline(verdict: "Verdict", before: float | None = None, heading: str = "h1") -> Html:
    """Return what is said in words, and where it stands between the thresholds, and where it stood before."""
    said = f"{verdict.about} with probability {digits(verdict.probability)}"
    costs = ", ".join(f"{label} {cost:.2f}" for label, cost in verdict.expected_costs.items())
    return together(
        element(heading, element("span", verdict.label, class_=f"said {tone(verdict, verdict.label)}"), f" {said}"),
        element("p", verdict.reason, class_="reason") if verdict.reason else "",
        element("p", in_words(verdict), class_="own") if verdict.user and not verdict.reason else "",
        scale(verdict, before),
        element("p", f"Probabilities: {verdict.of_each}.", class_="quiet") if verdict.of_each else "",
        element(
            "p",
            f"Expected cost of saying: {costs}." + (f" Thresholds: {verdict.steps}." if verdict.steps else ""),
            class_="quiet",
        ),
    )


def reasons(explanation: "Explanation", heading: str = "h2") -> list[Html]:
    """Return where the log-odds come from, the evidence for and against, and the message coloured by it."""
    verdict = explanation.verdict
    shown = [section for section in explanation.sections if section.text.strip()]
    if verdict.reason:
        return [_section(section, f"{section.total:+.3f}", heading) for section in shown]
    sums = added_up(verdict.prior, [section.total for section in explanation.sections], verdict.log_odds)
    named = dict(zip([name for name, _ in explanation.sums], sums, strict=True))
    return [
        _sums(explanation, sums, heading),
        _sides(verdict, heading),
        element("p", _legend(verdict.about), class_="legend"),
        *(_section(section, named[section.name], heading) for section in shown),
        _whole_sum(named, verdict.log_odds),
    ]


def _legend(about: str) -> Html:
    return together(
        element("span", "Orange", class_="p4"),
        f" adds to {about}, ",
        element("span", "blue", class_="m4"),
        " takes away. A dot in a box is a character that cannot be seen.",
    )


def _sums(explanation: "Explanation", section_sums: list[str], heading: str) -> Html:
    """The log-odds added up twice, by section and by kind of feature."""
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
    kind_sums = added_up(verdict.prior, of_kinds[1:], verdict.log_odds)
    names = [("prior", ""), *((kind.name, f"{kind.n_features:,}") for kind in kinds)]
    by_kind = [
        _row((_named(name, top.get(name, ())), n, shown, _bar(value, largest)))
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
    found: dict[str, list[str]] = {}
    for each in evidence:
        names = found.setdefault(each.kind, [])
        if len(names) < _MOST_OF_KIND and is_readable(each.kind):
            names.append(f"{each.feature.partition(':')[2]} {each.term:+.3f}")
    return found


def _named(name: str, weightiest: Sequence[str]) -> Html:
    return together(name, element("span", ", ".join(weightiest), class_="words") if weightiest else "")


def _sides(verdict: "Verdict", heading: str) -> Html:
    """The weightiest evidence that a person can read, for and against, as bars."""
    evidence = verdict.readable
    largest = max((abs(each.term) for each in evidence), default=0.0) or 1.0
    towards = [each for each in evidence if each.term > 0][:_MOST_ROWS]
    away = [each for each in evidence if each.term < 0][:_MOST_ROWS]
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
    """A name, numbers and bars."""
    name, *rest = cells
    numbers = [element("td", cell, class_=_kind_of(cell)) for cell in rest]
    return element("tr", element("th", name, scope="row"), *numbers, class_=class_)


def _kind_of(cell: str) -> str | None:
    return "n" if re.fullmatch(r"[+-]?[\d,.]+", cell) else None


def _bar(value: float, largest: float) -> Html:
    side = "for" if value > 0 else "against"
    bar = element("rect", width=percent(abs(value) / largest), height="10", class_=side)
    return element("svg", bar, class_="bar-of", width="100%", height="10", aria_hidden="true")


def _section(section: "Coloured", shown_sum: str, heading: str) -> Html:
    spans = list(section.spans(SHADES))
    coloured, rest = spans[:MOST_SPANS], spans[MOST_SPANS:]
    text = [*map(_span, coloured), *(exact(span.text) for span in rest)]
    is_long = len(section.text) > _LONG or section.text.count("\n") > _MOST_LINES
    # It scrolls in its own box, which needs the focus for that; a browser leaves out a line's end that is first.
    scrolling = {"class_": "long", "tabindex": "0"} if is_long else {}
    box = element("pre", Html("\n"), *text, dir="auto", **scrolling)
    left = f"Beyond {MOST_SPANS:,} stretches nothing is coloured; the rest adds {sum(s.total for s in rest):+.3f}."
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
    """The sum as one line: prior + sections = log-odds, exact to the digit that is shown."""
    parts: list[str] = []
    for name, shown in sums.items():
        parts += [element("span", f"{name} ", element("b", shown), class_="term"), " "]
    return element("p", *parts, "= log-odds ", element("b", f"{log_odds:+.3f}"), class_="whole-sum")
