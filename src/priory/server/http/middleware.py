"""Middleware around all routes: allowed host names, security headers, draining of request bodies, counts of refusals.

The guard that authenticates is in `auth`.
"""

import asyncio
import re
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from priory.server.http.responses import refusal
from priory.server.metrics.names import HTTP, HTTP_REASONS
from priory.server.metrics.scoreboard import ProcessTally
from priory.server.options import is_this_machine

LINGER_S: Final = 5.0  #: how long a refused client may go on sending
_WRONG_HOST: Final = (
    "Address this daemon as localhost, 127.0.0.1 or [::1], or as the host in url of [http]; a proxy must set the Host "
    "header to one of them."
)
_SECURITY_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers send no Origin with a form
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class HostCheck:
    """Refuses requests that name another host.

    This prevents DNS rebinding: a hostile name that resolves to this machine would let its web page use the daemon
    from a visitor's browser. A Unix socket is exempt, because browsers cannot reach it.
    """

    def __init__(self, app: ASGIApp, url: str) -> None:
        self._app = app
        self._names = {url.removeprefix("https://")} - {""}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        is_unix_socket = scope["server"] is None or scope["server"][1] is None  # as older and newer uvicorns say it
        host = Headers(scope=scope).get("host", "localhost")
        is_ours = is_unix_socket or is_this_machine(_without_port(host)) or host.lower() in self._names
        answer = self._app if is_ours else refusal(scope, 421, _WRONG_HOST)
        await answer(scope, receive, send)


class SecurityHeaders:
    """Adds headers that make browsers load and run only content of this origin, and store nothing.

    A response that sets one of these headers itself keeps its own.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add the headers to the response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class BodyDrain:
    """Drains the request body after an early refusal, so that the client can read the answer.

    Closing a connection with unread data resets it, and the answer is lost.
    """

    def __init__(self, app: ASGIApp, most_bytes: int) -> None:
        self._app = app
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; if it is refused, read the rest of its body before the answer is sent."""
        # The client waits for our answer before it sends the body.
        expects_continue = any(name == b"expect" for name, _ in scope["headers"])
        is_complete = False

        async def observed_receive() -> Message:
            nonlocal is_complete
            message = await receive()
            is_complete = not message.get("more_body", False)
            return message

        async def send_after_drain(message: Message) -> None:
            is_refused = message.get("status", 200) >= 400 and message["status"] != 408  # 408: its time is over
            if is_refused and not (is_complete or expects_continue):
                await self._drain(receive)
            await send(message)

        await self._app(scope, observed_receive, send_after_drain)

    async def _drain(self, receive: Receive) -> None:
        n_left = self._most_bytes
        try:
            async with asyncio.timeout(LINGER_S):
                while n_left > 0 and (message := await receive()).get("more_body", False):
                    n_left -= len(message.get("body", b""))
        except TimeoutError:
            pass


class RefusalCounter:
    """Counts refused requests by reason, whichever layer refuses them."""

    def __init__(self, app: ASGIApp, tally: ProcessTally) -> None:
        self._app = app
        self._tally = tally

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count the response if it is a refusal."""

        async def counting_send(message: Message) -> None:
            reason = HTTP_REASONS.get(message.get("status", 200))
            if reason is not None:
                self._tally.add(("refused", HTTP, reason))
            await send(message)

        await self._app(scope, receive, counting_send)


def _without_port(host: str) -> str:
    return re.sub(r":\d*$", "", host).strip("[]")
