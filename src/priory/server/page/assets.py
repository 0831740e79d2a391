"""The styles and scripts of the page: files of this package, the same for everybody."""

import hashlib
from importlib.resources import files
from typing import Annotated, Final

from fastapi import APIRouter, Header, HTTPException, Response

_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def asset_routes() -> APIRouter:
    """Return the route that gives them, each as it is when the daemon starts."""
    router = APIRouter(include_in_schema=False)
    found = {each.name: each.read_bytes() for each in files(__package__).iterdir() if _kind(each.name)}
    found |= {name: files("priory").joinpath(name).read_bytes() for name in ("palette.css", "explained.css")}
    tags = {name: f'"{hashlib.sha256(content).hexdigest()[:32]}"' for name, content in found.items()}

    @router.get("/assets/{name}")
    async def asset(name: str, if_none_match: Annotated[str, Header()] = "") -> Response:
        if name not in found:
            raise HTTPException(404)
        headers = {"ETag": tags[name], "Cache-Control": "no-cache"}
        if tags[name] in if_none_match:
            return Response(status_code=304, headers=headers)
        return Response(found[name], headers={**headers, "Content-Type": f"{_kind(name)}; charset=utf-8"})

    return router


def _kind(name: str) -> str:
    return next((kind for ending, kind in _KINDS.items() if name.endswith(ending)), "")
