"""Several messages at a time: files, messages or mboxes, that one request carries as a form (multipart/form-data).

They are written to disk as they come, and read from there some at a time. So an upload may be much larger than a
message, and takes little memory; but not without bounds: it is as large, and takes as long, as some messages may.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any, Final

from fastapi import HTTPException, Request
from python_multipart.exceptions import FormParserError
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from priory.corpus import CorpusError, file
from priory.corpus.looks import is_archive
from priory.reading import READ_TOGETHER, together
from priory.server.http.limits import bounded, coming
from priory.server.options import Serving
from priory.verdict import printable

FORM: Final = "multipart/form-data"
AS_MANY: Final = 16  #: messages of the largest size: so large is an upload at most, and so long may it take
MOST_FILES: Final = 100
MOST_MESSAGES: Final = 10_000
MOST_UPLOADS: Final = 4  #: that lie on the disk at a time, for each route
_LONGEST_NAME: Final = 200
_IN_MEMORY: Final = 64 * 1024  # of each file; starlette would keep a megabyte


class Upload:
    """Mail that came in files, as far as it was mail."""

    def __init__(self, serving: Serving) -> None:
        self._most_bytes = serving.max_bytes
        self._patience_s = serving.timeout * AS_MANY
        self._files: list[UploadFile] = []
        self.passed_over: list[dict[str, str]] = []  #: what was no message that can be taken, and why
        self.stopped: str | None = None  #: why the rest was not looked at, if so

    async def receive(self, request: Request) -> None:
        """Take what comes to the disk."""
        try:
            async with coming(self._patience_s, "upload"):
                parts = await _Files(request.headers, self._pieces(request), max_files=MOST_FILES).parse()
        except (MultiPartException, FormParserError) as error:
            raise HTTPException(400, f"The upload cannot be read: {getattr(error, 'message', error)}") from None
        except OSError as error:
            raise HTTPException(503, f"The upload cannot be kept: {error.strerror}.", {"Retry-After": "60"}) from None
        self._files = [part for _, part in parts.multi_items() if not isinstance(part, str)]
        if not self._files:
            raise HTTPException(400, "The upload has no file in it.")

    async def _pieces(self, request: Request) -> AsyncGenerator[bytes, None]:
        most = self._most_bytes * AS_MANY
        refusal = f"The upload has more than {most} bytes, {AS_MANY} times max_bytes of [serve]."
        async for piece in bounded(request, most, refusal):
            yield piece

    def groups(self) -> Iterator[list[tuple[str, bytes]]]:
        """Yield source and bytes of messages, some together; the last group may be empty."""
        return together(self._messages(), lambda message: len(message[1]), READ_TOGETHER)

    def _messages(self) -> Iterator[tuple[str, bytes]]:
        n = 0
        for source, raw in self._found():
            if len(raw) > self._most_bytes:
                self._pass_over(source, f"The message has more than {self._most_bytes} bytes.")
                continue
            if n == MOST_MESSAGES:
                self.stopped = f"An upload is taken up to {MOST_MESSAGES:,} messages; send the rest in another."
                return
            n += 1
            yield source, raw

    def _found(self) -> Iterator[tuple[str, bytes]]:
        for each in self._files:
            name = printable(each.filename or "")[:_LONGEST_NAME] or "upload"
            if is_archive(name):
                self._pass_over(name, "This is an archive; unpack it, and send what is in it.")
                continue
            try:
                for source, raw in file.named(each.file, name, "This"):
                    if raw is None:
                        self._pass_over(source, "This is empty.")
                    else:
                        yield source, raw
            except CorpusError as error:
                self._pass_over(name, f"{error}.")

    def _pass_over(self, source: str, reason: str) -> None:
        self.passed_over.append({"source": source, "reason": reason})

    def close(self) -> None:
        """Let go of the files, which have no names: so they are gone."""
        for each in self._files:
            each.file.close()


class Uploads:
    """How many lie on the disk: each until its request is answered, refused or given up."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._n = 0

    async def received(self, request: Request) -> Upload:
        """Return the upload that a request carries."""
        if "content-encoding" in request.headers:
            raise HTTPException(415, "The files must be sent as they are, not compressed.")
        if self._n >= MOST_UPLOADS:
            raise HTTPException(503, "Others are sending files; try again in a while.", {"Retry-After": "5"})
        upload = Upload(self._serving)
        answering = asyncio.current_task()
        assert answering is not None
        self._n += 1
        answering.add_done_callback(lambda _: self._end(upload))
        await upload.receive(request)
        return upload

    def _end(self, upload: Upload) -> None:
        self._n -= 1
        upload.close()


def is_upload(request: Request) -> bool:
    """Tell whether a request says that it carries a form."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == FORM


class _Files(MultiPartParser):
    """A form in which all is files."""

    spool_max_size = _IN_MEMORY

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        if self._current_part.file is None:
            raise MultiPartException("Every part must be a file, with a filename.")


def takes_files() -> dict[str, Any]:
    """Return what the documentation of a route says of the form that it takes."""
    files = {
        "type": "array",
        "items": {"type": "string", "format": "binary"},
        "minItems": 1,
        "maxItems": MOST_FILES,
        "description": "Each a message or an mbox. Any name will do for the field.",
    }
    return {"schema": {"type": "object", "properties": {"mail": files}, "required": ["mail"]}}
