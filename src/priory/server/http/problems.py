"""What goes wrong: problem details as RFC 9457 has them for programs, a page for people; so for every error.

They tell what is wrong with a request, never what stood in it.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Scope

from priory.journal import JournalAwayError, JournalBusyError, JournalError, SelectionError
from priory.server.connection import log_error
from priory.server.page.shell import Visit, error_page
from priory.server.tokens import TokenError

MEDIA_TYPE: Final = "application/problem+json"
_MEANINGS: Final = {
    400: "The request ended too soon, says two things at once, or is a form that cannot be read.",
    401: "There is no token, or it is none of ours.",
    403: "The token is for less than this.",
    404: "There is none of this name.",
    408: "What was sent took too long to come.",
    409: "The request does not fit how things are; `detail` says what to do first.",
    413: "What was sent is too large: a message or an upload than `max_bytes` of `[serve]` allows, JSON than 64 KiB.",
    415: "What was sent is not said to be what this route takes, or it is compressed.",
    422: "A parameter is missing, or has a value that cannot be.",
    429: "The token was used more often than `rate` of `[http]` allows; `Retry-After` says when it may be again.",
    503: "The journal or the tokens cannot be read, somebody else writes for long, or an upload finds no room.",
}


class Problem(BaseModel):
    """What is wrong."""

    type: str = "about:blank"  #: the status says it all
    title: str
    status: int
    detail: str


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return the answer that says what is wrong.

    >>> problem(404, "There is no such route.").body
    b'{"type":"about:blank","title":"Not Found","status":404,"detail":"There is no such route."}'
    """
    said = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail)
    return JSONResponse(said.model_dump(), status, headers, MEDIA_TYPE)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what the documentation of a route says about its errors; these all routes have that need a token."""
    return {
        status: {
            "description": _MEANINGS[status],
            "content": {MEDIA_TYPE: {"schema": Problem.model_json_schema(), "example": _example(status)}},
        }
        for status in sorted({401, 403, 429, *statuses})
    }


def _example(status: int) -> dict[str, Any]:
    return Problem(title=HTTPStatus(status).phrase, status=status, detail=_MEANINGS[status]).model_dump()


def wants_page(scope: Scope) -> bool:
    """Tell whether a browser asks that shows what it gets to a person."""
    return "text/html" in Headers(scope=scope).get("accept", "") and not scope["path"].startswith("/v1/")


def refused(scope: Scope, status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer that says what is wrong, to a person or to a program."""
    if wants_page(scope):
        return error_page(Visit.of(scope), status, HTTPStatus(status).phrase, detail, headers)
    return problem(status, detail, headers)


def tell_problems(app: FastAPI) -> None:
    """Have an application answer all that goes wrong with a problem."""
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(SelectionError, _unselectable)
    app.add_exception_handler(JournalError, _unreadable)
    app.add_exception_handler(TokenError, _locked)
    app.add_exception_handler(Exception, _failed)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    own = {404: "There is no such route; /openapi.json lists all.", 405: "This route has other methods: see Allow."}
    if error.status_code == 404 and wants_page(request.scope):
        own[404] = "There is no such page; above are all there are."
    is_said = error.detail != HTTPStatus(error.status_code).phrase  # what nobody has said, the framework has
    detail = error.detail if is_said else own.get(error.status_code, error.detail)
    return refused(request.scope, error.status_code, detail, error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    """Name the parameters that are wrong, not what was given for them."""
    assert isinstance(error, RequestValidationError)
    said = [f"{_place(each)}: {each['msg'].removeprefix('Value error, ')}" for each in error.errors()]
    return refused(request.scope, 422, "; ".join(said))


async def _unselectable(request: Request, error: Exception) -> Response:
    return refused(request.scope, 422, f"{error}.")


def _place(error: Mapping[str, Any]) -> str:
    """Where in a request something is wrong, by names that are ours."""
    _, *names = error["loc"]
    return ".".join(map(str, names[:-1] if error["type"] == "extra_forbidden" else names)) or "body"


async def _unreadable(request: Request, error: Exception) -> Response:
    if isinstance(error, JournalBusyError):
        return refused(request.scope, 503, str(error), {"Retry-After": "1"})
    assert isinstance(error, JournalError)
    log_error(error)
    return refused(
        request.scope, 503, str(error), {"Retry-After": "10"} if isinstance(error, JournalAwayError) else None
    )


async def _locked(request: Request, error: Exception) -> Response:
    assert isinstance(error, TokenError)
    return no_tokens(request.scope, error)


def no_tokens(scope: Scope, error: TokenError) -> Response:
    """Return the answer to who cannot be let in, or out, as nobody can."""
    log_error(error)
    return refused(scope, 503, "The tokens cannot be used; the log of the daemon says why.")


async def _failed(request: Request, _error: Exception) -> Response:
    return refused(request.scope, 500, "Something is wrong inside; the log of the daemon says what.")
