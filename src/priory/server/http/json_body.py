"""What a request says in JSON: taken within bounds, and only from who may ask; FastAPI would read all of it first."""

from typing import Any, Final, TypeVar

from fastapi import Depends, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from priory.server.http.limits import body
from priory.server.options import Serving

_JSON: Final = "application/json"
_MOST_BYTES: Final = 64 * 1024
Said = TypeVar("Said", bound=BaseModel)


def json_body(model: type[Said], serving: Serving) -> Any:
    """Return what a route depends on that takes JSON of this form."""

    async def said(request: Request) -> Said:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            raise HTTPException(415, f"The body must be JSON: Content-Type: {_JSON}.")
        too_large = f"The body has more than {_MOST_BYTES} bytes."
        raw = await body(request, _MOST_BYTES, serving.timeout, "body", too_large)
        try:
            return model.model_validate_json(raw)
        except ValidationError as error:
            wrong = [{**each, "loc": ("body", *each["loc"])} for each in error.errors(include_input=False)]
            raise RequestValidationError(wrong) from None

    return Depends(said)


def takes_json(model: type[BaseModel], example: dict[str, Any]) -> dict[str, Any]:
    """Return what the documentation of a route says of the JSON that it takes."""
    content = {_JSON: {"schema": model.model_json_schema(), "example": example}}
    return {"requestBody": {"description": model.__doc__, "required": True, "content": content}}
