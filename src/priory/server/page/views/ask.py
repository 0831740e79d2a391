"""The view *Ask*: the messages in the spool whose labels would teach most, one key each.

All text of a message is its sender's, so it is escaped; of an HTML message only the text is shown. The script sends the
answers to the API.
"""

from collections.abc import Sequence
from typing import Final

from priory.filter.excerpt import Excerpt
from priory.filter.explanation_sums import tone
from priory.filter.questions import Question, label_keys
from priory.filter.verdict import digits, remedy
from priory.html.builder import Html, element, exact, together
from priory.html.numbers import time_element
from priory.server.page.layout import Visit, document
from priory.server.page.views.check import keys

_ASSETS: Final = ("explanation.css", "ask.css", "ask.js")
_SKIP, _UNDO = "n", "u"


def ask_view(visit: Visit, questions: Sequence[Question], total: int, reason: str, labels: Sequence[str]) -> Html:
    """Return the page with the questions; `total` is the number of messages in the spool.

    If the filter cannot judge them, `reason` says why.
    """
    if reason:
        parts = [element("p", f"The filter cannot judge yet: {reason}; {remedy(reason)}.", class_="notice")]
    elif not questions:
        parts = [_nothing_to_ask()]
    else:
        n = len(questions)
        parts = [
            element("p", _introduction(n, total), class_="quiet"),
            element("noscript", element("p", "This view needs JavaScript; priory ask does the same.", class_="notice")),
            element(
                "section",
                element("ol", *(_card(question, i, n, labels) for i, question in enumerate(questions, 1))),
                _end(),
                id="questions",
                aria_label="Questions",
            ),
        ]
    return document(visit, "/ask", "Ask", *parts, assets=_ASSETS)


def closed_ask_view(visit: Visit, *, is_on: bool) -> Html:
    """Return the page for a visit that may not see mail, or of a daemon that stores none."""
    if is_on:
        text = "This view shows mail that the daemon has checked. "
        return document(visit, "/ask", "Ask", element("p", text, visit.why_not("learn"), class_="notice"))
    how = element(
        "div",
        element("h2", "The spool is off"),
        element(
            "p",
            "The filter can ask you about the few messages whose labels would teach it most. For that, the daemon has "
            "to store copies of unsure mail for some days. Switch it on in the configuration, ",
            element("code", "priory.toml"),
            ", and reload the daemon:",
        ),
        element("pre", exact('[ask]\nspool = "20 MB"')),
        element(
            "p",
            "The copies are in the folder spool of the home. Its owner, and everyone with a token of scope learn, can "
            "read them. They are deleted when you answer, after 7 days, or when you switch the spool off. Without it, ",
            element("code", "priory ask ~/Maildir"),
            " asks about mail in folders.",
        ),
        class_="panel off",
    )
    return document(visit, "/ask", "Ask", how, assets=_ASSETS)


def _introduction(n: int, total: int) -> str:
    if n == 1:
        return "What is this message? Its label would teach the filter much."
    of = "" if n == total else f" of all {total:,} in the spool"
    return f"What are these {n} messages? Their labels would teach the filter most{of}."


def _nothing_to_ask() -> Html:
    return element(
        "div",
        element("h2", "Nothing to ask"),
        element("p", "No message in the spool waits for your answer. Come back when more mail has been checked."),
        class_="empty",
    )


def _card(question: Question, number: int, n: int, labels: Sequence[str]) -> Html:
    verdict, (author, _, subject, text, _) = question.verdict, Excerpt.of(question.message.message)
    probability = verdict.of_each or f"{verdict.about} with probability {digits(verdict.probability)}"
    title = f"q{number}"
    facts = (
        ("From", element("bdi", author) if author else _quiet("nobody")),
        ("Received", time_element(question.time) if question.received else _quiet("at an unknown time")),
        (
            "Verdict",
            together(element("span", verdict.label, class_=f"said {tone(verdict, verdict.label)}"), f" {probability}"),
        ),
        ("Why", verdict.sentence),
    )
    return element(
        "li",
        element(
            "div",
            element("h2", element("bdi", subject) if subject else _quiet("(no subject)"), id=title),
            element("span", f"{number} of {n}", class_="quiet"),
            class_="head",
        ),
        element(
            "div",
            element("dl", *(element("div", element("dt", name), element("dd", fact)) for name, fact in facts)),
            element("p", text, class_="text", dir="auto") if text else element("p", _quiet("There is no text.")),
            _buttons(labels),
            class_="body",
        ),
        _outcome(),
        class_="panel question",
        tabindex="-1",
        aria_labelledby=title,
        data_digest=verdict.digest,
    )


def _quiet(text: str) -> Html:
    return element("span", text, class_="quiet")


def _buttons(labels: Sequence[str]) -> Html:
    """Return a button for each label, with its key if it has one, and a button to skip the message."""
    key_of = {label: key for key, label in label_keys(labels).items()}
    return element(
        "div",
        *(_button(f"This is {label} ", key_of.get(label), data_label=label) for label in labels),
        _button("Skip ", _SKIP, data_skip=True),
        class_="row",
    )


def _button(text: str, key: str | None, **attributes: str | bool) -> Html:
    shown = keys(key) if key else Html()
    return element(
        "button", text, shown, class_="button", type="button", data_key=key, aria_keyshortcuts=key, **attributes
    )


def _outcome() -> Html:
    undo = element("button", "Undo ", keys(_UNDO), class_="button small", type="button", data_undo=True)
    return element("p", element("span", class_="outcome"), undo, class_="row done", hidden=True)


def _end() -> Html:
    """Return what follows the last answer."""
    more = element("a", "More questions", href="/ask", class_="button primary", id="more")
    return element("div", element("p", "These are done."), element("p", more), class_="empty", id="end", hidden=True)
