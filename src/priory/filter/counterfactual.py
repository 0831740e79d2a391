"""What would have changed a verdict: the fewest things without which the filter says something else.

A thing is a word or phrase, a header, a link, or all of one group: the text, the headers that tell the way, the links.
Each claim is verified: the message is written without these things, read and scored like any other, and its verdict is
another. The search is greedy, so a smaller set may exist; none of the set can be left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from priory.decision import Costs, cheapest
from priory.filter.reasons import NAMES, Item
from priory.message.editing import without_headers, without_links, without_phrases, without_text

if TYPE_CHECKING:
    from priory.filter.attribution import Attribution
    from priory.filter.explanation import Explanation
    from priory.filter.filter import Filter
    from priory.filter.influence import LessonInfluence
    from priory.filter.verdict import Verdict

MOST_THINGS: Final = 3  #: in a set
TRIED: Final = 8  #: single things that are taken out, besides whole groups, to see what each does
MOST_TRIED_BYTES: Final = 8_000_000  #: of all changed messages together: a large message is changed less often
MOST_TIMES: Final = 20  #: the factor of a cost from which on nobody would set it
_ITEMS: Final = 1_000  # of a reason
_WORD: Final = re.compile(r"\w+")
_OF_HEADERS: Final = ("subject", "sender", "route", "program", "list", "header")
#: Large parts of a message that have headers of several groups.
LARGE: Final = {"origin": ("sender", "route", "list"), "headers": _OF_HEADERS}
_NAMES: Final = {
    **NAMES,
    "text": "its whole text and HTML code",
    "links": "any of its links",
    "sender": "the headers that name the sender",
    "route": "the headers that tell the way it came",
    "program": "the headers that tell how it was made",
    "list": "the headers of its mailing list",
    "origin": "any header that tells where it comes from",
    "header": "its other headers",
    "headers": "any of its headers",
}


class Thing(NamedTuple):
    """Something that can be taken out of a message."""

    group: str  #: of the reasons
    text: str  #: as a person sees it; empty for all of the group
    share: float  #: of the log-odds
    headers: tuple[tuple[str, int], ...] = ()  #: the names of headers, and which of the name each is
    words: tuple[str, ...] = ()  #: a phrase of the text
    links: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether this is all of the text."""
        return self.group == "text" and not self.words

    def __str__(self) -> str:
        """Say in words what it is."""
        if not self.text:
            return _NAMES[self.group]
        if self.headers:
            return f"the header “{self.text}”"
        return f"the link to {self.text}" if self.links else f"“{self.text}”"


class Turn(NamedTuple):
    """A set of things without which the verdict is another."""

    things: tuple[Thing, ...]
    label: str  #: the verdict without them
    log_odds: float


class CostTurn(NamedTuple):
    """Another cost with which the verdict is another."""

    mistake: str  #: what would cost more, in words
    times: float
    label: str


class Counterfactuals(NamedTuple):
    """What would have changed a verdict; None where nothing of that kind was found."""

    things: Turn | None
    lesson: "LessonInfluence | None"  #: one lesson without which the verdict is another
    cost: CostTurn | None


def without(raw: bytes, things: Iterable[Thing]) -> bytes:
    """Return a message without these things."""
    things = list(things)
    headers = [header for thing in things for header in thing.headers]
    links = [link for thing in things for link in thing.links]
    phrases = [thing.words for thing in things if thing.words]
    if any(thing.is_text for thing in things):
        raw, links, phrases = without_text(raw), [], []
    if phrases:
        raw = without_phrases(raw, phrases)
    if links:
        raw = without_links(raw, links)
    return without_headers(raw, headers) if headers else raw


def things_of(attribution: "Attribution", *, towards: bool) -> list[Thing]:
    """Return what speaks for one side and can be taken out, the weightiest first: items, whole groups, large parts."""
    of_groups: dict[str, list[Thing]] = {}
    for reason in attribution.reasons(_ITEMS, every=True):
        single = [thing for item in reason.items if (thing := _thing(attribution, reason.group, item))]
        of_groups.setdefault(reason.group, []).extend(single)
    large = {part: [thing for group in groups for thing in of_groups.get(group, [])] for part, groups in LARGE.items()}
    wholes = [_whole(group, single) for group, single in (of_groups | large).items() if len(single) > 1]
    things = [*wholes, *(thing for single in of_groups.values() for thing in single)]
    return sorted((thing for thing in things if (thing.share > 0) is towards), key=lambda thing: -abs(thing.share))


def _thing(attribution: "Attribution", group: str, item: Item) -> Thing | None:
    """Return an item as something that can be taken out; None for facts and the like."""
    first = attribution.first_text_of(item)
    if first is None:
        return None
    section, shown, start, text = first
    if section == "headers":
        return Thing(group, item.text, item.share, headers=(_header(shown, start),))
    if section == "text":
        words = tuple(_WORD.findall(text))
        return Thing(group, item.text, item.share, words=words) if words else None
    if section == "links":
        return Thing(group, item.text, item.share, links=(text.strip(),))
    return None


def _header(shown: bytes, start: int) -> tuple[str, int]:
    """Return the name of the header at a place of the section of headers, and which of that name it is."""
    names = [
        line.partition(b":")[0].lower() for line in shown[: start + 1].split(b"\n") if line[:1] not in (b" ", b"\t")
    ]
    last = shown[start:].partition(b":")[0].lower() if shown[start - 1 : start] in (b"", b"\n") else names[-1]
    n = Counter(names[:-1])[last]
    return last.decode("utf-8", "replace"), n


