"""The view *Check*: the verdict on a message, the reasons for it, and buttons to agree or to disagree.

The script only sends the dropped bytes and inserts the answer into the page. To teach, it uses the API.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from priory.filter.explanation_page import explained
from priory.filter.explanation_sums import tone
from priory.filter.rule_suggestions import RuleTarget, decisive_targets, ignorable_target
from priory.filter.verdict import RULE, Verdict, digits
from priory.html.builder import Html, element, together
from priory.journal import RuleThing
from priory.message import Message, has_usual_headers
from priory.server.page.layout import Visit, document
from priory.server.page.views.teach_many import missing_labels, teach_many

if TYPE_CHECKING:
    from priory.filter.attribution import Attribution
    from priory.filter.explanation import Explanation
    from priory.filter.reasons import Item, VerdictReason

_UNDO: Final = "u"
_BARE: Final = (
    "This text has no headers; a verdict on the words alone is less sure. In most mail programs, the source of a "
    "message has them: View source, Show original or Show raw message. Copy all of it."
)
_BACKGROUND: Final = element("div", id="background", aria_busy="true")  # the script fetches what belongs there
_RULES_LINK: Final = element("a", "All rules", href="/journal/rules")
_THINGS: Final = {
    RuleThing.SENDER: "Mail from",
    RuleThing.DOMAIN: "All mail from",
    RuleThing.LIST: "The mailing list",
}
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


@dataclass(frozen=True, slots=True)
class ExplainedMessage:
    """What the view shows of one message."""

    explanation: "Explanation"
    user: str
    taught: str | None  #: the label that the user has taught
    before: Mapping[str, float]  #: the probabilities before the latest lesson or rule
    lessons: Mapping[str, int]  #: of each label


def checked_message(checked: ExplainedMessage, visit: Visit) -> Html:
    """Return the result for one message: verdict, buttons, reasons, costs, sums; and the number of lessons by now."""
    verdict = checked.explanation.verdict
    before = checked.before.get(verdict.about)
    attribution = verdict.claims[verdict.about].attribution
    may = visit.may("learn")
    article = element(
        "article",
        "" if has_usual_headers(checked.explanation.message) else element("p", _BARE, class_="notice", id="bare"),
        *explained(
            checked.explanation,
            _answers(checked, visit),
            before=before,
            contradict=lambda reason, item: _contradiction(reason, item, attribution, may=may),
            background="" if verdict.is_untaught else _BACKGROUND,
            level=2,
        ),
        data_label=verdict.label,
        data_about=verdict.about,
        data_probability=digits(verdict.probability),
        data_bare=not has_usual_headers(checked.explanation.message),
        data_probabilities=json.dumps(verdict.probabilities),
    )
    return together(_lesson_counts(checked.lessons), article)


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
        return Html()
    return element(
        "span",
        f"{verdict.about}: ",
        element("span", digits(before), class_="was"),
        " before, ",
        element("strong", digits(verdict.probability), class_="is"),
        " now.",
        class_="moved",
    )


def _answers(checked: ExplainedMessage, visit: Visit) -> Html:
    """Return buttons that say what they will do: teach a label, take a lesson back, or make a rule.

    They are disabled, with the reason, if the visit may not teach.
    """
    verdict, taught, user = checked.explanation.verdict, checked.taught, checked.user
    may = visit.may("learn")
    labels = list(verdict.claims)
    order = sorted(labels, key=lambda label: label != verdict.label)
    key_of = shortcuts(labels)
    buttons = [_teach_button(label, key_of[label], verdict, taught, may=may) for label in order]
    undo = _button("Undo ", keys(_UNDO), data_undo="", data_key=_UNDO, hidden=True, aria_keyshortcuts=_UNDO)
    forget = _button("Forget what was taught", data_forget="", disabled=not may) if taught else Html()
    change = _change(verdict, checked.before.get(verdict.about))
    why_not = element("span", visit.why_not("learn"), class_="quiet")
    state = element("p", *_state(taught, user), change, why_not, class_="state")
    return element(
        "div",
        element("div", *buttons, undo, forget, state, class_="row"),
        _other_answers(checked.explanation.message, user, may=may),
        class_="teach",
    )


def _teach_button(label: str, key: str, verdict: Verdict, taught: str | None, *, may: bool) -> Html:
    is_right = label == verdict.label and taught is None
    colour = f" primary {tone(verdict, label)}" if is_right else ""
    return element(
        "button",
        f"{_answer_text(label, verdict, is_taught=taught is not None)} ",
        keys(key),
        class_=f"button{colour}",
        type="button",
        disabled=not may,
        data_label=label,
        data_key=key,
        aria_pressed="true" if label == taught else "false",
        aria_keyshortcuts=key,
    )


def _answer_text(label: str, verdict: Verdict, *, is_taught: bool) -> str:
    """Return what a button says: what it means to agree or to disagree with the verdict.

    Besides ham, mail with one of several other labels may be wanted, too.
    """
    is_wanted = label == "ham" and len(verdict.claims) == 2
    plain = "I want this mail" if is_wanted else f"this is {label}"
    if is_taught or verdict.label not in verdict.claims:
        return plain[0].upper() + plain[1:]
    if label == verdict.label:
        return f"Right, teach it as {label}"
    return f"No, {plain}"


def _button(*children: str, **attributes: str | bool) -> Html:
    return element("button", *children, class_="button", type="button", **attributes)


def _state(taught: str | None, user: str) -> list[str]:
    if taught:
        as_user = f", as {user}," if user else ""
        return [f"You have taught{as_user} that it is ", element("strong", taught), ". "]
    return [f"You teach as {user}. "] if user else []


def _other_answers(message: Message, user: str, *, may: bool) -> Html:
    """Return buttons to allow or block the sender, the domain or the mailing list."""
    targets = decisive_targets(message)
    if not targets:
        return Html()
    whose = f"for {user}" if user else "for everyone"
    rows = [
        element(
            "li",
            element("span", f"{_THINGS[target.thing]} ", element("b", target.text)),
            _rule_button("Always let it pass", "allow", target, may=may),
            _rule_button("Always treat it as unwanted", "block", target, may=may),
            class_="row",
        )
        for target in targets
    ]
    return element(
        "details",
        element("summary", "Something else…"),
        element("p", f"A rule counts strongly, {whose}, from the next message on. ", _RULES_LINK, class_="quiet"),
        element("ul", *rows),
        class_="other",
    )


def _rule_button(text: str, effect: str, target: RuleTarget, *, may: bool, class_: str = "button small") -> Html:
    return element(
        "button",
        text,
        element("span", f" ({target.thing} {target.text})", class_="spoken"),
        class_=class_,
        type="button",
        disabled=not may,
        data_rule=effect,
        data_thing=target.thing.value,
        data_text=target.text,
    )


def _contradiction(reason: "VerdictReason", item: "Item", attribution: "Attribution", *, may: bool) -> Html:
    """Return the button that makes an item of a reason count nothing, or the link to the rules if it is a rule."""
    if reason.group == RULE:
        return _RULES_LINK
    target = ignorable_target(reason.group, item, attribution)
    if target is None:
        return Html()
    if target.thing is RuleThing.HEADER:
        words = f"the header {item.text.partition(':')[0]}"
    elif target.thing in (RuleThing.WORD, RuleThing.PHRASE):
        words = f"“{target.text}”"
    else:
        words = f"this {target.thing}"
    return _rule_button(f"ignore {words} from now on", "ignore", target, may=may, class_="link")


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
