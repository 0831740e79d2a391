"""The view *Journal*: what was taught, by whom and when; to filter, to forget, to export, to settle doubts."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, NamedTuple

from fastapi import APIRouter, Request, Response

from priory.filter import Filter
from priory.listed import Page
from priory.markup import Html, element
from priory.server.http.filters import Filters
from priory.server.http.state import Daemon
from priory.server.page.colours import badge_colours
from priory.server.page.journal_filter import Asked, asked, form
from priory.server.page.journal_rows import NO_SCOPE, table
from priory.server.page.journal_suspects import suspects_part
from priory.server.page.shell import Visit, document
from priory.server.page.visiting import visiting

_MOST: Final = 50  # lessons of a page
_ASSETS: Final = ("journal.css", "journal.js")
_TABS: Final = (("/journal", "Lessons"), ("/journal/suspects", "Labels that look wrong"))


class _Seen(NamedTuple):
    """A page of lessons, how many are selected, and how many there are."""

    page: Page
    selected: int
    total: int
    is_first: bool


def journal_page(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes of the view."""
    router = APIRouter(include_in_schema=False)
    labels = daemon.options.labels
    colours = badge_colours(labels, daemon.options.unwanted)

    @router.get("/journal")
    async def journal(request: Request, visit: Annotated[Visit, visiting("check")]) -> Response:
        this, after = asked(request.query_params, labels), request.query_params.get("after") or None
        seen = await filters.look(lambda filter_: _seen(filter_, this, after))
        found = _found(visit, this, seen, colours)
        return document(visit, "/journal", "Journal", _tabs("/journal"), form(this, labels), found, assets=_ASSETS)

    @router.get("/journal/suspects")
    async def suspects(visit: Annotated[Visit, visiting("check")]) -> Response:
        found = await filters.look(lambda filter_: filters.kept.suspicions(filter_).of_unconfirmed(filter_, _MOST))
        shown = suspects_part(found, colours, may=visit.may("learn"), look_only=_look_only(visit))
        return document(visit, "/journal", "Journal", _tabs("/journal/suspects"), shown, assets=_ASSETS)

    return router


def _seen(filter_: Filter, this: Asked, after: str | None) -> _Seen:
    meant = filter_.lessons.resolved(this.selection)
    page = filter_.lessons.page(meant, _MOST, after)
    return _Seen(page, filter_.lessons.n_of(meant), filter_.lessons.n_of(), is_first=after is None)


def _tabs(here: str) -> Html:
    links = (
        element("a", title, href=address, aria_current="page" if address == here else None) for address, title in _TABS
    )
    return element("nav", *links, class_="tabs", aria_label="Journal")


def _look_only(visit: Visit) -> Html:
    why = visit.why_not("learn")
    return (
        element("p", f"You may look, but not change anything. {why}", id=NO_SCOPE, class_="notice") if why else Html()
    )


def _found(visit: Visit, this: Asked, seen: _Seen, colours: Mapping[str, str]) -> Html:
    """Return what was found: script puts it in place of what was found before."""
    page, selected, total, is_first = seen
    if this.wrong:
        parts = [element("p", this.wrong, class_="notice wrong", role="alert")]
    elif not total:
        parts = [_nothing_taught([*colours])]
    elif not page.lessons:
        parts = [_nothing_found(selected)]
    else:
        parts = [
            _look_only(visit),
            _summary(visit, this, selected, total),
            table(page.lessons, colours, may=visit.may("learn")),
            _further(this, page, is_first=is_first),
        ]
    return element("section", *parts, id="found", aria_label="What was found", tabindex="-1")


def _nothing_taught(labels: Sequence[str]) -> Html:
    return element(
        "div",
        element("h2", "Nothing was taught yet"),
        element("p", "Teach a folder of mail: ", element("code", f"priory learn {labels[-1]} FOLDER"), ","),
        element("p", "or a single message on the page ", element("a", "Check", href="/"), "."),
        class_="empty",
    )


def _nothing_found(selected: int) -> Html:
    if selected:
        said = "These were all. ", element("a", "Back to the latest", href="/journal"), "."
    else:
        said = "Ask for less (domains in full), or ", element("a", "see all lessons", href="/journal"), "."
    return element(
        "div", element("h2", "No further lesson" if selected else "No such lesson"), element("p", *said), class_="empty"
    )


def _summary(visit: Visit, this: Asked, selected: int, total: int) -> Html:
    lessons = "lesson" if selected == 1 else "lessons"
    is_all = this.selection.is_everything
    text = f"{selected:,} {lessons}" if is_all else f"{selected:,} of {total:,} lessons: {this.words}"
    exports = (
        element("a", text, href=f"/v1/messages/export?{this.query}&format={kind}", class_="button small", download=True)
        for kind, text in (("csv", "Export as table"), ("jsonl", "as JSON lines"))
    )
    forget = element(
        "button",
        f"Forget these {selected:,}…" if not is_all else "Forget these…",
        type="button",
        id="forget-many",
        class_="button small",
        disabled=is_all or not visit.may("learn"),
        aria_describedby="filter-first" if is_all else None,
        data_query=this.query,
        data_expect=str(selected),
        data_words=this.words,
    )
    return element(
        "div",
        element(
            "p",
            element("span", text, id="summary"),
            *([element("span", " To forget several at once, filter first.", id="filter-first")] if is_all else []),
        ),
        element("div", *exports, forget, class_="row"),
        class_="summary",
    )


def _further(this: Asked, page: Page, *, is_first: bool) -> Html:
    links = []
    if not is_first:
        links.append(element("a", "Latest", href=f"/journal?{this.query}", class_="button"))
    if page.after is not None:
        address = f"/journal?{this.query}{'&' if this.query else ''}after={page.after}"
        links.append(element("a", "Older", href=address, class_="button", rel="next"))
    return element("nav", *links, class_="row further", aria_label="Pages") if links else Html()
