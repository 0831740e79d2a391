"""An explanation as a page that stands alone: no script, nothing loaded, every byte of the message escaped."""

from html import escape
from typing import TYPE_CHECKING, Final

from priory.explanation import SHADES
from priory.verdict import digits

if TYPE_CHECKING:
    from priory.explanation import Coloured, Explanation
    from priory.verdict import Evidence, Verdict

_MOST_ROWS: Final = 15
_Row = tuple[tuple[str, ...], float]  # cells, and what they add to the log-odds
_STYLE: Final = """
:root { color-scheme: light dark; --for: 192,57,43; --against: 30,132,73; --bar: min(8rem, 18vw); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.said { color: #fff; padding: .1em .5em; border-radius: .25em; background: #7d6608; }
.said.spam { background: rgb(var(--for)); } .said.ham { background: rgb(var(--against)); }
.quiet { opacity: .75; }
table { border-collapse: collapse; } td, th { padding: .15rem 1rem .15rem 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
tr.sum td { font-weight: bold; border-top: 1px solid; }
.bar { display: inline-block; height: .8em; background: rgb(var(--for)); }
.bar.against { background: rgb(var(--against)); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: 1rem; border: 1px solid #8886; border-radius: .4em; }
.sides { display: flex; flex-wrap: wrap; gap: 2rem; align-items: flex-start; }
td.f { overflow-wrap: anywhere; max-width: 22rem; }
""" + "".join(
    f".p{i} {{ background: rgba(var(--for),{i / SHADES * 0.6:.2f}); }} "
    f".m{i} {{ background: rgba(var(--against),{i / SHADES * 0.6:.2f}); }}\n"
    for i in range(1, SHADES + 1)
)


def page(explanation: "Explanation") -> str:
    """Return the page."""
    verdict = explanation.verdict
    body = [_headline(verdict), *([] if verdict.reason else [_sums(explanation), _sides(verdict)])]
    body += [_section(section) for section in explanation.sections if section.text.strip()]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(verdict.label)} {digits(verdict.probability)}</title><style>{_STYLE}</style></head>\n"
        f"<body>{''.join(body)}</body></html>\n"
    )


def _headline(verdict: "Verdict") -> str:
    costs = ", ".join(f"{escape(said)} {cost:.2f}" for said, cost in verdict.expected_costs.items())
    steps = escape(verdict.steps)
    return (
        f'<h1><span class="said {escape(verdict.label)}">{escape(verdict.label)}</span> '
        f"{escape(verdict.about)} with probability {digits(verdict.probability)}</h1>"
        + (f"<p>{escape(verdict.reason)}</p>" if verdict.reason else "")
        + f'<p class="quiet">Expected cost of saying: {costs}.{f" Thresholds: {steps}." if steps else ""} '
        f"Below, red adds to {escape(verdict.about)}, green takes away.</p>"
    )


def _sums(explanation: "Explanation") -> str:
    """The log-odds added up twice, by section and by kind of feature."""
    verdict = explanation.verdict
    sections: list[_Row] = [((name,), value) for name, value in explanation.sums]
    kinds: list[_Row] = [(("prior", ""), verdict.prior)]
    kinds += [((kind.name, f"{kind.n_features:,}"), kind.total) for kind in verdict.kinds]
    largest = max(abs(value) for _, value in (*sections, *kinds)) or 1.0
    added = (("By section",), sections), (("By kind", "features"), kinds)
    tables = "".join(_added(titles, rows, largest, verdict.log_odds) for titles, rows in added)
    return f'<h2>Where the log-odds come from</h2><div class="sides">{tables}</div>'


def _added(titles: tuple[str, ...], rows: list[_Row], largest: float, log_odds: float) -> str:
    """Rows with their sums, and what they add up to."""
    head = f"<tr>{_cells('th', (*titles, 'sum'))}<th></th></tr>"
    body = "".join(
        f"<tr>{_cells('td', (*cells, f'{value:+.3f}'))}<td>{_bar(value, largest)}</td></tr>" for cells, value in rows
    )
    total = ("log-odds", "")[: len(titles)]
    return f'<table>{head}{body}<tr class="sum">{_cells("td", (*total, f"{log_odds:+.3f}"))}<td></td></tr></table>'


def _cells(tag: str, texts: tuple[str, ...]) -> str:
    """A name and numbers."""
    numbers = "".join(f'<{tag} class="n">{number}</{tag}>' for number in texts[1:])
    return f"<{tag}>{escape(texts[0])}</{tag}>{numbers}"


def _bar(value: float, largest: float) -> str:
    side = "bar" if value > 0 else "bar against"
    return f'<span class="{side}" style="width:calc({abs(value) / largest:.3f}*var(--bar))"></span>'


def _sides(verdict: "Verdict") -> str:
    towards = _table(f"For {verdict.about}", [e for e in verdict.readable if e.term > 0])
    away = _table("Against", [e for e in verdict.readable if e.term < 0])
    return f'<h2>The weightiest evidence</h2><div class="sides">{towards}{away}</div>'


def _table(title: str, evidence: "list[Evidence]") -> str:
    rows = "".join(
        f'<tr><td class="f">{escape(e.feature)}</td><td class="n">{e.term:+.3f}</td></tr>'
        for e in evidence[:_MOST_ROWS]
    )
    return f"<table><tr><th>{escape(title)}</th><th></th></tr>{rows}</table>"


def _section(section: "Coloured") -> str:
    spans = "".join(
        f'<span class="{"p" if level > 0 else "m"}{abs(level)}">{escape(stretch)}</span>' if level else escape(stretch)
        for stretch, level, _ in section.spans(SHADES)
    )
    return f"<h2>{escape(section.name.capitalize())} ({section.total:+.3f})</h2><pre>{spans}</pre>"
