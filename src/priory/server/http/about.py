"""The routes that tell what the filter has learned, and which model answers."""

from typing import Any

from fastapi import APIRouter, Response

from priory.features import VERSION
from priory.filter import Filter
from priory.server.http import schemas
from priory.server.http.access import needs
from priory.server.http.filters import Filters
from priory.server.http.json import json_bytes, json_response
from priory.server.http.problems import documented
from priory.server.http.state import Daemon


def about_routes(_daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes for who wants to know the filter."""
    router = APIRouter(tags=["about"], dependencies=[needs("check")])

    @router.get("/stats", responses=schemas.answered(schemas.Stats) | documented(503))
    async def stats() -> Response:
        """Tell what was learned, and how scores are read: as `priory stats --json` does."""
        return json_response(await filters.look(lambda filter_: json_bytes(filter_.stats().as_dict())))

    @router.get("/models", responses=schemas.answered(schemas.Models) | documented(503))
    async def models() -> Response:
        """Tell which models answer, and what they read."""
        return json_response(await filters.ask(lambda filter_: json_bytes({"models": [_model(filter_)]})))

    return router


def _model(filter_: Filter) -> dict[str, Any]:
    options, spec = filter_.options, filter_.spec
    return {
        "name": "filter",
        "labels": options.labels,
        "features_version": VERSION,
        "buckets": 1 << spec.bits,
        "kinds": {kind: weight for kind, weight in options.weights.items() if kind in spec.kinds},
        "patterns": len(spec.patterns),
        "smoothing": options.smoothing,
        "autolearn": options.autolearn is not None,
    }
