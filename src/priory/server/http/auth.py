"""Authentication and authorization: tokens of programs, sessions of browsers, scopes, and the rate limit.

`Guard` runs before routing, so no route can be left open by mistake: everything but /healthz, the login and the assets
needs a token or a session. Each route declares the scope that it needs (`needs`).

A program sends its token with each request. A browser sends the session's cookie by itself, even when another web page
makes it do so. Therefore a request that changes something must also come from our own origin and contain a CSRF token
that only our own pages show.
"""

import hashlib
import hmac
import math
import re
import time
from collections.abc import Callable
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import Depends, HTTPException, Request, Security
from fastapi.responses import RedirectResponse
from fastapi.security import HTTPBearer, SecurityScopes
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from priory.server.http import body
from priory.server.http.responses import refusal, tokens_unavailable, visit_of, wants_page
from priory.server.page.layout import Visit
from priory.server.tokens import Token, TokenError, Tokens, TokenUse

HEALTH: Final = "/healthz"  #: open to monitoring, which has no token
OPEN: Final = (HEALTH, "/login", "/enter")
OPEN_FOLDER: Final = "/assets/"
CSRF: Final = "x-priory-csrf"
_SAFE: Final = ("GET", "HEAD", "OPTIONS")
_CHALLENGE: Final = 'Bearer realm="priory"'
_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A token made by `priory token --scope check|learn|admin`; each scope includes those before it.",
)


class RateLimit:
    """Limits how often each token is used: a bucket of `rate` requests that is refilled with `rate` per second.

    >>> clock = iter([0.0, 0.0, 0.0, 0.25, 0.75])
    >>> limit = RateLimit(2, lambda: next(clock))
    >>> [limit.wait("ann") for _ in range(5)]
    [0, 0, 1, 1, 0]
    """

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # level, and the time at which it was measured

    def wait(self, token_id: str) -> int:
        """Take one request from a token's bucket and return 0; if it is empty, return the whole seconds to wait."""
        now = self._clock()
        level, measured = self._buckets.get(token_id, (self._rate, now))
        level = min(self._rate, level + (now - measured) * self._rate)
        is_allowed = level >= 1
        self._buckets[token_id] = (level - 1 if is_allowed else level, now)
        return 0 if is_allowed else math.ceil((1 - level) / self._rate)


class Guard:
    """Middleware that refuses requests without a valid token or session, and those beyond the rate limit."""

    def __init__(self, app: ASGIApp, tokens: Tokens, limit: RateLimit, url: str) -> None:
        self._app = app
        self._tokens = tokens
        self._limit = limit
        self._url = url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        path = scope["path"]
        if path in OPEN or path.startswith(OPEN_FOLDER):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            answer = self._by_token(scope, headers) if "authorization" in headers else None
            if answer is None:
                answer, receive = await self._by_session(scope, headers, receive)
        except TokenError as error:
            answer = tokens_unavailable(scope, error)
        await answer(scope, receive, send)

    def _by_token(self, scope: Scope, headers: Headers) -> ASGIApp:
        kind, _, secret = headers["authorization"].partition(" ")
        if kind.lower() != "bearer":
            return _demand_login(scope)
        token = self._tokens.find(secret.strip(), TokenUse.PROGRAM)
        if token is None:
            challenge = f'{_CHALLENGE}, error="invalid_token"'
            detail = "There is no such token; it may have been revoked."
            return refusal(scope, 401, detail, {"WWW-Authenticate": challenge})
        return self._accept(scope, token)

    async def _by_session(self, scope: Scope, headers: Headers, receive: Receive) -> tuple[ASGIApp, Receive]:
        """Check the session's cookie, and for a request that changes something its origin and CSRF token.

        Also return a `receive()` for the app, because the CSRF token may be a field of the body.
        """
        secret = cookie_parser(headers.get("cookie", "")).get(cookie_name(headers, self._url), "")
        token = self._tokens.find(secret, TokenUse.SESSION) if secret else None
        if token is None:
            return _demand_login(scope), receive
        expected = csrf_token(secret)
        if scope["method"] not in _SAFE:
            if not is_same_origin(headers, self._url):
                return refusal(scope, 403, "This request was sent from a page of another origin."), receive
            csrf = headers.get(CSRF)
            if csrf is None and body.is_form(headers):
                content = await body.read_form(receive)
                receive = body.replay(content)
                csrf = body.parse_form(content).get("csrf")
            if not hmac.compare_digest((csrf or "").encode(), expected.encode()):
                return refusal(scope, 403, "The CSRF token of this session is missing; reload the page."), receive
        scope["priory.csrf"] = expected
        return self._accept(scope, token), receive

    def _accept(self, scope: Scope, token: Token) -> ASGIApp:
        if wait_s := self._limit.wait(token.owner):  # logging in again does not refill the bucket
            detail = "This token is used too often; Retry-After says when it may be used again."
            return refusal(scope, 429, detail, {"Retry-After": str(wait_s)})
        scope["priory.token"] = token
        return self._app


