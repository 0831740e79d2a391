"""Who may ask what: nothing but /healthz and the door to the page is answered without a token or a session.

That one is needed is decided before any route is looked for, so no route can be left open by mistake. What a route is
for, each says itself (`needs`).

A program sends its token with each request. A browser sends the cookie of a session by itself, also where another web
page has it do so; so what changes anything needs two things more that another page cannot have it send: where it comes
from, and a word that stands only in our own page.
"""

import hashlib
import hmac
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import HTTPException, Request, Security
from fastapi.responses import RedirectResponse
from fastapi.security import HTTPBearer, SecurityScopes
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from priory.server.http import forms
from priory.server.http.limits import Rates
from priory.server.http.names import cookie_name, is_from_our_page
from priory.server.http.problems import no_tokens, refused, wants_page
from priory.server.tokens import PROGRAM, SESSION, Token, TokenError, Tokens

HEALTH: Final = "/healthz"  #: for who looks whether the daemon is well, and knows nothing else
OPEN: Final = (HEALTH, "/login", "/enter")
OPEN_FOLDER: Final = "/assets/"
CSRF: Final = "x-priory-csrf"
_SAFE: Final = ("GET", "HEAD", "OPTIONS")
_CHALLENGE: Final = 'Bearer realm="priory"'
_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A token that `priory token --scope check|learn|admin` has printed; a scope includes those before it.",
)


class Guard:
    """Lets nobody through without a token or a session, and nobody more often than that may be used."""

    def __init__(self, app: ASGIApp, tokens: Tokens, rates: Rates, url: str) -> None:
        self._app = app
        self._tokens = tokens
        self._rates = rates
        self._url = url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse to."""
        path = scope["path"]
        if path in OPEN or path.startswith(OPEN_FOLDER):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            answer = self._as_program(scope, headers) if "authorization" in headers else None
            if answer is None:
                answer, receive = await self._as_person(scope, headers, receive)
        except TokenError as error:
            answer = no_tokens(scope, error)
        await answer(scope, receive, send)

    def _as_program(self, scope: Scope, headers: Headers) -> ASGIApp:
        kind, _, secret = headers["authorization"].partition(" ")
        if kind.lower() != "bearer":
            return _unknown(scope)
        token = self._tokens.find(secret.strip(), PROGRAM)
        if token is None:
            challenge = f'{_CHALLENGE}, error="invalid_token"'
            said = "There is no such token; it may have been revoked."
            return refused(scope, 401, said, {"WWW-Authenticate": challenge})
        return self._let_in(scope, token)

    async def _as_person(self, scope: Scope, headers: Headers, receive: Receive) -> tuple[ASGIApp, Receive]:
        secret = cookie_parser(headers.get("cookie", "")).get(cookie_name(headers, self._url), "")
        token = self._tokens.find(secret, SESSION) if secret else None
        if token is None:
            return _unknown(scope), receive
        word = csrf_of(secret)
        if scope["method"] not in _SAFE:
            if not is_from_our_page(headers, self._url):
                return refused(scope, 403, "This was sent from another page than ours."), receive
            said = headers.get(CSRF)
            if said is None and forms.is_form(headers):
                body = await forms.taken(receive)
                receive = forms.given_again(body)
                said = forms.fields(body).get("csrf")
            if not hmac.compare_digest((said or "").encode(), word.encode()):
                return refused(scope, 403, "What you sent lacks the word of this session; load the page anew."), receive
        scope["priory.csrf"] = word
        return self._let_in(scope, token), receive

    def _let_in(self, scope: Scope, token: Token) -> ASGIApp:
        if wait_s := self._rates.wait(token.opened_with or token.id):  # or to log in again would be to ask anew
            often = "This token is used too often; Retry-After says when it may be again."
            return refused(scope, 429, often, {"Retry-After": str(wait_s)})
        scope["priory.token"] = token
        return self._app


def csrf_of(secret: str) -> str:
    """Return the word of a session: who knows it knows nothing of the session itself."""
    return hmac.new(secret.encode("utf-8", "surrogateescape"), b"csrf", hashlib.sha256).hexdigest()


def _unknown(scope: Scope) -> ASGIApp:
    """Lead people to the door, and tell programs what they need."""
    if wants_page(scope) and scope["method"] in _SAFE:
        there = scope["path"] + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
        return RedirectResponse(f"/login?next={quote(there, safe='/')}", 303)
    needed = "This needs a token: Authorization: Bearer …"
    return refused(scope, 401, needed, {"WWW-Authenticate": _CHALLENGE})


def needs(scope: str) -> Any:
    """Return what a route depends on that takes a scope."""
    return Security(_token, scopes=[scope])


async def _token(wanted: SecurityScopes, request: Request, _said: Annotated[object, Security(_bearer)]) -> Token:
    token: Token = request.scope["priory.token"]
    for scope in wanted.scopes:
        if not token.allows(scope):
            challenge = f'{_CHALLENGE}, error="insufficient_scope", scope="{scope}"'
            raise HTTPException(403, token.refusal(scope), {"WWW-Authenticate": challenge})
    return token
