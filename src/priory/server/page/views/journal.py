"""The view *Journal*: lessons to filter, forget, relearn and export."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from priory.filter.lessons import ListedLesson
from priory.filter.verdict import digits
from priory.html.builder import Html, element, scroll_box, together
from priory.html.numbers import time_element
from priory.journal import EVERYTHING, Selection, SelectionError, read_selection
from priory.journal.queries import FIELDS
from priory.server.page.layout import Visit, document

ASSETS: Final = ("journal.css", "journal.js")
_TABS: Final = (("/journal", "Lessons"), ("/journal/suspects", "Labels that look wrong"), ("/journal/rules", "Rules"))
_CERTAINTY: Final = (
    "Certainty is the probability of the label just before it was learned: a lesson near 0 was a surprise."
)
_ANY_VALUE: Final = re.compile(".*", re.DOTALL)
_VALUES: Final = {"date": re.compile(r"\d{4}-\d\d-\d\d"), "number": re.compile(r"[01]?\.?\d+")}
_RARE_FIELDS: Final = FIELDS[5:]
_DIGEST_DIGITS: Final = 8  # that are shown
_MOST_INLINE_LABELS: Final = 3  # labels whose buttons fit on one line
_BAR_WIDTH: Final = 48
_NO_SCOPE: Final = "no-scope"  # id of the sentence that says why buttons are disabled


@dataclass(frozen=True, slots=True)
class LessonQuery:
    """The lessons that the form asks for."""

    fields: dict[str, str]  #: as filled in, without the empty ones
    selection: Selection
    error: str = ""  #: why the fields are no selection; then all lessons are selected

    @classmethod
    def of(cls, parameters: Mapping[str, str], labels: Sequence[str]) -> "LessonQuery":
        """Read the parameters of an address; as in a form, an empty one does not count."""
        fields = {name: value for name in FIELDS if (value := parameters.get(name, "").strip())}
        try:
            if fields.get("label", labels[0]) not in labels:
                raise SelectionError(f"unknown label; this filter knows {', '.join(labels)}")
            return cls(fields, read_selection(fields))
        except SelectionError as error:
            why = str(error)
            return cls(fields, EVERYTHING, f"{why[0].upper()}{why[1:]}.")

    @property
    def query(self) -> str:
        """The fields as parameters of an address."""
        return urlencode(self.fields)

    @property
    def words(self) -> str:
        """The fields in words."""
        phrases = {
            "label": "taught as {}",
            "automatic": "learned by the filter itself" if self.selection.automatic else "taught by people",
            "sender": "from {}",
            "since": "since {}",
            "until": "before {}",
            "user": "by {}",
            "source": "source {}…",
            "digest": "digest {}…",
            "certainty_above": "certainty above {}",
            "certainty_below": "certainty below {}",
            "subject": "subject with “{}”",
        }
        return ", ".join(phrases[name].format(value) for name, value in self.fields.items())


@dataclass(frozen=True, slots=True)
class LessonList:
    """A page of the selected lessons."""

    lessons: Sequence[ListedLesson]
    after: str | None  #: the place where the next page begins
    n_selected: int
    n_total: int
    is_first: bool


def journal_view(visit: Visit, query: LessonQuery, page: LessonList, colours: Mapping[str, str]) -> Html:
    """Return the page with the form and the selected lessons; `colours` has all labels."""
    parts = (tabs("/journal"), _form(query, list(colours)), _result(visit, query, page, colours))
    return document(visit, "/journal", "Journal", *parts, assets=ASSETS)


def tabs(current: str) -> Html:
    """Return the links to the parts of the journal."""
    links = (
        element("a", title, href=address, aria_current="page" if address == current else None)
        for address, title in _TABS
    )
    return element("nav", *links, class_="tabs", aria_label="Journal")


def read_only_notice(visit: Visit) -> Html:
    """Return the sentence that says why buttons are disabled; nothing if they are not."""
    why = visit.why_not("learn")
    return element("p", f"You cannot change anything here. {why}", id=_NO_SCOPE, class_="notice") if why else Html()


def _form(query: LessonQuery, labels: Sequence[str]) -> Html:
    """Return the form; it works without script, and its address can be bookmarked."""
    common = (
        _choice(query, "label", "Label", {"": "any", **{label: label for label in labels}}),
        _choice(query, "automatic", "Taught by", {"": "anyone", "false": "people", "true": "the filter itself"}),
        _field(query, "sender", "Sender’s domain", placeholder="mail.example"),
        _field(query, "since", "Learned since", type_="date"),
        _field(query, "until", "Learned before", type_="date"),
    )
    bounds = {"type_": "number", "min_": "0", "max_": "1", "step": "any", "inputmode": "decimal"}
    rare = (
        _field(query, "user", "User", placeholder="ann"),
        _field(query, "source", "Source begins with", placeholder="/home/ann/Maildir/.Junk/"),
        _field(query, "digest", "Digest begins with", placeholder="2f9c", pattern="[0-9a-fA-F]{1,64}"),
        _field(query, "certainty_above", "Certainty above", placeholder="0.00", **bounds),
        _field(query, "certainty_below", "Certainty below", placeholder="1.00", **bounds),
        _field(query, "subject", "Subject contains", placeholder="lunch"),
    )
    return element(
        "form",
        element("div", *common, class_="fields"),
        element(
            "details",
            element("summary", "More filters"),
            element("div", *rare, class_="fields"),
            element("p", _CERTAINTY, class_="quiet"),
            open=any(name in query.fields for name in _RARE_FIELDS),
        ),
        element(
            "div",
            element("button", "Filter", class_="button primary"),
            element("a", "Clear", href="/journal", class_="button", id="clear"),
            class_="row",
        ),
        id="filter",
        class_="panel",
        action="/journal",
        method="get",
        role="search",
        aria_label="Filter lessons",
    )


def _field(query: LessonQuery, name: str, title: str, type_: str = "text", **attributes: str) -> Html:
    value = query.fields.get(name)
    if value is not None and not _VALUES.get(type_, _ANY_VALUE).fullmatch(value):
        type_ = "text"  # a browser shows an empty field for an invalid date or number
    field = element("input", id=name, name=name, type=type_, value=value, autocomplete="off", **attributes)
    return element("p", element("label", title, for_=name), field)


def _choice(query: LessonQuery, name: str, title: str, choices: Mapping[str, str]) -> Html:
    chosen = query.fields.get(name, "")
    options = (element("option", text, value=value, selected=value == chosen) for value, text in choices.items())
    return element("p", element("label", title, for_=name), element("select", *options, id=name, name=name))


def _result(visit: Visit, query: LessonQuery, page: LessonList, colours: Mapping[str, str]) -> Html:
    """Return the selected lessons; the script replaces this part."""
    if query.error:
        parts = [element("p", query.error, class_="notice wrong", role="alert")]
    elif not page.n_total:
        parts = [_no_lessons([*colours])]
    elif not page.lessons:
        parts = [_none_selected(page.n_selected)]
    else:
        parts = [
            read_only_notice(visit),
            _summary(visit, query, page),
            _table(page.lessons, colours, may=visit.may("learn")),
            _pages(query, page),
        ]
    return element("section", *parts, id="found", aria_label="Lessons found", tabindex="-1")


def _no_lessons(labels: Sequence[str]) -> Html:
    return element(
        "div",
        element("h2", "There are no lessons yet"),
        element("p", "Teach a folder of mail: ", element("code", f"priory learn {labels[-1]} FOLDER"), ","),
        element("p", "or a single message in the view ", element("a", "Check", href="/"), "."),
        class_="empty",
    )


def _none_selected(n_selected: int) -> Html:
    if n_selected:
        title, hint = (
            "No further lesson",
            ("These were all. ", element("a", "Back to the latest", href="/journal"), "."),
        )
    else:
        link = element("a", "see all lessons", href="/journal")
        title, hint = "No such lesson", ("Remove a filter (domains must be complete), or ", link, ".")
    return element("div", element("h2", title), element("p", *hint), class_="empty")


def _summary(visit: Visit, query: LessonQuery, page: LessonList) -> Html:
    n_selected, is_all = page.n_selected, query.selection.is_everything
    lessons = "lesson" if n_selected == 1 else "lessons"
    text = f"{n_selected:,} {lessons}" if is_all else f"{n_selected:,} of {page.n_total:,} lessons: {query.words}"
    exports = (
        element(
            "a", title, href=f"/v1/messages/export?{query.query}&format={kind}", class_="button small", download=True
        )
        for kind, title in (("csv", "Export as CSV"), ("jsonl", "as JSON lines"))
    )
    forget = element(
        "button",
        f"Forget these {n_selected:,}…" if not is_all else "Forget these…",
        type="button",
        id="forget-many",
        class_="button small",
        disabled=is_all or not visit.may("learn"),
        aria_describedby="filter-first" if is_all else None,
        data_query=query.query,
        data_expect=str(n_selected),
        data_words=query.words,
    )
    return element(
        "div",
        element(
            "p",
            element("span", text, id="summary"),
            *([element("span", " To forget several at once, filter first.", id="filter-first")] if is_all else []),
        ),
        element("div", *exports, forget, class_="row"),
        class_="summary",
    )


def _pages(query: LessonQuery, page: LessonList) -> Html:
    links = []
    if not page.is_first:
        links.append(element("a", "Latest", href=f"/journal?{query.query}", class_="button"))
    if page.after is not None:
        address = f"/journal?{query.query}{'&' if query.query else ''}after={page.after}"
        links.append(element("a", "Older", href=address, class_="button", rel="next"))
    return element("nav", *links, class_="row further", aria_label="Pages") if links else Html()


def _table(lessons: Iterable[ListedLesson], colours: Mapping[str, str], *, may: bool) -> Html:
    """Return lessons, one per row.

    On a phone each row is a card. Such styles remove the roles of a table, so the roles are stated.
    """
    titles = ("Learned", "Label", "Certainty", "By", "Message", "")
    table = element(
        "table",
        element("caption", "Lessons, the latest first", class_="spoken"),
        element("thead", element("tr", *(_head(title) for title in titles), role="row"), role="rowgroup"),
        element("tbody", *(_row(lesson, colours, may=may) for lesson in lessons), role="rowgroup"),
        role="table",
        class_="lessons",
    )
    return scroll_box(table, "Lessons")


def _head(title: str) -> Html:
    content = title or element("span", "Actions", class_="spoken")
    return element("th", content, scope="col", role="columnheader", class_="number" if title == "Certainty" else None)


def _row(lesson: ListedLesson, colours: Mapping[str, str], *, may: bool) -> Html:
    digest = lesson.digest[:_DIGEST_DIGITS]
    name = f"{digest}, {lesson.label} from {lesson.sender or 'unknown sender'}"
    others = () if lesson.automatic else (label for label in colours if label != lesson.label)
    actions = (
        *(action(f"It is {other}", "relearn", may=may, spoken=f"({name})", data_to=other) for other in others),
        action("Forget", "forget", may=may, spoken=name),
    )
    learned = together(time_element(lesson.time), element("code", digest, title=lesson.digest))
    cells = (
        ("Learned", learned, "two"),
        ("Label", badge(lesson.label, colours), ""),
        ("Certainty", probability_bar(lesson.certainty), "number"),
        ("By", teacher(lesson), ""),
        ("Message", _message(lesson), "two message"),
        ("", element("div", *actions, class_="acts many" if len(colours) > _MOST_INLINE_LABELS else "acts"), ""),
    )
    return element(
        "tr",
        *(element("td", content, role="cell", data_title=title, class_=kind or None) for title, content, kind in cells),
        role="row",
        **identity(lesson),
    )


def _message(lesson: ListedLesson) -> Html:
    """Return what identifies a message to a person: its subject, if the journal has it, its sender and its source."""
    subject = [element("bdi", lesson.subject)] if lesson.subject else []
    return together(*subject, sender_link(lesson), element("span", lesson.source))


def badge(label: str, colours: Mapping[str, str]) -> Html:
    """Return a label in its colour."""
    return element("span", label, class_=f"label {colours.get(label, 'other')}")


def probability_bar(probability: float | None) -> Html:
    """Return a probability as a number and a bar, or a dash."""
    if probability is None:
        return element("span", "–", title="It was not scored.", class_="quiet")
    bar = element(
        "svg",
        element("rect", width=str(_BAR_WIDTH), height="6", rx="3", class_="track"),
        element("rect", width=f"{max(probability, 0.02) * _BAR_WIDTH:.1f}", height="6", rx="3", class_="part"),
        viewBox=f"0 0 {_BAR_WIDTH} 6",
        aria_hidden="true",
    )
    return element("span", digits(probability), bar, class_="probability")


def teacher(lesson: ListedLesson) -> Html:
    """Return who taught a lesson."""
    if lesson.automatic:
        return element("em", "the filter itself")
    return together(lesson.user) if lesson.user else element("span", "no user", class_="quiet")


def sender_link(lesson: ListedLesson) -> Html:
    """Return the sender's domain, as a link to all lessons from there."""
    if not lesson.sender:
        return element("span", "–", class_="quiet")
    return element("a", lesson.sender, href=f"/journal?{urlencode({'sender': lesson.sender})}")


def identity(lesson: ListedLesson) -> dict[str, str]:
    """Return the attributes by which the script names a lesson to the API."""
    owner = {"automatic": "true"} if lesson.automatic else {"user": lesson.user}
    return {"data_query": urlencode({"digest": lesson.digest, **owner}), "data_label": lesson.label}


def action(text: str, act: str, *, may: bool, spoken: str = "", **attributes: str) -> Html:
    """Return a button for a lesson; if it is disabled, it refers to the sentence that says why."""
    return element(
        "button",
        text,
        *([element("span", f" {spoken}", class_="spoken")] if spoken else []),
        type="button",
        class_="button small",
        data_act=act,
        disabled=not may,
        aria_describedby=None if may else _NO_SCOPE,
        **attributes,
    )
