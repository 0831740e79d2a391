"""Asks the daemon over HTTP, as a program would."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPConnection
from typing import Any

from real_daemon import PATIENCE_S

MAIL = {"Content-Type": "message/rfc822"}


@dataclass
class Answer:
    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> str:
        """What is wrong, of an answer that says so as RFC 9457 has it."""
        assert self.headers["Content-Type"] == "application/problem+json"
        assert set(self.json) == {"type", "title", "status", "detail"}
        assert self.json["status"] == self.status >= 400
        return str(self.json["detail"])


@dataclass
class Client:
    """A program with a token, or without."""

    port: int
    token: str = ""

    def ask(
        self, method: str, path: str, body: bytes | Iterable[bytes] | None = None, headers: Mapping[str, str] = {}
    ) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        known = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            connection.request(method, path, body, {**known, **headers})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def post(self, path: str, raw: bytes | Iterable[bytes] | None = None) -> Answer:
        return self.ask("POST", path, raw, MAIL if raw is not None else {})
