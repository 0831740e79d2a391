"""A score spread over its message, and added up again by what a person can see.

`prior + Σ shares of all places + familiarity + other labels = log_odds`. A term that belongs to no feature, or a
feature without a place, is an item of its own, so nothing is left out.
"""

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from priory.features import KINDS, Features
from priory.features.places import GROUPS, Places
from priory.filter.facts import plain_fact
from priory.filter.header_groups import HEADER_GROUPS
from priory.filter.reasons import HEADER_NAME, CountedFeature, Item, VerdictReason
from priory.filter.verdict import RULE, UNFAMILIAR, Place, is_readable
from priory.html.text import printable

if TYPE_CHECKING:
    from priory.features.places import ItemShare
    from priory.filter.counts import JournalCounts
    from priory.filter.scoring import Score

LONGEST: Final = 60  #: characters of an item
STRONG_PART: Final = 0.2  #: of all shares, from which a reason lists its items
LEAST_PART: Final = 0.05  #: of all shares, from which a weaker reason lists an item
_ROUNDING: Final = 1e-12
_READABLE: Final = sum(1 << i for i, kind in enumerate(KINDS) if is_readable(kind))
_OTHER, _FAMILIARITY, _LABELS = (GROUPS.index(group) for group in ("other", "familiarity", "labels"))
_HEADER: Final = KINDS.index("header")


class PlacedShare(NamedTuple):
    """A word of the text, or another place of a message, with its exact share of the log-odds."""

    place: Place
    text: str
    share: float


class FirstText(NamedTuple):
    """Where an item begins for the first time, in the bytes of its section, and its text there."""

    section: str
    shown: bytes
    start: int
    text: str


