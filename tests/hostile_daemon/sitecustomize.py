"""Python loads this at its start if it is on the path: a message can then run hostile code in a worker of a daemon."""

import json
from pathlib import Path

import hostile_code
from priory.server.daemon.mail_check import MailCheck
from priory.wire.spamd import Request

_answer = MailCheck.answer


def _run(self: MailCheck, request: Request, most_read: int | None = None) -> tuple[bytes, str]:
    if not request.body.startswith(b"{"):
        return _answer(self, request, most_read)
    asked = json.loads(request.body)
    attempts = getattr(hostile_code, asked["attempts"])(Path(asked["other_home"]), asked["victim"])
    return json.dumps(hostile_code.results(attempts)).encode(), "none"


MailCheck.answer = _run  # type: ignore[method-assign]
