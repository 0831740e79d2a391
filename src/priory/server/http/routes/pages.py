"""The routes of the page: each collects values for a view of `priory.server.page`, and returns its HTML."""

import asyncio
import time
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from itertools import chain, islice
from pathlib import Path as FilePath
from typing import Annotated, Final

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import Field, ValidationError

from priory.corpus import CorpusError
from priory.corpus.mail_file import refuse_foreign
from priory.filter.filter import Filter
from priory.html.builder import Html
from priory.journal import JournalError
from priory.lab.models import MODELS
from priory.processes.log import log
from priory.server.evaluation.run import EvaluationRun
from priory.server.evaluation.runs import BusyError, EvaluationRuns
from priory.server.http.auth import visits
from priory.server.http.body import form_fields, message_body
from priory.server.http.filters import AnalysisCache, Filters
from priory.server.http.parameters import MOST_NAME_LENGTH, ForUser
from priory.server.http.routes.ask import find_questions
from priory.server.http.routes.evaluations import ComparisonBody
from priory.server.http.state import Daemon
from priory.server.http.uploads import MOST_MESSAGES, Upload, Uploads
from priory.server.metrics.history import DAY_S, HOUR_S, NAME, HistoryError, HistoryRecorder, default_step
from priory.server.metrics.names import PROTOCOLS
from priory.server.page.layout import Visit, badge_colours, label_colours
from priory.server.page.views.activity import SPANS, Activity
from priory.server.page.views.ask import ask_view, closed_ask_view
from priory.server.page.views.background import background_part
from priory.server.page.views.check import ExplainedMessage, check_view, checked_message
from priory.server.page.views.health import (
    Storage,
    activity_part,
    health_view,
    learned_part,
    state_part,
    trouble_part,
)
from priory.server.page.views.journal import LessonList, LessonQuery, journal_view
from priory.server.page.views.lab import EXTRAS, lab_view
from priory.server.page.views.mail_servers import MailServers
from priory.server.page.views.rules import rules_view
from priory.server.page.views.suspects import suspects_view

_MOST_QUESTIONS: Final = 10  # on one page
_MOST_LESSONS: Final = 50  # of the journal on one page
_MOST_CHANGES: Final = 25  # of the costs on one page
_MONDAY_S: Final = 3 * DAY_S  # 1970 began on a Thursday: a shift by three days makes weeks begin on Monday
_BUSY: Final = "Another comparison is running: wait for its end, or stop it."
_Before = Annotated[list[Annotated[float, Field(ge=0, le=1)]], Query()]  # the probability of each label before
_Id = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
_Fields = Annotated[dict[str, str], Depends(form_fields)]
_Reader = Annotated[Visit, visits("check")]
_Admin = Annotated[Visit, visits("admin")]


