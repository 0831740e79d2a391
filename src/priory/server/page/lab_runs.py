"""Comparisons on the page: the one that is under way, and those that are over."""

from collections.abc import Sequence

from priory.lab.catalogue import MODELS
from priory.markup import Html, element
from priory.server.evaluation.run import Run
from priory.server.evaluation.words import headline, why_not, words
from priory.server.page.lab_form import fields_of
from priory.server.page.moment import clock, moment
from priory.server.page.shell import Visit


def run_under_way(visit: Visit, run: Run) -> Html:
    """Return the panel of a comparison that is being done; the script keeps it up to date."""
    progress = run.progress
    n_models = len(run.asked.models)
    bar = element(
        "progress",
        id="progress",
        max=str(progress.total) if progress.total else None,
        value=str(progress.done) if progress.total else None,
        aria_label="How far this stage is",
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
        element("h2", f"Comparing {n_models} models" if n_models > 1 else f"Judging {run.asked.models[0]}"),
        element("p", _asked(run), class_="quiet"),
        bar,
        element("p", words(progress), id="far"),
        element("noscript", element("p", "Load this page anew to see how far it is.", class_="quiet")),
        element("form", visit.csrf_field, button, method="post", action=f"/lab/{run.id}/stop"),
        class_="panel under-way",
        data_run=run.id,
        aria_label="Under way",
    )


def ended_runs(visit: Visit, runs: Sequence[Run]) -> Html:
    """Return what was compared before, the latest first."""
    if not runs:
        said = element("p", "Nothing was compared yet. What comes of a comparison will be listed here.", class_="empty")
        return element("section", element("h2", "Results"), said, id="results")
    items = (element("li", _ended(visit, run)) for run in runs)
    return element("section", element("h2", "Results"), element("ul", *items, class_="runs"), id="results")


def _ended(visit: Visit, run: Run) -> Html:
    lines = run.outcome.lines if run.outcome else ()
    why = why_not(run)
    return element(
        "article",
        element("h3", headline(run)),
        element("p", moment(run.created), " · ", _asked(run), class_="quiet"),
        *(element("p", line) for line in (*lines, *([why] if why else []))),
        element("div", *_actions(visit, run), class_="row"),
        class_=f"panel {run.state}",
        aria_label=f"{headline(run)}, {clock(run.created)}",
    )


def _actions(visit: Visit, run: Run) -> list[Html]:
    found = []
    about = f" the comparison of {clock(run.created)}"
    if run.outcome and run.outcome.policy:
        opens = element("span", f" of{about}, opens a new tab", class_="spoken")
        place = f"/v1/evaluate/{run.id}/report"
        found.append(
            element("a", "Open the report", opens, href=place, target="_blank", rel="noopener", class_="button small")
        )
    else:
        if run.state == "finished":
            install = element("code", "pip install 'priory[report]'")
            found.append(
                element("p", "A report to open needs plotly: ", install, ", then start again.", class_="quiet")
            )
        fields = (
            element("input", type="hidden", name=name, value=value) for name, value in fields_of(run.asked).items()
        )
        again = element("button", "Start again", _hidden(about), class_="button small", disabled=not visit.may("admin"))
        found.append(element("form", visit.csrf_field, *fields, again, method="post", action="/lab"))
    gone = element("button", "Remove", _hidden(about), class_="button small", disabled=not visit.may("admin"))
    return [*found, element("form", visit.csrf_field, gone, method="post", action=f"/lab/{run.id}/remove")]


def _hidden(text: str) -> Html:
    """Text for who hears the page and does not see to what it belongs."""
    return element("span", text, class_="spoken")


def _asked(run: Run) -> str:
    asked = run.asked
    n = run.outcome.messages if run.outcome else run.progress.messages
    of = f"{n:,} messages · " if n is not None else ""
    models = f"all {len(MODELS)} models" if len(asked.models) == len(MODELS) else ", ".join(asked.models)
    more = [*(["the choosing, too"] if asked.nested else []), *(["with a learning curve"] if asked.curve else [])]
    return " · ".join([f"{of}{models}", f"{asked.folds} parts, {asked.by}", *more])
