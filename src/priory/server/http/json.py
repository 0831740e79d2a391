"""Answers as JSON, written where they were computed: a long one would hold up the event loop."""

import json
from typing import Any

from fastapi import Response


def json_bytes(value: Any) -> bytes:
    """Return plain values as JSON, in ASCII: what a message is made of need not be text that can be encoded."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def json_response(content: bytes) -> Response:
    """Return the answer with this content."""
    return Response(content, media_type="application/json")
