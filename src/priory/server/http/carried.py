"""The message that a request carries, or several in files, and how the documentation says so."""

from typing import Any, Final

from fastapi import Depends, Request

from priory.server.http.limits import MESSAGE, message
from priory.server.http.schemas import EXAMPLE_MAIL
from priory.server.http.uploads import FORM, Upload, Uploads, is_upload, takes_files
from priory.server.options import Serving

_CONTENT: Final = {MESSAGE: {"schema": {"type": "string", "format": "binary"}, "example": EXAMPLE_MAIL}}
ERRORS: Final = (400, 408, 413, 415, 422, 503)  #: that a route with a message can have beside those of all routes


def carried(serving: Serving) -> Any:
    """Return what a route depends on that takes a message."""

    async def raw(request: Request) -> bytes:
        return await message(request, serving.max_bytes, serving.timeout)

    return Depends(raw)


def carried_or_several(serving: Serving) -> Any:
    """Return what a route depends on that takes a message, or several in files."""
    uploads = Uploads(serving)

    async def mail(request: Request) -> bytes | Upload:
        if is_upload(request):
            return await uploads.received(request)
        return await message(request, serving.max_bytes, serving.timeout)

    return Depends(mail)


def takes_message(*, required: bool = True, several: bool = False) -> dict[str, Any]:
    """Return what the documentation of a route says of the message, or the several, that it takes."""
    form = {FORM: {**takes_files(), "example": {"mail": [EXAMPLE_MAIL]}}}
    words = "The message as it came (RFC 5322)" + (", or files that are messages or mboxes." if several else ".")
    content = _CONTENT | form if several else _CONTENT
    return {"requestBody": {"description": words, "required": required, "content": content}}
