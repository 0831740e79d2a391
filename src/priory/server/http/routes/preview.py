"""The preview of costs: what other costs would do on your own lessons."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from priory.decision import Costs, thresholds
from priory.filter.filter import Filter
from priory.server.http.answers import EstimateAnswer, answer_of, closed, estimate_answer
from priory.server.http.filters import AnalysisCache

if TYPE_CHECKING:
    from priory.lab.cost_trial import ChangedLesson, ChangedLessons, CostTrialResult
    from priory.lab.measures import Rates
    from priory.lab.measures.operating_point import OperatingPoint


@closed
class ConfusionAnswer(TypedDict):
    """How many lessons of each label (rows) get each verdict (columns)."""

    classes: Annotated[list[str], Field(examples=[["ham", "spam"]])]
    said: Annotated[list[str], Field(examples=[["ham", "spam", "unsure"]])]
    counts: Annotated[list[list[int]], Field(examples=[[[998, 1, 5], [12, 960, 24]]])]


@closed
class RatesAnswer(TypedDict):
    """The rates of errors for one label against the others."""

    false_positive_rate: EstimateAnswer
    false_negative_rate: EstimateAnswer
    precision: EstimateAnswer
    recall: EstimateAnswer
    jaccard: EstimateAnswer
    accuracy: EstimateAnswer
    unsure: EstimateAnswer


@closed
class FiguresAnswer(TypedDict):
    """The effect of costs on your lessons."""

    words: Annotated[
        str,
        Field(
            examples=[
                "The filter says unsure from a probability of 0.4, spam from 0.96: of 1,000 ham, 1 are called spam; …"
            ]
        ),
    ]
    confusion: ConfusionAnswer
    rates: Annotated[dict[str, RatesAnswer], Field(description="For each label.")]
    cost_per_message: EstimateAnswer


@closed
class PointAnswer(TypedDict):
    """A point of a curve. `y` is null where it is undefined, such as the precision if nothing is called spam."""

    x: float
    y: float | None


@closed
class CurveAnswer(TypedDict):
    """The points of a curve, as many as a small plot can show."""

    x: list[float]
    y: list[float]
    places: Annotated[dict[str, PointAnswer], Field(description="The points of these costs, by verdict.")]


@closed
class CurvesAnswer(TypedDict):
    """For two labels: ROC (the first label lost, the second found), precision by recall, cost by one threshold."""

    roc: CurveAnswer
    precision_recall: CurveAnswer
    cost: CurveAnswer


@closed
class ChangeKindAnswer(TypedDict):
    """How many lessons of a label would change from one verdict to another."""

    label: str
    was: str
    becomes: str
    lessons: int


@closed
class ChangedLessonAnswer(TypedDict):
    """A lesson that would get another verdict."""

    time: str
    label: str
    user: str
    automatic: bool
    source: str
    sender: str
    subject: str
    digest: str
    certainty: float | None
    probabilities: dict[str, float]
    was: str
    becomes: str


@closed
class ChangesAnswer(TypedDict):
    """The lessons that would get another verdict. `total` counts all, `lessons` lists a page, the latest first."""

    total: int
    kinds: list[ChangeKindAnswer]
    lessons: list[ChangedLessonAnswer]
    after: Annotated[int | None, Field(description="Where the next page begins; null at the end.")]


@closed
class PreviewAnswer(TypedDict):
    """The effect of costs on your own lessons, each judged by the prediction made just before it was learned."""

    labels: list[str]
    costs: dict[str, dict[str, float] | float]
    thresholds: dict[str, float]
    judged: Annotated[int, Field(description="Lessons with a prediction.")]
    unjudged: Annotated[int, Field(description="Lessons without a prediction.")]
    reason: Annotated[str, Field(description="Why there are no figures, or empty.")]
    now: Annotated[FiguresAnswer | None, Field(description="With the costs in force.")]
    then: Annotated[FiguresAnswer | None, Field(description="With the costs of the request.")]
    curves: CurvesAnswer | None
    changes: ChangesAnswer | None


def preview_costs(
    filter_: Filter, analyses: AnalysisCache, costs: Costs, most: int, after: int | None
) -> PreviewAnswer:
    """Return the effect that costs would have on a filter's lessons, and a page of those that would change."""
    trial = analyses.cost_trial(filter_)
    result = trial.result_of(costs)
    answer: PreviewAnswer = {
        "labels": list(costs.labels),
        "costs": costs.as_configured(),
        "thresholds": dict(thresholds(costs)),
        "judged": len(trial.lessons.labels),
        "unjudged": trial.n_unscored,
        "reason": trial.reason,
        "now": None,
        "then": None,
        "curves": None,
        "changes": None,
    }
    if result is not None:
        answer["now"], answer["then"] = _figures(result.now), _figures(result.then)
        answer["curves"] = _curves(result) if result.then.curve is not None else None
        answer["changes"] = _changes(trial.changed_lessons(filter_, result, most, after))
    return answer


def _figures(at: "OperatingPoint") -> FiguresAnswer:
    return {
        "words": at.words,
        "confusion": answer_of(ConfusionAnswer, at.confusion.as_dict()),
        "rates": {label: _rates(rates) for label, rates in at.rates.items()},
        "cost_per_message": estimate_answer(at.cost),
    }


def _rates(rates: "Rates") -> RatesAnswer:
    names = RatesAnswer.__annotations__
    return answer_of(RatesAnswer, {name: estimate_answer(getattr(rates, name)) for name in names})


def _curves(result: "CostTrialResult") -> CurvesAnswer:
    ground, then = result.ground, result.then
    assert ground.roc is not None
    assert ground.precision_recall is not None
    assert then.curve is not None
    places = {verdict: _rates(rates) for verdict, rates in then.places.items()}
    on_roc = {verdict: _point(rates["false_positive_rate"], rates["recall"]) for verdict, rates in places.items()}
    on_precision_recall = {verdict: _point(rates["recall"], rates["precision"]) for verdict, rates in places.items()}
    on_cost: dict[str, PointAnswer] = {then.costs.labels[1]: {"x": then.curve.implied, "y": then.curve.implied_cost}}
    return {
        "roc": _curve(ground.roc.x, ground.roc.y, on_roc),
        "precision_recall": _curve(ground.precision_recall.x, ground.precision_recall.y, on_precision_recall),
        "cost": _curve(then.curve.thresholds, then.curve.cost_per_example, on_cost),
    }


def _curve(x: Any, y: Any, places: dict[str, PointAnswer]) -> CurveAnswer:
    return {"x": x.tolist(), "y": y.tolist(), "places": places}


def _point(x: EstimateAnswer, y: EstimateAnswer) -> PointAnswer:
    return answer_of(PointAnswer, {"x": x["estimate"], "y": y["estimate"]})


def _changes(page: "ChangedLessons") -> ChangesAnswer:
    return {
        "total": page.total,
        "kinds": [
            {"label": label, "was": was, "becomes": becomes, "lessons": n}
            for (label, was, becomes), n in page.kinds.items()
        ],
        "lessons": [_changed_lesson(lesson) for lesson in page.lessons],
        "after": page.after,
    }


def _changed_lesson(changed: "ChangedLesson") -> ChangedLessonAnswer:
    lesson = {key: value for key, value in changed.lesson.as_dict().items() if key != "place"}
    change = {"probabilities": changed.probabilities, "was": changed.was, "becomes": changed.becomes}
    return answer_of(ChangedLessonAnswer, lesson | change)
