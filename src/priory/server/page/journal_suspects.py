"""Labels that look wrong, in the Journal view: to confirm, or to turn round."""

from collections.abc import Mapping

from priory.lab.suspect_lessons import SuspectLesson, SuspectLessons
from priory.markup import Html, element, together
from priory.server.page.journal_rows import about, badge, button, probability, sender, taught_by
from priory.server.page.moment import moment


def suspects_part(found: SuspectLessons, colours: Mapping[str, str], *, may: bool, look_only: Html) -> Html:
    """Return what looks wrong; what to do if nothing could be judged, or nothing does."""
    if found.reason:
        return element(
            "div",
            element("h2", "Too little was taught to tell"),
            element("p", "To see that a label looks wrong takes some dozen lessons of each label. Teach more, such as"),
            element("p", element("code", f"priory learn {next(iter(colours))} FOLDER")),
            class_="empty",
        )
    if not found.suspects:
        return element(
            "div",
            element("h2", "No label looks wrong"),
            element("p", f"Of {found.scored:,} lessons that could be judged, none stands out."),
            class_="empty",
        )
    return together(
        element(
            "p",
            "Before these messages were taught, the filter was sure that they are something else. People slip: "
            f"about {max(found.expected_wrong, 1):.0f} of the {found.scored:,} labels that could be judged should be "
            "wrong. The journal keeps no text of messages, so sender and source must tell you which ones these are.",
        ),
        look_only,
        element("ol", *(_card(each, colours, may=may) for each in found.suspects), class_="suspects"),
        _rest(found),
    )


def _rest(found: SuspectLessons) -> Html:
    left = found.total - len(found.suspects)
    return element("p", f"{left:,} more are less suspicious; they follow when these are settled.") if left else Html()


def _card(suspect: SuspectLesson, colours: Mapping[str, str], *, may: bool) -> Html:
    lesson, rather, p = suspect
    others = [rather, *(label for label in colours if label not in {rather, lesson.label})]
    told = (
        ("Learned", moment(lesson.time)),
        ("By", taught_by(lesson)),
        ("Sender", sender(lesson)),
        ("Source", together(lesson.source or "–")),
        ("Certainty", probability(lesson.certainty)),
    )
    return element(
        "li",
        element(
            "h2",
            "Taught as ",
            badge(lesson.label, colours),
            ", looks like ",
            badge(rather, colours),
        ),
        element("p", "wrong with a probability of ", probability(p), class_="quiet"),
        element("dl", *(element("div", element("dt", title), element("dd", said)) for title, said in told)),
        element(
            "div",
            button(f"Right, it is {lesson.label}", "confirm", may=may),
            *(button(f"Wrong, it is {other}", "relearn", may=may, data_to=other) for other in others),
            class_="row acts",
        ),
        class_="panel",
        **about(lesson),
    )
