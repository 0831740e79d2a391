"""Lessons as they are shown in the Journal view."""

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlencode

from priory.listed import Listed
from priory.markup import Html, element, together
from priory.server.page.moment import moment
from priory.server.page.tables import scrolling
from priory.verdict import digits

_DIGITS: Final = 8  # of a digest that are shown
_FEW_LABELS: Final = 3  # whose buttons have room on one line
_BAR: Final = 48  # units wide
NO_SCOPE: Final = "no-scope"  #: the id of the sentence that says why buttons are not for this person


def badge(label: str, colours: Mapping[str, str]) -> Html:
    """Return a label in its colour, which is not the only sign: it says what it is."""
    return element("span", label, class_=f"label {colours.get(label, 'other')}")


def probability(p: float | None) -> Html:
    """Return a probability as a number and a bar; or that there is none."""
    if p is None:
        return element("span", "–", title="It was not scored.", class_="quiet")
    bar = element(
        "svg",
        element("rect", width=str(_BAR), height="6", rx="3", class_="track"),
        element("rect", width=f"{max(p, 0.02) * _BAR:.1f}", height="6", rx="3", class_="part"),
        viewBox=f"0 0 {_BAR} 6",
        aria_hidden="true",
    )
    return element("span", digits(p), bar, class_="probability")


def taught_by(lesson: Listed) -> Html:
    """Return who has taught a lesson."""
    if lesson.automatic:
        return element("em", "the filter itself")
    return together(lesson.user) if lesson.user else element("span", "nobody named", class_="quiet")


def sender(lesson: Listed) -> Html:
    """Return the domain of the sender, which leads to all from there."""
    if not lesson.sender:
        return element("span", "–", class_="quiet")
    return element("a", lesson.sender, href=f"/journal?{urlencode({'sender': lesson.sender})}")


def about(lesson: Listed) -> dict[str, str]:
    """Return what script needs to name a lesson to the API."""
    whose = {"automatic": "true"} if lesson.automatic else {"user": lesson.user}
    return {"data_query": urlencode({"digest": lesson.digest, **whose}), "data_label": lesson.label}


def button(text: str, act: str, *, may: bool, spoken: str = "", class_: str = "", **attributes: str) -> Html:
    """Return a button that does something to a lesson, or cannot, and which sentence says why."""
    return element(
        "button",
        text,
        *([element("span", f" {spoken}", class_="spoken")] if spoken else []),
        type="button",
        class_=f"button small {class_}".strip(),
        data_act=act,
        disabled=not may,
        aria_describedby=None if may else NO_SCOPE,
        **attributes,
    )


def table(lessons: Iterable[Listed], colours: Mapping[str, str], *, may: bool) -> Html:
    """Return lessons, one to a row; on a phone each is a card, so roles are said: styles would take them away."""
    titles = ("Learned", "Label", "Certainty", "By", "Message", "")
    head = element("tr", *(_head(title) for title in titles), role="row")
    whole = element(
        "table",
        element("caption", "Lessons, the latest first", class_="spoken"),
        element("thead", head, role="rowgroup"),
        element("tbody", *(_row(each, colours, may=may) for each in lessons), role="rowgroup"),
        role="table",
        class_="lessons",
    )
    return scrolling(whole, "Lessons")


def _head(title: str) -> Html:
    said = title or element("span", "Actions", class_="spoken")
    return element("th", said, scope="col", role="columnheader", class_="number" if title == "Certainty" else None)


def _row(lesson: Listed, colours: Mapping[str, str], *, may: bool) -> Html:
    named = f"{lesson.digest[:_DIGITS]}, {lesson.label} from {lesson.sender or 'nobody'}"
    others = () if lesson.automatic else (label for label in colours if label != lesson.label)
    acts = (
        *(button(f"It is {other}", "relearn", may=may, spoken=f"({named})", data_to=other) for other in others),
        button("Forget", "forget", may=may, spoken=named),
    )
    cells = (
        (
            "Learned",
            together(moment(lesson.time), element("code", lesson.digest[:_DIGITS], title=lesson.digest)),
            "two",
        ),
        ("Label", badge(lesson.label, colours), ""),
        ("Certainty", probability(lesson.certainty), "number"),
        ("By", taught_by(lesson), ""),
        ("Message", together(sender(lesson), element("span", lesson.source)), "two message"),
        ("", element("div", *acts, class_="acts many" if len(colours) > _FEW_LABELS else "acts"), ""),
    )
    return element(
        "tr",
        *(element("td", content, role="cell", data_title=title, class_=kind or None) for title, content, kind in cells),
        role="row",
        **about(lesson),
    )
