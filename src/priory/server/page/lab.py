"""The view *Lab*: compare models on what the filter was taught, watch it being done, read the reports."""

from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import APIRouter, Depends, HTTPException, Path, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from priory.filter import Filter
from priory.markup import Html, element
from priory.server.evaluation.run import Run
from priory.server.evaluation.runs import BusyError, Runs
from priory.server.http.filters import Filters
from priory.server.http.forms import form
from priory.server.http.state import Daemon
from priory.server.log import log
from priory.server.page.lab_form import FIRST, asked, comparison_form, fields_of
from priory.server.page.lab_runs import ended_runs, run_under_way
from priory.server.page.shell import Visit, document
from priory.server.page.visiting import visiting

_Id = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
_Said = Annotated[dict[str, str], Depends(form)]
_BUSY: Final = "A comparison is under way already: wait for its end, or stop it."


def lab_page(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes of the view."""
    router = APIRouter(include_in_schema=False)
    runs = Runs(daemon.home, daemon.alive)

    async def shown(
        visit: Visit, said: Mapping[str, str] | None = None, wrong: str = "", status: int = 200
    ) -> Response:
        taught = await filters.look(_taught)
        all_ = runs.all()
        ended = [run for run in all_ if run.is_over]
        parts = [_intro(taught, len(ended)), *(run_under_way(visit, run) for run in all_ if not run.is_over)]
        if all(taught.get(label) for label in daemon.options.labels):
            filled = said or fields_of(all_[0].asked if all_ else FIRST)
            parts.append(comparison_form(visit, filled, wrong, is_busy=len(ended) < len(all_)))
        else:
            parts.append(_nothing_to_compare_by(taught, daemon.options.labels))
        parts.append(ended_runs(visit, ended))
        whole = element("div", *parts, id="lab", class_="lab")
        return document(visit, "/lab", "Lab", whole, assets=("lab.css", "lab.js"), status=status)

    @router.get("/lab")
    async def lab(visit: Annotated[Visit, visiting("check")]) -> Response:
        return await shown(visit)

    @router.post("/lab")
    async def start(visit: Annotated[Visit, visiting("admin")], said: _Said) -> Response:
        try:
            run = runs.start(asked(said).asked(), daemon.options)
        except ValidationError as error:
            wrong = error.errors()[0]
            why = "Choose one model at least." if wrong["loc"] == ("models",) else f"{wrong['loc'][0]}: {wrong['msg']}."
            return await shown(visit, said, why, 422)
        except BusyError:
            return await shown(visit, said, _BUSY, 409)
        _log(visit, run.id, "started")
        return RedirectResponse("/lab", 303)

    @router.post("/lab/{id_}/stop")
    async def stop(visit: Annotated[Visit, visiting("admin")], id_: _Id) -> Response:
        if not _found(runs, id_).is_over:
            runs.stop(id_)
            _log(visit, id_, "stopped")
        return RedirectResponse("/lab", 303)

    @router.post("/lab/{id_}/remove")
    async def remove(visit: Annotated[Visit, visiting("admin")], id_: _Id) -> Response:
        if _found(runs, id_).is_over:
            runs.remove(id_)
            _log(visit, id_, "removed")
        return RedirectResponse("/lab", 303)

    return router


def _log(visit: Visit, run: str, outcome: str) -> None:
    log("evaluation", token=visit.token.id if visit.token else "", run=run, outcome=outcome)


def _found(runs: Runs, id_: str) -> Run:
    run = runs.find(id_)
    if run is None:
        raise HTTPException(404)
    return run


def _taught(filter_: Filter) -> dict[str, int]:
    """How many lessons of each label people have given: nothing else is known to be true."""
    every, automatic, _ = filter_.journal.tallies()
    return {label: n - automatic.get(label, 0) for label, n in every.items()}


def _intro(taught: Mapping[str, int], n_results: int) -> Html:
    counts = ", ".join(f"{n:,} {label}" for label, n in taught.items())
    of = f": {sum(taught.values()):,} messages ({counts})" if taught else ""
    see = element("a", f"See {n_results} results" if n_results > 1 else "See the result", href="#results")
    return element(
        "p",
        f"Which model would judge your mail best? They are compared on what the filter was taught{of}. Each message is "
        "judged by models that have not learned it, nor a near-copy of it. ",
        see if n_results else "",
        id="intro",
    )


def _nothing_to_compare_by(taught: Mapping[str, int], labels: tuple[str, ...]) -> Html:
    lacking = [label for label in labels if not taught.get(label)]
    return element(
        "div",
        element("p", f"There is nothing to compare by yet: no {' and no '.join(lacking)} was taught."),
        element(
            "p",
            "Teach some on the page ",
            element("a", "Check", href="/"),
            ", or whole folders with ",
            element("code", f"priory learn {lacking[0]} FOLDER"),
            ".",
        ),
        class_="empty",
    )
