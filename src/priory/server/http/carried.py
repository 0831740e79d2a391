"""The message that a request carries, and how the documentation says so."""

from typing import Any, Final

from fastapi import Depends, Request

from priory.server.http.limits import MESSAGE, message
from priory.server.http.schemas import EXAMPLE_MAIL
from priory.server.options import Serving

_CONTENT: Final = {MESSAGE: {"schema": {"type": "string", "format": "binary"}, "example": EXAMPLE_MAIL}}
ERRORS: Final = (400, 408, 413, 415, 422, 503)  #: that a route with a message can have beside those of all routes


def carried(serving: Serving) -> Any:
    """Return what a route depends on that takes a message."""

    async def raw(request: Request) -> bytes:
        return await message(request, serving.max_bytes, serving.timeout)

    return Depends(raw)


def takes_message(*, required: bool = True) -> dict[str, Any]:
    """Return what the documentation of a route says of the message that it takes."""
    body = {"description": "The message as it came (RFC 5322).", "required": required, "content": _CONTENT}
    return {"requestBody": body}
