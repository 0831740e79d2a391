"""Uploads: several messages in one request, as files of a multipart/form-data body.

Files are spooled to disk as they arrive, and read from there in groups. So an upload may be much larger than a message
and still takes little memory. Its limits of size and time are a multiple of those for a message.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any, Final, TypeAlias

from fastapi import Depends, HTTPException, Request
from python_multipart.exceptions import FormParserError
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from priory.corpus import CorpusError
from priory.corpus.mail_file import is_archive, read_named
from priory.filter.prepare import READ_TOGETHER, in_groups
from priory.html.text import printable
from priory.server.http.body import (
    EXAMPLE_MAIL,
    MESSAGE_CONTENT,
    content_type,
    limited_chunks,
    read_message,
    time_limit,
)
from priory.server.options import ServeOptions

MULTIPART: Final = "multipart/form-data"
SIZE_FACTOR: Final = 16  #: an upload may be as large, and take as long, as this many messages of the largest size
MOST_FILES: Final = 100
MOST_MESSAGES: Final = 10_000
MOST_UPLOADS: Final = 4  #: on disk at a time, for each route
MOST_OF_A_TOKEN: Final = 2  #: of these, so that no token holds the places of all others by sending slowly
_MOST_NAME_LENGTH: Final = 200
_MOST_IN_MEMORY: Final = 64 * 1024  # bytes of each file before it is spooled to disk; Starlette's default is 1 MiB
Group: TypeAlias = list[tuple[str, bytes]]  #: source and bytes of some messages


class Upload:
    """The messages of one request."""

    def __init__(self, serving: ServeOptions) -> None:
        self._most_bytes = serving.max_bytes
        self._timeout_s = serving.timeout * SIZE_FACTOR
        self._files: list[UploadFile] = []
        #: Source and reason of everything that is not an acceptable message.
        self.passed_over: list[dict[str, str]] = []
        self.stopped: str | None = None  #: why the remaining messages were not processed

    async def receive(self, request: Request) -> None:
        """Store the files on disk."""
        try:
            async with time_limit(self._timeout_s, "upload"):
                parts = await _FilesParser(request.headers, self._chunks(request), max_files=MOST_FILES).parse()
        except (MultiPartException, FormParserError) as error:
            raise HTTPException(400, f"The upload cannot be parsed: {getattr(error, 'message', error)}") from None
        except OSError as error:
            raise HTTPException(503, f"The upload cannot be stored: {error.strerror}.", {"Retry-After": "60"}) from None
        self._files = [part for _, part in parts.multi_items() if not isinstance(part, str)]
        if not self._files:
            raise HTTPException(400, "The upload contains no file.")

    async def _chunks(self, request: Request) -> AsyncGenerator[bytes, None]:
        most = self._most_bytes * SIZE_FACTOR
        too_large = f"The upload has more than {most} bytes, {SIZE_FACTOR} times max_bytes of [serve]."
        async for chunk in limited_chunks(request, most, too_large):
            yield chunk

    def groups(self) -> Iterator[Group]:
        """Yield the messages in groups; the last group may be empty."""
        return in_groups(self._messages(), lambda message: len(message[1]), READ_TOGETHER)

    def _messages(self) -> Iterator[tuple[str, bytes]]:
        n = 0
        for source, raw in self._candidates():
            if len(raw) > self._most_bytes:
                self._pass_over(source, f"The message has more than {self._most_bytes} bytes.")
                continue
            if n == MOST_MESSAGES:
                self.stopped = f"An upload may contain {MOST_MESSAGES:,} messages; send the rest in another."
                return
            n += 1
            yield source, raw

    def _candidates(self) -> Iterator[tuple[str, bytes]]:
        for upload in self._files:
            name = printable(upload.filename or "")[:_MOST_NAME_LENGTH] or "upload"
            if is_archive(name):
                self._pass_over(name, "This is an archive; extract it, and send its files.")
                continue
            try:
                for source, raw in read_named(upload.file, name, "This"):
                    if raw is None:
                        self._pass_over(source, "This is empty.")
                    else:
                        yield source, raw
            except CorpusError as error:
                self._pass_over(name, f"{error}.")

    def _pass_over(self, source: str, reason: str) -> None:
        self.passed_over.append({"source": source, "reason": reason})

    def close(self) -> None:
        """Close the files, which also deletes them: they have no names."""
        for upload in self._files:
            upload.file.close()


class Uploads:
    """Limits how many uploads are on disk; each stays there until its request is answered, refused or cancelled."""

    def __init__(self, serving: ServeOptions) -> None:
        self._serving = serving
        self._owners: list[str] = []  # the token of each upload

    async def receive(self, request: Request) -> Upload:
        """Return the upload in a request's body."""
        if "content-encoding" in request.headers:
            raise HTTPException(415, "The files must not be compressed.")
        owner = request.scope["priory.token"].owner
        if len(self._owners) >= MOST_UPLOADS or self._owners.count(owner) >= MOST_OF_A_TOKEN:
            raise HTTPException(503, "Too many uploads at once; try again in a while.", {"Retry-After": "5"})
        upload = Upload(self._serving)
        task = asyncio.current_task()
        assert task is not None
        self._owners.append(owner)
        # The task of the request ends after a streamed answer, too, and when the client disconnects.
        task.add_done_callback(lambda _: self._end(upload, owner))
        await upload.receive(request)
        return upload

    def _end(self, upload: Upload, owner: str) -> None:
        self._owners.remove(owner)
        upload.close()


class _FilesParser(MultiPartParser):
    """A parser of forms whose parts must all be files."""

    spool_max_size = _MOST_IN_MEMORY

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        if self._current_part.file is None:
            raise MultiPartException("Every part must be a file, with a filename.")


def message_or_upload_body(serving: ServeOptions) -> Any:
    """Return the dependency of a route that takes a message or an upload; its value is the raw message or `Upload`."""
    uploads = Uploads(serving)

    async def read(request: Request) -> bytes | Upload:
        if content_type(request.headers) == MULTIPART:
            return await uploads.receive(request)
        return await read_message(request, serving.max_bytes, serving.timeout)

    return Depends(read)


def document_message_or_upload() -> dict[str, Any]:
    """Return the OpenAPI description of a route's body that is a message or an upload."""
    files = {
        "type": "array",
        "items": {"type": "string", "format": "binary"},
        "minItems": 1,
        "maxItems": MOST_FILES,
        "description": "Each file is a message or an mbox. The field may have any name.",
    }
    schema = {"type": "object", "properties": {"mail": files}, "required": ["mail"]}
    content = MESSAGE_CONTENT | {MULTIPART: {"schema": schema, "example": {"mail": [EXAMPLE_MAIL]}}}
    description = "The unchanged message (RFC 5322), or files that are messages or mboxes."
    return {"requestBody": {"description": description, "required": True, "content": content}}
