"""A report as one HTML file that holds everything it needs, so that it opens offline and loads nothing.

The content security policy permits only the scripts of this page, by their digests. Scores are inlined as numbers of
eight bytes, so that the page counts exactly what Python counts.
"""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from priory.html.builder import Html, element, together
from priory.lab.error import LabError
from priory.lab.measures.drift import edges
from priory.lab.report.panel import choosers, confusion_table, controls, plot, plots, rates_list
from priory.lab.report.report import JudgedRun, Report
from priory.lab.report.tables import (
    comparisons_table,
    disagreements_table,
    figures_table,
    mistakes_part,
    weights_part,
)

_SCRIPTS: Final = ("operating.js", "plots.js", "controls.js", "page.js")
_WIDTH: Final = "width=device-width, initial-scale=1"


def page(report: Report) -> str:
    """Return the report as one HTML page.

    Write it with `Path("report.html").write_text(page(report), "utf-8")` and open it. It takes 5 megabytes, nearly all
    of them plotly's. Sliders move the thresholds and the costs; all plots, the confusion matrix and the rates follow.
    """
    scripts = _scripts()
    document = element(
        "html", _head(report, scripts), element("body", _body(report), _data(report), *map(_script, scripts)), lang="en"
    )
    return f"<!doctype html>\n{document}\n"


def policy() -> str:
    """Return the content security policy of the page, for the server that delivers it."""
    return _policy(_scripts())


def _scripts() -> list[str]:
    return [_plotly(), *(_source(name) for name in _SCRIPTS)]


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs  # noqa: PLC0415 (an extra)
    except ImportError:
        raise LabError("the report as a page needs plotly: pip install '.[report]' in Priory's source folder") from None
    return str(get_plotlyjs())


def _source(name: str) -> str:
    return files("priory.lab.report").joinpath(name).read_text("utf-8")


def _script(source: str) -> Html:
    return Html(f"<script>{source}</script>")


def _policy(scripts: list[str]) -> str:
    digests = [base64.b64encode(hashlib.sha256(source.encode()).digest()).decode() for source in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _head(report: Report, scripts: list[str]) -> Html:
    policy = Html('<meta http-equiv="Content-Security-Policy" content="' + _policy(scripts) + '">')
    return element(
        "head",
        element("meta", charset="utf-8"),
        policy,
        element("meta", name="viewport", content=_WIDTH),
        element("meta", name="color-scheme", content="light dark"),
        element("title", report.title),
        Html(f"<style>{files('priory.html').joinpath('palette.css').read_text('utf-8')}{_source('page.css')}</style>"),
    )


def _body(report: Report) -> Html:
    return together(
        element("header", *_headline(report)),
        element(
            "main",
            _section("Figures", figures_table(report)),
            _section("Operating point", _operating_point(report)),
            *_learning_curves(report),
            *_comparisons(report),
            *_weights(report),
            _section("Worst errors", *(_of_run(i, mistakes_part(of)) for i, of in enumerate(report.runs))),
        ),
        element("p", "", id="spoken", class_="spoken", aria_live="polite"),
    )


def _section(title: str, *parts: str) -> Html:
    return element("section", element("h2", title), *parts)


def _of_run(number: int, part: Html) -> Html:
    return element("div", part, data_run=str(number), hidden=number > 0)


def _headline(report: Report) -> list[Html]:
    lines = element("ul", *(element("li", line) for line in report.lines))
    note = element(
        "div", lines, class_="lines", role="note", aria_label="How far to trust this", hidden=not report.lines
    )
    return [element("h1", report.title), element("p", report.subtitle), note]


def _operating_point(report: Report) -> Html:
    panel = element(
        "aside",
        choosers(report),
        element("p", "", id="sentence"),
        controls(report),
        confusion_table(report),
        rates_list(report),
        aria_label="Operating point",
    )
    many = " many" if len(report.classes) > 2 else ""
    return element("div", panel, plots(report), class_=f"operating{many}")


def _learning_curves(report: Report) -> list[Html]:
    plots_of_curves = [
        plot(f"learning-{i}", name, curve.words) for i, (name, curve) in enumerate(report.learning_curves)
    ]
    return [_section("Learning curves", element("div", *plots_of_curves, class_="plots"))] if plots_of_curves else []


def _comparisons(report: Report) -> list[Html]:
    if not report.comparisons:
        return []
    return [
        _section(
            "Comparisons",
            comparisons_table(report.comparisons),
            *(disagreements_table(pair, report.classes) for pair in report.disagreements if pair.messages),
        )
    ]


def _weights(report: Report) -> list[Html]:
    parts = [_of_run(i, weights_part(of)) for i, of in enumerate(report.runs)]
    return [_section("Feature weights", *parts)] if any(of.run.weights for of in report.runs) else []


def _data(report: Report) -> Html:
    values = report.as_dict()
    wanted = {
        "classes": values["classes"],
        "costs": values["costs"],
        "learning_curves": values["learning_curves"],
        "runs": [_run_data(judged, run_values) for judged, run_values in zip(report.runs, values["runs"], strict=True)],
    }
    text = json.dumps(wanted, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return Html(f'<script type="application/json" id="data">{text}</script>')


def _run_data(judged: JudgedRun, values: dict[str, Any]) -> dict[str, Any]:
    predictions = judged.run.predictions
    scores = predictions.log_odds() if predictions.n_classes == 2 else predictions.log_probabilities
    curves = dict(zip(judged.curves, values["curves"].values(), strict=True))
    return {
        "model": judged.run.model,
        "truth": _base64(predictions.truth.astype(np.uint8)),
        "scores": _base64(scores.astype("<f8")),
        "windows": edges(len(predictions)),
        "curves": curves,
    }


def _base64(numbers: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers).tobytes()).decode()