class Attribution:
    """The places of a message with their exact shares of a score, and the reasons that they add up to."""

    def __init__(self, features: Features, score: "Score", lessons: "JournalCounts | None" = None) -> None:
        ignored = [rule.places for rule in score.ignored]
        self.places: Places = features.places(score.of_contrast, score.sign, HEADER_GROUPS, ignored)
        self._features = features
        self._score = score
        self._lessons = lessons

    def reasons(self, most_items: int, *, every: bool = False) -> list[VerdictReason]:
        """Return all reasons for and against, the weightiest first: `prior + Σ share = log_odds`.

        Each lists its weightiest items. A weak reason lists only those that weigh something, unless `every` is set.
        """
        strong, least = (0.0, 0.0) if every else (STRONG_PART, LEAST_PART)
        reasons = [
            VerdictReason(
                GROUPS[group], share, n, tuple([self._item(GROUPS[group], item) for item in items]) if items else ()
            )
            for group, share, n, items in self.places.reasons(most_items, strong, least, _READABLE)
        ]
        reasons += self.without_place(most_items)
        reasons.sort(key=_weight)
        return reasons

    def _item(self, group: str, item: "ItemShare") -> Item:
        number, share, text, kind_number, bucket, known, is_first = item
        text = printable(_shown_as(group, text))
        counts: tuple[int, ...] = ()
        if self._lessons and kind_number >= 0:
            counts = self._lessons.counts.messages_with(bucket, kind_number, self._features.named)
        if not any(counts):
            return Item(text, share, (), "", "", number)
        kind = HEADER_NAME if is_first and kind_number == _HEADER else KINDS[kind_number]
        return Item(text, share, counts, printable(known), kind, number, CountedFeature(kind_number, bucket))

    def without_place(self, most_items: int) -> list[VerdictReason]:
        """Return the reasons that are nowhere in the message."""
        score = self._score
        reasons = []
        if self.places.nowhere:
            reasons = self._unplaced(most_items)
        if score.familiarity:
            item = Item(UNFAMILIAR, score.familiarity)
            reasons.append(VerdictReason(GROUPS[_FAMILIARITY], score.familiarity, 1, (item,)))
        if score.others:
            item = Item("the other labels", score.others)
            reasons.append(VerdictReason(GROUPS[_LABELS], score.others, 1, (item,)))
        return reasons + self._of_rules()

    def _of_rules(self) -> list[VerdictReason]:
        """Return the rules for and against, all of them: no rule is silent, however little it adds.

        The places that a rule ignores have no share, so the rule itself adds nothing.
        """
        if not (self._score.rules or self._score.ignored):
            return []
        items = [Item(printable(rule.name), rule.term) for rule in self._score.rules]
        items += [
            Item(f"{printable(rule.name)} (it would add {taken:+.2f})", _without_rounding(rule.term + taken))
            for rule, taken in zip(self._score.ignored, self.places.taken, strict=True)
        ]
        items.sort(key=lambda item: -abs(item.share))
        sides = ([item for item in items if item.share > 0], [item for item in items if item.share <= 0])
        return [
            VerdictReason(RULE, math.fsum(item.share for item in side), len(side), tuple(side))
            for side in sides
            if side
        ]

    def _unplaced(self, most_items: int) -> list[VerdictReason]:
        """Return the reasons of features without any place, such as a pattern that matches an empty text."""
        names: dict[int, str] = {}
        offsets = self._features.offsets
        for kind, of_kind in enumerate(self._features.occurrences):
            indices = {self._features.buckets[i]: i for i in range(offsets[kind], offsets[kind + 1])}
            for occurrences in of_kind:
                for i, bucket in enumerate(occurrences.buckets):
                    names.setdefault(indices[bucket], f"{KINDS[kind]} {occurrences.value(i)}")
        reasons = []
        for is_for in (True, False):
            side = [(term, names.get(i, "")) for i, term in self.places.nowhere if (term > 0) is is_for]
            if side:
                side.sort(key=lambda each: -abs(each[0]))
                items = tuple(Item(printable(name) or "a feature", term) for term, name in side[:most_items])
                reasons.append(VerdictReason(GROUPS[_OTHER], math.fsum(term for term, _ in side), len(side), items))
        return reasons

    def places_of(self, item: Item) -> tuple[Place, ...]:
        """Return the places of an item in the sections of the message."""
        if item.number < 0:
            return ()
        sections = self.places.sections
        return tuple(Place(sections[s].name, first, last) for s, first, last, _ in self.places.places_of(item.number))

    def first_text_of(self, item: Item) -> FirstText | None:
        """Return the first place of an item with its text; None if it is nowhere in the message."""
        places = self.places_of(item)
        if not places:
            return None
        section, start, end = places[0]
        shown = next(other.shown for other in self.places.sections if other.name == section)
        return FirstText(section, shown, start, shown[start:end].decode("utf-8", "replace"))

    def shares(self) -> list[PlacedShare]:
        """Return every place in the order of the sections: words of the text, lines of headers, links, tags, facts."""
        sections = self.places.sections
        words = [unit for unit in self.places.units if sections[unit[0]].name == "text"]
        others = [piece[:4] for piece in self.places.pieces if sections[piece[0]].name != "text"]
        return [
            PlacedShare(
                Place(sections[i].name, first, last), sections[i].shown[first:last].decode("utf-8", "replace"), share
            )
            for i, first, last, share in sorted((*words, *others))
        ]

    def find(self, text: str) -> list[PlacedShare]:
        """Return the places that show a text: these words in a row, or the headers, links, tags or facts with it."""
        wanted = text.lower().split()
        if not wanted:
            return []
        shares = self.shares()
        words = [placed for placed in shares if placed.place.section == "text"]
        found = [
            placed
            for placed in shares
            if placed.place.section != "text" and " ".join(wanted) in " ".join(placed.text.lower().split())
        ]
        for i in range(len(words) - len(wanted) + 1):
            if [placed.text.lower() for placed in words[i : i + len(wanted)]] == wanted:
                found += words[i : i + len(wanted)]
        return found


def _without_rounding(share: float) -> float:
    return share if abs(share) > _ROUNDING else 0.0


def _weight(reason: VerdictReason) -> float:
    return -abs(reason.share)


def _shown_as(group: str, text: str) -> str:
    """Return the text of an item as a person reads it."""
    if group == "fact":
        return plain_fact(text)
    if group == "links":
        return _address(text)
    if group not in ("text", "code", "attachment") and ":" in text:
        name, _, value = text.partition(":")
        text = f"{name}: {value.lstrip(' ')}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _address(link: str) -> str:
    """Return the host and path of a link, or the beginning of a link without a host.

    >>> _address("https://ann@rb.gy:80/x/y?z"), _address("http://rb.gy/"), _address("mailto:ann@mail.example")
    ('rb.gy/x/y', 'rb.gy', 'mailto:ann@mail.example')
    """
    scheme, separator, rest = link.partition("://")
    if not separator:
        return link[:LONGEST]
    for end in "?#\\ ":
        rest = rest.partition(end)[0]
    authority, slash, path = rest.partition("/")
    host = authority.rpartition("@")[2].partition(":")[0] or scheme
    address = f"{host}{slash}{path}" if path else host
    return address if len(address) <= LONGEST else f"{address[: LONGEST - 1]}…"
