"""Responses: JSON, pages, and errors.

Every error is a problem as defined by RFC 9457 for programs, and a page for people. It says what is wrong with a
request, never what the request contained.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Scope

from priory.journal import JournalAwayError, JournalBusyError, JournalError, RuleError, SelectionError
from priory.processes.log import log_error
from priory.server.page.layout import Visit, error_page
from priory.server.tokens import TokenError

PROBLEM: Final = "application/problem+json"
INTERNAL: Final = "Internal error; the log of the daemon has the details."
_MEANINGS: Final = {
    400: "The request ended too soon, contradicts itself, or contains a form that cannot be parsed.",
    401: "There is no token, or it is not valid.",
    403: "The token lacks the scope that this route needs.",
    404: "There is nothing with this id.",
    408: "The body took too long to arrive.",
    409: "The request conflicts with the current state; `detail` says what to do first.",
    413: "The body is too large: `max_bytes` of `[serve]` limits a message or an upload; JSON may have 64 KiB.",
    415: "The body does not have the content type that this route takes, or it is compressed.",
    422: "A parameter is missing or has an invalid value.",
    429: "The token was used more often than `rate` of `[http]` allows; `Retry-After` says when it may be used again.",
    503: "The journal or the tokens cannot be read, the journal is locked for long, or an upload finds no disk space.",
}


def json_bytes(value: object) -> bytes:
    """Return a value as JSON in ASCII.

    Text out of a message may contain characters that UTF-8 cannot encode. Call this in the thread that computed the
    value: a long answer would block the event loop.
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def json_response(content: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response with this JSON."""
    return Response(content, status, headers, "application/json")


def document_answer(answer: Any, of_upload: Any = None) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of a route's answer: about one message, and about the messages of an upload."""
    types = [type_ for type_ in (answer, of_upload) if type_ is not None]
    words = [type_.__doc__.partition(".")[0] + "." for type_ in types]
    return {200: {"model": answer if of_upload is None else answer | of_upload, "description": " ".join(words)}}


class Problem(BaseModel):
    """A problem as defined by RFC 9457."""

    type: str = "about:blank"  # the status says which problem it is
    title: str
    status: int
    detail: str


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return the response that tells a program what is wrong.

    >>> problem(404, "There is no such route.").body
    b'{"type":"about:blank","title":"Not Found","status":404,"detail":"There is no such route."}'
    """
    content = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail)
    return JSONResponse(content.model_dump(), status, headers, PROBLEM)


def document_problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of a route's errors; 401, 403 and 429 are possible wherever a token is needed."""
    return {
        status: {
            "description": _MEANINGS[status],
            "content": {PROBLEM: {"schema": Problem.model_json_schema(), "example": _example(status)}},
        }
        for status in sorted({401, 403, 429, *statuses})
    }


def _example(status: int) -> dict[str, Any]:
    return Problem(title=HTTPStatus(status).phrase, status=status, detail=_MEANINGS[status]).model_dump()


def visit_of(scope: Scope) -> Visit:
    """Return the visit that the guard has authenticated; one without a token if there is no session."""
    return Visit(scope.get("priory.token"), scope.get("priory.csrf", ""))


def wants_page(scope: Scope) -> bool:
    """Tell whether the client is a browser that shows the answer to a person."""
    return "text/html" in Headers(scope=scope).get("accept", "") and not scope["path"].startswith("/v1/")


def refusal(scope: Scope, status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response that says what is wrong, to a person or to a program."""
    if wants_page(scope):
        page = error_page(visit_of(scope), status, HTTPStatus(status).phrase, detail)
        return HTMLResponse(page, status, headers)
    return problem(status, detail, headers)


def handle_errors(app: FastAPI) -> None:
    """Make an application answer every error with a problem or a page."""
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(SelectionError, _on_invalid_selection)
    app.add_exception_handler(RuleError, _on_invalid_rule)
    app.add_exception_handler(JournalError, _on_journal_error)
    app.add_exception_handler(TokenError, _on_token_error)
    app.add_exception_handler(Exception, _on_internal_error)


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    details = {404: "There is no such route; /openapi.json lists all.", 405: "The Allow header lists the methods."}
    if error.status_code == 404 and wants_page(request.scope):
        details[404] = "There is no such page; the links above lead to all pages."
    is_default = error.detail == HTTPStatus(error.status_code).phrase  # the framework's own words
    detail = details.get(error.status_code, error.detail) if is_default else error.detail
    return refusal(request.scope, error.status_code, detail, error.headers)


async def _on_invalid_request(request: Request, error: Exception) -> Response:
    """Name the invalid parameters, but not their values."""
    assert isinstance(error, RequestValidationError)
    details = [f"{_location(invalid)}: {invalid['msg'].removeprefix('Value error, ')}" for invalid in error.errors()]
    return refusal(request.scope, 422, "; ".join(details))


def _location(error: Mapping[str, Any]) -> str:
    """Return where in a request an error is; the name of an unknown field is the client's, so it is left out."""
    _, *names = error["loc"]
    return ".".join(map(str, names[:-1] if error["type"] == "extra_forbidden" else names)) or "body"


async def _on_invalid_selection(request: Request, error: Exception) -> Response:
    return refusal(request.scope, 422, f"{error}.")


async def _on_invalid_rule(request: Request, error: Exception) -> Response:
    return refusal(request.scope, 422, f"{error}.")


async def _on_journal_error(request: Request, error: Exception) -> Response:
    if isinstance(error, JournalBusyError):
        return refusal(request.scope, 503, str(error), {"Retry-After": "1"})
    assert isinstance(error, JournalError)
    log_error(error)
    headers = {"Retry-After": "10"} if isinstance(error, JournalAwayError) else None
    return refusal(request.scope, 503, str(error), headers)


async def _on_token_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, TokenError)
    return tokens_unavailable(request.scope, error)


def tokens_unavailable(scope: Scope, error: TokenError) -> Response:
    """Return the response for when the file of tokens cannot be read or written."""
    log_error(error)
    return refusal(scope, 503, "The tokens cannot be used; the log of the daemon says why.")


async def _on_internal_error(request: Request, _error: Exception) -> Response:
    return refusal(request.scope, 500, INTERNAL)
