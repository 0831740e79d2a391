"""The view *Check*: what a message is said to be, why, and what it really is.

What is shown of a message is written here; the script only sends the bytes that were dropped, and puts the answer where
it belongs. To teach, it uses the API, as any program would.
"""

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from itertools import chain, islice
from typing import Annotated, Final

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import Field

from priory.corpus import CorpusError
from priory.corpus.looks import refuse_foreign
from priory.explained_page import headline, reasons
from priory.filter import Filter
from priory.markup import Html, element, together
from priory.server.http.carried import carried
from priory.server.http.filters import Filters
from priory.server.http.parameters import MOST_OF_NAME, ForUser
from priory.server.http.state import Daemon
from priory.server.http.uploads import MOST_MESSAGES, Upload, Uploads
from priory.server.page.shell import Visit, document
from priory.server.page.visiting import visiting
from priory.verdict import Verdict, digits

_UNDO: Final = "u"
_Before = Annotated[list[Annotated[float, Field(ge=0, le=1)]], Query()]  # the probability of each label before


def check_page(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes of the view."""
    router = APIRouter(include_in_schema=False)
    taken, labels = carried(daemon.serving), daemon.options.labels
    uploads = Uploads(daemon.serving)

    @router.get("/")
    async def check(visit: Annotated[Visit, visiting("check")], user: ForUser = "") -> Response:
        learned = await filters.ask(_learned)
        return document(visit, "/", "Check", *_view(learned, user), assets=("explained.css", "check.css", "check.js"))

    @router.post("/check/explained")
    async def explained(
        visit: Annotated[Visit, visiting("check")],
        raw: Annotated[bytes, taken],
        before: _Before = [],  # noqa: B006
        user: ForUser = "",
    ) -> Response:
        if not raw:
            raise HTTPException(422, "This is empty.")
        try:
            refuse_foreign(raw, "This")
        except CorpusError as error:
            raise HTTPException(422, f"{error}.") from None
        was = dict(zip(labels, before, strict=False))
        return HTMLResponse(await filters.ask(partial(_explained, raw, user, was, visit)))

    @router.post("/check/message", dependencies=[visiting("check")])
    async def message(request: Request, index: Annotated[int, Query(ge=0, lt=MOST_MESSAGES)]) -> Response:
        """Give one message of an upload, the bytes as the filter reads them."""
        upload = await uploads.received(request)
        raw = await asyncio.to_thread(_nth, upload, index)
        if raw is None:
            raise HTTPException(422, "There are not so many messages in these files.")
        return Response(raw, media_type="application/octet-stream")

    return router


def _nth(upload: Upload, index: int) -> bytes | None:
    _, raw = next(islice(chain.from_iterable(upload.groups()), index, None), (None, None))
    return raw


def _view(learned: Html, user: str) -> list[Html]:
    return [
        learned,
        _form(user),
        element("section", id="several", aria_label="Messages in these files", hidden=True, tabindex="-1"),
        element(
            "section",
            element("p", "What is said about a message, and why, appears here.", class_="empty"),
            id="result",
            aria_label="What is said about the message",
            tabindex="-1",
        ),
    ]


def _learned(filter_: Filter) -> Html:
    """What it has learned; and as long as that is not enough to say anything, what to do."""
    lessons = filter_.journal.tally()
    learned = {label: lessons.get(label, 0) for label in filter_.options.labels}
    counts = ", ".join(f"{n:,} {label}" for label, n in learned.items())
    if sum(n > 0 for n in learned.values()) >= 2:
        return element("p", f"It has learned {counts}.", class_="quiet", id="learned")
    missing = " and ".join(label for label, n in learned.items() if not n)
    return element(
        "p",
        f"It can say nothing yet, as it has learned {counts}. Check a message below and say what it is; "
        f"or teach it many at once: ",
        element("code", f"priory learn {missing.partition(' ')[0]} FOLDER"),
        ".",
        class_="notice",
        id="learned",
    )


def _form(user: str) -> Html:
    return element(
        "form",
        element("label", "Source of the message", for_="text"),
        element(
            "textarea",
            id="text",
            rows="7",
            spellcheck="false",
            autocomplete="off",
            aria_describedby="how",
            placeholder="Paste a message with its headers (in most mail programs: view source), or drop files here",
        ),
        element(
            "div",
            element("button", "Check ", _keys("Ctrl", "Enter"), class_="button primary"),
            element("label", "or files", for_="files"),
            element("input", type="file", id="files", multiple=True),
            _whose(user),
            class_="row",
        ),
        element(
            "p",
            "Messages (.eml) or mboxes, also dropped anywhere on this page. Nothing is kept unless you teach it. "
            "If you name a user, what that user has taught counts, too, and you teach under that name.",
            class_="quiet",
            id="how",
        ),
        element(
            "noscript", element("p", "This view needs its script; priory explain FILE does the same.", class_="notice")
        ),
        class_="panel",
        id="check",
    )


def _whose(user: str) -> Html:
    """Return the field for whose mail it is."""
    field = element(
        "input",
        id="user",
        value=user,
        maxlength=str(MOST_OF_NAME),
        placeholder="nobody in particular",
        autocomplete="off",
        spellcheck="false",
        aria_describedby="how",
    )
    return element("span", element("label", "for user", for_="user"), field, class_="row whose")


def _keys(*names: str) -> Html:
    return element("span", *(element("kbd", name) for name in names), class_="keys", aria_hidden="true")


def _explained(raw: bytes, user: str, was: dict[str, float], visit: Visit, filter_: Filter) -> str:
    """Write all that is shown of one message to a user, and what has been learned by then."""
    explanation = filter_.explain(raw, user)
    verdict = explanation.verdict
    taught = filter_.journal.label_of(bytes.fromhex(verdict.digest), user)
    before = was.get(verdict.about)
    article = element(
        "article",
        headline(verdict, before, "h2"),
        _moved(verdict, before),
        _teaching(list(verdict.claims), taught, user, visit),
        *reasons(explanation, "h3"),
        data_label=verdict.label,
        data_about=verdict.about,
        data_probability=digits(verdict.probability),
        data_probabilities=json.dumps(verdict.probabilities),
    )
    return together(_learned(filter_), article)


def _moved(verdict: Verdict, before: float | None) -> Html:
    if before is None:
        return element("p", class_="moved")  # the room that it takes after a lesson
    return element(
        "p",
        f"{verdict.about}: ",
        element("span", digits(before), class_="was"),
        " before, ",
        element("strong", digits(verdict.probability), class_="is"),
        " now.",
        class_="moved",
    )


def _teaching(labels: Sequence[str], taught: str | None, user: str, visit: Visit) -> Html:
    """Buttons that say what the message is; for who may not teach, why not."""
    may = visit.may("learn")
    buttons = [
        element(
            "button",
            f"This is {label} ",
            _keys(key),
            class_="button",
            type="button",
            disabled=not may,
            data_label=label,
            data_key=key,
            aria_pressed="true" if label == taught else "false",
            aria_keyshortcuts=key,
        )
        for label, key in shortcuts(labels).items()
    ]
    undo = _act("Undo ", _keys(_UNDO), data_undo="", data_key=_UNDO, hidden=True, aria_keyshortcuts=_UNDO)
    forget = _act("Take the lesson back", data_forget="", disabled=not may) if taught else Html()
    return element(
        "div",
        element("p", _state(taught, user), " ", element("span", visit.why_not("learn"), class_="quiet")),
        element("div", *buttons, undo, forget, class_="row"),
        class_="panel teach",
    )


def _act(*children: str, **attributes: str | bool) -> Html:
    return element("button", *children, class_="button", type="button", **attributes)


def _state(taught: str | None, user: str) -> Html:
    if taught:
        named = f", as {user}," if user else ""
        return together(f"You have taught{named} that it is ", element("strong", taught), ".")
    return together("What is it?", f" You teach as {user}." if user else "")


def shortcuts(labels: Sequence[str]) -> dict[str, str]:
    """Return a key for each label: its first letter that no other has taken, or else a digit.

    >>> shortcuts(["ham", "spam", "scam", "hassle"])
    {'ham': 'h', 'spam': 's', 'scam': 'c', 'hassle': 'a'}
    """
    keys: dict[str, str] = {}
    for number, label in enumerate(labels, 1):
        free = (c for c in label.lower() if "a" <= c <= "z" and c != _UNDO and c not in keys.values())
        keys[label] = next(free, str(number % 10))
    return keys
