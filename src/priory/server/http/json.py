"""Answers as JSON, written where they were computed: a long one would hold up the event loop."""

import json
from datetime import UTC, datetime
from typing import Any

from fastapi import Response


def json_bytes(value: Any) -> bytes:
    """Return plain values as JSON, in ASCII: what a message is made of need not be text that can be encoded."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def json_response(content: bytes) -> Response:
    """Return the answer with this content."""
    return Response(content, media_type="application/json")


def greenwich(at: float) -> str:
    """Return a time as ISO 8601 has it, of Greenwich.

    >>> greenwich(1_793_491_200.5)
    '2026-11-01T00:00:00Z'
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
