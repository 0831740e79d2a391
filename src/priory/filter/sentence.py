"""A verdict in one sentence: how sure it is, the strongest reasons that a reader can see, and the best one against.

Templates only. Text of the message is cut, printable, and in quotation marks.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from priory.filter.reasons import CODE, HEADER_NAME, Item, VerdictReason

if TYPE_CHECKING:
    from priory.filter.verdict import Claim, Verdict

MOST: Final = 300  #: characters; a label or a reason of many labels may make a sentence longer
MOST_REASONS: Final = 3
ALMOST_CERTAIN: Final = 0.99
LEAST_PART: Final = 0.05  #: of its side that a reason must have to be named
_LONGEST: Final = 40  # characters of an item
_NAMES: Final = {"ham": "wanted mail"}  # of labels that are no plain words
_WEAK: Final = 0.4  # the weight of a stop word or a number among items that are named
_UNTOLD: Final = 0.5  # and of an item without telling counts
_UNTOLD_HEADER: Final = 0.2  # most headers without telling counts are numbers and addresses
_TOLD: Final = 2  # lessons from which on counts tell
_CLEARLY: Final = 2  # times as frequent in one label as in the others
_STOP_WORDS_TEXT: Final = """
about after all also and any are been but can could did does for from get had has have here how into its just like may
more most much must not now one only other our out over shall she should some such than that the their them then there
these they this those too very was were what when where which who will with would you your
mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday
jan feb mar apr jun jul aug sep oct nov dec january february march april june july august september october november
december http https www build version list
der die das und ist nicht von mit les des est pour que dans los las por una para con
"""
_STOP_WORDS: Final = frozenset(_STOP_WORDS_TEXT.split())
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_SERVER: Final = re.compile(r"(?<![@\w.-])(?:(?:[\w-]+\.)+[\w-]*[^\W\d_][\w-]*|\d+(?:\.\d+){3})")
_SAYS: Final[Mapping[str, str]] = {"text": "it says", "attachment": "it has the attachment", "rule": "a rule says"}
_WRITTEN_WITH: Final = "it was written with"
_HEADERS_SAY: Final[Mapping[str, str]] = {
    "from": "it is from",
    "to": "it is to",
    "cc": "it is to",
    "delivered-to": "it is to",
    "x-mailer": _WRITTEN_WITH,
    "user-agent": _WRITTEN_WITH,
}
_LINKS: Final[Mapping[str, str]] = {
    "address of numbers": "a link goes to a bare number instead of a name",
    "shows another host": "a link shows another address than it opens",
    "relative": "a link has no host",
}


class VerdictSummary(NamedTuple):
    """The sentence, the words of the message that it names, and the reasons that it gives."""

    sentence: str
    named: tuple[str, ...] = ()
    reasons: tuple[VerdictReason, ...] = ()


class _Clause(NamedTuple):
    text: str
    named: tuple[str, ...] = ()
    items: tuple[str, ...] = ()  #: the names of the candidates
    reason: VerdictReason | None = None


class _Candidate(NamedTuple):
    """An item that may be named: how well, the item without counts that do not tell, and its counts in words."""

    worth: float
    item: Item
    told: str

    @property
    def name(self) -> str:
        """The part that lessons had, if the counts tell, or else the whole item."""
        return self.item.known or self.item.text


_NO_ITEM: Final = Item("", 0.0)


class _Sides(NamedTuple):
    """A label and all others, between which counts tell."""

    own: str
    others: str
    about: int  #: the number of the label
    n_own: int  #: lessons
    n_others: int

    @classmethod
    def of(cls, claim: "Claim", labels: list[str]) -> Self:
        totals = claim.lessons.counts.totals if claim.lessons else [0] * len(labels)
        about = labels.index(claim.label)
        others = labels[1 - about] if len(labels) == 2 else "others"
        return cls(claim.label, others, about, totals[about], sum(totals) - totals[about])

    def tell(self, share: float, counts: tuple[int, ...]) -> bool:
        """Tell whether the counts of an item clearly speak for the same side as its share."""
        if not counts:
            return False
        agree, differ = self._divided(share, counts)
        n_agree, n_differ = (self.n_others, self.n_own) if share < 0 else (self.n_own, self.n_others)
        return agree >= _TOLD and agree > differ and agree * (n_differ + 1) > _CLEARLY * differ * (n_agree + 1)

    def told(self, share: float, counts: tuple[int, ...]) -> str:
        """Return the counts of an item in words, such as 14 spam and no ham."""
        agree, differ = self._divided(share, counts)
        side, other = (self.others, self.own) if share < 0 else (self.own, self.others)
        return f"{agree:,} {side} and {f'{differ:,}' if differ else 'no'} {other}"

    def _divided(self, share: float, counts: tuple[int, ...]) -> tuple[int, int]:
        """Return how many lessons on the side that a share speaks for are counted, and how many on the other side."""
        own = counts[self.about]
        others = sum(counts) - own
        return (others, own) if share < 0 else (own, others)


def _has_word(text: str) -> bool:
    first = _WORD.search(text)
    return first is not None and (
        first[0].lower() not in _STOP_WORDS or any(word not in _STOP_WORDS for word in _WORD.findall(text.lower()))
    )


def summarise(verdict: "Verdict") -> VerdictSummary:
    """Return a verdict in one sentence."""
    if verdict.is_untaught:
        return VerdictSummary(f"Unsure: {verdict.reason}.")
    is_sure = verdict.label in verdict.claims
    label = verdict.label if is_sure and len(verdict.claims) > 2 else verdict.about
    claim = verdict.claims[label]
    is_about = verdict.label == label if is_sure else claim.log_odds >= 0
    sign = 1 if is_about else -1
    sides = _Sides.of(claim, list(verdict.claims))
    reasons = claim.reasons
    least = LEAST_PART * sum([abs(reason.share) for reason in reasons])
    strong = [reason for reason in reasons if abs(reason.share) >= least]
    own = _clauses([reason for reason in strong if reason.share * sign > 0], sides, MOST_REASONS)
    if not any(clause.named for clause in own):
        own = []
    others = [reason for reason in strong if reason.share * sign < 0 and reason.group != CODE]
    against = _clauses(others, sides, 1, [name for clause in own for name in clause.items])
    titles = ("", "Against: ") if is_sure else _titles(verdict.about, is_about=is_about)
    return _joined(_how_sure(verdict), titles, own or [_Clause(_why_nothing(reasons, sign))], against)


def _titles(about: str, *, is_about: bool) -> tuple[str, str]:
    """Return what precedes the reasons of each side in the sentence of an unsure verdict."""
    titles = f"For {about}: ", f"Against {about}: "
    return titles if is_about else titles[::-1]


def _joined(head: str, titles: tuple[str, str], own: list[_Clause], against: list[_Clause]) -> VerdictSummary:
    """Return the clauses as a sentence; the weakest are left out if it gets too long."""
    own_title, against_title = titles if own[0].reason else ("", titles[1])
    end = "." if own_title else "" if head.endswith(":") else ":"
    while True:
        sentence = f"{head}{end} {own_title}{'; '.join(clause.text for clause in own)}."
        if against:
            sentence += f" {against_title}{against[0].text}."
        if len(sentence) <= MOST or not any(clause.named for clause in own[:-1]):
            clauses = (*own, *against)
            return VerdictSummary(
                sentence,
                tuple(text for clause in clauses for text in clause.named),
                tuple(clause.reason for clause in clauses if clause.reason),
            )
        own = own[:-1]


def _how_sure(verdict: "Verdict") -> str:
    if verdict.label not in verdict.claims:
        head = f"Unsure ({chance(verdict.probability)} {verdict.about})"
        return f"{head}: {verdict.reason}" if verdict.reason else head
    p = verdict.claims[verdict.label].probability
    how = "Almost certainly" if p >= ALMOST_CERTAIN else "Probably" if p >= 0.5 else "Perhaps"
    return f"{how} {_NAMES.get(verdict.label, verdict.label)} ({chance(p)}):"


def chance(p: float) -> str:
    """Format a probability as a percentage that is never 0 or 100.

    >>> chance(0.614), chance(0.9961), chance(0.0004), chance(0.99999)
    ('61 %', '99.6 %', '0.04 %', 'over 99.99 %')
    """
    return _percentage(p, _decimals(p))


def chances(p: float, other: float) -> tuple[str, str]:
    """Format two probabilities as percentages; with as many digits, if both are near 0 or 1.

    >>> chances(0.999, 0.9991), chances(0.96, 0.92), chances(0.995, 0.5)
    (('99.90 %', '99.91 %'), ('96 %', '92 %'), ('99.5 %', '50 %'))
    """
    one, two = _decimals(p), _decimals(other)
    if one and two:
        one = two = max(one, two)
    return _percentage(p, one), _percentage(other, two)


def _decimals(p: float) -> int:
    nearest = min(p, 1 - p)
    return 0 if nearest >= 0.01 else 1 if nearest >= 0.001 else 2


def _percentage(p: float, decimals: int) -> str:
    if p > 0.9999:
        return "over 99.99 %"
    return "under 0.01 %" if p < 0.0001 else f"{100 * p:.{decimals}f} %"


def _why_nothing(reasons: Sequence[VerdictReason], sign: int) -> str:
    """Return why nothing in the message is named."""
    own = [reason for reason in reasons if reason.share * sign > 0]
    if not own:
        return "nothing in it is known" if not reasons else "only the usual mix of mail says so"
    if own[0].group == "code":
        return "only its HTML code says so, nothing that can be read"
    if own[0].is_visible:
        return "nothing in it weighs much"
    return f"only {own[0].what} says so"


def _clauses(reasons: Sequence[VerdictReason], sides: _Sides, most: int, names: Sequence[str] = ()) -> list[_Clause]:
    """Return clauses about the weightiest of these reasons, none of which names anything twice, nor these names."""
    clauses: list[_Clause] = []
    for reason in reasons:
        if len(clauses) == most:
            break
        clause = _clause(reason, sides, [*names, *(name for clause in clauses for name in clause.items)])
        if clause:
            clauses.append(clause._replace(reason=reason))
    return clauses


def _clause(reason: VerdictReason, sides: _Sides, names: Sequence[str]) -> _Clause | None:
    """Return a clause about the item of a reason that is best named; None if there is none, or all have been named."""
    side = sides.own if reason.share > 0 else sides.others
    if reason.group == CODE:
        return _Clause(f"its HTML code looks like that of {side}")
    if not reason.items or not reason.is_visible:
        return None
    best = _best(reason.items, sides, names)
    if not best.worth:
        return None
    if reason.group == "text":
        second = _best(reason.items, sides, [*names, best.name])
        if second.worth and 2 * second.worth >= best.worth:
            return _two_words(best, second)
    text, named = _told(reason.group, best.item, side)
    return _Clause(f"{text}{_as_lessons_did(reason.group, text, best)}", named, (best.name,))


def _as_lessons_did(group: str, text: str, best: _Candidate) -> str:
    """Return how many lessons of each side had what a clause says, if that tells."""
    if not best.told:
        return ""
    part = _cut(best.item.known)
    if "“" in text and part in text and f"“{part}”" not in text:  # lessons had a part of what is quoted
        return f" (“{part}”: {best.told.replace(' and ', ', ')})"
    return f", as in {best.told}" if group == "fact" else f", as {best.told} did"


def _best(items: Iterable[Item], sides: _Sides, names: Sequence[str]) -> _Candidate:
    """Return the item that is best named, and has none of these names; one that is worth nothing if there is none.

    An item without telling counts, or without a real word, is worth less. None is worth more than its share, so light
    items need no look.
    """
    best, most, best_tells = _NO_ITEM, 0.0, False
    for item in items:
        text, share, counts, known, kind, *_ = item
        worth = abs(share)
        if worth <= most:
            break
        tells = sides.tell(share, counts)
        is_known = tells or kind == "fact"
        name = known or text if is_known else text
        if not tells:
            worth *= _UNTOLD_HEADER if ": " in text else _UNTOLD
        if not (is_known and kind in _VALUES) and not _has_word(name):
            worth *= _WEAK
        if worth > most and not (names and any(_is_part(name, other) for other in names)):
            best, most, best_tells = item, worth, tells
    if best_tells:
        return _Candidate(most, best, sides.told(best.share, best.counts))
    return _Candidate(most, best if best.kind == "fact" else Item(best.text, best.share), "")


def _is_part(name: str, other: str) -> bool:
    name, other = name.lower(), other.lower()
    return name in other or other in name


def _two_words(one: _Candidate, other: _Candidate) -> _Clause:
    parts = [
        f"“{_cut(each.name)}” ({each.told.replace(' and ', ', ')})" if each.told else f"“{_cut(each.name)}”"
        for each in (one, other)
    ]
    return _Clause(f"it says {' and '.join(parts)}", (_cut(one.name), _cut(other.name)), (one.name, other.name))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _told(group: str, item: Item, side: str) -> tuple[str, tuple[str, ...]]:
    """Return what an item says of the message, and the text that this names; it speaks for a side."""
    if item.kind == HEADER_NAME:
        return f"it has the header {_cut(item.known)}", (_cut(item.known),)
    if item.kind in _VALUES:
        return _VALUES[item.kind](item)
    if group in _SAYS:
        return _quoted(_SAYS[group], item.known or item.text)
    if group == "fact":
        return _fact(item)
    if group == "links":
        return _quoted("a link says", item.known) if item.known else _goes_to(item.text.partition("/")[0])
    return _header(group, item, side)


def _header(group: str, item: Item, side: str) -> tuple[str, tuple[str, ...]]:
    """Return what a header says of the message, and the text that this names.

    >>> _header("route", Item("Received: from [192.0.2.164] by…", 0.5, (0, 4), "192.0.2.164]) by", "header"), "spam")
    ('it came through 192.0.2.164', ('192.0.2.164',))
    >>> _header("route", Item("Received: from [192.0.2.164] by…", 0.5), "spam")[0]
    'its header Received looks like that of spam'
    """
    name, _, whole = item.text.partition(": ")
    value = item.known or whole
    if group == "subject":
        return _quoted("its subject says", value)
    if not item.known:
        return f"its header {_cut(name)} looks like that of {side}", (_cut(name),)
    if name.lower() == "received" and (server := _SERVER.search(value)):
        return f"it came through {_cut(server[0])}", (_cut(server[0]),)
    says = _HEADERS_SAY.get(name.lower(), f"its header {_cut(name)} says")
    return _quoted(says, whole if says == _WRITTEN_WITH else value)


def _goes_to(host: str) -> tuple[str, tuple[str, ...]]:
    return f"a link goes to {_cut(host)}", (_cut(host),)


def _quoted(before: str, text: str) -> tuple[str, tuple[str, ...]]:
    return f"{before} “{_cut(text)}”", (_cut(text),)


def _sender(item: Item) -> tuple[str, tuple[str, ...]]:
    return f"it comes from {_cut(item.known)}", (_cut(item.known),)


def _link(item: Item) -> tuple[str, tuple[str, ...]]:
    """Return what a feature of a link says: a host, or one of the words that `features/kinds.pyx` writes."""
    value = _cut(item.known)
    if value in _LINKS:
        return _LINKS[value], (item.text.partition("/")[0],)
    if value.startswith(("ends in ", "port ")):
        return f"a link {value.replace('port', 'goes to port')}", (value.rpartition(" ")[2],)
    if "." in value:
        return _goes_to(value)
    return f"a link begins with {value}:", (value,)


def _attachment(item: Item) -> tuple[str, tuple[str, ...]]:
    value = _cut(item.known)
    if value.startswith("ends in "):
        return f"an attachment {value}", (value.removeprefix("ends in "),)
    if value.startswith("size "):
        return f"an attachment has a size of {value.removeprefix('size ')} bytes", (_cut(item.text),)
    if value.startswith("digest "):
        return _quoted("it has the very attachment", item.text)
    return f"an attachment is of the type {value}", (value,)


def _fact(item: Item) -> tuple[str, tuple[str, ...]]:
    return item.text, (item.text,)


def _pattern(item: Item) -> tuple[str, tuple[str, ...]]:
    return f"it matches the pattern {_cut(item.known)}", (_cut(item.known),)


_VALUES: Final[Mapping[str, Callable[[Item], tuple[str, tuple[str, ...]]]]] = {
    "sender": _sender,
    "link": _link,
    "attachment": _attachment,
    "fact": _fact,
    "pattern": _pattern,
}
