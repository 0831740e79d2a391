"""What can be set about a filter."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from priory.ageing import Limits
from priory.autolearn import Autolearn
from priory.bayes import PresenceBayes
from priory.decision import Costs
from priory.features import KINDS, Spec
from priory.journal import PERSONAL_BITS, Store

#: How much each kind of feature counts; measured in docs/decisions/accuracy.md.
WEIGHTS: Final[Mapping[str, float]] = {
    "word": 0.4,
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
DAMPING_OF_PATTERNS: Final = 3.0  #: a person chose them, so a single one counts


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that can be set about a filter."""

    costs: Costs = field(default_factory=Costs)
    spec: Spec = field(default_factory=Spec)
    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    smoothing: float = 0.03
    autolearn: Autolearn | None = None  #: None if nothing is learned without a person
    personal_bits: int = PERSONAL_BITS  #: of the table of personal evidence, where a journal is made
    limits: Limits = field(default_factory=Limits)
    unwanted: tuple[str, ...] = ()  #: labels of mail that nobody wants; none named: `priory.points` knows the usual one
    store: Store | None = None  #: where the journal is that several machines share; None if it is in the home

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the cost matrix; with two of them, verdicts are about the second."""
        return self.costs.labels

    @property
    def model(self) -> PresenceBayes:
        """How the counts are read."""
        damping = tuple(DAMPING_OF_PATTERNS if kind == "pattern" else DAMPING for kind in KINDS)
        return PresenceBayes(tuple(self.weights[kind] for kind in KINDS), self.smoothing, damping)
