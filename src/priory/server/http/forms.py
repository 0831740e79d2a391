"""What people send with a form: a few fields."""

import asyncio
from typing import Final
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request
from starlette.datastructures import Headers
from starlette.types import Message, Receive

MOST_BYTES: Final = 64 * 1024
PATIENCE_S: Final = 10.0
_KIND: Final = "application/x-www-form-urlencoded"


def is_form(headers: Headers) -> bool:
    """Tell whether a request says that it carries the fields of a form."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == _KIND


async def taken(receive: Receive) -> bytes:
    """Return what a request carries, if that is not too much; all else is no form of ours, and nothing."""
    body = bytearray()
    try:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                said = await receive()
                body += said.get("body", b"")
                if said["type"] != "http.request" or len(body) > MOST_BYTES:
                    return b""
                if not said.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        return b""


def given_again(body: bytes) -> Receive:
    """Return what gives a body that was taken to who comes next."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return parts.pop() if parts else {"type": "http.disconnect"}

    return receive


def fields(body: bytes) -> dict[str, str]:
    """Return the fields of a form; of two of one name, the last.

    >>> fields(b"csrf=1f&name=Ann+B")
    {'csrf': '1f', 'name': 'Ann B'}
    """
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=1000))
    except ValueError:
        return {}


async def form(request: Request) -> dict[str, str]:
    """Return the fields that a request carries; a route can depend on them."""
    if not is_form(request.headers):
        raise HTTPException(415, f"The body must be a form: Content-Type: {_KIND}.")
    return fields(await taken(request.receive))
