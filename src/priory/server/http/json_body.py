"""The JSON that a request carries, and how the documentation says so."""

from typing import Any, Final, TypeVar

from fastapi import Depends, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from priory.server.http.limits import is_plainly, received
from priory.server.options import Serving

JSON: Final = "application/json"
MOST_BYTES: Final = 64 * 1024
ERRORS: Final = (400, 408, 413, 415, 422)  #: that a route with JSON can have beside those of all routes
Said = TypeVar("Said", bound=BaseModel)


def json_body(model: type[Said], serving: Serving) -> Any:
    """Return what a route depends on that takes JSON, as a model has it."""

    async def taken(request: Request) -> Said:
        if not is_plainly(request, JSON):
            raise HTTPException(415, f"The body must be JSON: Content-Type: {JSON}, not compressed.")
        too_large = f"The JSON has more than {MOST_BYTES} bytes."
        raw = await received(request, "JSON", MOST_BYTES, serving.timeout, too_large)
        try:
            return model.model_validate_json(raw)
        except ValidationError as error:
            wrong = [{**each, "loc": ("body", *each["loc"])} for each in error.errors(include_input=False)]
            raise RequestValidationError(wrong) from None

    return Depends(taken)


def takes_json(model: type[BaseModel], example: Any) -> dict[str, Any]:
    """Return what the documentation of a route says of the JSON that it takes."""
    schema = model.model_json_schema()
    whole = _whole(schema, schema.pop("$defs", {}))
    return {"requestBody": {"required": True, "content": {JSON: {"schema": whole, "example": example}}}}


def _whole(schema: Any, parts: dict[str, Any]) -> Any:
    """Return a schema with its parts in their places: in the document of all routes no name leads to them."""
    if isinstance(schema, list):
        return [_whole(each, parts) for each in schema]
    if not isinstance(schema, dict):
        return schema
    named = parts[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else {}
    return {key: _whole(value, parts) for key, value in {**named, **schema}.items() if key != "$ref"}
