r"""A promise about lost ham instead of a threshold: spam is said only where the lessons show that it is safe.

Each lesson was scored just before it was learned, by counts that did not contain it. A known ham with a score of at
least $b$ would have been lost to a filter that says *spam* from $b$ on. So for each edge $b$ between the bins of
scores, the number $S_b$ of such ham among $n$ known ham bounds the probability of losing one
(`priory.bayes.confidence_sequence`). Spam is said from the lowest edge for which this bound, and that of every higher
edge, is at most what was promised.

**Why hundreds of edges need no correction.** They are tested from the highest down, and the first that fails ends the
test (fixed-sequence testing, Angelopoulos et al. 2021). The lower the edge, the more ham is lost. Let $b^*$ be the
highest edge that breaks the promise: its average probability is above what was promised. Every edge that breaks it is
$b^*$ or lower, and is chosen only if $b^*$ passes its own test: only if one single bound is wrong. As long as $b^*$
stays the same edge, this happens with a probability of at most $\alpha$, over all time. If mail drifts so that $J$
different edges are in turn the highest that breaks the promise, it is at most $J \alpha$. For 95 % confidence, $\alpha$
is 0.025 instead of 0.05: in simulations with strong drift, the limit is then ever wrong in at most 5.3 % of the runs,
but in 10 % with 0.05 (docs/decisions/promise.md).

**Wrong labels.** Every message with a high score that people call ham counts as a lost ham. If it is spam, the bound is
looser than need be, but not false. It would be false if lost ham were not noticed. If people notice a share $r$ of it,
the bound is divided by $r$. This share is estimated as $1 - e$, where $e$ is the share of ham that is taught as spam,
as calibration finds it. It is assumed that lost ham is as likely to be taught as other ham is; that the known ham is
like all ham; and that little of what is taught as ham is spam that the filter had let through.

**Silence.** Mail about which people say nothing counts as what silence says (`priory.filter.silence`): what lies in the
inbox is ham but for the spam that people seldom move, and of what lies in Junk some is ham that was not rescued, by
the estimated rates. So where people only move mail, the promise rests on these estimates, too. They cannot see lost ham
that looks like spam and stays in Junk: in simulations where 1 to 3 % of the ham is such and people rescue 30 % of
it or less, the bound is false in nearly all runs; if they rescue 70 %, in 5 to 30 %. So the sentence names this
condition wherever silence counts.

**What is compared.** The scores of lessons contain neither a user's own evidence nor the term of familiarity. So a
message must reach the limit both with them and without: then it would also have reached the edge.

**More than two labels.** Ham is every label that is not unwanted. Each unwanted label has its own limit, for an equal
part of the promise and of $\alpha$. Messages of the other unwanted labels are counted as lost ham as well, because the
outcomes of a label do not tell them apart. So promises take more lessons where unwanted labels look alike.

A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L. Lei: Learn then test. Calibrating predictive algorithms to
achieve risk control. arXiv:2110.01052, 2021.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, cast

from priory.bayes import Calibration, Counts
from priory.bayes.confidence_sequence import CONFIDENCE, fewest_trials, most_failures, upper_bound
from priory.bayes.counts import BIN_WIDTH, SCORE_LIMIT
from priory.filter.verdict import digits, probability

if TYPE_CHECKING:
    from priory.bayes.silence import SilenceEstimate

NEVER: Final = math.inf  #: the limit of a label that is never said
_MOVES: Final = 2  #: by which the probability of a false limit is divided, for mail that drifts
_LEAST_NOTICED: Final = 0.01


class LostHam(NamedTuple):
    """How much ham is called spam."""

    lost: int  #: known ham that is called spam
    ham: int  #: all known ham
    noticed: float = 1.0  #: the share of lost ham that people notice
    from_silence: bool = False  #: whether mail that people left alone counts

    @property
    def at_most(self) -> float:
        """The bound on the share of ham that is called spam, at any moment with a confidence of 95 %.

        >>> round(LostHam(0, 712).at_most, 4), round(LostHam(0, 712, noticed=0.5).at_most, 4)
        (0.0048, 0.0096)
        """
        return min(upper_bound(self.lost, self.ham) / self.noticed, 1.0)

    def __str__(self) -> str:
        """The bound as a sentence without a full stop.

        >>> print(LostHam(0, 712), LostHam(0, 3), sep="\\n")
        at most 1 in 208 of your ham is called spam, with 95 % confidence at any moment; so far 0 of 712
        too little ham is known to tell how much of it is called spam; so far 0 of 3
        >>> str(LostHam(2, 5000, from_silence=True)).partition(", with ")[2]
        '95 % confidence at any moment if people rescue most lost ham; so far 2 of 5,000'
        """
        so_far = f"so far {self.lost:,} of {self.ham:,}"
        if self.at_most > 0.5:
            return f"too little ham is known to tell how much of it is called spam; {so_far}"
        condition = " if people rescue most lost ham" if self.from_silence else ""
        share = f"at most {one_in(self.at_most)} of your ham is called spam"
        return f"{share}, with {100 * CONFIDENCE:.0f} % confidence at any moment{condition}; {so_far}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return self._asdict() | {"at_most": self.at_most, "confidence": CONFIDENCE}


class Outcomes(NamedTuple):
    """The outcomes of earlier predictions, as `priory.bayes.Counts` holds them, and which labels are unwanted."""

    of_contrasts: Sequence[Sequence[Sequence[float]]]  #: for each contrast [bin, 0 or 1]
    lines: Sequence[Calibration]
    n_labels: int
    unwanted: tuple[int, ...]
    from_silence: bool = False  #: whether they include what silence says

    @classmethod
    def of(
        cls,
        counts: Counts,
        lines: Sequence[Calibration],
        unwanted: tuple[int, ...],
        silence: "Sequence[SilenceEstimate]" = (),
    ) -> Self:
        """Return the outcomes of the predictions that were made before each lesson, and what silence adds to them."""
        outcomes = [_as_lists(counts.outcomes(i)) for i in range(len(lines))]
        presumed = [_as_lists(estimate.outcomes.table) for estimate in silence]
        every = list(map(_sum, outcomes, presumed)) if silence else outcomes
        return cls(every, lines, counts.n_labels, unwanted, bool(silence))

    @property
    def n_ham(self) -> int:
        """The number of messages of wanted labels."""
        wanted = (label for label in range(self.n_labels) if label not in self.unwanted)
        if self.n_labels == 2:
            return int(sum(outcome[label] for label in wanted for outcome in self.of_contrasts[0]))
        return int(sum(own for label in wanted for _, own in self.of_contrasts[label]))

    @property
    def noticed(self) -> float:
        """The estimated share of lost ham that is not taught as unwanted mail."""
        rates = (
            line.false_negatives if self._is_mirrored(label) else line.false_positives
            for label in self.unwanted
            for line in [self._line(label)]
        )
        return max(1 - sum(rates), _LEAST_NOTICED)

    def from_the_top(self, label: int) -> Sequence[Sequence[float]]:
        """Return the numbers of other messages and of the label's in each bin, from the scores most like the label."""
        if self._is_mirrored(label):
            return [outcome[::-1] for outcome in self.of_contrasts[0]]
        return self.of_contrasts[0 if self.n_labels == 2 else label][::-1]

    def log_odds_above(self, label: int, n_bins: int) -> float:
        """Return the log-odds of a label at the lower edge of this many bins from the top; `NEVER` for none."""
        if n_bins == 0:
            return NEVER
        edge, line = SCORE_LIMIT - BIN_WIDTH * n_bins, self._line(label)
        return -line.log_odds(-edge) if self._is_mirrored(label) else line.log_odds(edge)

    def lost_ham(self, said_from: Mapping[int, float]) -> LostHam:
        """Return how much ham is lost if these unwanted labels are said from these log-odds on.

        A bin counts as a whole if a part of it reaches these log-odds.
        """
        lost = sum(
            others
            for label, least in said_from.items()
            if least < NEVER
            for n_above, (others, _) in enumerate(self.from_the_top(label))
            if others and (n_above == 0 or self.log_odds_above(label, n_above) >= least)
        )
        return LostHam(min(_whole(lost), self.n_ham), self.n_ham, self.noticed, self.from_silence)

    def _is_mirrored(self, label: int) -> bool:
        """Tell whether a label is the first of two, whose score is the negative of the other's."""
        return self.n_labels == 2 and label == 0

    def _line(self, label: int) -> Calibration:
        return self.lines[0 if self.n_labels == 2 else label]


