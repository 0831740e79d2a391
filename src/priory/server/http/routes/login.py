"""Login, logout, the links made by `priory open`, and the assets of the page. All but logout are open (`auth.OPEN`)."""

import asyncio
import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from priory.processes.log import log
from priory.server.http.auth import cookie_name, is_same_origin, visits
from priory.server.http.body import form_fields
from priory.server.http.state import Daemon
from priory.server.page.layout import Visit
from priory.server.page.views.login import login_view
from priory.server.tokens import SESSION_S, Tokens, TokenUse, enter, open_session, revoke

_UNKNOWN_TOKEN: Final = "There is no such token; it may have been revoked. Did you copy all of it?"  # noqa: S105
_USED_LINK: Final = "This link has been used, or is older than a minute. Run priory open again, or log in with a token."
_OTHER_ORIGIN: Final = "The login was sent from a page of another origin. Log in here."
_MEDIA_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def login_routes(daemon: Daemon) -> APIRouter:
    """Return the routes to log in and out."""
    router = APIRouter(include_in_schema=False)
    tokens, url = Tokens(daemon.home), daemon.serving.url

    @router.get("/login")
    async def form(target: Annotated[str, Query(alias="next")] = "/") -> Response:
        return _login_page(target)

    @router.post("/login")
    async def login(request: Request, fields: Annotated[dict[str, str], Depends(form_fields)]) -> Response:
        target = fields.get("next", "/")
        if not is_same_origin(request.headers, url):
            return _login_page(target, _OTHER_ORIGIN, 403)
        token = tokens.find(fields.get("token", "").strip())
        if token is None:
            log("login refused")
            return _login_page(target, _UNKNOWN_TOKEN, 401)
        log("login", token=token.id)
        return start_session(request, await asyncio.to_thread(open_session, daemon.home, token), target)

    @router.get("/enter")
    async def enter_by_link(request: Request, key: str = "") -> Response:
        session = await asyncio.to_thread(enter, daemon.home, key)
        if session is None:
            return _login_page("/", _USED_LINK, 401)
        log("login", by="priory open")
        return start_session(request, session, "/")

    @router.post("/logout")
    async def logout(request: Request, visit: Annotated[Visit, visits("check")]) -> Response:
        if visit.token is not None and visit.token.use == TokenUse.SESSION:  # not a program's token
            await asyncio.to_thread(revoke, daemon.home, visit.token.id)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(cookie_name(request.headers, url), path="/", secure=bool(url), samesite="strict")
        return answer

    def start_session(request: Request, session: str, target: str) -> Response:
        answer = RedirectResponse(_local_path(target), 303)
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


def _login_page(target: str, error: str = "", status: int = 200) -> Response:
    return HTMLResponse(login_view(_local_path(target), error), status)


def _local_path(target: str) -> str:
    r"""Return the target of a redirect if it is a path of this daemon, otherwise the first page.

    >>> _local_path("/journal?label=spam"), _local_path("//evil.example"), _local_path("/\\evil.example")
    ('/journal?label=spam', '/', '/')
    >>> _local_path("https://evil.example")
    '/'
    """
    is_path = target.startswith("/") and target[1:2] not in {"/", "\\"} and target.isprintable() and target.isascii()
    return target if is_path else "/"


def _read_assets(folder: Traversable) -> dict[str, bytes]:
    """Return the files of a folder that a page may load, and the styles that pages share with other output, by name."""
    shared = (files("priory.html") / "palette.css", files("priory.filter") / "explanation.css")
    own = (file for file in folder.iterdir() if file.is_file() and PurePath(file.name).suffix in _MEDIA_TYPES)
    return {file.name: file.read_bytes() for file in (*own, *shared)}


def asset_routes() -> APIRouter:
    """Return the route of the styles and scripts, which are read once, when the process starts."""
    router = APIRouter(include_in_schema=False)
    assets = _read_assets(files("priory.server.page") / "static")
    tags = {name: f'"{hashlib.sha256(content).hexdigest()[:32]}"' for name, content in assets.items()}

    @router.get("/assets/{name}")
    async def asset(name: str, if_none_match: Annotated[str, Header()] = "") -> Response:
        if name not in assets:
            raise HTTPException(404)
        headers = {"ETag": tags[name], "Cache-Control": "no-cache"}
        if tags[name] in if_none_match:
            return Response(status_code=304, headers=headers)
        media_type = _MEDIA_TYPES[PurePath(name).suffix]
        return Response(assets[name], headers={**headers, "Content-Type": f"{media_type}; charset=utf-8"})

    return router
