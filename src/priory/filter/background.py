"""What is behind a verdict: its lessons, since when they had what the reasons name, what would have changed it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from priory.filter.counterfactual import Counterfactual, Counterfactuals
from priory.filter.explanation import Explanation
from priory.filter.influence import LessonsBehind
from priory.filter.wording import lessons_as_dict, turns_as_dict

if TYPE_CHECKING:
    from priory.filter.filter import Filter


class Background(NamedTuple):
    """An explanation with what is behind the verdict."""

    explanation: Explanation  #: its reasons tell since when lessons had their items
    lessons: LessonsBehind
    turns: Counterfactuals

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: those of the explanation, its lessons, and what would have changed it."""
        return {
            **self.explanation.as_dict(),
            "lessons": lessons_as_dict(self.lessons),
            "counterfactuals": turns_as_dict(self.turns),
        }


def background(filter_: "Filter", raw: bytes, user: str, progress: Callable[[int], object]) -> Background:
    """Return what is behind the verdict on a message."""
    message = filter_.prepare(raw, located=True)
    lessons = filter_.lessons_behind(message, user, progress=progress)
    explanation = filter_.explain(message, user)
    turns = Counterfactual(filter_, explanation).find(lessons.influential)
    return Background(_with_since(filter_, explanation), lessons, turns)


def _with_since(filter_: "Filter", explanation: Explanation) -> Explanation:
    """Return an explanation with the times since when lessons had what its reasons name."""
    if explanation.verdict.is_untaught:
        return explanation
    items = [item for reason in explanation.reasons for item in reason.items]
    features = [item.feature for item in items if item.feature]
    return explanation.with_since(filter_.influence.since(explanation.verdict.about, features))
