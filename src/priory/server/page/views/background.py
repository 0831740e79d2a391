"""The part of *Check* below a message: the lessons behind its verdict, and what would have changed it.

Each lesson has buttons that undo it, so that a wrong one costs one click. The words since when lessons had what the
reasons name come with it; the script puts them beside the reasons.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from priory.filter.background_cards import background_cards
from priory.filter.explanation_page import ShownReasons
from priory.filter.wording import since
from priory.html.builder import Html, element, together
from priory.server.page.layout import Visit

if TYPE_CHECKING:
    from priory.filter.background import Background
    from priory.journal import Lesson


def background_part(background: "Background", visit: Visit) -> Html:
    """Return the cards, and a hidden list of the words for the reasons, each with the feature that it is about."""
    labels = list(background.explanation.verdict.claims)
    undo = partial(_buttons, labels=labels, may=visit.may("learn"))
    return together(background_cards(background, undo, "h3"), _since_list(background))


def _since_list(background: "Background") -> Html:
    shown = ShownReasons.of(background.explanation)
    items = [item for marked in (*shown.own, *shown.against) for item in marked.items]
    words = {item.feature.key: since(item) for item in items if item.feature and item.since is not None}
    rows = [element("li", f", {text}", data_since=key) for key, text in words.items()]
    return element("ul", *rows, hidden=True)


def _buttons(lesson: "Lesson", labels: Sequence[str], *, may: bool) -> Html:
    """Return the buttons that give a lesson another label or forget it."""
    owner = {"automatic": "true"} if lesson.is_automatic else {"user": str(lesson.user)}
    others = () if lesson.is_automatic else (label for label in labels if label != lesson.label)
    digest = lesson.digest.hex()
    return element(
        "span",
        *(_act(f"Change it to {other}", "relearn", digest, may=may, data_to=other) for other in others),
        _act("Forget this lesson", "forget", digest, may=may),
        class_="row",
        data_query=urlencode({"digest": digest, **owner}),
        data_label=lesson.label,
    )


def _act(text: str, act: str, digest: str, *, may: bool, **attributes: str) -> Html:
    spoken = element("span", f" (lesson {digest[:8]})", class_="spoken")
    return element("button", text, spoken, class_="link", type="button", data_act=act, disabled=not may, **attributes)
