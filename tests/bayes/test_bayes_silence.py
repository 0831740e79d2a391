"""How often people move mail is found from what they say and do not say, and nothing that they say breaks it."""

import math
import random
import zlib
from array import array
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priory.bayes import Calibration, Counts, calibrate
from priory.bayes.calibration import PresumedOutcomes
from priory.bayes.counts import N_BINS, bin_centres
from priory.bayes.silence import (
    MOST_MOVED,
    OWN,
    REST,
    UNDECIDED,
    MoveRates,
    SilenceEstimate,
    SilenceTally,
    bin_of,
    estimate_silence,
    pack_estimates,
    pack_silent,
    unpack_estimates,
    unpack_silent,
)

Simulated = tuple[SilenceTally, "memoryview[int]"]


def simulated(n: int, moved: float, seed: int, spam: float = 0.5) -> tuple[Simulated, int]:
    """Draw mail, have the filter file it, and people move a share of what lies in the wrong place.

    Returns the tally with the outcomes that people taught, and the number of spam among silent mail.
    """
    chance = random.Random(seed)
    tally, taught = SilenceTally.empty(), Counts.empty(bits=4, n_labels=2).outcomes(0)
    hidden = 0
    for i in range(n):
        is_spam = chance.random() < spam
        score = chance.gauss(1.6 if is_spam else -1.6, 0.8)
        at = bin_of(score)
        if i < 200:  # people have taught the first messages one by one
            taught[at, int(is_spam)] += 1
            continue
        side = OWN if score > 0.6 else REST if score < 0.1 else UNDECIDED
        is_wrong = is_spam if side in (REST, UNDECIDED) else not is_spam
        if is_wrong and chance.random() < moved:
            tally.said[side][is_spam] += 1
            taught[at, int(is_spam)] += 1
        else:
            tally.silent[side][at] += 1
            hidden += is_spam
    return (tally, taught), hidden


def estimated(tally: SilenceTally, taught: "memoryview[int]") -> SilenceEstimate:
    def fit(presumed: PresumedOutcomes) -> Calibration:
        n_rest, n_own = (sum(taught[i, side] for i in range(N_BINS)) for side in range(2))
        prior = math.log((n_own + presumed.n_own + 1) / (n_rest + presumed.n_rest + 1))
        return calibrate(taught, prior, presumed=presumed)

    return estimate_silence(tally, taught, fit)


@pytest.mark.parametrize("moved", [0.9, 0.5, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_rates_are_found_and_hardly_overestimated(moved: float, seed: int) -> None:
    (tally, taught), spam = simulated(6000, moved, seed)
    estimate = estimated(tally, taught)
    assert moved - 0.1 < estimate.rates.own < moved + 0.05
    assert moved - 0.45 < estimate.rates.rest < moved + 0.25  # there are only a dozen messages to see it from
    assert estimate.outcomes.n_own == pytest.approx(spam, rel=0.02)
    assert estimate.outcomes.n_own + estimate.outcomes.n_rest == pytest.approx(tally.n_silent)


def test_without_messages_the_rates_are_their_prior() -> None:
    taught = Counts.empty(bits=4, n_labels=2).outcomes(0)
    estimate = estimated(SilenceTally.empty(), taught)
    assert estimate.rates == MoveRates(own=0.5, rest=0.5, undecided=0.0)
    assert (estimate.outcomes.n_rest, estimate.outcomes.n_own) == (0, 0)


def test_nobody_is_taken_to_notice_everything() -> None:
    (tally, taught), _ = simulated(4000, moved=1.0, seed=1)
    assert max(estimated(tally, taught).rates[:2]) <= MOST_MOVED


_numbers = st.one_of(st.integers(0, 3), st.integers(0, 10**7))
_bins = st.dictionaries(st.integers(0, N_BINS - 1), _numbers, max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(_bins, _bins, _bins),
    st.lists(st.tuples(_numbers, _numbers), min_size=3, max_size=3),
    st.tuples(_bins, _bins),
)
def test_any_numbers_give_finite_estimates(silent, said, outcomes) -> None:
    tally, taught = SilenceTally.empty(), Counts.empty(bits=4, n_labels=2).outcomes(0)
    for side, numbers in enumerate(silent):
        for at, n in numbers.items():
            tally.silent[side][at] = n
    for side, numbers in enumerate(said):
        tally.said[side][:] = numbers
    for label, numbers in enumerate(outcomes):
        for at, n in numbers.items():
            taught[at, label] = n
    outcomes, rates = estimated(tally, taught)
    assert all(math.isfinite(n) and n >= 0 for n in outcomes.numbers)
    assert outcomes.n_rest + outcomes.n_own == pytest.approx(tally.n_silent, rel=1e-9)
    assert all(0 <= rate <= 1 for rate in rates)
    assert max(rates.own, rates.rest) <= MOST_MOVED
    line = calibrate(taught, 0.0, presumed=outcomes)
    assert all(map(math.isfinite, (line.slope, line.intercept, line.score(line.log_odds(1.0)))))


def test_estimates_and_tallies_come_back_as_they_were_packed() -> None:
    (tally, taught), _ = simulated(2000, moved=0.5, seed=1)
    estimates = [estimated(tally, taught), estimated(SilenceTally.empty(), taught)]
    unpacked = unpack_estimates(packed := pack_estimates(estimates))
    assert unpacked == estimates
    assert pack_estimates(unpacked) == packed
    (again, empty) = unpack_silent(pack_silent([tally, SilenceTally.empty()]))
    assert again.silent == tally.silent
    assert (empty, again.said) == (SilenceTally.empty(), [[0, 0], [0, 0], [0, 0]])
    assert unpack_estimates(pack_estimates([])) == unpack_silent(pack_silent([])) == []


def test_presumed_outcomes_count_as_much_as_taught_ones() -> None:
    outcomes, taught = (Counts.empty(bits=4, n_labels=2).outcomes(0) for _ in range(2))
    numbers = array("d", bytes(16 * N_BINS))
    for at in range(N_BINS):
        own, rest = (round(30 * math.exp(-(((bin_centres()[at] - centre) / 0.8) ** 2))) for centre in (1, -1))
        outcomes[at, 0], outcomes[at, 1] = rest, own
        taught[at, 0], taught[at, 1] = rest // 3, own // 3
        numbers[2 * at], numbers[2 * at + 1] = rest - rest // 3, own - own // 3
    assert calibrate(taught, 0.0, presumed=PresumedOutcomes.of(numbers)) == calibrate(outcomes, 0.0)


@pytest.mark.parametrize("unpack", [unpack_estimates, unpack_silent])
@pytest.mark.parametrize("packed", [b"", b"junk", zlib.compress(b"odd"), zlib.compress(bytes(1 << 25)), b"\0" * 99])
def test_damaged_numbers_are_refused(unpack: Callable[[bytes], object], packed: bytes) -> None:
    with pytest.raises(ValueError, match="silence are damaged"):
        unpack(packed)


@pytest.mark.parametrize("number", [math.nan, math.inf, -1.0, 1e300])
def test_estimates_that_cannot_be_are_refused(number: float) -> None:
    (tally, taught), _ = simulated(100, moved=0.5, seed=1)
    outcomes, rates = estimated(tally, taught)
    numbers = array("d", outcomes.numbers)
    numbers[100] = number
    for impossible in (
        SilenceEstimate(PresumedOutcomes.of(numbers), rates),
        SilenceEstimate(outcomes, MoveRates(number)),
    ):
        with pytest.raises(ValueError, match="estimates of silence are damaged"):
            unpack_estimates(pack_estimates([impossible]))