def _whole(group: str, single: Sequence[Thing]) -> Thing:
    share = sum(thing.share for thing in single)
    headers = tuple(header for thing in single for header in thing.headers)
    links = tuple(link for thing in single for link in thing.links)
    return Thing(group, "", share, headers=headers, links=links)


class Counterfactual:
    """Finds what would have changed the verdict on one message."""

    def __init__(self, filter_: "Filter", explanation: "Explanation") -> None:
        self._filter = filter_
        self._raw = explanation.message.raw
        self._room = MOST_TRIED_BYTES
        self.verdict = explanation.verdict
        self._attribution = self.verdict.claims[self.verdict.about].attribution

    def find(self, lessons: "Sequence[LessonInfluence]" = ()) -> Counterfactuals:
        """Return what would have changed the verdict; `lessons` are those that may."""
        if self.verdict.is_untaught:
            return Counterfactuals(None, None, None)
        return Counterfactuals(self.things(), self._lesson(lessons), self.cost())

    def things(self) -> Turn | None:
        """Return the fewest things found without which the verdict is another."""
        turns = [turn for towards in self._sides() if (turn := self._fewest(towards=towards))]
        return min(turns, key=lambda turn: len(turn.things), default=None)

    def _sides(self) -> tuple[bool, ...]:
        """Return for which side the things speak that keep the verdict: for the label `about`, against it, or both."""
        if self.verdict.label == self.verdict.about:
            return (True,)
        return (False,) if self.verdict.label in self.verdict.claims else (True, False)

    def _fewest(self, *, towards: bool) -> Turn | None:
        """Return few things that are enough, or else a few whole parts of the message."""
        things = things_of(self._attribution, towards=towards)
        groups = [thing for thing in things if not thing.text and thing.group not in LARGE]
        fine = [*[thing for thing in things if thing.text][:TRIED], *groups]
        parts = [thing for thing in things if thing.is_text or thing.group in LARGE]
        return self._greedily(fine, towards=towards) or self._greedily(parts, towards=towards)

    def _greedily(self, things: Sequence[Thing], *, towards: bool) -> Turn | None:
        """Take out what moves the log-odds most, again and again, until the verdict is another."""
        sign = -1 if towards else 1
        chosen: list[Thing] = []
        while len(chosen) < MOST_THINGS:
            left = [thing for thing in things if not any(_overlap(thing, other) for other in chosen)]
            turns = [self._without([*chosen, thing]) for thing in left[: self._room // max(len(self._raw), 1)]]
            turned = [turn for turn in turns if turn.label != self.verdict.label]
            if turned:
                return self._pruned(min(turned, key=lambda turn: abs(turn.things[-1].share)))
            if not turns:
                return None
            chosen = list(max(turns, key=lambda turn: sign * turn.log_odds).things)
        return None

    def _pruned(self, turn: Turn) -> Turn:
        """Leave out things that are not needed."""
        for thing in turn.things:
            fewer = self._without([other for other in turn.things if other is not thing])
            if fewer.things and fewer.label != self.verdict.label:
                return self._pruned(fewer)
        return turn

    def _without(self, things: Sequence[Thing]) -> Turn:
        self._room -= len(self._raw)
        verdict = self._filter.check(without(self._raw, things), self.verdict.user)
        return Turn(tuple(things), verdict.label, verdict.claims[self.verdict.about].log_odds)

    def _lesson(self, lessons: "Sequence[LessonInfluence]") -> "LessonInfluence | None":
        """Return the first of these lessons without which the verdict is another."""
        return next((lesson for lesson in lessons if lesson.label != self.verdict.label), None)

    def cost(self) -> CostTurn | None:
        """Return how many times as much a mistake must cost for another verdict."""
        verdict, costs = self.verdict, self._filter.options.costs
        if verdict.reason:
            return None  # not the costs alone have decided
        probabilities = list(verdict.probabilities.values())
        most_probable = max(verdict.probabilities, key=lambda label: verdict.probabilities[label])
        expected = costs.expected(probabilities)
        others = [cost for label, cost in expected.items() if label != verdict.label]
        if not expected[verdict.label] or not others:
            return None
        times = min(others) / expected[verdict.label]
        if not times < MOST_TIMES:  # it may be infinite
            return None
        times = _rounded_up(times)
        dearer = _dearer(costs, verdict.label, times)
        label = cheapest(dearer.expected(probabilities))
        if label == verdict.label or (label in verdict.claims and label != most_probable):
            return None  # dearer doubt would not make the less probable label a better answer
        return CostTurn(_mistake(verdict), times, label)


def _overlap(one: Thing, other: Thing) -> bool:
    """Tell whether a thing is part of another, or the same."""
    if {one.group, other.group} & set(LARGE):
        return not (one.is_text or other.is_text)
    return one.group == other.group and (one.text == other.text or not (one.text and other.text))


def _rounded_up(times: float) -> float:
    """Round a factor up to two digits, and above 1.

    >>> _rounded_up(1.001), _rounded_up(3.14), _rounded_up(123.4)
    (1.1, 3.2, 130.0)
    """
    step = 0.1
    while times >= 100 * step:
        step *= 10
    n = int(times / step) + 1
    return round(n * step, 1)


def _dearer(costs: Costs, label: str, times: float) -> Costs:
    """Return costs with which all mistakes of one verdict cost so many times as much."""
    if label not in costs.labels:
        return replace(costs, unsure=costs.unsure * times)
    return costs.with_prices(lambda said, _true, cost: times * cost if said == label else cost, costs.unsure)


def _mistake(verdict: "Verdict") -> str:
    if verdict.label not in verdict.claims:
        return "an unsure verdict"
    others = [label for label in verdict.claims if label != verdict.label]
    return f"{' or '.join(others)} called {verdict.label}"
