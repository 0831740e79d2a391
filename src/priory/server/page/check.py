"""The view *Check*."""

from typing import Annotated

from fastapi import APIRouter, Response

from priory.markup import element
from priory.server.http.filters import Filters
from priory.server.http.state import Daemon
from priory.server.page.shell import Visit, document
from priory.server.page.visiting import visiting


def check_page(_daemon: Daemon, _filters: Filters) -> APIRouter:
    """Return the routes of the view."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def check(visit: Annotated[Visit, visiting("check")]) -> Response:
        return document(visit, "/", "Check", element("p", "Nothing here yet.", class_="empty"))

    return router
