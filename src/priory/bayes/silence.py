r"""What silence says: outcomes of messages about which nobody said anything.

People who move mail speak only about mistakes. A calibration from what they say alone sees mistakes alone. But the
scores of all mail that was checked are known, and silence is evidence, too. If spam with the probability $p$ lies in
the inbox, and people move such spam with the probability $m_1$, then nobody says anything with the probability
$1 - p\,m_1$, and the message is spam all the same with the probability

$$ w = \frac{p\,(1 - m_1)}{1 - p\,m_1} $$

Ham in the Junk folder is alike, with a rate $m_0$ of its own. Where the filter is unsure, people may speak about both.
The line and the rates are estimated together, by expectation and maximisation (Dempster, Laird and Rubin 1977): given
the line, $w$ of each silent message counts as spam and the rest as ham; given these numbers, the line is fitted again,
and each rate is the share of the mistakes that people moved.

If people move little, many mistakes with few words look like few mistakes with many words. The likelihood then has two
tops, so the estimate starts from several rates, and steps on from the best end until the rates stay. One start takes
all silent messages for what the filter had said: from what people taught alone, which is mistakes alone, a few steps
may not suffice to come near it.

A. Dempster, N. Laird, D. Rubin: Maximum likelihood from incomplete data via the EM algorithm. Journal of the Royal
Statistical Society B 39, 1977, 1-38.
"""

import math
import zlib
from array import array
from collections.abc import Callable, Iterable
from operator import sub
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from priory.bayes.calibration import PRECISION, SLOPE, Calibration, PresumedOutcomes
from priory.bayes.counts import BIN_WIDTH, N_BINS, SCORE_LIMIT, bin_centres
from priory.native.table import score_bin

if TYPE_CHECKING:
    from typing_extensions import Buffer

REST, UNDECIDED, OWN = range(3)  #: what the filter had said: another label, *unsure*, or the label
MOST_MOVED: Final = 0.9  #: the largest rate: nobody notices everything
_STARTS: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
_FIRST_STEPS: Final = 10
_MOST_STEPS: Final = 300
_STAYS: Final = 1e-4  # a smaller change of the rates in one step is none
_FURTHEST: Final = 40.0
_CENTRES: Final = bin_centres()
_RATES: Final = Struct("<3d")
_MOST_BYTES: Final = 1 << 24  # of all estimates or tallies together: enough for a thousand labels
_MOST_MESSAGES: Final = 1e15
_ESTIMATE_BYTES: Final = _RATES.size + 16 * N_BINS
_SIDES_BYTES: Final = 3 * 8 * N_BINS


class SilenceTally(NamedTuple):
    """Checked messages by their score, what the filter had said about a label, and what people then said."""

    silent: "tuple[array[int], array[int], array[int]]"  #: [side][bin]: messages about which nobody said anything
    said: list[list[int]]  #: [side][0 or 1]: messages that people taught as another label, and as the label

    @classmethod
    def empty(cls) -> Self:
        """Return a tally of no messages."""
        silent = (_no_messages(), _no_messages(), _no_messages())
        return cls(silent, [[0, 0], [0, 0], [0, 0]])

    def copy(self) -> Self:
        """Return an independent copy."""
        rest, undecided, own = (array("q", side) for side in self.silent)
        return type(self)((rest, undecided, own), [list(numbers) for numbers in self.said])

    @property
    def n_silent(self) -> int:
        """The number of messages about which nobody said anything."""
        return sum(map(sum, self.silent))

    @property
    def n_moved(self) -> int:
        """The number of messages that people said to be elsewhere than the filter had said."""
        return self.said[REST][1] + self.said[UNDECIDED][1] + self.said[OWN][0]


class MoveRates(NamedTuple):
    """How probable it is that people say something about a message that lies in the wrong place."""

    own: float = 0.5  #: about a message of the label that lies elsewhere,
    rest: float = 0.5  #: about one of another label that lies with the label,
    undecided: float = 0.0  #: and about one of another label where the filter is unsure

    def of_side(self, side: int) -> tuple[float, float]:
        """Return the rates of messages of another label, and of the label, on a side."""
        return ((0.0, self.own), (self.undecided, self.own), (self.rest, 0.0))[side]


