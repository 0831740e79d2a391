"""An explanation as HTML: a file of its own, or part of the daemon's page.

It is in the order of a person: who wrote, what the verdict is and why in a sentence; the message with its reasons
marked, and beside it these reasons with the lessons that had them; then lessons, changes, costs and sums.

Every byte of the message is escaped, so nothing in it is markup, runs or loads. Its text is exactly what the filter
reads: a character that is invisible, or that would reverse the order of others, is kept, but alone in an element that
marks it. There are no inline styles, so a strict content security policy holds.
"""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from priory.filter.explanation import SHADES
from priory.filter.explanation_sums import costs_part, sums_part, tone
from priory.filter.sentence import chance
from priory.filter.verdict import RULE
from priory.filter.wording import since
from priory.html.builder import Html, element, exact
from priory.html.numbers import time_element

if TYPE_CHECKING:
    from priory.filter.explanation import ColouredSection, Explanation, Span
    from priory.filter.reasons import Item, VerdictReason
    from priory.filter.verdict import Verdict

MOST_SPANS: Final = 3000  #: spans of a section that are coloured; a browser has to lay out each
MOST_REASONS: Final = 3  #: for the verdict that are shown, besides the best against it and all rules
MOST_ITEMS: Final = 3  #: of a reason
_LONG, _MOST_LINES = 600, 15  # characters and lines of a section that need no box of their own
_ALONE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 1.5rem auto; padding: 0 1rem;
  background: var(--ground); color: var(--ink); overflow-wrap: anywhere; }
