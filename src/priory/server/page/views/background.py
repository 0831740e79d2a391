"""The part of *Check* below a message: the lessons behind its verdict, and what would have changed it.

Each lesson has buttons that undo it, so that a wrong one costs one click.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from priory.filter.wording import deciding, most_like, turn_sentences
from priory.html.builder import Html, element, together
from priory.server.page.layout import Visit

if TYPE_CHECKING:
    from priory.filter.counterfactual import Counterfactuals
    from priory.filter.influence import LessonsBehind
    from priory.filter.verdict import Verdict
    from priory.filter.wording import LikeLessons
    from priory.journal import Lesson


def background_cards(behind: "LessonsBehind", turns: "Counterfactuals", verdict: "Verdict", visit: Visit) -> Html:
    """Return the lessons that moved a verdict most, those most like the message, and what would have changed it."""
    labels, may = list(verdict.claims), visit.may("learn")
    cards = []
    if behind.influential:
        rows = [
            _lesson(lesson.words, [f"moves it by {lesson.adds}", lesson.without], lesson.lesson, labels, may=may)
            for lesson in deciding(behind.influential, verdict.label)
        ]
        cards.append(_card("Lessons that moved it most", rows))
    if behind.similar:
        cards.append(_card("Most like it", [_like(like, labels, may=may) for like in most_like(behind.similar)]))
    cards.append(_card("What would have changed it", [element("li", words) for words in turn_sentences(turns)]))
    return together(*cards)


def _card(title: str, rows: Sequence[Html]) -> Html:
    return element("section", element("h3", title), element("ul", *rows), class_="card background")


def _like(like: "LikeLessons", labels: Sequence[str], *, may: bool) -> Html:
    """Return lessons that are like the message; a single one has buttons."""
    alike = f"{like.likeness:.0%} alike"
    if len(like.lessons) == 1:
        return _lesson(like.words, [alike], like.lessons[0], labels, may=may)
    return element("li", element("span", like.words), element("small", alike, class_="quiet"))


def _lesson(words: str, notes: Sequence[str], lesson: "Lesson", labels: Sequence[str], *, may: bool) -> Html:
    """Return a lesson in words, with buttons that give it another label or forget it."""
    owner = {"automatic": "true"} if lesson.is_automatic else {"user": str(lesson.user)}
    others = () if lesson.is_automatic else (label for label in labels if label != lesson.label)
    digest = lesson.digest.hex()
    return element(
        "li",
        element("span", words),
        element(
            "small",
            " · ".join(note for note in notes if note),
            *(_act(f"It is {other}", "relearn", digest, may=may, data_to=other) for other in others),
            _act("Forget it", "forget", digest, may=may),
            class_="quiet row",
        ),
        data_query=urlencode({"digest": digest, **owner}),
        data_label=lesson.label,
    )


def _act(text: str, act: str, digest: str, *, may: bool, **attributes: str) -> Html:
    spoken = element("span", f" (lesson {digest[:8]})", class_="spoken")
    return element("button", text, spoken, class_="link", type="button", data_act=act, disabled=not may, **attributes)
