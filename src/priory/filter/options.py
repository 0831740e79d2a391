"""The options of a filter, as plain values.

`priory.config` reads them from the configuration file; the code that they steer imports them from here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from priory.bayes import PresenceBayes
from priory.decision import Costs
from priory.features import KINDS, Spec
from priory.journal import PERSONAL_BITS, StoreAddress

#: The weight of each kind of feature; measured in docs/decisions/accuracy.md.
WEIGHTS: Final[Mapping[str, float]] = {
    "word": 0.5,
    "pair": 0.1,
    "triple": 0.1,
    "header": 0.2,
    "sender": 0.5,
    "fact": 0.4,
    "link": 0.5,
    "markup": 0.1,
    "attachment": 1.0,
    "source-gram": 0.5,
    "header-gram": 1.1,
    "pattern": 1.0,
}
DAMPING: Final = 60.0
DAMPING_OF_PATTERNS: Final = 3.0  #: low, because an administrator chose them: a single one counts
PROTECTED: Final = 200  #: as many lessons of each label as calibration should see
SECONDS: Final = {"day": 86_400, "week": 7 * 86_400, "month": 30 * 86_400, "year": 365 * 86_400}
BYTES: Final = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


@dataclass(frozen=True, slots=True)
class SilenceRules:
    """What the filter makes of mail about which people say nothing. See `priory.filter.silence`."""

    days: int = 3  #: a message must have lain before silence about it counts
    learns: bool = True  #: whether a sample of such mail is learned


@dataclass(frozen=True, slots=True)
class Limits:
    """How many lessons a journal may hold, and for how long; None means no limit. See `priory.filter.retention`."""

    age_s: float | None = None
    lessons: int | None = None
    n_bytes: int | None = None
    kept: int = PROTECTED  #: the latest lessons of people of each label, which no limit removes

    def __bool__(self) -> bool:
        """Whether there is any limit."""
        return not self.age_s is self.lessons is self.n_bytes is None

    def __str__(self) -> str:
        """All limits in words.

        >>> print(Limits(age_s=63072000, lessons=100_000), Limits(), sep="; ")
        2 years, 100,000 lessons; none
        """
        return ", ".join(self.words.values()) or "none"

    @property
    def words(self) -> dict[str, str]:
        """The limits that are set, in words.

        >>> Limits(age_s=63072000, lessons=100_000).words
        {'age': '2 years', 'lessons': '100,000 lessons'}
        """
        words = {
            "age": _in_units(self.age_s, SECONDS, plural=True),
            "lessons": f"{self.lessons:,} lessons" if self.lessons is not None else "",
            "bytes": _in_units(self.n_bytes, BYTES),
        }
        return {name: text for name, text in words.items() if text}


@dataclass(frozen=True, slots=True)
class SpoolLimits:
    """How much mail about which a person may be asked is stored, and for how long. See `priory.filter.spool`."""

    n_bytes: int
    age_s: float = 7 * 86_400

    def __str__(self) -> str:
        """Both limits in words.

        >>> print(SpoolLimits(20_000_000))
        at most 20 MB, for 7 days
        """
        age, size = _in_units(self.age_s, {"day": SECONDS["day"]}, plural=True), _in_units(self.n_bytes, BYTES)
        return f"at most {size}, for {age}"


def _in_units(amount: float | None, units: Mapping[str, int], *, plural: bool = False) -> str:
    """Format an amount as a whole number of the largest unit that divides it."""
    if amount is None:
        return ""
    name, unit = next((name, unit) for name, unit in reversed(list(units.items())) if amount % unit == 0)
    n = int(amount // unit)
    return f"{n:,} {name}{'s' if plural and n != 1 else ''}"


@dataclass(frozen=True, slots=True)
class Options:
    """All options of a filter."""

    costs: Costs = field(default_factory=Costs)
    spec: Spec = field(default_factory=Spec)
    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    smoothing: float = 0.03
    silence: SilenceRules = field(default_factory=SilenceRules)
    personal_bits: int = PERSONAL_BITS  #: size of the table of personal evidence, for a journal that is created
    limits: Limits = field(default_factory=Limits)
    spool: SpoolLimits | None = None  #: None switches the spool off
    #: Labels of unwanted mail; if empty, `priory.filter.spamassassin.unwanted_labels` chooses one.
    unwanted: tuple[str, ...] = ()
    keeps_subjects: bool = False  #: whether lessons are stored with the subjects of their messages
    ham_lost: float | None = None  #: the promised share of ham that is lost at most; see `priory.filter.promise`
    store: StoreAddress | None = None  #: the address of a journal that several machines share; None for one in the home

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the cost matrix; with two of them, verdicts are about the second."""
        return self.costs.labels

    @property
    def model(self) -> PresenceBayes:
        """The model that turns counts into terms."""
        damping = tuple(DAMPING_OF_PATTERNS if kind == "pattern" else DAMPING for kind in KINDS)
        return PresenceBayes(tuple(self.weights[kind] for kind in KINDS), self.smoothing, damping)
