"""Request bodies: a message, files, JSON or a form; their limits in size and time, and how OpenAPI documents them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

from fastapi import Depends, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

from priory.server.options import ServeOptions

MESSAGE: Final = "message/rfc822"
JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MOST_BYTES: Final = 64 * 1024  #: of JSON, or of a form
FORM_TIMEOUT_S: Final = 10.0
MESSAGE_ERRORS: Final = (400, 408, 413, 415, 422, 503)  #: statuses of a route that takes messages
JSON_ERRORS: Final = (400, 408, 413, 415, 422)  #: statuses of a route that takes JSON
EXAMPLE_MAIL: Final = (
    "From: Euro Fortune Fund <prize@lottery.example>\r\n"
    "To: ann@mail.example\r\n"
    "Subject: You won\r\n"
    "\r\n"
    "Dear lucky winner, your address was selected in the lottery.\r\n"
)
MESSAGE_CONTENT: Final = {MESSAGE: {"schema": {"type": "string", "format": "binary"}, "example": EXAMPLE_MAIL}}
Model = TypeVar("Model", bound=BaseModel)


async def read_message(request: Request, most_bytes: int, timeout_s: float) -> bytes:
    """Return the message in a request's body; limits hold whatever the request says about its length."""
    if not has_content_type(request, MESSAGE):
        raise HTTPException(415, f"The body must be an unchanged message: Content-Type: {MESSAGE}, not compressed.")
    too_large = f"The message has more than {most_bytes} bytes, the limit set by max_bytes of [serve]."
    return await _read(request, "message", most_bytes, timeout_s, too_large)


def message_body(serving: ServeOptions) -> Any:
    """Return the dependency of a route that takes a message; its value is the raw message."""

    async def read(request: Request) -> bytes:
        return await read_message(request, serving.max_bytes, serving.timeout)

    return Depends(read)


def document_message(*, required: bool = True) -> dict[str, Any]:
    """Return the OpenAPI description of a route's body that is a message."""
    description = "The unchanged message (RFC 5322)."
    return {"requestBody": {"description": description, "required": required, "content": MESSAGE_CONTENT}}


def json_body(model: type[Model], serving: ServeOptions) -> Any:
    """Return the dependency of a route that takes JSON; its value is an instance of the model."""

    async def read(request: Request) -> Model:
        if not has_content_type(request, JSON):
            raise HTTPException(415, f"The body must be JSON: Content-Type: {JSON}, not compressed.")
        too_large = f"The JSON has more than {MOST_BYTES} bytes."
        raw = await _read(request, "JSON", MOST_BYTES, serving.timeout, too_large)
        try:
            return model.model_validate_json(raw)
        except ValidationError as error:
            errors = [{**detail, "loc": ("body", *detail["loc"])} for detail in error.errors(include_input=False)]
            raise RequestValidationError(errors) from None

    return Depends(read)


def document_json(model: type[BaseModel], example: Any) -> dict[str, Any]:
    """Return the OpenAPI description of a route's body that is JSON."""
    schema = model.model_json_schema()
    inlined = _inline(schema, schema.pop("$defs", {}))
    return {"requestBody": {"required": True, "content": {JSON: {"schema": inlined, "example": example}}}}


def _inline(schema: Any, definitions: dict[str, Any]) -> Any:
    """Replace references by what they refer to: the OpenAPI document has no such definitions."""
    if isinstance(schema, list):
        return [_inline(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    definition = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else {}
    return {key: _inline(value, definitions) for key, value in {**definition, **schema}.items() if key != "$ref"}


def has_body(request: Request) -> bool:
    """Tell whether a request has a body."""
    return "transfer-encoding" in request.headers or int(request.headers.get("content-length", 0)) > 0


def has_content_type(request: Request, expected: str) -> bool:
    """Tell whether a request declares its body to be of a type, and not compressed."""
    return content_type(request.headers) == expected and "content-encoding" not in request.headers


async def _read(request: Request, what: str, most_bytes: int, timeout_s: float, too_large: str) -> bytes:
    """Return a request's whole body; raise an error if it takes too long or is too large."""
    async with time_limit(timeout_s, what):
        raw = bytearray()
        async for chunk in limited_chunks(request, most_bytes, too_large):
            raw += chunk
        return bytes(raw)


async def limited_chunks(request: Request, most_bytes: int, detail: str) -> AsyncGenerator[bytes, None]:
    """Yield the chunks of a request's body; raise 413 if it is, or claims to be, too large."""
    too_large = HTTPException(413, detail)
    if int(request.headers.get("content-length", 0)) > most_bytes:
        raise too_large
    n_left = most_bytes
    async for chunk in request.stream():
        n_left -= len(chunk)
        if n_left < 0:
            raise too_large
        yield chunk


@asynccontextmanager
async def time_limit(timeout_s: float, what: str) -> AsyncIterator[None]:
    """Limit how long the body may take to arrive."""
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError:
        raise HTTPException(408, f"The {what} did not arrive within {timeout_s} seconds.") from None
    except ClientDisconnect:
        raise HTTPException(400, f"The {what} ended too soon.") from None


def is_form(headers: Headers) -> bool:
    """Tell whether a request declares its body to be a form."""
    return content_type(headers) == FORM


async def read_form(receive: Receive) -> bytes:
    """Return the body of a form; empty if it is too large, takes too long or breaks off."""
    body = bytearray()
    try:
        async with asyncio.timeout(FORM_TIMEOUT_S):
            while True:
                message = await receive()
                body += message.get("body", b"")
                if message["type"] != "http.request" or len(body) > MOST_BYTES:
                    return b""
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        return b""


def replay(body: bytes) -> Receive:
    """Return a `receive()` that replays a consumed body."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


def parse_form(body: bytes) -> dict[str, str]:
    """Return the fields of a form; if a name occurs twice, the last value counts.

    >>> parse_form(b"csrf=1f&name=Ann+B")
    {'csrf': '1f', 'name': 'Ann B'}
    """
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=1000))
    except ValueError:
        return {}


async def form_fields(request: Request) -> dict[str, str]:
    """Return the fields of the form in a request's body; a route can depend on this function."""
    if not is_form(request.headers):
        raise HTTPException(415, f"The body must be a form: Content-Type: {FORM}.")
    return parse_form(await read_form(request.receive))


def content_type(headers: Headers) -> str:
    """Return the content type without its parameters; empty if there is none."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()
