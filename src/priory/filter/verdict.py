"""The verdict about a message, with all of its evidence.

`prior + Σ term = log_odds` and `probability = 1 / (1 + exp(−log_odds))`: the evidence is neither a selection nor a
hint, but the whole computation.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from priory.features import Features
    from priory.filter.scoring import Score

HEADER_PREFIX: Final = "X-Priory-"
MOST_EVIDENCE: Final = 20  #: features in an answer to a program that does not ask for an explanation
UNFAMILIAR: Final = "unlike anything that was taught"
PROMISED: Final = "too little ham is known to call this unwanted and keep the promise about lost ham"
AWAY: Final = "the journal cannot be reached, and this machine has too few counts of its own"


class Place(NamedTuple):
    """A place in a message: bytes `start` to `end` of a section of its canonical text."""

    section: str
    start: int
    end: int


class Evidence(NamedTuple):
    """One feature of the message, what it adds to the log-odds, and where it occurs."""

    feature: str
    term: float
    places: tuple[Place, ...]

    @property
    def kind(self) -> str:
        """The kind of the feature: the part of its name before the colon."""
        return self.feature.partition(":")[0]


class Kind(NamedTuple):
    """The features of one kind in a message: their number, and what they add to the log-odds together."""

    name: str
    n_features: int
    total: float


@dataclass(slots=True)
class Claim:  # noqa: PLW1641 - a claim can be changed, so it has no hash
    """The evidence that a message has one label rather than any other: `prior + Σ term = log_odds`.

    Names and places of the features are looked up only when they are asked for: most messages need none.
    """

    label: str
    score: "Score"
    features: "Features"

    def __repr__(self) -> str:
        return f"Claim(label={self.label!r}, log_odds={self.log_odds!r}, prior={self.prior!r}, you={self.you!r})"

    def __eq__(self, other: object) -> bool:
        """Compare labels and sums, not the terms of single features."""
        return isinstance(other, Claim) and self._sums == other._sums

    @property
    def _sums(self) -> tuple[str, float, float, float]:
        return self.label, self.score.log_odds, self.score.prior, self.score.you

    @property
    def log_odds(self) -> float:
        """The calibrated log-odds of the label."""
        return self.score.log_odds

    @property
    def probability(self) -> float:
        """1 / (1 + exp(−log_odds))."""
        return probability(self.score.log_odds)

    @property
    def prior(self) -> float:
        """The log-odds before the message was read."""
        return self.score.prior

    @property
    def you(self) -> float:
        """The part of the log-odds that comes from the user's own evidence."""
        return self.score.you

    @property
    def familiarity(self) -> float:
        """The term of a message unlike anything that was taught: towards 0, and 0 for familiar mail."""
        return self.score.familiarity

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Every feature with its term, the weightiest first."""
        from priory.filter.evidence import evidence  # noqa: PLC0415 - a quick start without an explanation

        return evidence(self.features, self.score)

    def readable(self, most: int) -> tuple[Evidence, ...]:
        """Return the weightiest features that a person can read: far faster than all evidence."""
        from priory.filter.evidence import readable  # noqa: PLC0415 - a quick start without an explanation

        return readable(self.features, self.score, most)

    def weigh(self, most: int) -> tuple[tuple[Evidence, ...], tuple[Kind, ...]]:
        """Return the weightiest features, readable or not, and the sum of each kind: far faster than all evidence."""
        from priory.filter.evidence import weigh  # noqa: PLC0415 - a quick start without an explanation

        return weigh(self.features, self.score, most)


@dataclass(slots=True)
class Verdict:
    """What the filter says about a message. `log_odds`, `prior` and `evidence` refer to the label `about`."""

    label: str
    about: str
    claims: Mapping[str, Claim]
    thresholds: Mapping[str, float]
    expected_costs: Mapping[str, float]
    digest: str
    reason: str = ""  #: why the label is *unsure*, if not for its cost: nothing can be said, unfamiliar, a promise
    user: str = ""  #: the user whose own evidence is included
    unwanted: tuple[str, ...] = ()  #: the labels of unwanted mail, if the options name them

    def __str__(self) -> str:
        """One line for a person: the label, its probability, and the sum that it comes from."""
        head = f"{self.label}: {self.about} with probability {digits(self.probability)}"
        if self.is_untaught:
            return f"{head} ({self.reason})"
        why = f"{self.reason}; " if self.reason else ""
        own = f"{in_words(self)}; " if self.user else ""
        sum_ = f"log-odds {self.log_odds:+.3f} = prior {self.prior:+.3f}; {self._evidence_line()}"
        return f"{head} ({why}{own}{sum_})"

    @property
    def is_untaught(self) -> bool:
        """Whether nothing could be said about the message, because lessons are missing or out of reach."""
        return self.reason not in ("", UNFAMILIAR, PROMISED)

    @property
    def log_odds(self) -> float:
        """The calibrated log-odds of the label `about`."""
        return self.claims[self.about].log_odds

    @property
    def probability(self) -> float:
        """The calibrated probability of the label `about`."""
        return self.claims[self.about].probability

    @property
    def probabilities(self) -> dict[str, float]:
        """The probability of every label; they sum to one."""
        return {label: claim.probability for label, claim in self.claims.items()}

    @property
    def expected_cost(self) -> float:
        """The expected cost of the verdict: high if it may be wrong, highest if it is *unsure*."""
        return self.expected_costs[self.label]

    @property
    def of_each(self) -> str:
        """The probability of each label in words, the likeliest first; empty with two labels, where one suffices."""
        if len(self.claims) == 2:
            return ""
        likeliest = sorted(self.claims.values(), key=lambda claim: -claim.log_odds)
        return ", ".join(f"{claim.label} {digits(claim.probability)}" for claim in likeliest)

    @property
    def prior(self) -> float:
        """The log-odds before the message was read."""
        return self.claims[self.about].prior

    @property
    def you(self) -> float:
        """The part of the log-odds that comes from the user's own evidence."""
        return self.claims[self.about].you

    @property
    def familiarity(self) -> float:
        """The term of a message unlike anything that was taught: towards 0, and 0 for familiar mail."""
        return self.claims[self.about].familiarity

    @property
    def everyone(self) -> float:
        """The rest of the log-odds: the prior and the evidence learned from everyone."""
        return self.log_odds - self.you

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Every feature with its term, the weightiest first."""
        return self.claims[self.about].evidence

    @property
    def steps(self) -> str:
        """The thresholds in words; empty with more than two labels."""
        return steps(self.thresholds)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The evidence added up by kind of feature, the weightiest first: `prior + Σ total = log_odds`."""
        return by_kind(self.evidence)

    @property
    def readable(self) -> list[Evidence]:
        """The evidence that a person can read."""
        return readable(self.evidence)

    def headers(self) -> list[tuple[str, str]]:
        """Return the header fields that carry this verdict in a message."""
        own = f"; you={self.you:+.3f}; everyone={self.everyone:+.3f}" if self.you else ""
        fields = [
            (f"{HEADER_PREFIX}Verdict", _header_safe(f"{self.label}; {self.about}={digits(self.probability)}")),
            (f"{HEADER_PREFIX}Log-Odds", f"{self.log_odds:+.3f}; prior={self.prior:+.3f}{own}"),
        ]
        if self.reason:
            fields.append((f"{HEADER_PREFIX}Reason", _header_safe(self.reason)))
        if not self.is_untaught:
            fields.append((f"{HEADER_PREFIX}Evidence", self._evidence_line()))
        return fields

    def _evidence_line(self) -> str:
        """Return the weightiest features that a person can read, and the sum of the others."""
        readable = [e for e in self.claims[self.about].readable(8) if abs(e.term) >= 0.0005]
        rest = self.log_odds - self.prior - sum(e.term for e in readable)
        shown = "; ".join(f"{_header_safe(e.feature)[:80]} {e.term:+.3f}" for e in readable)
        return f"{shown}; all else {rest:+.3f}" if shown else f"all {rest:+.3f}"

    def as_dict(self, most_evidence: int | None = None) -> dict[str, Any]:
        """Return plain values for JSON; evidence beyond `most_evidence` becomes one sum."""
        evidence, kinds = self._weigh(most_evidence)
        rest = self.log_odds - self.prior - math.fsum(e.term for e in evidence)
        return {
            "label": self.label,
            "about": self.about,
            "probability": self.probability,
            "probabilities": self.probabilities,
            "log_odds": self.log_odds,
            "prior": self.prior,
            "familiarity": self.familiarity,
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

    def _weigh(self, most: int | None) -> tuple[tuple[Evidence, ...], tuple[Kind, ...]]:
        if most is not None:
            return self.claims[self.about].weigh(most)
        every = self.evidence
        return every, by_kind(every)

    def to_json(self, most_evidence: int | None = None) -> str:
        """Return the verdict as one line of JSON."""
        return json.dumps(self.as_dict(most_evidence), ensure_ascii=False)


def in_words(verdict: Verdict) -> str:
    """Return the parts of the log-odds that come from the user and from everyone, in words."""
    return f"you: {verdict.you:+.3f}, everyone: {verdict.everyone:+.3f}"


def is_readable(kind: str) -> bool:
    """Tell whether a person can read features of a kind; n-grams say nothing to a person."""
    return not kind.endswith("-gram")


def readable(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return the evidence that a person can read."""
    return [feature for feature in evidence if is_readable(feature.kind)]


def by_kind(evidence: Iterable[Evidence]) -> tuple[Kind, ...]:
    """Return what each kind of feature adds, the weightiest first.

    >>> by_kind([Evidence("word:pills", 1.5, ()), Evidence("word:lunch", -0.5, ()), Evidence("pair:buy it", 2.0, ())])
    (Kind(name='pair', n_features=1, total=2.0), Kind(name='word', n_features=2, total=1.0))
    """
    terms = defaultdict(list)
    for feature in evidence:
        terms[feature.kind].append(feature.term)
    return sums(terms)


def sums(terms: Mapping[str, Sequence[float]]) -> tuple[Kind, ...]:
    """Return what each kind adds, given its terms, the weightiest first, without kinds that have no terms.

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


def remedy(reason: str) -> str:
    """Return what to do about the reason why the filter is unsure."""
    return "priory store show says why" if reason == AWAY else "teach it with: priory learn LABEL PATH…"


def digits(p: float) -> str:
    """Format a probability with four digits, or with more, up to nine, so that it is neither 0 nor 1.

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
    """Format thresholds in words.

    >>> steps({"unsure": 0.4, "spam": 0.96}), steps({"unsure": 0.4, "spam": 0.9987}), steps({"unsure": 0, "spam": 1})
    ('unsure from 0.40, spam from 0.96', 'unsure from 0.40, spam from 0.9987', 'unsure from 0.00, spam never')
    """
    return ", ".join(
        f"{label} never" if p == 1 else f"{label} from {digits(p) if p >= 0.995 else f'{p:.2f}'}"
        for label, p in thresholds.items()
    )


def _header_safe(text: str) -> str:
    """Escape text for a header field: ASCII on one line, and readable, unlike RFC 2047."""
    return text.encode("unicode_escape").decode("ascii")[:500]
