"""What the API takes and says of a comparison."""

import os
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from priory.lab.catalogue import JOURNAL_WAYS, MODELS
from priory.server.evaluation.run import Asked, Run
from priory.server.evaluation.words import headline, why_not, words
from priory.server.http.schemas import Answer

EXAMPLE: Final = {"models": ["filter", "bernoulli", "logistic"], "by": "time"}


class Comparison(BaseModel):
    """What to compare, and how."""

    model_config = ConfigDict(extra="forbid")

    models: list[Literal[*MODELS]] = Field(  # type: ignore[valid-type]
        default=[*MODELS], min_length=1, max_length=len(MODELS), json_schema_extra={"uniqueItems": True}
    )
    by: Literal[*JOURNAL_WAYS] = Field("stratified", description="How the mail is split.")  # type: ignore[valid-type]
    folds: int = Field(5, ge=2, le=20, description="Into how many parts.")
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Another seed shuffles otherwise.")
    nested: bool = Field(False, description="Also judge the choosing itself, by choosing anew within each fold.")
    curve: bool = Field(False, description="Also show how the best model's error falls with more mail.")
    jobs: int = Field(1, ge=1, le=64, description="Processes at most; never more than there are cores.")

    def asked(self) -> Asked:
        """Return it as the comparison takes it."""
        jobs = min(self.jobs, len(os.sched_getaffinity(0)))
        models = tuple(dict.fromkeys(self.models))
        return Asked(models, self.by, self.folds, self.seed, self.nested, self.curve, jobs)


class AskedFor(Answer):
    """What is compared, and how."""

    models: list[str] = Field(examples=[["filter", "bernoulli", "logistic"]])
    by: str = Field(examples=["time"])
    folds: int = Field(examples=[5])
    seed: int = Field(examples=[0])
    nested: bool
    curve: bool
    jobs: int = Field(examples=[1])


class Evaluation(Answer):
    """A comparison: what was asked for, how far it is, and what came of it."""

    id: str = Field(examples=["1f0c5ad3b2e94876"])
    state: Literal["running", "stopping", "finished", "failed", "stopped", "killed"]
    created: float = Field(description="Seconds since 1970.", examples=[1767225600.0])
    ended: float | None = Field(examples=[None])
    asked: AskedFor
    stage: str = Field(description="What is being done.", examples=["judging"])
    done: int = Field(examples=[7])
    total: int = Field(description="Of so many; 0 if that is not known.", examples=[15])
    remaining: float | None = Field(description="Seconds that this stage may take yet.", examples=[12.5])
    words: str = Field(
        description="All that for people, or what came of it.",
        examples=["Judging: 7 of 15 rounds, about 10 seconds left"],
    )
    messages: int | None = Field(description="That are compared by.", examples=[2000])
    winner: str | None = Field(description="The model with the fewest errors.", examples=[None])
    error_rate: float | None = Field(description="Of the winner.", examples=[None])
    lines: list[str] = Field(description="How far to trust that, in words.", examples=[[]])
    why: str = Field(description="Why there is no report, if so.", examples=[""])
    report: str | None = Field(description="Where the report is, as JSON.", examples=[None])
    page: str | None = Field(description="Where the report is, for a browser.", examples=[None])


class Evaluations(Answer):
    """All comparisons, the latest first."""

    evaluations: list[Evaluation]


def as_dict(run: Run) -> dict[str, Any]:
    """Return a comparison for JSON."""
    asked, progress, outcome = run.asked, run.progress, run.outcome
    is_finished = run.state == "finished"
    place = f"/v1/evaluate/{run.id}/report"
    return {
        "id": run.id,
        "state": run.state,
        "created": run.created,
        "ended": run.ended,
        "asked": {name: getattr(asked, name) for name in AskedFor.model_fields},
        "stage": progress.stage,
        "done": progress.done,
        "total": progress.total,
        "remaining": progress.remaining,
        "words": headline(run) if run.is_over else words(progress),
        "messages": outcome.messages if outcome else progress.messages,
        "winner": outcome.winner if outcome and is_finished else None,
        "error_rate": outcome.error_rate if outcome else None,
        "lines": outcome.lines if outcome else [],
        "why": why_not(run),
        "report": f"{place}.json" if is_finished else None,
        "page": place if outcome and outcome.policy else None,
    }