def csrf_token(secret: str) -> str:
    """Return the CSRF token of a session, from which the session's secret cannot be derived."""
    return hmac.new(secret.encode("utf-8", "surrogateescape"), b"csrf", hashlib.sha256).hexdigest()


def is_same_origin(headers: Headers, url: str) -> bool:
    """Tell whether a browser sends this request from a page of this daemon.

    >>> here = {"host": "localhost:7358", "origin": "http://localhost:7358"}
    >>> is_same_origin(Headers(here), ""), is_same_origin(Headers(here | {"origin": "https://evil.example"}), "")
    (True, False)

    With an https url, a page that came over http is not trusted: an attacker on the network could have changed it.

    >>> there = {"host": "priory.example", "origin": "http://priory.example"}
    >>> is_same_origin(Headers(there), "https://priory.example")
    False
    """
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return origin in {f"http://{headers.get('host', '')}", url} - {"", url.replace("https:", "http:", 1)}


def cookie_name(headers: Headers, url: str) -> str:
    """Return the name of the session's cookie.

    It contains the port, because browsers send the cookies of a host to all its ports: two daemons on one machine need
    two cookies.

    >>> cookie_name(Headers({"host": "[::1]:7358"}), ""), cookie_name(Headers({}), "https://priory.example")
    ('priory_7358', '__Host-priory')
    >>> cookie_name(Headers({"host": "localhost"}), "")
    'priory_80'
    """
    port = re.search(r":(\d+)$", headers.get("host", ""), re.ASCII)
    return "__Host-priory" if url else f"priory_{port[1] if port else 80}"


def needs(scope: str) -> Any:
    """Return the dependency of a route that requires a scope; its value is the token."""
    return Security(_require, scopes=[scope])


def visits(scope: str) -> Any:
    """Return the dependency of a view that requires a scope; its value is the visit."""

    async def visit(request: Request, _token: Annotated[Token, needs(scope)]) -> Visit:
        return visit_of(request.scope)

    return Depends(visit)


async def _require(scopes: SecurityScopes, request: Request, _header: Annotated[object, Security(_bearer)]) -> Token:
    token: Token = request.scope["priory.token"]
    for scope in scopes.scopes:
        if not token.allows(scope):
            challenge = f'{_CHALLENGE}, error="insufficient_scope", scope="{scope}"'
            raise HTTPException(403, token.refusal(scope), {"WWW-Authenticate": challenge})
    return token


def _demand_login(scope: Scope) -> ASGIApp:
    """Redirect people to the login; tell programs that they need a token."""
    if wants_page(scope) and scope["method"] in _SAFE:
        target = scope["path"] + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
        return RedirectResponse(f"/login?next={quote(target, safe='/')}", 303)
    detail = "This needs a token: Authorization: Bearer …"
    return refusal(scope, 401, detail, {"WWW-Authenticate": _CHALLENGE})
