"""The routes for labels that look wrong: to see them, to confirm them, and to turn them round."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

import numpy as np
from fastapi import APIRouter, Query, Response
from numpy.typing import NDArray
from pydantic import AfterValidator

from priory.filter import Filter
from priory.journal import Selection
from priory.server.http import journal_schemas, schemas
from priory.server.http.access import needs
from priory.server.http.filters import Filters
from priory.server.http.json import json_bytes, json_response
from priory.server.http.messages import MOST
from priory.server.http.parameters import Digest, User, known
from priory.server.http.problems import documented
from priory.server.http.state import Daemon
from priory.server.log import log
from priory.server.tokens import Token

SUSPICIOUS: Final = 0.1  #: probability of a slip above which a look is worth it: it costs a tenth of a wrong label
_ERRORS: Final = documented(422, 503)


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """How probable it is that labels are wrong, the most suspicious first."""

    changes: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    rather: NDArray[np.int64]
    reason: str = ""  #: why nothing could be judged

    @classmethod
    def of(cls, filter_: Filter) -> "Judged":
        """Judge all lessons by what was predicted of each before it was learned."""
        from priory.lab.error import LabError  # noqa: PLC0415 - the daemon is ready before the workbench is loaded
        from priory.lab.predictions import Predictions  # noqa: PLC0415
        from priory.lab.suspects import suspects  # noqa: PLC0415

        said = filter_.predicted()
        names = tuple(map(str, said.changes.tolist()))
        try:
            found = suspects(Predictions(filter_.options.labels, said.labels, said.log_probabilities, names))
        except LabError as error:
            nothing = np.empty(0, np.int64)
            return cls(nothing, np.empty(0), nothing, f"{error}.")
        return cls(said.changes[found.order], found.probabilities, found.rather)

    def without(self, changes: set[int]) -> "Judged":
        """Return the same without what some changes have learned."""
        left = ~np.isin(self.changes, [*changes])
        return Judged(self.changes[left], self.probabilities[left], self.rather[left], self.reason)


class Suspicions:
    """What looks wrong in a journal; it is looked through again when something was learned or forgotten."""

    def __init__(self) -> None:
        self._judged_at: tuple[str, int] | None = None
        self._judged: Judged

    def judged(self, filter_: Filter) -> Judged:
        """Return all labels but those that were confirmed; for who has the filter's thread."""
        now = filter_.journal.id, filter_.journal.position()[0]
        if now != self._judged_at:
            self._judged, self._judged_at = Judged.of(filter_), now
        return self._judged.without(filter_.journal.confirmed())

    def found(self, filter_: Filter, most: int) -> dict[str, Any]:
        """Return the most suspicious labels as plain values, and how many there are."""
        judged, labels = self.judged(filter_), filter_.options.labels
        n = int((judged.probabilities > SUSPICIOUS).sum())
        first = judged.changes[: min(n, most)].tolist()
        lessons = {each.change: each for each in filter_.lessons(Selection(changes=tuple(first)), most).lessons}
        shown = [
            lessons[change].as_dict() | {"rather": labels[rather], "probability": probability}
            for change, rather, probability in zip(
                first, judged.rather.tolist(), judged.probabilities.tolist(), strict=False
            )
            if change in lessons  # or it was forgotten just now
        ]
        return {
            "suspects": shown,
            "total": n,
            "expected_wrong": float(judged.probabilities.sum()),
            "scored": len(judged.changes),
            "reason": judged.reason,
        }


def suspects_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes for who looks whether labels are right."""
    router = APIRouter(tags=["journal"])
    labels, suspicions = daemon.options.labels, Suspicions()
    Label = Annotated[str, AfterValidator(known(labels)), Query(json_schema_extra={"enum": [*labels]})]  # noqa: N806

    @router.get(
        "/messages/suspects",
        dependencies=[needs("check")],
        responses=schemas.answered(journal_schemas.Suspects) | _ERRORS,
    )
    async def suspected(most: Annotated[int, Query(ge=1, le=MOST)] = 50) -> Response:
        """List labels that look wrong, by what was predicted of each message before it was learned.

        Those are left out that were confirmed, and those that are wrong with a probability below 0.1.
        """
        return json_response(await filters.look(lambda filter_: json_bytes(suspicions.found(filter_, most))))

    async def noted(token: Token, note: Callable[[Filter], bool], outcome: str, digest: str) -> Response:
        is_there = await filters.teach(note)
        log(outcome, token=token.id, outcome=outcome if is_there else "unknown")
        return json_response(json_bytes({"outcome": outcome if is_there else "unknown", "digest": digest}))

    @router.post("/messages/confirm", responses=schemas.answered(journal_schemas.Confirmed) | _ERRORS)
    async def confirm(
        token: Annotated[Token, needs("learn")], digest: Digest, label: Label, user: User = ""
    ) -> Response:
        """Say that the label of a lesson is right, however it looks: it is listed no more, as long as it stays so."""
        name = bytes.fromhex(digest)
        return await noted(token, lambda filter_: filter_.confirm(name, label, user), "confirmed", digest)

    @router.post("/messages/doubt", responses=schemas.answered(journal_schemas.Confirmed) | _ERRORS)
    async def doubt(token: Annotated[Token, needs("learn")], digest: Digest, label: Label, user: User = "") -> Response:
        """Take back that the label of a lesson was confirmed."""
        name = bytes.fromhex(digest)
        return await noted(token, lambda filter_: filter_.confirm(name, label, user, right=False), "doubted", digest)

    @router.post("/messages/relearn", responses=schemas.answered(journal_schemas.Relearned) | _ERRORS)
    async def relearn(
        token: Annotated[Token, needs("learn")], digest: Digest, label: Label, user: User = ""
    ) -> Response:
        """Turn a lesson of a person round without the message, as the journal has its features."""
        name = bytes.fromhex(digest)
        done = await filters.teach(lambda filter_: filter_.relearn(name, label, user))
        outcome = "unknown" if done is None else done.outcome
        daemon.tally.add(("lessons", outcome))
        log("lesson", token=token.id, outcome=outcome)
        return json_response(json_bytes({"outcome": outcome, "digest": digest, "was": done and done.was}))

    return router
