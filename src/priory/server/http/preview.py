"""What costs would do, as it is answered."""

from typing import TYPE_CHECKING, Any

from pydantic import Field

from priory.decision import Costs, thresholds
from priory.filter import Filter
from priory.server.http.kept import Kept
from priory.server.http.schemas import Answer

if TYPE_CHECKING:
    from priory.lab.cost_trial import ChangedPage, Tried
    from priory.lab.measures import Rates
    from priory.lab.operating import Operating


class Estimate(Answer):
    """A figure, and between which it lies with a probability of 95 %; null where nothing is trial."""

    estimate: float | None = Field(examples=[0.0125])
    low: float | None = Field(examples=[0.0083])
    high: float | None = Field(examples=[0.0181])


class Confusion(Answer):
    """How many lessons of each label (rows) would be said to be what (columns)."""

    classes: list[str] = Field(examples=[["ham", "spam"]])
    said: list[str] = Field(examples=[["ham", "spam", "unsure"]])
    counts: list[list[int]] = Field(examples=[[[998, 1, 5], [12, 960, 24]]])


class Shares(Answer):
    """Which share is misjudged in which way, about one label against the rest."""

    false_positive_rate: Estimate
    false_negative_rate: Estimate
    precision: Estimate
    recall: Estimate
    jaccard: Estimate
    accuracy: Estimate
    unsure: Estimate


class Figures(Answer):
    """What costs do on your lessons."""

    words: str = Field(
        examples=["Says unsure from probability 0.4, spam from 0.96: of 1,000 ham, 1 are called spam; …"]
    )
    confusion: Confusion
    rates: dict[str, Shares] = Field(description="About each label.")
    cost_per_message: Estimate


class Place(Answer):
    """A point of a curve; the vertical one is null where nothing is said."""

    x: float
    y: float | None


class Line(Answer):
    """The points of a curve, as many as a small plot can show."""

    x: list[float]
    y: list[float]
    places: dict[str, Place] = Field(description="Where these costs stand on it, by what is said from there on.")


class Curves(Answer):
    """For two labels: ROC (the first label lost, the second found), precision by recall, cost by one threshold."""

    roc: Line
    precision_recall: Line
    cost: Line


class ChangedKind(Answer):
    """How many lessons of a label would change from one thing that is said to another."""

    label: str
    was: str
    becomes: str
    lessons: int


class ChangedLesson(Answer):
    """A lesson of which something else would be said."""

    time: str
    label: str
    user: str
    automatic: bool
    source: str
    sender: str
    digest: str
    certainty: float | None
    probabilities: dict[str, float]
    was: str
    becomes: str


class Changes(Answer):
    """What would change: in all, and some of it, the latest first."""

    total: int
    kinds: list[ChangedKind]
    lessons: list[ChangedLesson]
    after: int | None = Field(description="For the next page; null if there is none.")


class Preview(Answer):
    """What costs would do, on your own lessons, each as it was predicted just before it was learned."""

    labels: list[str]
    costs: dict[str, dict[str, float] | float]
    thresholds: dict[str, float]
    judged: int = Field(description="Lessons of which something was predicted.")
    unjudged: int = Field(description="All others.")
    reason: str = Field(description="Why there are no figures, if so.")
    now: Figures | None = Field(description="With the costs in force.")
    then: Figures | None = Field(description="With these.")
    curves: Curves | None
    changes: Changes | None


def previewed(filter_: Filter, kept: Kept, costs: Costs, most: int, after: int | None) -> dict[str, Any]:
    """Return what costs would do, as plain values."""
    trial = kept.cost_trial(filter_)
    tried = trial.tried(costs)
    said = {
        "labels": costs.labels,
        "costs": costs.as_configured(),
        "thresholds": thresholds(costs),
        "judged": len(trial.lessons.labels),
        "unjudged": trial.n_unscored,
        "reason": trial.reason,
    }
    if tried is None:
        return {**said, "now": None, "then": None, "curves": None, "changes": None}
    return {
        **said,
        "now": _figures(tried.now),
        "then": _figures(tried.then),
        "curves": _curves(tried) if tried.then.curve is not None else None,
        "changes": _changes(trial.changed(filter_, tried, most, after)),
    }


def _figures(at: "Operating") -> dict[str, Any]:
    return {
        "words": at.words,
        "confusion": at.confusion.as_dict(),
        "rates": {label: _shares(rates) for label, rates in at.rates.items()},
        "cost_per_message": at.cost.as_dict(),
    }


def _shares(rates: "Rates") -> dict[str, Any]:
    return {name: getattr(rates, name).as_dict() for name in Shares.model_fields}


def _curves(tried: "Tried") -> dict[str, Any]:
    ground, then = tried.ground, tried.then
    assert ground.roc is not None
    assert ground.precision_recall is not None
    assert then.curve is not None
    places = {said: _shares(rates) for said, rates in then.places.items()}
    on_roc = {said: _place(of["false_positive_rate"], of["recall"]) for said, of in places.items()}
    on_other = {said: _place(of["recall"], of["precision"]) for said, of in places.items()}
    on_cost = {then.costs.labels[1]: {"x": then.curve.implied, "y": then.curve.implied_cost}}
    return {
        "roc": _line(ground.roc.x, ground.roc.y, on_roc),
        "precision_recall": _line(ground.precision_recall.x, ground.precision_recall.y, on_other),
        "cost": _line(then.curve.thresholds, then.curve.cost_per_example, on_cost),
    }


def _line(x: Any, y: Any, places: dict[str, Any]) -> dict[str, Any]:
    return {"x": x.tolist(), "y": y.tolist(), "places": places}


def _place(x: dict[str, float | None], y: dict[str, float | None]) -> dict[str, float | None]:
    return {"x": x["estimate"], "y": y["estimate"]}


def _changes(page: "ChangedPage") -> dict[str, Any]:
    names = ("label", "was", "becomes")
    return {
        "total": page.total,
        "kinds": [{**dict(zip(names, kind, strict=True)), "lessons": n} for kind, n in page.kinds.items()],
        "lessons": [
            {
                **{key: value for key, value in each.lesson.as_dict().items() if key in ChangedLesson.model_fields},
                "probabilities": each.probabilities,
                "was": each.was,
                "becomes": each.becomes,
            }
            for each in page.lessons
        ],
        "after": page.after,
    }
