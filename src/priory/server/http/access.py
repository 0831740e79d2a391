"""Who may ask what: nothing but /healthz is answered without a token, and none of it beyond the token's scope.

That a token is needed is decided before any route is looked for, so no route can be left open by mistake. What a route
is for, each says itself (`needs`).
"""

from typing import Annotated, Any, Final

from fastapi import HTTPException, Request, Security
from fastapi.security import HTTPBearer, SecurityScopes
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from priory.server.connection import log_error
from priory.server.http.limits import Rates
from priory.server.http.problems import problem
from priory.server.tokens import Token, TokenError, Tokens

OPEN: Final = "/healthz"  #: for who looks whether the daemon is well, and knows nothing else
_CHALLENGE: Final = 'Bearer realm="priory"'
_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A token that `priory token --scope check|learn|admin` has printed; a scope includes those before it.",
)


class Guard:
    """Lets nobody through without a token, and nobody more often than its token may be used."""

    def __init__(self, app: ASGIApp, tokens: Tokens, rates: Rates) -> None:
        self._app = app
        self._tokens = tokens
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse to."""
        answer = self._app if scope["path"] == OPEN else self._answer(scope)
        await answer(scope, receive, send)

    def _answer(self, scope: Scope) -> ASGIApp:
        kind, _, secret = Headers(scope=scope).get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            return problem(401, "This needs a token: Authorization: Bearer …", {"WWW-Authenticate": _CHALLENGE})
        try:
            token = self._tokens.find(secret.strip())
        except TokenError as error:
            log_error(error)
            return problem(503, "The tokens cannot be read; the log of the daemon says why.")
        if token is None:
            challenge = f'{_CHALLENGE}, error="invalid_token"'
            return problem(401, "There is no such token; it may have been revoked.", {"WWW-Authenticate": challenge})
        if wait_s := self._rates.wait(token.id):
            often = "This token is used too often; Retry-After says when it may be again."
            return problem(429, often, {"Retry-After": str(wait_s)})
        scope["priory.token"] = token
        return self._app


def needs(scope: str) -> Any:
    """Return what a route depends on that takes a scope."""
    return Security(_token, scopes=[scope])


async def _token(wanted: SecurityScopes, request: Request, _said: Annotated[object, Security(_bearer)]) -> Token:
    token: Token = request.scope["priory.token"]
    for scope in wanted.scopes:
        if not token.allows(scope):
            challenge = f'{_CHALLENGE}, error="insufficient_scope", scope="{scope}"'
            detail = f"This takes a token of scope {scope}; yours is of scope {token.scope}."
            raise HTTPException(403, detail, {"WWW-Authenticate": challenge})
    return token
