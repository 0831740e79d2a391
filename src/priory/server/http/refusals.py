"""Counts who is refused over HTTP, and why."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from priory.server.counted import HTTP, HTTP_REASONS
from priory.server.scoreboard import Tally


class Refusals:
    """Looks at every answer, by whomever it is given."""

    def __init__(self, app: ASGIApp, tally: Tally) -> None:
        self._app = app
        self._tally = tally

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and count if that is to refuse."""

        async def counted(said: Message) -> None:
            reason = HTTP_REASONS.get(said.get("status", 200))
            if reason is not None:
                self._tally.add(("refused", HTTP, reason))
            await send(said)

        await self._app(scope, receive, counted)
