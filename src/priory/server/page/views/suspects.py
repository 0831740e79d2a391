"""The labels that look wrong, a part of the view *Journal*: to confirm or to correct."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from priory.html.builder import Html, element, together
from priory.html.numbers import time_element
from priory.server.page.layout import Visit, document
from priory.server.page.views.journal import (
    ASSETS,
    action,
    badge,
    identity,
    probability_bar,
    read_only_notice,
    sender_link,
    tabs,
    teacher,
)

if TYPE_CHECKING:
    from priory.lab.label_errors.lessons import SuspectLesson, SuspectLessons


def suspects_view(visit: Visit, lessons: "SuspectLessons", colours: Mapping[str, str]) -> Html:
    """Return the page with the most suspicious labels; `colours` has all labels."""
    parts = tabs("/journal/suspects"), _suspects(visit, lessons, colours)
    return document(visit, "/journal", "Journal", *parts, assets=ASSETS)


def _suspects(visit: Visit, lessons: "SuspectLessons", colours: Mapping[str, str]) -> Html:
    if lessons.reason:
        return element(
            "div",
            element("h2", "There are too few lessons to tell"),
            element("p", "Finding wrong labels takes a few dozen lessons of each label. Teach more, for example"),
            element("p", element("code", f"priory learn {next(iter(colours))} FOLDER")),
            class_="empty",
        )
    if not lessons.suspects:
        return element(
            "div",
            element("h2", "No label looks wrong"),
            element("p", f"Of {lessons.scored:,} lessons that could be judged, none stands out."),
            class_="empty",
        )
    may = visit.may("learn")
    return together(
        element(
            "p",
            "Before these messages were learned, the filter was sure that they have another label. People make "
            f"mistakes: about {max(lessons.expected_wrong, 1):.0f} of the {lessons.scored:,} labels that could be "
            "judged are expected to be wrong. The journal does not store the text of messages; "
            f"{_identifiers(lessons)} tell you which ones these are.",
        ),
        read_only_notice(visit),
        element("ol", *(_card(suspect, colours, may=may) for suspect in lessons.suspects), class_="suspects"),
        _rest(lessons),
    )


def _identifiers(lessons: "SuspectLessons") -> str:
    has_subjects = any(suspect.lesson.subject for suspect in lessons.suspects)
    return "subject, sender and source" if has_subjects else "sender and source"


def _rest(lessons: "SuspectLessons") -> Html:
    n_more = lessons.total - len(lessons.suspects)
    return (
        element("p", f"{n_more:,} more are less suspicious; they follow when these are settled.") if n_more else Html()
    )


def _card(suspect: "SuspectLesson", colours: Mapping[str, str], *, may: bool) -> Html:
    lesson, rather, probability = suspect
    others = [rather, *(label for label in colours if label not in {rather, lesson.label})]
    facts = (
        ("Learned", time_element(lesson.time)),
        ("By", teacher(lesson)),
        *([("Subject", element("bdi", lesson.subject))] if lesson.subject else []),
        ("Sender", sender_link(lesson)),
        ("Source", together(lesson.source or "–")),
        ("Certainty", probability_bar(lesson.certainty)),
    )
    return element(
        "li",
        element("h2", "Taught as ", badge(lesson.label, colours), ", looks like ", badge(rather, colours)),
        element("p", "wrong with a probability of ", probability_bar(probability), class_="quiet"),
        element("dl", *(element("div", element("dt", title), element("dd", text)) for title, text in facts)),
        element(
            "div",
            action(f"Right, it is {lesson.label}", "confirm", may=may),
            *(action(f"Wrong, it is {other}", "relearn", may=may, data_to=other) for other in others),
            class_="row acts",
        ),
        class_="panel",
        **identity(lesson),
    )