h2, h3 { font-size: 1rem; margin: 0 0 0.5rem; }
p { margin: 0 0 0.6rem; }
.quiet { color: var(--muted); font-weight: 400; }
summary { cursor: pointer; }
.spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
"""


@dataclass(frozen=True, slots=True)
class MarkedReason:
    """A reason as the page shows it, with the mark that its items have in the message."""

    mark: str  #: 1, 2, 3 for the verdict, A, B against it
    reason: "VerdictReason"

    @property
    def items(self) -> "tuple[Item, ...]":
        """The weightiest items; all rules, because none is silent."""
        return self.reason.items if self.reason.group == RULE else self.reason.items[:MOST_ITEMS]


@dataclass(frozen=True, slots=True)
class ShownReasons:
    """The reasons that a page shows: the strongest for the verdict, and the best against it; of the others the sums."""

    own: list[MarkedReason]
    against: list[MarkedReason]
    other_own: "list[VerdictReason]"
    other_against: "list[VerdictReason]"

    @classmethod
    def of(cls, explanation: "Explanation") -> "ShownReasons":
        """Choose the reasons of a verdict. An unsure one has those for and against the label it is about."""
        reasons, sign = explanation.reasons, 1 if is_for(explanation.verdict) else -1
        own = [reason for reason in reasons if reason.share * sign > 0]
        against = [reason for reason in reasons if reason.share * sign < 0]
        given = {(reason.group, reason.share > 0) for reason in explanation.verdict.summary.reasons}
        shown, shown_against = _foremost(own, MOST_REASONS, given), _foremost(against, 1, given)
        ignored = [reason for reason in reasons if not reason.share and reason.group == RULE]
        return cls(
            [MarkedReason(str(number), reason) for number, reason in enumerate(shown, 1)],
            [MarkedReason(chr(ord("A") + i), reason) for i, reason in enumerate(shown_against + ignored)],
            [reason for reason in own if reason not in shown],
            [reason for reason in against if reason not in shown_against],
        )

    @property
    def marks(self) -> dict[int, str]:
        """The mark of each item, by its number among the places of the message."""
        every = (*self.own, *self.against)
        return {item.number: marked.mark for marked in every for item in marked.items if item.number >= 0}


def is_for(verdict: "Verdict") -> bool:
    """Tell whether a verdict is for the label `about`: it is that label, or unsure and rather that than another."""
    return verdict.label == verdict.about if verdict.label in verdict.claims else verdict.log_odds >= 0


def _foremost(reasons: "Sequence[VerdictReason]", most: int, given: "Set[tuple[str, bool]]") -> "list[VerdictReason]":
    """Return the strongest reasons, all rules, and the reasons that the sentence gives, by group and side."""
    return [
        reason
        for i, reason in enumerate(reasons)
        if i < most or reason.group == RULE or (reason.group, reason.share > 0) in given
    ]


def page(explanation: "Explanation", background: str = "") -> str:
    """Return the explanation as a complete page, without scripts or external resources.

    `background` follows the message.
    """
    verdict = explanation.verdict
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{badge_text(verdict)}: {explanation.excerpt.subject}"),
        element(
            "style",
            Html(_read_asset("priory.html", "palette.css") + _ALONE + _read_asset("priory.filter", "explanation.css")),
        ),
    )
    body = element("body", element("main", *explained(explanation, background=background)))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _read_asset(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")


def explained(
    explanation: "Explanation",
    *answers: str,
    before: float | None = None,
    contradict: "Callable[[VerdictReason, Item], Html]" = lambda *_: Html(),
    background: str = "",
    level: int = 1,
) -> list[Html]:
    """Return the parts of an explanation, whose first heading has a level.

    `answers` follow the sentence, `background` the message; `contradict` returns what follows an item of a reason.
    """
    verdict, heading = explanation.verdict, f"h{level + 1}"
    if verdict.is_untaught:
        return [_head(explanation, level, *answers), _message(explanation, {}, heading)]
    shown = ShownReasons.of(explanation)
    parts = (
        _message(explanation, shown.marks, heading),
        _reasons(verdict, shown, contradict, heading),
        background,
    )
    return [
        _head(explanation, level, *answers),
        element("div", *parts, class_="explained"),
        costs_part(verdict, before, heading),
        sums_part(explanation, heading),
    ]


def badge_text(verdict: "Verdict") -> str:
    """Return the verdict in a few words, such as Spam · 99.6 %."""
    label = verdict.label.capitalize()
    if verdict.is_untaught:
        return label
    if verdict.label in verdict.claims:
        return f"{label} · {chance(verdict.claims[verdict.label].probability)}"
    return f"{label} · {chance(verdict.probability)} {verdict.about}"


def _head(explanation: "Explanation", level: int, *answers: str) -> Html:
    """Return who wrote to whom and when, the subject, the verdict, and why in a sentence."""
    verdict, excerpt = explanation.verdict, explanation.excerpt
    wrote = [element("bdi", excerpt.author or "no sender")]
    if excerpt.recipient:
        wrote += [Html(" · to "), element("bdi", excerpt.recipient)]
    if math.isfinite(excerpt.time):
        wrote += [Html(" · "), time_element(excerpt.time)]
    subject = element("bdi", excerpt.subject) if excerpt.subject else "(no subject)"
    return element(
        "div",
        element("p", *wrote, class_="from"),
        element(f"h{level}", subject, class_="subject"),
        element("p", badge_text(verdict), class_=f"badge {tone(verdict, verdict.label)}"),
        element("p", *_emphasised(verdict), class_="sentence"),
        *answers,
        class_="card head",
    )


def _emphasised(verdict: "Verdict") -> list[str]:
    """Return the sentence with the words of the message that it names emphasised, and the reason of the verdict marked.

    Words in quotation marks are preferred, because the sentence may use the same words itself.
    """
    head, colon, rest = verdict.summary.sentence.partition(": ")
    parts: list[str] = [head + colon]
    if verdict.reason:
        parts.append(element("span", verdict.reason, class_="reason"))
        rest = rest.removeprefix(verdict.reason)
    for named in verdict.summary.named:
        start = rest.find(f"“{named}”") + 1 or rest.find(named)
        if start >= 0:
            parts += [rest[:start], element("b", named)]
            rest = rest[start + len(named) :]
    return [*parts, rest]


def _message(explanation: "Explanation", marks: Mapping[int, str], heading: str) -> Html:
    """Return the message as it reads, with reasons marked, and its other sections folded away."""
    has_sums = not explanation.verdict.is_untaught
    shown = [section for section in explanation.sections if section.text.strip()]
    text = [section for section in shown if section.name == "text"]
    others = [section for section in shown if section.name != "text"]
    return element(
        "div",
        *([_text(section, marks, heading) for section in text] or [element("p", "It has no text.", class_="quiet")]),
        *(_folded(section, marks, has_sum=has_sums) for section in others),
        *([_legend(explanation.verdict)] if has_sums else []),
        class_="card message",
    )


def _text(section: "ColouredSection", marks: Mapping[int, str], heading: str) -> Html:
    return element(
        "section",
        element(heading, "The message", class_="spoken"),
        *_marked(section, marks, "reads"),
        class_="section",
        data_section=section.name,
    )


def _folded(section: "ColouredSection", marks: Mapping[int, str], *, has_sum: bool) -> Html:
    """Return a section that opens with a click; its summary names the reasons in it."""
    found = sorted({marks[piece.item] for piece in section.pieces if piece.item in marks})
    reasons = f" · reason{'s' * (len(found) > 1)} {', '.join(found)}" if found else ""
    total = short(section.total) if has_sum else ""
    summary = element("summary", section.name.capitalize(), " ", element("span", f"{total}{reasons}", class_="quiet n"))
    return element(
        "section",
        element("details", summary, *_marked(section, marks)),
        class_="section",
        data_section=section.name,
    )


def _marked(section: "ColouredSection", marks: Mapping[int, str], class_: str = "") -> list[Html]:
    """Return the text of a section, coloured, with the items of the shown reasons marked."""
    spans = list(section.spans(SHADES))
    coloured, rest = spans[:MOST_SPANS], spans[MOST_SPANS:]
    text = [*(_span(span, marks.get(span.item)) for span in coloured), *(exact(span.text) for span in rest)]
    is_long = len(section.text) > _LONG or section.text.count("\n") > _MOST_LINES
    # A long section scrolls in its own box, which must be focusable; browsers drop a line feed that comes first.
    classes = " ".join(filter(None, (class_, "long" * is_long))) or None
    box = element("pre", Html("\n"), *text, dir="auto", class_=classes, tabindex="0" if is_long else None)
    left = short(sum(span.total for span in rest))
    how_many = f"Only the first {MOST_SPANS:,} pieces are coloured; the rest adds {left}."
    return [box, element("p", how_many, class_="quiet")] if rest else [box]


def _span(span: "Span", mark: str | None) -> Html:
    text, side = exact(span.text), "p" if span.total > 0 else "m"
    if mark is None and not span.shade:
        return text
    classes = f"{side}{abs(span.shade)}" if span.shade else ""
    if mark is None:
        return element("span", text, class_=classes, title=f"{span.total:+.3f}")
    classes = f"{classes} marked {'for' if span.total > 0 else 'against'}".strip()
    return element("span", text, class_=classes, data_mark=mark, title=f"{span.total:+.3f}")


def _legend(verdict: "Verdict") -> Html:
    return element(
        "p",
        element("span", "Orange", class_="p4"),
        f" speaks for {verdict.about}, ",
        element("span", "blue", class_="m4"),
        " against it; the stronger the colour, the more, compared with the rest of this message. ",
        "A dot in a box is a character that cannot be seen.",
        class_="quiet legend",
    )


def _reasons(
    verdict: "Verdict",
    shown: ShownReasons,
    contradict: "Callable[[VerdictReason, Item], Html]",
    heading: str,
) -> Html:
    """Return the reasons with their items, and how many lessons had these."""
    if verdict.label in verdict.claims:
        titles = f"Why it looks like {verdict.label}", "What speaks against that"
    elif is_for(verdict):
        titles = f"What speaks for {verdict.about}", "What speaks against it"
    else:
        titles = f"What speaks against {verdict.about}", "What speaks for it"
    parts: list[Html] = []
    sides = ((shown.own, shown.other_own), (shown.against, shown.other_against))
    for title, (reasons, others) in zip(titles, sides, strict=True):
        rows = [_reason(marked, verdict, contradict) for marked in reasons]
        if rows:
            parts += [element(heading, title), element("ol", *rows, *_others(others))]
    return element(
        "section", *parts, element("p", _how_they_add_up(verdict), class_="quiet legend"), class_="card reasons"
    )


def _others(reasons: "Sequence[VerdictReason]") -> list[Html]:
    """Return a line for the reasons that are not shown, which opens with a click."""
    if not reasons:
        return []
    words = "One weaker reason" if len(reasons) == 1 else f"{len(reasons)} other reasons, each weaker"
    share = math.fsum(reason.share for reason in reasons)
    summary = element("summary", element("span", words, class_="what"), element("span", short(share), class_="n"))
    rows = [_rest(reason.what, reason.share) for reason in reasons]
    return [element("li", element("details", summary, element("ul", *rows)), class_="others quiet")]


def _rest(words: str, share: float) -> Html:
    """Return a line of words with their share."""
    return element("li", element("span", words, class_="what quiet"), element("span", short(share), class_="n quiet"))


def _how_they_add_up(verdict: "Verdict") -> str:
    """Return what the numbers beside the reasons mean: the whole sum, and the probability that follows from it."""
    about, prior, total = verdict.about, short(verdict.prior), short(verdict.log_odds)
    return (
        f"Numbers above 0 speak for {about}, those below 0 against it. Any mail starts at {prior}; with all reasons "
        f"this message is at {total}: a chance of {chance(verdict.probability)} that it is {about}."
    )


def _reason(marked: MarkedReason, verdict: "Verdict", contradict: "Callable[[VerdictReason, Item], Html]") -> Html:
    reason = marked.reason
    side = "for" if reason.share > 0 else "against"
    items = (
        element(
            "li",
            element("span", f"“{item.text}”" if reason.group == "text" else item.text, class_="what"),
            element("span", short(item.share), class_="n quiet"),
            element("small", *_counts(item, verdict), contradict(reason, item), class_="quiet"),
            data_item=str(item.number) if item.number >= 0 else None,
        )
        for item in marked.items
    )
    title = element("b", reason.what[0].upper(), reason.what[1:])
    n_left = reason.n_items - len(marked.items)
    left = reason.share - math.fsum(item.share for item in marked.items)
    return element(
        "li",
        element("span", marked.mark, class_=f"mark {side}"),
        title,
        element("span", short(reason.share), class_="n"),
        element("ul", *items, *([_rest(f"{n_left:,} more", left)] if n_left > 0 else [])),
        class_="reason-of",
    )


def short(share: float) -> str:
    """Return a share of the log-odds with one decimal, or with more if it is small.

    >>> short(4.97), short(-0.042), short(0.0)
    ('+5.0', '−0.04', '0')
    """
    if not share:
        return "0"
    size = abs(share)
    return f"{share:+.{1 if size >= 0.5 else 2 if size >= 0.01 else 3}f}".replace("-", "−")


def _counts(item: "Item", verdict: "Verdict") -> list[str]:
    """Return how many lessons of each label had the telling part of an item, if these speak for the same side."""
    if not verdict.claims[verdict.about].is_told_by_lessons(item):
        return []
    of_labels = ", ".join(f"{n:,} {label}" for n, label in _largest_first(item.counts, tuple(verdict.claims)))
    is_part = item.kind != "fact" and item.known.lower() not in {"", item.text.lower()}
    part = f"“{item.known}” " if is_part else ""
    return [part, "in ", of_labels, _since(item), " "]


def _since(item: "Item") -> Html:
    """Return the place for the words since when lessons had an item; they may be known later than the verdict."""
    words = since(item)
    return element("span", f", {words}" if words else "", data_feature=item.feature.key if item.feature else None)


def _largest_first(counts: Sequence[int], labels: Sequence[str]) -> list[tuple[int, str]]:
    return sorted(zip(counts, labels, strict=True), key=lambda pair: -pair[0])
