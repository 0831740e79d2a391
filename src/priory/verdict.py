"""What the filter says about a message, and every reason it has.

`prior + Σ term = log_odds` and `probability = 1 / (1 + exp(−log_odds))`: the evidence is not a selection or a hint, it
is the whole computation.
"""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

HEADER_PREFIX: Final = "X-Priory-"
MOST_EVIDENCE: Final = 20  #: that programs are told where they do not ask why


class Place(NamedTuple):
    """Where in a message: bytes `start` to `end` of a section of its canonical text."""

    section: str
    start: int
    end: int


class Evidence(NamedTuple):
    """One feature of the message, what it adds to the log-odds, and where it stands."""

    feature: str
    term: float
    places: tuple[Place, ...]

    @property
    def kind(self) -> str:
        """What kind of feature it is: the name of `kind:value` before the colon."""
        return self.feature.partition(":")[0]


class Kind(NamedTuple):
    """All features of one kind that a message has: how many they are, and what they add to the log-odds together."""

    name: str
    n_features: int
    total: float


@dataclass(slots=True)
class Claim:
    """How far a message is of one label and not of the others: `prior + Σ term = log_odds`."""

    label: str
    log_odds: float
    prior: float
    #: Lists all evidence, or so many of the weightiest that a person can read, which takes far less time.
    list_evidence: Callable[[int | None], tuple[Evidence, ...]] = field(repr=False, compare=False)

    #: Lists so many of the weightiest, readable or not, and adds up all of each kind, in far less time, too.
    weigh: Callable[[int], tuple[tuple[Evidence, ...], tuple[Kind, ...]]] = field(repr=False, compare=False)
    you: float = 0.0  #: what of the log-odds is the evidence of the one for whom the message is

    @property
    def probability(self) -> float:
        """1 / (1 + exp(−log_odds))."""
        return probability(self.log_odds)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All terms, the weightiest first."""
        return self.list_evidence(None)


@dataclass(slots=True)
class Verdict:
    """What is said about a message. `log_odds`, `prior` and `evidence` are those of the label `about`."""

    label: str
    about: str
    claims: Mapping[str, Claim]
    thresholds: Mapping[str, float]
    expected_costs: Mapping[str, float]
    digest: str
    reason: str = ""  #: why nothing could be said, if so
    user: str = ""  #: for whom the message is, if that was said
    unwanted: tuple[str, ...] = ()  #: the labels of mail that nobody wants, if they were named

    def __str__(self) -> str:
        """One line for a person: what is said, how probable it is, and the sum it comes from."""
        said = f"{self.label}: {self.about} with probability {digits(self.probability)}"
        own = f"{in_words(self)}; " if self.user else ""
        sum_ = self.reason or f"{own}log-odds {self.log_odds:+.3f} = prior {self.prior:+.3f}; {self._evidence_line()}"
        return f"{said} ({sum_})"

    @property
    def log_odds(self) -> float:
        """The calibrated log-odds of the label this is about."""
        return self.claims[self.about].log_odds

    @property
    def probability(self) -> float:
        """The calibrated probability of the label this is about."""
        return self.claims[self.about].probability

    @property
    def probabilities(self) -> dict[str, float]:
        """The probability of every label; they sum to one."""
        return {label: claim.probability for label, claim in self.claims.items()}

    @property
    def of_each(self) -> str:
        """How probable each label is, the likeliest first; nothing with two labels, where one says it all."""
        if len(self.claims) == 2:
            return ""
        likeliest = sorted(self.claims.values(), key=lambda claim: -claim.log_odds)
        return ", ".join(f"{claim.label} {digits(claim.probability)}" for claim in likeliest)

    @property
    def prior(self) -> float:
        """What the log-odds were before the message was looked at."""
        return self.claims[self.about].prior

    @property
    def you(self) -> float:
        """What of the log-odds is the evidence of the user for whom the message is."""
        return self.claims[self.about].you

    @property
    def everyone(self) -> float:
        """What the log-odds are but for that: the prior, and what has been learned from everyone."""
        return self.log_odds - self.you

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Every feature with its term, the weightiest first."""
        return self.claims[self.about].evidence

    @property
    def steps(self) -> str:
        """The thresholds in words; nothing with more than two labels."""
        return steps(self.thresholds)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The evidence added up by kind of feature, the weightiest first: `prior + Σ total = log_odds`."""
        return by_kind(self.evidence)

    @property
    def readable(self) -> list[Evidence]:
        """The evidence that says something to a person."""
        return readable(self.evidence)

    def headers(self) -> list[tuple[str, str]]:
        """Return the header fields that carry this verdict in a message."""
        own = f"; you={self.you:+.3f}; everyone={self.everyone:+.3f}" if self.you else ""
        fields = [
            (f"{HEADER_PREFIX}Verdict", _header_safe(f"{self.label}; {self.about}={digits(self.probability)}")),
            (f"{HEADER_PREFIX}Log-Odds", f"{self.log_odds:+.3f}; prior={self.prior:+.3f}{own}"),
        ]
        if self.reason:
            return [*fields, (f"{HEADER_PREFIX}Reason", _header_safe(self.reason))]
        return [*fields, (f"{HEADER_PREFIX}Evidence", self._evidence_line())]

    def _evidence_line(self) -> str:
        """The weightiest words and facts; n-grams say little to a person, so they are summed up."""
        readable = [e for e in self.claims[self.about].list_evidence(8) if abs(e.term) >= 0.0005]
        rest = self.log_odds - self.prior - sum(e.term for e in readable)
        shown = "; ".join(f"{_header_safe(e.feature)[:80]} {e.term:+.3f}" for e in readable)
        return f"{shown}; all else {rest:+.3f}" if shown else f"all {rest:+.3f}"

    def as_dict(self, most_evidence: int | None = None) -> dict[str, Any]:
        """Return plain values for JSON; evidence beyond `most_evidence` is given as one sum."""
        evidence, kinds = self._weighed(most_evidence)
        rest = self.log_odds - self.prior - math.fsum(e.term for e in evidence)
        return {
            "label": self.label,
            "about": self.about,
            "probability": self.probability,
            "probabilities": self.probabilities,
            "log_odds": self.log_odds,
            "prior": self.prior,
            **({"user": self.user, "you": self.you, "everyone": self.everyone} if self.user else {}),
            "kinds": {kind.name: {"features": kind.n_features, "sum": kind.total} for kind in kinds},
            "evidence": [
                {"feature": e.feature, "term": e.term, "places": [[p.section, p.start, p.end] for p in e.places]}
                for e in evidence
            ],
            "other_evidence": rest if most_evidence is not None else 0.0,
            "thresholds": dict(self.thresholds),
            "expected_costs": dict(self.expected_costs),
            "digest": self.digest,
            "reason": self.reason,
        }

    def _weighed(self, most: int | None) -> tuple[tuple[Evidence, ...], tuple[Kind, ...]]:
        if most is not None:
            return self.claims[self.about].weigh(most)
        every = self.evidence
        return every, by_kind(every)

    def to_json(self, most_evidence: int | None = None) -> str:
        """Return the verdict as one line of JSON."""
        return json.dumps(self.as_dict(most_evidence), ensure_ascii=False)


def in_words(verdict: Verdict) -> str:
    """Return for a person what of the log-odds a user has taught, and what everyone has."""
    return f"you: {verdict.you:+.3f}, everyone: {verdict.everyone:+.3f}"


def is_readable(kind: str) -> bool:
    """Tell whether features of a kind say something to a person; n-grams do not."""
    return not kind.endswith("-gram")


def readable(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return the evidence that says something to a person."""
    return [each for each in evidence if is_readable(each.kind)]


