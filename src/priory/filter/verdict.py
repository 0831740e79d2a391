"""The verdict about a message, with all of its evidence.

`prior + Σ term = log_odds` and `probability = 1 / (1 + exp(−log_odds))`: the evidence is neither a selection nor a
hint, but the whole computation.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from priory.features import Features
    from priory.filter.attribution import Attribution
    from priory.filter.counts import JournalCounts
    from priory.filter.reasons import Item, VerdictReason
    from priory.filter.scoring import Score
    from priory.filter.sentence import VerdictSummary

HEADER_PREFIX: Final = "X-Priory-"
MOST_ITEMS: Final = 3  #: of each reason, for a program that does not ask for an explanation
RULE: Final = "rule"  #: the kind of evidence that people's rules are
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
    lessons: "JournalCounts | None" = None  #: tell how many lessons had a feature
    _attribution: "Attribution | None" = field(default=None, init=False, repr=False)
    _reasons: "list[VerdictReason] | None" = field(default=None, init=False, repr=False)  # with MOST_ITEMS items

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

    def is_told_by_lessons(self, item: "Item") -> bool:
        """Whether the side that an item speaks for had it in a larger part of its lessons than the other side."""
        if not item.counts or self.lessons is None:
            return False
        about, totals = self.lessons.labels.index(self.label), self.lessons.counts.totals
        n, total = item.counts[about], totals[about]
        own, others = n / max(total, 1), (sum(item.counts) - n) / max(sum(totals) - total, 1)
        return own > others if item.share > 0 else own < others

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The sum of each kind of feature, the weightiest first: `prior + Σ total = log_odds`."""
        from priory.filter.evidence import kind_sums  # noqa: PLC0415 - a quick start without an explanation

        return kind_sums(self.features, self.score)

    @property
    def attribution(self) -> "Attribution":
        """The places of the message with their shares of the log-odds."""
        if self._attribution is None:
            from priory.filter.attribution import Attribution  # noqa: PLC0415 - a quick start without an explanation

            self._attribution = Attribution(self.features, self.score, self.lessons)
        return self._attribution

    @property
    def reasons(self) -> "list[VerdictReason]":
        """The reasons for and against the label, the weightiest first: `prior + Σ share = log_odds`."""
        if self._reasons is None:
            self._reasons = self.attribution.reasons(MOST_ITEMS)
        return self._reasons


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
        """One line for a person: the label, its probability, and the reasons in a sentence."""
        head = f"{self.label}: {self.about} with probability {digits(self.probability)}"
        if self.is_untaught:
            return f"{head} ({self.reason})"
        own = f"{in_words(self)}; " if self.user else ""
        return f"{head} ({own}log-odds {self.log_odds:+.3f}). {self.sentence}"

    @property
    def is_untaught(self) -> bool:
        """Whether nothing could be said about the message, because lessons are missing or out of reach."""
        return self.reason not in ("", UNFAMILIAR, PROMISED)

    @property
    def is_ruled(self) -> bool:
        """Whether the message matches a person's rule."""
        return any(claim.score.rules or claim.score.ignored for claim in self.claims.values())

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
        return self.claims[self.about].kinds

    @property
    def reasons(self) -> "list[VerdictReason]":
        """The reasons for the label `about`, the weightiest first; with `against`: `prior + Σ share = log_odds`."""
        return [reason for reason in self.claims[self.about].reasons if reason.share > 0]

    @property
    def against(self) -> "list[VerdictReason]":
        """The reasons against the label `about`, the weightiest first."""
        return [reason for reason in self.claims[self.about].reasons if reason.share <= 0]

    @property
    def sentence(self) -> str:
        """The verdict in one sentence: how sure it is, the strongest reasons, and the best one against."""
        return self.summary.sentence

    @property
    def summary(self) -> "VerdictSummary":
        """The sentence, with the words of the message that it names."""
        from priory.filter.sentence import summarise  # noqa: PLC0415 - a quick start without an explanation

        return summarise(self)

    @property
    def readable(self) -> list[Evidence]:
        """The evidence that a person can read."""
        return [feature for feature in self.evidence if is_readable(feature.kind)]

    def headers(self) -> list[tuple[str, str]]:
        """Return the header fields that carry this verdict in a message."""
        own = f"; you={self.you:+.3f}; everyone={self.everyone:+.3f}" if self.you else ""
        fields = [
            (f"{HEADER_PREFIX}Verdict", _header_safe(f"{self.label}; {self.about}={digits(self.probability)}")),
            (f"{HEADER_PREFIX}Log-Odds", f"{self.log_odds:+.3f}; prior={self.prior:+.3f}{own}"),
        ]
        fields.append((f"{HEADER_PREFIX}Reason", _header_safe(self.reason if self.is_untaught else self.sentence)))
        return fields

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; each reason lists its weightiest items."""
        labels = tuple(self.claims)
        reasons = self.claims[self.about].reasons
        return {
            "label": self.label,
            "about": self.about,
            "sentence": self.sentence,
            "probability": self.probability,
            "probabilities": self.probabilities,
            "log_odds": self.log_odds,
            "prior": self.prior,
            "familiarity": self.familiarity,
            **({"user": self.user, "you": self.you, "everyone": self.everyone} if self.user else {}),
            "reasons": [reason.as_dict(labels) for reason in reasons if reason.share > 0],
            "against": [reason.as_dict(labels) for reason in reasons if reason.share <= 0],
            "thresholds": dict(self.thresholds),
            "expected_costs": dict(self.expected_costs),
            "digest": self.digest,
            "reason": self.reason,
        }

    def to_json(self, **more: Any) -> str:
        """Return the verdict as one line of JSON, after other values if some are given."""
        import orjson  # noqa: PLC0415 - a quick start without JSON

        return orjson.dumps({**more, **self.as_dict()}).decode()


def in_words(verdict: Verdict) -> str:
    """Return the parts of the log-odds that come from the user and from everyone, in words."""
    return f"you: {verdict.you:+.3f}, everyone: {verdict.everyone:+.3f}"


def is_readable(kind: str) -> bool:
    """Tell whether a person can read features of a kind; n-grams say nothing to a person."""
    return not kind.endswith("-gram")


def sides(evidence: Iterable[Evidence], most: int) -> tuple[list[Evidence], list[Evidence]]:
    """Return the first `most` evidence for and against, and all rules: none is silent, however little it adds.

    >>> pills, offer, rule = (Evidence(n, t, ()) for n, t in (("word:pills", 3), ("word:offer", 2), ("rule:x", 0.1)))
    >>> [e.feature for e in sides([pills, offer, rule], 1)[0]]
    ['word:pills', 'rule:x']
    """
    towards: list[Evidence] = []
    away: list[Evidence] = []
    for each in evidence:
        side = towards if each.term > 0 else away
        if each.kind == RULE or (each.term and len(side) < most):
            side.append(each)
    return towards, away


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


_ASCII: Final = str.maketrans({"“": '"', "”": '"', "…": "..."})


def _header_safe(text: str) -> str:
    """Escape text for a header field: ASCII on one line, and readable, unlike RFC 2047."""
    return text.translate(_ASCII).encode("unicode_escape").decode("ascii")[:500]