def page_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes of all views but the login."""
    router = APIRouter(include_in_schema=False)
    _add_check(router, daemon, filters)
    _add_ask(router, daemon, filters)
    _add_journal(router, daemon, filters)
    _add_costs(router, daemon, filters)
    _add_health(router, daemon, filters)
    _add_lab(router, daemon, filters)
    return router


def _add_check(router: APIRouter, daemon: Daemon, filters: Filters) -> None:
    body, labels = message_body(daemon.serving), daemon.options.labels
    uploads = Uploads(daemon.serving)

    @router.get("/")
    async def check(visit: _Reader, user: ForUser = "") -> Response:
        lessons = await filters.check(_lessons_by_label)
        return HTMLResponse(check_view(visit, lessons, user, MOST_NAME_LENGTH, daemon.serving.max_bytes))

    @router.post("/check/explained")
    async def explained(
        visit: _Reader,
        raw: Annotated[bytes, body],
        before: _Before = [],  # noqa: B006
        user: ForUser = "",
    ) -> Response:
        if not raw:
            raise HTTPException(422, "This is empty.")
        try:
            refuse_foreign(raw, "This")
        except CorpusError as error:
            raise HTTPException(422, f"{error}.") from None
        probabilities = dict(zip(labels, before, strict=False))
        return HTMLResponse(await filters.check(partial(_explain, raw, user, probabilities, visit)))

    @router.post("/check/background")
    async def background(visit: _Reader, raw: Annotated[bytes, body], user: ForUser = "") -> Response:
        """Return the lessons behind a verdict, what would have changed it, and since when lessons had its reasons."""
        return HTMLResponse(await filters.search(partial(_background, raw, user, visit)))

    @router.post("/check/message", dependencies=[visits("check")])
    async def message(request: Request, index: Annotated[int, Query(ge=0, lt=MOST_MESSAGES)]) -> Response:
        """Return one message of an upload, with the bytes that the filter reads."""
        upload = await uploads.receive(request)
        raw = await asyncio.to_thread(_nth_message, upload, index)
        if raw is None:
            raise HTTPException(422, "These files have no message with this index.")
        return Response(raw, media_type="application/octet-stream")


def _lessons_by_label(filter_: Filter) -> dict[str, int]:
    tally = filter_.journal.tally()
    return {label: tally.get(label, 0) for label in filter_.options.labels}


def _explain(raw: bytes, user: str, before: Mapping[str, float], visit: Visit, filter_: Filter) -> Html:
    explanation = filter_.explain(raw, user)
    taught = filter_.journal.label_of(bytes.fromhex(explanation.verdict.digest), user)
    checked = ExplainedMessage(explanation, user, taught, before, _lessons_by_label(filter_))
    return checked_message(checked, visit)


def _background(raw: bytes, user: str, visit: Visit, filter_: Filter) -> Html:
    return background_part(filter_.background(raw, user), visit)


def _nth_message(upload: Upload, index: int) -> bytes | None:
    _, raw = next(islice(chain.from_iterable(upload.groups()), index, None), (None, None))
    return raw


def _add_ask(router: APIRouter, daemon: Daemon, filters: Filters) -> None:
    labels, is_on = daemon.options.labels, daemon.options.spool is not None

    @router.get("/ask")
    async def ask(visit: _Reader) -> Response:
        if not (is_on and visit.may("learn")):
            return HTMLResponse(closed_ask_view(visit, is_on=is_on))

        def render(filter_: Filter) -> Html:
            chosen, total, reason = find_questions(filter_, _MOST_QUESTIONS)
            return ask_view(visit, chosen, total, reason, labels)

        return HTMLResponse(await filters.search(render))


def _add_journal(router: APIRouter, daemon: Daemon, filters: Filters) -> None:
    labels = daemon.options.labels
    colours = badge_colours(labels, daemon.options.unwanted)

    @router.get("/journal")
    async def journal(request: Request, visit: _Reader) -> Response:
        query, after = LessonQuery.of(request.query_params, labels), request.query_params.get("after") or None
        lesson_list = await filters.search(partial(_find_lessons, query, after))
        return HTMLResponse(journal_view(visit, query, lesson_list, colours))

    @router.get("/journal/suspects")
    async def suspects(visit: _Reader) -> Response:
        suspect_lessons = await filters.search(
            lambda filter_: filters.analyses.suspicions(filter_).of_unconfirmed(filter_, _MOST_LESSONS)
        )
        return HTMLResponse(suspects_view(visit, suspect_lessons, colours))

    @router.get("/journal/rules")
    async def rules(visit: _Reader) -> Response:
        return HTMLResponse(rules_view(visit, await filters.search(lambda filter_: filter_.rules.every())))


def _find_lessons(query: LessonQuery, after: str | None, filter_: Filter) -> LessonList:
    resolved = filter_.lessons.resolved(query.selection)
    lessons, next_page = filter_.lessons.page(resolved, _MOST_LESSONS, after)
    n_selected, n_total = filter_.lessons.n_of(resolved), filter_.lessons.n_of()
    return LessonList(lessons, next_page, n_selected, n_total, is_first=after is None)


def _add_costs(router: APIRouter, daemon: Daemon, filters: Filters) -> None:
    @router.get("/costs")
    async def costs(request: Request, visit: _Reader) -> Response:
        fields = dict(request.query_params)

        def render(filter_: Filter) -> Html:
            # The lab takes a second to load: it is imported in the thread of searches, on the first request.
            from priory.server.page.views.costs import costs_view, read_costs_fields  # noqa: PLC0415

            current = daemon.options.costs
            wanted, invalid = read_costs_fields(fields, current)
            trial = filters.analyses.cost_trial(filter_)
            result = trial.result_of(wanted)
            changes = None if result is None else trial.changed_lessons(filter_, result, _MOST_CHANGES, _place(fields))
            return costs_view(visit, wanted, current, invalid, trial, result, changes)

        return HTMLResponse(await filters.search(render))


def _place(fields: Mapping[str, str]) -> int | None:
    after = fields.get("after", "")
    return int(after) if after.isascii() and after.isdigit() and len(after) < 19 else None


def _add_health(router: APIRouter, daemon: Daemon, filters: Filters) -> None:
    recording = HistoryRecorder(daemon.home, daemon.board, daemon.started)
    colours = label_colours(daemon.options.labels, daemon.options.unwanted)

    def state() -> Html:
        serving, board = daemon.serving, daemon.board
        n_checked = {
            protocol: sum(board.total(key) for key in board.keys("checked") if key[1] == protocol)
            for protocol in PROTOCOLS
        }
        servers = MailServers({"milter": serving.milter, "spamd": serving.spamd}, n_checked)
        return state_part(daemon.trouble(), daemon.workers_ready, serving.workers, daemon.started, servers)

    def learned(filter_: Filter) -> Html:
        return learned_part(filters.analyses.track_record(filter_), _storage(filter_, filters.analyses, daemon.home))

    @router.get("/health")
    async def health(visit: _Reader, span: str = "day") -> Response:
        chosen = span if span in SPANS else "day"
        results = await asyncio.gather(
            asyncio.to_thread(state),
            asyncio.to_thread(lambda: activity_part(read_activity(recording, chosen), colours)),
            filters.search(learned),
            return_exceptions=True,
        )
        parts = [_part_or_trouble(*part) for part in zip(("state", "lately", "trust"), results, strict=True)]
        return HTMLResponse(health_view(visit, chosen, *parts))


def _part_or_trouble(name: str, result: Html | BaseException) -> Html:
    """Return a part of the page; if its data cannot be read, the reason, so that the other parts are shown."""
    if isinstance(result, Html):
        return result
    if not isinstance(result, HistoryError | JournalError):
        raise result
    return trouble_part(name, str(result))


def read_activity(recording: HistoryRecorder, span: str) -> Activity:
    """Read the history of a span; days and weeks are in local time. Raises HistoryError."""
    recording.record()
    now, step = int(time.time()), default_step(SPANS[span])
    offset = datetime.fromtimestamp(now).astimezone().utcoffset()
    shift = int(offset.total_seconds()) if offset and step > HOUR_S else 0
    shift += _MONDAY_S if step == 7 * DAY_S else 0
    begin, end = ((at + shift) // step * step - shift for at in (now - SPANS[span], now + step))
    return Activity(span, begin, end, step, recording.history.steps(begin, end, step, shift))


def _storage(filter_: Filter, analyses: AnalysisCache, home: FilePath) -> Storage:
    journal, limits = filter_.journal, filter_.options.limits
    oldest = journal.queries.oldest(1) if limits.age_s is not None else ()
    return Storage(
        stats=filter_.stats(),
        journal=journal.name,
        counts_bytes=_file_size(home / "counts"),
        history_bytes=_file_size(home / NAME),
        limits=limits,
        oldest_age_s=sum(journal.now() - lesson.time for lesson in oldest),
        used_bytes=analyses.used_bytes(filter_) if limits.n_bytes is not None else 0,
        n_questions=len(filter_.spool),
        spool_bytes=filter_.spool.size_bytes(),
    )


def _file_size(path: FilePath) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _add_lab(router: APIRouter, daemon: Daemon, filters: Filters) -> None:
    runs = EvaluationRuns(daemon.home, daemon.alive)

    async def response(
        visit: Visit, fields: Mapping[str, str] | None = None, error: str = "", status: int = 200
    ) -> Response:
        taught = await filters.search(_lessons_of_people)
        return HTMLResponse(lab_view(visit, runs.all(), taught, daemon.options.labels, fields, error), status)

    @router.get("/lab")
    async def lab(visit: _Reader) -> Response:
        return await response(visit)

    @router.post("/lab")
    async def start(visit: _Admin, fields: _Fields) -> Response:
        try:
            run = runs.start(_read_comparison(fields).settings(), daemon.options)
        except ValidationError as error:
            first = error.errors()[0]
            name = first["loc"][0]
            why = "Choose at least one model." if name == "models" else f"{name}: {first['msg']}."
            return await response(visit, fields, why, 422)
        except BusyError:
            return await response(visit, fields, _BUSY, 409)
        _log(visit, run.id, "started")
        return RedirectResponse("/lab", 303)

    @router.post("/lab/{id_}/stop")
    async def stop(visit: _Admin, id_: _Id) -> Response:
        if not _find_run(runs, id_).is_over:
            runs.stop(id_)
            _log(visit, id_, "stopped")
        return RedirectResponse("/lab", 303)

    @router.post("/lab/{id_}/remove")
    async def remove(visit: _Admin, id_: _Id) -> Response:
        if _find_run(runs, id_).is_over:
            runs.remove(id_)
            _log(visit, id_, "removed")
        return RedirectResponse("/lab", 303)


def _lessons_of_people(filter_: Filter) -> dict[str, int]:
    """Return the number of lessons of each label that people taught; the filter's own labels may be wrong."""
    every, automatic, _ = filter_.journal.tallies()
    return {label: n - automatic.get(label, 0) for label, n in every.items()}


def _read_comparison(fields: Mapping[str, str]) -> ComparisonBody:
    """Return the comparison that the form asks for. Raises ValidationError."""
    models = [name for name in MODELS if f"model-{name}" in fields]
    settings = {name: fields[name] for name in ("by", "folds", "seed") if name in fields}
    return ComparisonBody.model_validate({"models": models, **settings, **{name: name in fields for name in EXTRAS}})


def _find_run(runs: EvaluationRuns, id_: str) -> EvaluationRun:
    run = runs.find(id_)
    if run is None:
        raise HTTPException(404)
    return run


def _log(visit: Visit, run: str, outcome: str) -> None:
    log("evaluation", token=visit.token.id if visit.token else "", run=run, outcome=outcome)