class SilenceEstimate(NamedTuple):
    """The outcomes of silent messages, and how often people move what lies in the wrong place."""

    outcomes: PresumedOutcomes
    rates: MoveRates


def pack_estimates(estimates: Iterable[SilenceEstimate]) -> bytes:
    """Return estimates as bytes."""
    return zlib.compress(b"".join(_RATES.pack(*rates) + outcomes.numbers.tobytes() for outcomes, rates in estimates))


def unpack_estimates(packed: bytes) -> list[SilenceEstimate]:
    """Return the estimates that `pack_estimates` packed; raise ValueError if they are damaged."""
    data, estimates = _decompressed(packed), []
    if len(data) % _ESTIMATE_BYTES:
        raise ValueError("estimates of silence are damaged")
    for start in range(0, len(data), _ESTIMATE_BYTES):
        numbers = array("d", data[start + _RATES.size : start + _ESTIMATE_BYTES])
        rates = MoveRates(*_RATES.unpack_from(data, start))
        if not (all(0 <= number < _MOST_MESSAGES for number in numbers) and all(0 <= rate <= 1 for rate in rates)):
            raise ValueError("estimates of silence are damaged")
        estimates.append(SilenceEstimate(PresumedOutcomes.of(numbers), rates))
    return estimates


def _decompressed(packed: bytes) -> bytes:
    """Decompress numbers; damaged ones could become any size."""
    decompressor = zlib.decompressobj()
    try:
        data = decompressor.decompress(packed, _MOST_BYTES)
    except zlib.error:
        raise ValueError("numbers of silence are damaged") from None
    if not decompressor.eof or decompressor.unused_data:
        raise ValueError("numbers of silence are damaged")
    return data


def pack_silent(tallies: Iterable[SilenceTally]) -> bytes:
    """Return the numbers of silent messages in tallies as bytes."""
    return zlib.compress(b"".join(side.tobytes() for tally in tallies for side in tally.silent))


def unpack_silent(packed: bytes) -> list[SilenceTally]:
    """Return tallies with the numbers that `pack_silent` packed; nobody has said anything in them.

    Raises ValueError if they are damaged.
    """
    data = _decompressed(packed)
    if len(data) % _SIDES_BYTES:
        raise ValueError("numbers of silence are damaged")
    tallies = []
    for start in range(0, len(data), _SIDES_BYTES):
        tally = SilenceTally.empty()
        for side, numbers in enumerate(tally.silent):
            numbers[:] = array("q", data[start + side * 8 * N_BINS : start + (side + 1) * 8 * N_BINS])
        tallies.append(tally)
    return tallies


def bin_of(score: float) -> int:
    """Return the bin of a score."""
    return score_bin(score, SCORE_LIMIT, BIN_WIDTH, N_BINS)


class _Bin(NamedTuple):
    """One bin with messages in it."""

    at: int
    taught: tuple[int, int]
    silent: tuple[int, int, int]


def estimate_silence(
    tally: SilenceTally, taught: "Buffer", fit: Callable[[PresumedOutcomes], Calibration]
) -> SilenceEstimate:
    """Return what silence says, given the taught outcomes[bin, 0 or 1], and how a line is fitted to presumed ones.

    >>> from priory.bayes import Counts, calibrate
    >>> taught, tally = Counts.empty(bits=4, n_labels=2).outcomes(0), SilenceTally.empty()
    >>> for at, label, side in ((190, 0, REST), (210, 1, OWN)):
    ...     taught[at, label], tally.silent[side][at] = 20, 500
    >>> estimate = estimate_silence(tally, taught, lambda presumed: calibrate(taught, 0.0, presumed=presumed))
    >>> round(estimate.outcomes.n_rest), round(estimate.outcomes.n_own)
    (499, 501)
    """
    outcomes = memoryview(taught)
    bins = [
        _Bin(i, (outcomes[i, 0], outcomes[i, 1]), (tally.silent[0][i], tally.silent[1][i], tally.silent[2][i]))
        for i in range(N_BINS)
        if outcomes[i, 0] or outcomes[i, 1] or any(side[i] for side in tally.silent)
    ]
    nothing = PresumedOutcomes.of(array("d", bytes(16 * N_BINS)))
    starts = [SilenceEstimate(nothing, MoveRates(rate, rate)) for rate in _STARTS]
    starts.append(SilenceEstimate(_as_said(bins), MoveRates(MOST_MOVED, MOST_MOVED)))
    best = max((_climb(bins, tally.said, fit, start, _FIRST_STEPS) for start in starts), key=lambda end: end[0])[1]
    return _climb(bins, tally.said, fit, best, _MOST_STEPS)[1]


