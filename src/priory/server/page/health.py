"""The Health view: whether mail is being checked, what was said of it lately, and how far that can be trusted."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Response

from priory import __version__
from priory.filter import Filter
from priory.journal import JournalError
from priory.markup import Html, element, together
from priory.server.history import HistoryError
from priory.server.http.filters import Filters
from priory.server.http.kept import Kept
from priory.server.http.state import Daemon
from priory.server.page.axis import number
from priory.server.page.colours import colours
from priory.server.page.kept_shown import kept_parts
from priory.server.page.lately import SPANS, Lately, messages_plot, times_plot, ways_table
from priory.server.page.moment import moment
from priory.server.page.plot import Plot
from priory.server.page.shell import Visit, document
from priory.server.page.visiting import visiting
from priory.server.recording import Recording

_FEWEST: Final = 25  # predictions that say something


def health_page(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the view for who looks after a filter."""
    router = APIRouter(include_in_schema=False)
    recording = Recording(daemon.home, daemon.board, daemon.started)
    coloured = colours(daemon.options.labels, daemon.options.unwanted)

    @router.get("/health")
    async def health(visit: Annotated[Visit, visiting("check")], span: str = "day") -> Response:
        chosen = span if span in SPANS else "day"
        state, lately, learned = await asyncio.gather(
            asyncio.to_thread(_state, daemon),
            asyncio.to_thread(_lately, recording, chosen, coloured),
            filters.look(lambda filter_: _learned(filters.kept, filter_, daemon.home)),
            return_exceptions=True,
        )
        made = [_or_trouble(*each) for each in (("state", state), ("lately", lately), ("trust", learned))]
        silent = element("p", class_="notice wrong", id="silent", role="alert", hidden=True)  # for the script
        parts = [silent, made[0], _chosen_span(chosen), *made[1:]]
        return document(visit, "/health", "Health", *parts, assets=("plot.css", "health.css", "health.js"))

    return router


def _or_trouble(name: str, made: Html | BaseException) -> Html:
    """What cannot be read is said in its place, and the rest is shown."""
    if isinstance(made, Html):
        return made
    if not isinstance(made, HistoryError | JournalError):
        raise made
    return _live(name, element("p", str(made), class_="notice", role="alert"))


def _live(name: str, *parts: str) -> Html:
    """A part of the page that the script keeps up to date."""
    return element("section", *parts, id=name, data_live=True)


def _state(daemon: Daemon) -> Html:
    trouble = daemon.trouble()
    said = f"Mail is not being checked as it should: {trouble.rstrip('.')}." if trouble else "Mail is being checked."
    zone = f"{datetime.now().astimezone():%Z}"
    figures = {
        "workers ready": f"{daemon.workers_ready} of {daemon.serving.workers}",
        "running since": together(moment(daemon.started), f" {zone}"),
        "version": __version__,
    }
    pairs = (element("div", element("dt", name), element("dd", value)) for name, value in figures.items())
    words = element("p", element("strong", said), class_="state bad" if trouble else "state good")
    return _live("state", element("div", words, element("dl", *pairs, class_="figures"), class_="panel"))


def _chosen_span(chosen: str) -> Html:
    links = (
        element("a", name.capitalize(), href=f"/health?span={name}", aria_current="page" if name == chosen else None)
        for name in SPANS
    )
    keep = element(
        "label",
        element("input", type="checkbox", id="up-to-date", checked=True, disabled=True),
        " keep up to date",
    )
    return element(
        "div",
        element(
            "nav", element("span", "The last ", aria_hidden="true"), *links, aria_label="How far back", class_="spans"
        ),
        keep,
        class_="choice",
    )


def _lately(recording: Recording, span: str, coloured: Mapping[str, str]) -> Html:
    lately = Lately.of(recording, span)
    heading = element("h2", f"The last {span}")
    if not lately.steps:
        return _live("lately", heading, _nothing_checked(span))
    errors = sum(n for key, n in lately.all.items() if key[0] == "errors")
    told = element("p", f"{errors} errors inside; the log of the daemon says which.", class_="notice") if errors else ""
    ways = element(
        "div",
        element("h3", "By the way they came"),
        element("p", "How many messages, what was said of them, and how long that took.", class_="quiet"),
        ways_table(lately, coloured),
        class_="panel",
    )
    return _live(
        "lately",
        heading,
        told,
        element("div", *_drawn(messages_plot(lately, coloured), times_plot(lately)), ways, class_="plots"),
    )


def _nothing_checked(span: str) -> Html:
    return element(
        "div",
        element("p", element("strong", f"No message was checked in the last {span}.")),
        element(
            "p",
            "Have your mail server ask the daemon (",
            element("code", "[milter]"),
            " or ",
            element("code", "[spamd]"),
            " of its configuration), or check a message ",
            element("a", "here", href="/"),
            ".",
        ),
        class_="empty",
    )


def _learned(kept: Kept, filter_: Filter, home: Path) -> Html:
    """What was learned, and how good the filter is by that."""
    found = kept.track_record(filter_)
    parts = [element("h2", "How far it can be trusted")]
    if found.n < _FEWEST:
        parts.append(_nothing_predicted(found.n))
    else:
        from priory.server.page.trusted import trust_plots  # noqa: PLC0415 - it takes a second to load

        words = f"By what was predicted of {number(found.n)} lessons, each before it was learned."
        parts += [element("p", words, class_="quiet"), element("div", *_drawn(*trust_plots(found)), class_="plots")]
    return together(_live("trust", *parts), _live("kept", *kept_parts(kept, filter_, home)))


def _nothing_predicted(n: int) -> Html:
    words = "Nothing was predicted yet" if n == 0 else f"Only {n} lessons were predicted yet"
    return element(
        "div",
        element("p", element("strong", f"{words}: how good the filter is, is known after {_FEWEST}.")),
        element(
            "p",
            "Each lesson counts that comes when there is something of every label to compare it with: ",
            element("code", "priory learn spam FOLDER"),
            ", ",
            element("code", "priory learn ham FOLDER"),
            ".",
        ),
        class_="empty",
    )


def _drawn(*plots: Plot) -> list[Html]:
    return [element("div", plot.drawn(), class_="panel wide" if plot.wide else "panel") for plot in plots]
