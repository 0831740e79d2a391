"""The view *Costs*: what mistakes cost, and what other costs would do on one's own mail.

All is written on the server for the costs that the address names, so it works without script. The script asks for the
same page as sliders move, and puts what has changed in its place.
"""

from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import APIRouter, Request, Response

from priory.decision import LARGEST, UNSURE, Costs
from priory.filter import Filter
from priory.markup import Html, element, together
from priory.server.http.filters import Filters
from priory.server.http.state import Daemon
from priory.server.page.costs_form import dialog, form
from priory.server.page.shell import Visit, document
from priory.server.page.visiting import visiting

_MOST: Final = 25  # lessons of a page


def costs_page(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes of the view."""
    router = APIRouter(include_in_schema=False)
    now = daemon.options.costs

    @router.get("/costs")
    async def costs(request: Request, visit: Annotated[Visit, visiting("check")]) -> Response:
        asked = dict(request.query_params)
        wanted, wrong = proposed(asked, now)
        after = asked.get("after", "")

        def shown(filter_: Filter) -> Html:
            from priory.server.page.costs_shown import shown  # noqa: PLC0415 - what it needs takes a second to load

            trial = filters.kept.cost_trial(filter_)
            place = int(after) if after.isascii() and after.isdigit() and len(after) < 19 else None
            return shown(filter_, trial, wanted, _MOST, place)

        content = await filters.look(shown)
        return document(
            visit,
            "/costs",
            "Costs",
            _words(),
            _wrong(wrong),
            element("div", form(wanted, now, visit), content, class_="costs"),
            dialog(),
            assets=("plot.css", "costs.css", "costs.js"),
        )

    return router


def _words() -> Html:
    return element(
        "p",
        "What is said of a message is what is expected to cost least. Try other costs: nothing changes until you apply "
        "them. Only their ratios matter.",
        class_="quiet",
    )


def _wrong(fields: list[str]) -> Html:
    said = [element("p", f"{each} must be a number from 0 up; it is as before.", class_="notice") for each in fields]
    return together(*said)


def proposed(asked: Mapping[str, str], now: Costs) -> tuple[Costs, list[str]]:
    """Return the costs that an address names, and the fields in it that are no costs; what is not named is as it is.

    >>> proposed({"spam.ham": "250", "unsure": "much"}, Costs())
    (Costs(labels=('ham', 'spam'), matrix=((0, 10), (250, 0)), unsure=4), ['unsure'])
    """
    wrong: list[str] = []

    def cost(name: str, before: float) -> float:
        if name not in asked:
            return before
        try:
            found = float(asked[name])
        except ValueError:
            found = -1.0
        if not 0 <= found <= LARGEST:
            wrong.append(name)
            return before
        return found

    wanted = now.with_prices(lambda said, true, before: cost(f"{said}.{true}", before), cost(UNSURE, now.unsure))
    return wanted, wrong
