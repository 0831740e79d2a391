"""What is behind a verdict, as cards of a page: its lessons, similar lessons, and what would have changed it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from priory.filter.wording import deciding, forget_command, most_like, turn_sentences
from priory.html.builder import Html, element

if TYPE_CHECKING:
    from priory.filter.background import Background
    from priory.filter.wording import LikeLessons
    from priory.journal import Lesson

_TRIED: Final = (
    "Each was tried: the message was judged again in this way. Without its headers or text, a message is also "
    "less like the lessons, so more changes than the numbers of the missing parts."
)


def forget_code(lesson: "Lesson") -> Html:
    """Return the command that takes a lesson back."""
    return element("code", forget_command(lesson))


def background_cards(
    background: "Background", undo: "Callable[[Lesson], Html]" = forget_code, heading: str = "h2"
) -> Html:
    """Return the cards in one element; `undo` returns what follows a single lesson, to take it back."""
    lessons, verdict = background.lessons, background.explanation.verdict
    cards = []
    if lessons.influential:
        rows = [
            _row(lesson.words, lesson.effect, undo(lesson.lesson)) for lesson in deciding(lessons.influential, verdict)
        ]
        title = "Single lessons that moved it most" if rows else "No single lesson moved it much"
        cards.append(_card(heading, title, rows))
    if lessons.similar:
        cards.append(_card(heading, "Lessons most like it", [_like(like, undo) for like in most_like(lessons.similar)]))
    sentences = [element("li", words) for words in turn_sentences(background.turns)]
    return element("div", *cards, _card(heading, "What would have changed it", sentences, _TRIED))


def _card(heading: str, title: str, rows: Sequence[Html], note: str = "") -> Html:
    notes = [element("p", note, class_="quiet legend")] if note else []
    return element("section", element(heading, title), element("ul", *rows), *notes, class_="card background")


def _like(like: "LikeLessons", undo: "Callable[[Lesson], Html]") -> Html:
    """Return lessons that are like the message; only a single one can be taken back here."""
    return _row(like.words, like.alike, undo(like.lessons[0]) if len(like.lessons) == 1 else "")


def _row(words: str, *notes: str) -> Html:
    small = [note if isinstance(note, Html) else element("span", note) for note in notes if note]
    return element("li", element("span", words), element("small", *small, class_="quiet"))
