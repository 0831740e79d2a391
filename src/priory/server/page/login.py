"""The door to the page: in with a token or by an entry that `priory open` has made, and out again."""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from priory.markup import element
from priory.server.http.forms import form
from priory.server.http.names import cookie_name, is_from_our_page
from priory.server.http.state import Daemon
from priory.server.log import log
from priory.server.page.shell import Visit, document
from priory.server.page.visiting import visiting
from priory.server.tokens import SESSION, SESSION_S, Tokens, enter, open_session, revoke

_NOBODY: Final = Visit(None, "")
_WRONG: Final = "There is no such token; it may have been revoked. Was all of it copied?"
_USED: Final = "This link was used already, or is older than a minute. Run priory open again, or log in with a token."


def login_routes(daemon: Daemon) -> APIRouter:
    """Return the routes of the door."""
    router = APIRouter(include_in_schema=False)
    tokens, url = Tokens(daemon.home), daemon.serving.url

    @router.get("/login")
    async def ask(next_: Annotated[str, Query(alias="next")] = "/") -> Response:
        return _login(next_)

    @router.post("/login")
    async def login(request: Request, said: Annotated[dict[str, str], Depends(form)]) -> Response:
        there = said.get("next", "/")
        if not is_from_our_page(request.headers, url):
            return _login(there, "This was sent from another page than ours. Log in here.", 403)
        token = tokens.find(said.get("token", "").strip())
        if token is None:
            log("login refused")
            return _login(there, _WRONG, 401)
        log("login", token=token.id)
        return _let_in(request, await asyncio.to_thread(open_session, daemon.home, token), there)

    @router.get("/enter")
    async def entered(request: Request, key: str = "") -> Response:
        session = await asyncio.to_thread(enter, daemon.home, key)
        if session is None:
            return _login("/", _USED, 401)
        log("login", by="priory open")
        return _let_in(request, session, "/")

    @router.post("/logout")
    async def logout(request: Request, visit: Annotated[Visit, visiting("check")]) -> Response:
        if visit.token is not None and visit.token.use == SESSION:  # a program's token is not lost by that
            await asyncio.to_thread(revoke, daemon.home, visit.token.id)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(cookie_name(request.headers, url), path="/", secure=bool(url), samesite="strict")
        return answer

    def _let_in(request: Request, session: str, there: str) -> Response:
        answer = RedirectResponse(_here(there), 303)
        answer.set_cookie(
            cookie_name(request.headers, url),
            session,
            max_age=SESSION_S,
            path="/",
            secure=bool(url),
            httponly=True,
            samesite="strict",
        )
        return answer

    return router


def _here(there: str) -> str:
    r"""Return a path of this daemon, whatever was asked for.

    >>> _here("/journal?label=spam"), _here("//evil.example"), _here("/\\evil.example"), _here("https://evil.example")
    ('/journal?label=spam', '/', '/', '/')
    """
    is_path = there.startswith("/") and there[1:2] not in {"/", "\\"} and there.isprintable() and there.isascii()
    return there if is_path else "/"


def _login(there: str, wrong: str = "", status: int = 200) -> HTMLResponse:
    field = element(
        "input",
        type="password",
        id="token",
        name="token",
        required=True,
        autofocus=True,
        autocomplete="current-password",
        spellcheck="false",
        aria_describedby="how",
        aria_invalid="true" if wrong else None,
    )
    how = element(
        "p",
        "Make one with ",
        element("code", "priory token --scope admin"),
        "; or let ",
        element("code", "priory open"),
        " log you in.",
        id="how",
        class_="quiet",
    )
    asked = element(
        "form",
        *([element("p", wrong, class_="notice wrong", role="alert")] if wrong else []),
        element("label", "Token", for_="token"),
        field,
        how,
        element("input", type="hidden", name="next", value=_here(there)),
        element("button", "Log in", class_="button primary"),
        method="post",
        action="/login",
        class_="panel login",
    )
    return document(_NOBODY, "/login", "Log in", asked, status=status)
