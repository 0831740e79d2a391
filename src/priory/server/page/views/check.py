"""The view *Check*: the verdict on a message, the evidence for it, and buttons to teach the right label.

The script only sends the dropped bytes and inserts the answer into the page. To teach, it uses the API.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from priory.filter.explanation_page import headline, reasons
from priory.filter.verdict import Verdict, digits
from priory.html.builder import Html, element, together
from priory.server.page.layout import Visit, document
from priory.server.page.views.teach_many import missing_labels, teach_many

if TYPE_CHECKING:
    from priory.filter.explanation import Explanation

_UNDO: Final = "u"
_BARE: Final = (
    "This text has no headers; a verdict on the words alone is less sure. In most mail programs, the source of a "
    "message has them: View source, Show original or Show raw message. Copy all of it."
)
_ASSETS: Final = ("explanation.css", "check.css", "teach.css", "check.js", "teach.js")


def check_view(visit: Visit, lessons: Mapping[str, int], user: str, most_name_length: int, most_bytes: int) -> Html:
    """Return the page: the number of lessons of each label, a form for a message, and a part to teach many.

    If lessons of a label are missing, teaching comes first, because nothing can be judged without them.
    """
    form, many = _form(user, most_name_length), teach_many(visit, lessons, most_bytes)
    return document(
        visit,
        "/",
        "Check",
        _lesson_counts(lessons),
        *((many, form) if missing_labels(lessons) else (form, many)),
        element("section", id="several", aria_label="Messages in these files", hidden=True, tabindex="-1"),
        element(
            "section",
            element("p", "The verdict on a message and the evidence for it appear here.", class_="empty"),
            id="result",
            aria_label="Verdict on the message",
            tabindex="-1",
        ),
        assets=_ASSETS,
    )


def explained_message(  # noqa: PLR0913, PLR0917 - the values that are shown
    explanation: "Explanation",
    taught: str | None,
    user: str,
    before: Mapping[str, float],
    lessons: Mapping[str, int],
    visit: Visit,
    *,
    has_headers: bool,
) -> Html:
    """Return the result for one message: verdict, buttons, evidence; and the number of lessons by now.

    `taught` is the label that the user has taught; `before` are the probabilities before the latest lesson.
    """
    verdict = explanation.verdict
    probability_before = before.get(verdict.about)
    article = element(
        "article",
        "" if has_headers else element("p", _BARE, class_="notice", id="bare"),
        headline(verdict, probability_before, "h2"),
        _change(verdict, probability_before),
        _teach_buttons(list(verdict.claims), taught, user, visit),
        *reasons(explanation, "h3"),
        data_label=verdict.label,
        data_about=verdict.about,
        data_probability=digits(verdict.probability),
        data_bare=not has_headers,
        data_probabilities=json.dumps(verdict.probabilities),
    )
    return together(_lesson_counts(lessons), article)


def _lesson_counts(lessons: Mapping[str, int]) -> Html:
    """Return the number of lessons, whether they suffice for a verdict, and what the labels mean."""
    counts = ", ".join(f"{n:,} {label}" for label, n in lessons.items())
    words, kind = f"The filter has learned {counts}.", "quiet"
    if missing := missing_labels(lessons):
        words = f"The filter cannot judge yet: it has learned {counts}. Teach it some {' and '.join(missing)} below."
        kind = "notice"
    return element("p", words, *_meaning(lessons), class_=kind, id="learned")


def _meaning(labels: Collection[str]) -> list[str]:
    """Explain the words ham and spam, if they are the labels."""
    return [" Ham is mail you want, spam is mail you do not want."] if {"ham", "spam"} <= set(labels) else []


def _form(user: str, most_name_length: int) -> Html:
    return element(
        "form",
        element("label", "Source of the message", for_="text"),
        element(
            "textarea",
            id="text",
            rows="7",
            spellcheck="false",
            autocomplete="off",
            aria_describedby="how",
            placeholder="Paste a message with its headers (in most mail programs: view source), or drop files here",
        ),
        element(
            "div",
            element("button", "Check ", keys("Ctrl", "Enter"), class_="button primary"),
            element("label", "or files", for_="files"),
            element("input", type="file", id="files", multiple=True),
            _user_field(user, most_name_length),
            class_="row",
        ),
        element(
            "p",
            "Messages (.eml) or mboxes; you can drop them anywhere on this page. Nothing is stored unless you teach "
            "it. If you name a user, this user's own lessons count, too, and you teach as this user.",
            class_="quiet",
            id="how",
        ),
        element(
            "noscript",
            element("p", "This view needs JavaScript; priory explain FILE does the same.", class_="notice"),
        ),
        class_="panel",
        id="check",
    )


def _user_field(user: str, most_name_length: int) -> Html:
    field = element(
        "input",
        id="user",
        value=user,
        maxlength=str(most_name_length),
        placeholder="no user",
        autocomplete="off",
        spellcheck="false",
        aria_describedby="how",
    )
    return element("span", element("label", "for user", for_="user"), field, class_="row whose")


def keys(*names: str) -> Html:
    """Return the keys of a button, as a hint for people who see it."""
    return element("span", *(element("kbd", name) for name in names), class_="keys", aria_hidden="true")


def _change(verdict: Verdict, before: float | None) -> Html:
    if before is None:
        return element("p", class_="moved")  # reserves the space that it takes after a lesson
    return element(
        "p",
        f"{verdict.about}: ",
        element("span", digits(before), class_="was"),
        " before, ",
        element("strong", digits(verdict.probability), class_="is"),
        " now.",
        class_="moved",
    )


def _teach_buttons(labels: Sequence[str], taught: str | None, user: str, visit: Visit) -> Html:
    """Return buttons to teach a label; they are disabled, with the reason, if the visit may not teach."""
    may = visit.may("learn")
    buttons = [
        element(
            "button",
            f"This is {label} ",
            keys(key),
            class_="button",
            type="button",
            disabled=not may,
            data_label=label,
            data_key=key,
            aria_pressed="true" if label == taught else "false",
            aria_keyshortcuts=key,
        )
        for label, key in shortcuts(labels).items()
    ]
    undo = _button("Undo ", keys(_UNDO), data_undo="", data_key=_UNDO, hidden=True, aria_keyshortcuts=_UNDO)
    forget = _button("Forget this lesson", data_forget="", disabled=not may) if taught else Html()
    return element(
        "div",
        element("p", _state(taught, user), " ", element("span", visit.why_not("learn"), class_="quiet")),
        element("div", *buttons, undo, forget, class_="row"),
        class_="panel teach",
    )


def _button(*children: str, **attributes: str | bool) -> Html:
    return element("button", *children, class_="button", type="button", **attributes)


def _state(taught: str | None, user: str) -> Html:
    if taught:
        as_user = f", as {user}," if user else ""
        return together(f"You have taught{as_user} that it is ", element("strong", taught), ".")
    return together("What is it?", f" You teach as {user}." if user else "")


def shortcuts(labels: Sequence[str]) -> dict[str, str]:
    """Return a key for each label: its first letter that is still free, otherwise a digit.

    >>> shortcuts(["ham", "spam", "scam", "hassle"])
    {'ham': 'h', 'spam': 's', 'scam': 'c', 'hassle': 'a'}
    """
    keys: dict[str, str] = {}
    for number, label in enumerate(labels, 1):
        free = (c for c in label.lower() if "a" <= c <= "z" and c != _UNDO and c not in keys.values())
        keys[label] = next(free, str(number % 10))
    return keys
