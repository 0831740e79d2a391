"""How a view knows who looks at it."""

from typing import Annotated, Any

from fastapi import Depends, Request

from priory.server.http.access import needs
from priory.server.page.shell import Visit
from priory.server.tokens import Token


def visiting(scope: str) -> Any:
    """Return what a view depends on: who looks, if they may."""

    async def visit(request: Request, _token: Annotated[Token, needs(scope)]) -> Visit:
        return Visit.of(request.scope)

    return Depends(visit)