def by_kind(evidence: Iterable[Evidence]) -> tuple[Kind, ...]:
    """Return what each kind of feature adds, the weightiest first.

    >>> by_kind([Evidence("word:pills", 1.5, ()), Evidence("word:lunch", -0.5, ()), Evidence("pair:buy it", 2.0, ())])
    (Kind(name='pair', n_features=1, total=2.0), Kind(name='word', n_features=2, total=1.0))
    """
    terms = defaultdict(list)
    for each in evidence:
        terms[each.kind].append(each.term)
    return sums(terms)


def sums(terms: Mapping[str, Sequence[float]]) -> tuple[Kind, ...]:
    """Return what each kind adds, given its terms, the weightiest first; nothing for a kind that has none.

    >>> sums({"word": [1.5, -0.5], "pair": [2.0], "link": []})
    (Kind(name='pair', n_features=1, total=2.0), Kind(name='word', n_features=2, total=1.0))
    """
    kinds = (Kind(name, len(of_kind), math.fsum(of_kind)) for name, of_kind in terms.items() if of_kind)
    return tuple(sorted(kinds, key=lambda kind: (-abs(kind.total), kind.name)))


def probability(log_odds: float) -> float:
    """Return 1 / (1 + exp(−log_odds)), for any log-odds.

    >>> probability(0.0), probability(-1000.0), probability(1000.0)
    (0.5, 0.0, 1.0)
    """
    return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0


def digits(p: float) -> str:
    """Return a probability with four digits, or as many more, up to nine, as it takes to be neither 0 nor 1.

    >>> digits(0.5), digits(0.9999987), digits(1.0)
    ('0.5000', '0.999999', '0.999999999')
    """
    p = min(max(p, 1e-9), 1 - 1e-9)  # nothing is certain
    for n in range(4, 9):
        text = f"{p:.{n}f}"
        if 0 < float(text) < 1:
            return text
    return f"{p:.9f}"


def steps(thresholds: Mapping[str, float]) -> str:
    """Return thresholds in words.

    >>> steps({"unsure": 0.4, "spam": 0.96})
    'unsure from 0.40, spam from 0.96'
    """
    return ", ".join(f"{said} from {p:.2f}" for said, p in thresholds.items())


def printable(text: str) -> str:
    """Return text that can do nothing to a terminal: characters that are not printed are shown as a dot.

    >>> printable("evil\\x1b[2J.example")
    'evil·[2J.example'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c == "\t" else "·" for c in text)


def _header_safe(text: str) -> str:
    """Header fields are ASCII on one line; RFC 2047 is for the standard library, unreadable evidence for nobody."""
    return text.encode("unicode_escape").decode("ascii")[:500]