class PromiseProgress(NamedTuple):
    """How far a promise is."""

    ham_lost: float  #: the promised share
    ham: int  #: known ham
    needs: int  #: known ham from which on any message may be called spam
    limits: Mapping[str, float]  #: the probability from which each unwanted label is said; 1 if never
    reached: float  #: the share of known unwanted mail that reaches these limits

    def __str__(self) -> str:
        """How far the promise is, in words.

        >>> print(PromiseProgress(0.001, 712, 4_190, {"spam": 1.0}, 0.0))
        the promise of 1 in 1,000 needs 4,190 known ham; 712 so far
        >>> print(PromiseProgress(0.001, 9_120, 4_190, {"spam": 0.9991}, 0.931))
        the promise of 1 in 1,000 allows spam from probability 0.9991; 93.1 % of the known spam reaches that
        """
        promise = f"the promise of {one_in(self.ham_lost)}"
        if self.ham < self.needs:
            return f"{promise} needs {self.needs:,} known ham; {self.ham:,} so far"
        labels = " and ".join(self.limits)
        limits = ", ".join(f"{label} from probability {digits(p)}" for label, p in self.limits.items())
        return f"{promise} allows {limits}; {100 * self.reached:.1f} % of the known {labels} reaches that"


class Promise(NamedTuple):
    """The largest share of ham that may be called spam."""

    ham_lost: float
    unwanted: tuple[int, ...]  #: the unwanted labels

    def outcomes(
        self, counts: Counts, lines: Sequence[Calibration], silence: "Sequence[SilenceEstimate]" = ()
    ) -> Outcomes:
        """Return the outcomes that the promise is about."""
        return Outcomes.of(counts, lines, self.unwanted, silence)

    def limits(self, outcomes: Outcomes) -> dict[int, float]:
        """Return for each unwanted label the log-odds from which it may be said; `NEVER` if too little ham is known."""
        return {label: outcomes.log_odds_above(label, n) for label, n in self._allowed_bins(outcomes).items()}

    def progress(self, outcomes: Outcomes, labels: Sequence[str]) -> PromiseProgress:
        """Return how far the promise is. Ham in the highest bin of scores, maybe a wrong label, makes it need more."""
        bins = {label: outcomes.from_the_top(label) for label in outcomes.unwanted}
        allowed = self._allowed_bins(outcomes)
        n_unwanted = sum(own for of_label in bins.values() for _, own in of_label)
        n_reached = sum(own for label, n in allowed.items() for _, own in bins[label][:n])
        return PromiseProgress(
            ham_lost=self.ham_lost,
            ham=outcomes.n_ham,
            needs=fewest_trials(_whole(max(of_label[0][0] for of_label in bins.values())), *self._part(outcomes)),
            limits={labels[i]: probability(limit) for i, limit in self.limits(outcomes).items()},
            reached=n_reached / max(n_unwanted, 1),
        )

    def _allowed_bins(self, outcomes: Outcomes) -> dict[int, int]:
        """Return for each unwanted label the number of bins, from the top, in which it may be said."""
        most = most_failures(outcomes.n_ham, *self._part(outcomes))
        lost = {label: accumulate(others for others, _ in outcomes.from_the_top(label)) for label in outcomes.unwanted}
        return {label: bisect_right(list(of_label), most) for label, of_label in lost.items()}

    def _part(self, outcomes: Outcomes) -> tuple[float, float]:
        """Return the share of the known ham that each unwanted label may have, and the confidence that this takes."""
        n = len(outcomes.unwanted)
        return self.ham_lost * outcomes.noticed / n, 1 - (1 - CONFIDENCE) / _MOVES / n


def _as_lists(outcomes: "memoryview[int] | memoryview[float]") -> list[list[float]]:
    bins: Any = outcomes.tolist()  # its type does not know of two dimensions
    return cast(list[list[float]], bins)


def _sum(some: list[list[float]], others: list[list[float]]) -> list[list[float]]:
    return [[a + b for a, b in zip(one, other, strict=True)] for one, other in zip(some, others, strict=True)]


def _whole(n: float) -> int:
    """Return a number of messages that silence made a fraction, rounded up: that makes the bound looser."""
    return math.ceil(n - 1e-9)


def one_in(share: float) -> str:
    """Return a share in words, rounded up.

    >>> one_in(0.001), one_in(0.0048), one_in(0.3)
    ('1 in 1,000', '1 in 208', '1 in 3')
    """
    return f"1 in {math.floor(1 / share + 1e-9):,}"
