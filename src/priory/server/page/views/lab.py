"""The view *Lab*: compare models on the filter's lessons, watch the progress, read the reports."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from priory.html.builder import Html, element, together
from priory.html.numbers import clock, time_element
from priory.lab.models import JOURNAL_SPLITS, MODELS
from priory.server.evaluation.run import EvaluationRun, EvaluationSettings, failure_reason, headline, progress_text
from priory.server.page.layout import Visit, document

#: The first choice: models that are quick, and different from each other.
FIRST: Final = EvaluationSettings(
    ("filter", "bernoulli", "logistic"), "stratified", 5, 0, nested=False, curve=False, jobs=1
)
EXTRAS: Final = {
    "nested": "Also judge the choice of a model, by choosing again within each part: takes several times as long",
    "curve": "Also show how the best model's error falls with more mail",
}


def lab_view(  # noqa: PLR0913, PLR0917 - the values that are shown
    visit: Visit,
    runs: Sequence[EvaluationRun],
    taught: Mapping[str, int],
    labels: Sequence[str],
    fields: Mapping[str, str] | None = None,
    error: str = "",
) -> Html:
    """Return the page.

    `runs` are all comparisons, the latest first; `taught` are the lessons of people; `fields` fill the form, by default
    with the latest choice; `error` says why the form was not accepted.
    """
    ended = [run for run in runs if run.is_over]
    parts = [_intro(taught, len(ended)), *(_progress_panel(visit, run) for run in runs if not run.is_over)]
    if all(taught.get(label) for label in labels):
        filled = fields or fields_of_settings(runs[0].settings if runs else FIRST)
        parts.append(_form(visit, filled, error, is_busy=len(ended) < len(runs)))
    else:
        parts.append(_too_few_lessons(taught, labels))
    parts.append(_results(visit, ended))
    return document(visit, "/lab", "Lab", element("div", *parts, id="lab", class_="lab"), assets=("lab.css", "lab.js"))


def fields_of_settings(chosen: EvaluationSettings) -> dict[str, str]:
    """Return the fields of the form for a comparison.

    >>> fields_of_settings(EvaluationSettings(("filter",), "time", 5, 0, nested=True, curve=False, jobs=1))
    {'model-filter': 'on', 'by': 'time', 'folds': '5', 'seed': '0', 'nested': 'on'}
    """
    models = {f"model-{name}": "on" for name in chosen.models}
    settings = {"by": chosen.by, "folds": str(chosen.folds), "seed": str(chosen.seed)}
    return {**models, **settings, **{name: "on" for name in EXTRAS if getattr(chosen, name)}}


def _intro(taught: Mapping[str, int], n_results: int) -> Html:
    counts = ", ".join(f"{n:,} {label}" for label, n in taught.items())
    of = f": {sum(taught.values()):,} messages ({counts})" if taught else ""
    see = element("a", f"See {n_results} results" if n_results > 1 else "See the result", href="#results")
    return element(
        "p",
        f"Which model would judge your mail best? Models are compared on the lessons that people have taught{of}. Each "
        "message is judged by models that have learned neither it nor a near-copy of it. ",
        see if n_results else "",
        id="intro",
    )


def _too_few_lessons(taught: Mapping[str, int], labels: Sequence[str]) -> Html:
    missing = [label for label in labels if not taught.get(label)]
    return element(
        "div",
        element("p", f"Models cannot be compared yet: no {' and no '.join(missing)} has been taught."),
        element(
            "p",
            "Teach messages in the view ",
            element("a", "Check", href="/"),
            ", or whole folders with ",
            element("code", f"priory learn {missing[0]} FOLDER"),
            ".",
        ),
        class_="empty",
    )


def _form(visit: Visit, filled: Mapping[str, str], error: str, *, is_busy: bool) -> Html:
    reason = _why_disabled(visit, is_busy=is_busy)
    button = element(
        "button",
        "Compare",
        class_="button primary",
        disabled=bool(reason),
        aria_describedby="why-not" if reason else None,
    )
    models = ((f"model-{name}", "on", name, line) for name, line in MODELS.items())
    splits = (("by", way, way, line) for way, line in JOURNAL_SPLITS.items())
    return element(
        "form",
        visit.csrf_field,
        element("h2", "Compare models"),
        *([element("p", error, class_="notice wrong", role="alert")] if error else []),
        _choices("Models", "checkbox", models, filled),
        _choices("How to split the mail", "radio", splits, filled),
        _more(filled),
        element(
            "div",
            button,
            element("p", reason, id="why-not", class_="quiet", hidden=not reason),
            id="go",
            class_="row",
        ),
        method="post",
        action="/lab",
        class_="panel comparison",
    )


def _why_disabled(visit: Visit, *, is_busy: bool) -> str:
    if why := visit.why_not("admin"):
        return why
    return "One comparison at a time: wait until the comparison above has ended, or stop it." if is_busy else ""


def _choices(legend: str, kind: str, choices: Iterable[tuple[str, str, str, str]], filled: Mapping[str, str]) -> Html:
    return element(
        "fieldset",
        element("legend", legend),
        element("div", *(_choice(kind, *choice, filled) for choice in choices), class_="choices"),
    )


def _choice(kind: str, field: str, value: str, name: str, line: str, filled: Mapping[str, str]) -> Html:  # noqa: PLR0913, PLR0917
    box = element("input", type=kind, name=field, value=value, checked=filled.get(field) == value)
    text = element("span", element("strong", name), element("span", line, class_="quiet"))
    return element("label", box, text, class_="choice")


def _more(filled: Mapping[str, str]) -> Html:
    numbers = element(
        "div",
        _number("folds", "Parts (folds)", filled.get("folds", ""), "2", "20"),
        _number("seed", "Seed", filled.get("seed", ""), "0", str(2**32 - 1)),
        class_="row numbers",
    )
    boxes = (
        element(
            "label",
            element("input", type="checkbox", name=name, value="on", checked=name in filled),
            element("span", line),
            class_="choice",
        )
        for name, line in EXTRAS.items()
    )
    is_open = any(name in filled for name in EXTRAS)
    return element("details", element("summary", "More"), together(numbers, *boxes), open=is_open)


def _number(name: str, title: str, value: str, least: str, most: str) -> Html:
    field = element("input", type="number", id=name, name=name, value=value, min=least, max=most, required=True)
    return element("div", element("label", title, for_=name), field, class_="number-field")


def _progress_panel(visit: Visit, run: EvaluationRun) -> Html:
    """Return the panel of a running comparison; the script updates it."""
    progress = run.progress
    n_models = len(run.settings.models)
    bar = element(
        "progress",
        id="progress",
        max=str(progress.total) if progress.total else None,
        value=str(progress.done) if progress.total else None,
        aria_label="Progress of this stage",
    )
    is_stopping = run.state == "stopping"
    button = element(
        "button",
        "Stopping …" if is_stopping else "Stop",
        class_="button",
        disabled=is_stopping or not visit.may("admin"),
    )
    return element(
        "section",
        element("h2", f"Comparing {n_models} models" if n_models > 1 else f"Judging {run.settings.models[0]}"),
        element("p", _summary(run), class_="quiet"),
        bar,
        element("p", progress_text(progress), id="far"),
        element("noscript", element("p", "Reload this page to see the progress.", class_="quiet")),
        element("form", visit.csrf_field, button, method="post", action=f"/lab/{run.id}/stop"),
        class_="panel under-way",
        data_run=run.id,
        aria_label="Running",
    )


def _results(visit: Visit, runs: Sequence[EvaluationRun]) -> Html:
    heading = element("h2", "Results")
    if not runs:
        empty = element("p", "There are no results yet. They will be listed here.", class_="empty")
        return element("section", heading, empty, id="results")
    items = (element("li", _result(visit, run)) for run in runs)
    return element("section", heading, element("ul", *items, class_="runs"), id="results")


def _result(visit: Visit, run: EvaluationRun) -> Html:
    lines = run.outcome.lines if run.outcome else ()
    why = failure_reason(run)
    return element(
        "article",
        element("h3", headline(run)),
        element("p", time_element(run.created), " · ", _summary(run), class_="quiet"),
        *(element("p", line) for line in (*lines, *([why] if why else []))),
        element("div", *_actions(visit, run), class_="row"),
        class_=f"panel {run.state}",
        aria_label=f"{headline(run)}, {clock(run.created)}",
    )


def _actions(visit: Visit, run: EvaluationRun) -> list[Html]:
    actions = []
    which = f" the comparison of {clock(run.created)}"
    if run.outcome and run.outcome.policy:
        report = f"/v1/evaluate/{run.id}/report"
        opens = _screen_reader_text(f" of{which}, opens a new tab")
        actions.append(
            element("a", "Open the report", opens, href=report, target="_blank", rel="noopener", class_="button small")
        )
    else:
        if run.state == "finished":
            install = element("code", "pip install '.[report]'")
            actions.append(
                element(
                    "p",
                    "A report to open needs plotly: ",
                    install,
                    " in Priory's source folder, then start again.",
                    class_="quiet",
                )
            )
        filled = fields_of_settings(run.settings)
        fields = (element("input", type="hidden", name=name, value=value) for name, value in filled.items())
        again = element(
            "button", "Start again", _screen_reader_text(which), class_="button small", disabled=not visit.may("admin")
        )
        actions.append(element("form", visit.csrf_field, *fields, again, method="post", action="/lab"))
    remove = element(
        "button", "Remove", _screen_reader_text(which), class_="button small", disabled=not visit.may("admin")
    )
    return [*actions, element("form", visit.csrf_field, remove, method="post", action=f"/lab/{run.id}/remove")]


def _screen_reader_text(text: str) -> Html:
    """Return text for screen readers only."""
    return element("span", text, class_="spoken")


def _summary(run: EvaluationRun) -> str:
    settings = run.settings
    n = run.outcome.messages if run.outcome else run.progress.messages
    of = f"{n:,} messages · " if n is not None else ""
    models = f"all {len(MODELS)} models" if len(settings.models) == len(MODELS) else ", ".join(settings.models)
    extras = [
        *(["with the choice judged"] if settings.nested else []),
        *(["with a learning curve"] if settings.curve else []),
    ]
    return " · ".join([f"{of}{models}", f"{settings.folds} parts, {settings.by}", *extras])