def _as_said(bins: list[_Bin]) -> PresumedOutcomes:
    """Return the outcomes if silent messages are what the filter had said, and half of the undecided ones are own."""
    numbers = array("d", bytes(16 * N_BINS))
    for at, _, (rest, undecided, own) in bins:
        numbers[2 * at] = rest + undecided / 2
        numbers[2 * at + 1] = own + undecided / 2
    return PresumedOutcomes.of(numbers)


def _climb(
    bins: list[_Bin],
    said: list[list[int]],
    fit: Callable[[PresumedOutcomes], Calibration],
    start: SilenceEstimate,
    most: int,
) -> tuple[float, SilenceEstimate]:
    """Return where at most `most` steps from a start end, and the log-posterior there."""
    presumed, rates = start
    for _ in range(most):
        before = rates
        line = fit(presumed)
        presumed, hidden = _expected(bins, line, rates)
        rates = _rates(said, hidden)
        if max(map(abs, map(sub, rates, before))) < _STAYS:
            break
    line = fit(presumed)
    return _log_posterior(bins, said, line, rates), SilenceEstimate(presumed, rates)


def _probability(line: Calibration, at: int) -> float:
    log_odds = line.slope * _CENTRES[at] + line.intercept
    return 1 / (1 + math.exp(-max(-_FURTHEST, min(log_odds, _FURTHEST))))


def _expected(bins: list[_Bin], line: Calibration, rates: MoveRates) -> tuple[PresumedOutcomes, list[list[float]]]:
    """Return the expected outcomes of silent messages: by bin, and on each side."""
    numbers = array("d", bytes(16 * N_BINS))
    of_sides = [[0.0, 0.0] for _ in range(3)]
    for at, _, silent in bins:
        p = _probability(line, at)
        for side, n in enumerate(silent):
            if n:
                rest_rate, own_rate = rates.of_side(side)
                own, rest = p * (1 - own_rate), (1 - p) * (1 - rest_rate)
                n_rest, n_own = n * rest / (own + rest), n * own / (own + rest)
                numbers[2 * at] += n_rest
                numbers[2 * at + 1] += n_own
                of_sides[side][0] += n_rest
                of_sides[side][1] += n_own
    return PresumedOutcomes.of(numbers), of_sides


def _rates(said: list[list[int]], hidden: list[list[float]]) -> MoveRates:
    """Return the shares of misplaced messages that people spoke about; one word and one silence are their prior."""
    own = said[REST][1] + said[UNDECIDED][1]
    hidden_own = hidden[REST][1] + hidden[UNDECIDED][1]
    undecided = said[UNDECIDED][0]
    return MoveRates(
        own=min((own + 1) / (own + hidden_own + 2), MOST_MOVED),
        rest=min((said[OWN][0] + 1) / (said[OWN][0] + hidden[OWN][0] + 2), MOST_MOVED),
        undecided=undecided / (undecided + hidden[UNDECIDED][0]) if undecided else 0.0,
    )


def _log_posterior(bins: list[_Bin], said: list[list[int]], line: Calibration, rates: MoveRates) -> float:
    """Return how probable all that was said and not said is, up to a constant."""
    height = -PRECISION[0] * (line.slope - SLOPE) ** 2 / 2
    for at, (rest, own), silent in bins:
        p = _probability(line, at)
        q = line.false_positives + (1 - line.false_positives - line.false_negatives) * p
        height += own * math.log(q) + rest * math.log(1 - q)
        for side, n in enumerate(silent):
            if n:
                rest_rate, own_rate = rates.of_side(side)
                height += n * math.log(1 - p * own_rate - (1 - p) * rest_rate)
    for side, numbers in enumerate(said):
        height += sum(n * math.log(rate) for n, rate in zip(numbers, rates.of_side(side), strict=True) if rate > 0)
    return height


def _no_messages() -> "array[int]":
    return array("q", bytes(8 * N_BINS))
