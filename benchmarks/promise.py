"""Tests the bound on lost ham and the promise that rests on it: by simulation, and on real mail.

    python benchmarks/promise.py widths                      # the bound against that of Clopper and Pearson
    python benchmarks/promise.py simulate [--runs 4000]      # how often it is wrong, looking after every message
    python benchmarks/promise.py silence                     # the same where people only move mail, and rarely
    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/promise.py passes --scores FOLDER [--passes 1000]
    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/promise.py replay --corpus spamassassin/index --flip 0.05

`passes` scores a corpus once, each message before it is learned, and stores the scores in the folder. Then it draws
messages with these scores again and again, in two orders: *shuffled* from all mail, *in order* from a part of it that
moves from the beginning to the end. So the true share of ham above any score is known. The limit and the bound are
computed by the filter's own code every `--every` messages. `replay` runs the filter itself, with the promise and
without.
"""

import argparse
import math
import os
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from priory.bayes import Calibration, Counts, calibrate
from priory.bayes.confidence_sequence import log_fortune, most_failures, upper_bound
from priory.bayes.counts import N_BINS, bin_centres, bin_of
from priory.bayes.silence import OWN, REST, UNDECIDED, SilenceTally, estimate_silence
from priory.corpus import read_index
from priory.decision import Costs, thresholds
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.prepare import prepare
from priory.filter.promise import NEVER, Outcomes, Promise
from priory.filter.scoring import plain_scores

ENOUGH = math.log(20)
CENTRES = bin_centres()
SPAM_LOG_ODDS = math.log(thresholds(Costs())["spam"] / (1 - thresholds(Costs())["spam"]))
HAM_LOG_ODDS = math.log(thresholds(Costs())["unsure"] / (1 - thresholds(Costs())["unsure"]))
N_WINDOWS = 50
WINDOW = 0.1  # of the mail


def show_widths() -> None:
    from scipy.stats import beta

    print("failures, n · bound, the same for one look, ratio")
    for failures in (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000):
        n = 1000 * (failures + 1)
        bound, once = upper_bound(failures, n), beta.ppf(0.95, failures + 1, n - failures)
        print(f"{failures:5d} {n * bound:9.2f} {n * once:9.2f} {bound / once:6.2f}")


# Simulations of the bound


def paths(n: int) -> dict[str, NDArray[np.float64]]:
    """Return probabilities of failure over time."""
    t = np.arange(n) / n
    return {
        "always 0.001": np.full(n, 0.001),
        "always 0.01": np.full(n, 0.01),
        "always 0.1": np.full(n, 0.1),
        "rises from 0 to 0.02": 0.02 * t,
        "falls from 0.05 to 0.001": 0.05 * (0.001 / 0.05) ** t,
        "0.001, then 0.05 from the middle on": np.where(t < 0.5, 0.001, 0.05),
        "waves between 0 and 0.02": 0.01 + 0.01 * np.sin(12 * np.pi * t),
    }


def adversaries() -> dict[str, Callable[[int, int, int], float]]:
    """Return probabilities of failure that react to what happened: time, failures so far, time since the last."""
    return {
        "0.02 until a failure, then 0.0005": lambda _t, failures, _since: 0.0005 if failures else 0.02,
        "twice as high every 100 messages without one": lambda _t, _f, since: min(0.001 * 2 ** (since // 100), 0.5),
        "0.05, but 0 for 200 messages after a failure": lambda _t, f, since: 0.0 if f and since < 200 else 0.05,
        "raised by as much as keeps the bound within reach": lambda t, f, _since: min((f + 1) / (t + 50), 0.5),
    }


def share_broken(probabilities: NDArray[np.float64], runs: int, random: np.random.Generator) -> tuple[float, float]:
    """Return the share of runs in which the bound was ever wrong, and the same for Clopper and Pearson's."""
    from scipy.stats import binom

    n = len(probabilities)
    average = probabilities.cumsum() / np.arange(1, n + 1)
    at_most = np.array([most_failures(t, p) for t, p in enumerate(average.tolist(), 1)])
    once = binom.ppf(0.05, np.arange(1, n + 1), average) - 1  # as few failures as a single look would not expect
    broken, broken_once = 0, 0
    for _ in range(runs // 100):
        failures = (random.random((100, n)) < probabilities).cumsum(axis=1)
        broken += int((failures <= at_most).any(axis=1).sum())
        broken_once += int((failures <= once).any(axis=1).sum())
    return broken / runs, broken_once / runs


def share_broken_by(
    adversary: Callable[[int, int, int], float], runs: int, n: int, random: np.random.Generator
) -> float:
    broken = 0
    for _ in range(runs):
        total, failures, last = 0.0, 0, 0
        for t, u in enumerate(random.random(n).tolist(), 1):
            p = adversary(t - 1, failures, t - last)
            total += p
            if u < p:
                failures, last = failures + 1, t
            if log_fortune(failures, t, min(total / t, 1 - 1e-12)) >= ENOUGH:
                broken += 1
                break
    return broken / runs


def share_of_false_edges(
    shift: Callable[[float], float], promised: float, confidence: float, runs: int, n: int
) -> float:
    """Return the share of runs in which ever an edge was chosen above which too much ham had been lost.

    Scores are exponential above a shift that moves over time; edges are 0.1 apart.
    """
    random, edges = np.random.default_rng(1), np.arange(0, 12, 0.1)
    lost, true = np.zeros((runs, len(edges)), dtype=np.int64), np.zeros(len(edges))
    broken = np.zeros(runs, dtype=bool)
    for t in range(1, n + 1):
        move = shift(t / n)
        scores = move + random.exponential(1.0, runs)
        lost += scores[:, None] >= edges
        true += np.minimum(np.exp(move - edges), 1)
        most = most_failures(t, promised, confidence)
        if most < 0:
            continue
        is_allowed = lost <= most
        chosen = is_allowed.argmax(axis=1)
        broken |= is_allowed.any(axis=1) & (true[chosen] / t > promised)
    return float(broken.mean())


def simulate(runs: int) -> None:
    random = np.random.default_rng(1)
    for name, probabilities in paths(20_000).items():
        ours, once = share_broken(probabilities, runs, random)
        print(f"{name}: wrong at any time in {ours:.2%} of the runs; the bound for one look in {once:.1%}", flush=True)
    for name, adversary in adversaries().items():
        print(f"{name}: {share_broken_by(adversary, runs, 1000, random):.2%}", flush=True)
    shifts: dict[str, Callable[[float], float]] = {
        "limit, no drift": lambda _: 0.0,
        "limit, scores rise by 3": lambda t: 3 * t,
        "limit, scores rise by 9": lambda t: 9 * t,
        "limit, scores fall by 3": lambda t: 3 - 3 * t,
        "limit, scores rise by 1 whenever time doubles": lambda t: math.log2(max(t, 0.01) / 0.01),
        "limit, scores rise by 2 whenever time doubles": lambda t: 2 * math.log2(max(t, 0.01) / 0.01),
        "limit, scores rise by 3 in steps of 1": lambda t: math.floor(4 * t),
        "limit, scores wave by 2": lambda t: 1 - math.cos(12 * math.pi * t),
    }
    for name, shift in shifts.items():
        for confidence in (0.975, 0.95):
            shares = [share_of_false_edges(shift, promised, confidence, runs, 4000) for promised in (0.01, 0.002)]
            words = ", ".join(f"{share:.2%}" for share in shares)
            print(f"{name}, edges with {confidence}: {words} (promises 0.01, 0.002)", flush=True)


# Simulations of silence


def bound_from_silence(odd: float, moved: float, random: np.random.Generator) -> tuple[float, float, float]:
    """Return the true share of lost ham, the bound, and the estimated share of lost ham that people move.

    300 messages are taught. Of 8,000 others people move only what lies in the wrong place, and only a share of that.
    Some ham has scores as spam has.
    """
    counts, tally = Counts.empty(0, 2), SilenceTally.empty()
    outcomes = counts.outcomes(0)
    line = Calibration(0.0, 0.0)
    for n in (300, 8000):
        line = calibrate(outcomes, 0.0)
        is_spam = random.random(n) < 0.5
        is_high = is_spam | (random.random(n) < odd)
        scores = np.where(is_high, random.normal(2.5, 0.8, n), random.normal(-2.5, 0.7, n))
        for score, own, u in zip(scores.tolist(), is_spam.tolist(), random.random(n).tolist(), strict=True):
            log_odds = line.log_odds(score)
            side = OWN if log_odds >= SPAM_LOG_ODDS else UNDECIDED if log_odds >= HAM_LOG_ODDS else REST
            is_wrong = side != (OWN if own else REST) and (own or side == OWN)
            if n == 300:
                outcomes[bin_of(score), own] += 1
            elif is_wrong and u < moved:
                outcomes[bin_of(score), own] += 1
                tally.said[side][own] += 1
            else:
                tally.silent[side][bin_of(score)] += 1
    estimate = estimate_silence(tally, outcomes, lambda presumed: calibrate(outcomes, 0.0, presumed=presumed))
    line = calibrate(outcomes, 0.0, presumed=estimate.outcomes)
    bound = Outcomes.of(counts, [line], (1,), [estimate]).lost_ham({1: SPAM_LOG_ODDS}).at_most
    least = (SPAM_LOG_ODDS / line.caution - line.intercept) / line.slope
    true = odd * 0.5 * math.erfc((least - 2.5) / 0.8 / math.sqrt(2))
    return true, bound, estimate.rates.rest


def simulate_silence() -> None:
    random = np.random.default_rng(1)
    for odd in (0.002, 0.01, 0.03):
        for moved in (0.1, 0.3, 0.7):
            results = np.array([bound_from_silence(odd, moved, random) for _ in range(40)])
            true, bound, rate = results.mean(axis=0)
            print(
                f"lost {true:.2%}, people move {moved:.0%} of it (estimated {rate:.0%}): bound {bound:.2%}, false in "
                f"{np.mean(results[:, 1] < results[:, 0]):.0%} of 40 runs",
                flush=True,
            )


# Passes over the scores of real mail


def scores_of(index: Path, folder: Path, n: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the plain score of each message before it was learned, and whether it is spam; the folder stores them."""
    path = folder / f"{index.parent.as_posix().strip('/').replace('/', '-')}-{n}.npz"
    if not path.exists():
        found, truth, spec = [], [], Spec()
        with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter_:
            for labelled, _ in zip(read_index(index), range(n), strict=False):
                message = prepare(labelled.raw, spec)
                filter_.refresh()
                found += plain_scores(message.features, filter_.counts, filter_.options.model)
                truth.append(labelled.label == "spam")
                filter_.learn(message, labelled.label)
        np.savez(path, scores=np.array(found), is_spam=np.array(truth))
    stored = np.load(path)
    scores, is_spam = stored["scores"], stored["is_spam"]
    return scores[np.isfinite(scores)], is_spam[np.isfinite(scores)]


@dataclass
class Pass:
    """What happened in one pass."""

    is_limit_false: bool = False  #: ever more ham above the limit than promised, on average so far
    is_bound_false: bool = False  #: ever more ham called spam than the bound says
    lost: int = 0  #: ham called spam, by the limit of the time
    ham: int = 0
    spam: int = 0
    held_back: int = 0  #: spam that is unsure because of the promise
    first: int = 0  #: messages before any could be called spam


@dataclass
class Pool:
    """Mail to draw from: the bins of its scores, and its true labels; window by window."""

    scores: NDArray[np.float64]
    is_spam: NDArray[np.bool_]
    bins: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.bins = np.array([bin_of(score) for score in self.scores.tolist()])

    def windows(self, order: str) -> list[NDArray[np.int64]]:
        """Return the messages to draw from in each part of a pass."""
        n = len(self.scores)
        every = np.arange(n)
        if order == "shuffled":
            return [every] * N_WINDOWS
        if order == "hardest ham last":
            every = np.argsort(np.where(self.is_spam, np.random.default_rng(1).permutation(self.scores), self.scores))
        width = int(n * WINDOW)
        return [every[start : start + width] for start in np.linspace(0, n - width, N_WINDOWS).astype(int)]

    @cache  # noqa: B019 - one pool for all passes
    def share_above(self, order: str) -> list[NDArray[np.float64]]:
        """Return for each window the share of its ham that has a score in each bin or a higher one."""
        shares = []
        for window in self.windows(order):
            ham = self.bins[window][~self.is_spam[window]]
            n = np.bincount(ham, minlength=N_BINS)[::-1].cumsum()[::-1]
            shares.append(np.append(n / max(len(ham), 1), 0.0))
        return shares

    __hash__ = object.__hash__


def one_pass(  # noqa: PLR0913, PLR0917 - figures
    pool: Pool, order: str, promised: float, flip: float, n: int, every: int, random: np.random.Generator
) -> Pass:
    result, promise, counts = Pass(), Promise(promised, (1,)), Counts.empty(0, 2)
    outcomes, totals = counts.outcomes(0), [0, 0]
    histogram = np.asarray(counts.held_out)[0]
    windows, shares = pool.windows(order), pool.share_above(order)
    size = n // N_WINDOWS
    true, limit_bin, spam_bin = np.zeros(N_BINS + 1), N_BINS, N_BINS
    for window, share in zip(windows, shares, strict=True):
        for _ in range(size // every):
            drawn = random.choice(window, every)
            bins, is_spam = pool.bins[drawn], pool.is_spam[drawn]
            # Judged by the limit of the time, then learned with the labels of people.
            result.lost += int((bins[~is_spam] >= max(limit_bin, spam_bin)).sum())
            result.held_back += int(((bins >= spam_bin) & (bins < limit_bin))[is_spam].sum())
            result.spam += int(is_spam.sum())
            n_ham = int((~is_spam).sum())
            result.ham += n_ham
            true += n_ham * share
            taught = is_spam ^ (random.random(every) < flip)
            np.add.at(histogram, (bins, taught.astype(int)), 1)
            totals = [totals[0] + int((~taught).sum()), totals[1] + int(taught.sum())]
            line = calibrate(outcomes, math.log((totals[1] + 1) / (totals[0] + 1)))
            known = Outcomes.of(counts, [line], (1,))
            limit = promise.limits(known)[1]
            limit_bin = N_BINS if limit == NEVER else bin_at(line, limit)
            spam_bin = bin_at(line, SPAM_LOG_ODDS)
            average = true / max(result.ham, 1)
            result.is_limit_false |= bool(average[limit_bin] > promised)
            result.is_bound_false |= bool(average[spam_bin] > known.lost_ham({1: SPAM_LOG_ODDS}).at_most)
            if limit_bin == N_BINS:
                result.first = result.ham + result.spam
    return result


def bin_at(line: Calibration, log_odds: float) -> int:
    """Return the lowest bin whose centre has at least these log-odds."""
    return bisect_left(CENTRES, log_odds, key=line.log_odds)


def show_passes(pool: Pool, name: str, asked: argparse.Namespace) -> None:
    for order in ("shuffled", "in order", "hardest ham last"):
        for flip in asked.flip:
            for promised in asked.promise:
                random = np.random.default_rng(2)
                results = [
                    one_pass(pool, order, promised, flip, asked.messages, asked.every, random)
                    for _ in range(asked.passes)
                ]
                lost = np.array([result.lost / max(result.ham, 1) for result in results])
                held_back = sum(result.held_back for result in results) / sum(result.spam for result in results)
                print(
                    f"{name}, {order}, wrong labels {flip:.1%}, promise {promised:g}: "
                    f"limit ever false {np.mean([result.is_limit_false for result in results]):.1%}, "
                    f"bound ever false {np.mean([result.is_bound_false for result in results]):.1%}, "
                    f"more lost at the end than promised {np.mean(lost > promised):.1%} (mean lost {lost.mean():.3%}), "
                    f"spam held back {held_back:.1%}, first spam after {np.median([r.first for r in results]):.0f}",
                    flush=True,
                )


# Replays of the filter


def show_replay(  # noqa: PLR0913, PLR0917 - settings
    index: Path, name: str, n: int, promised: float | None, flip: float, seed: int
) -> None:
    """Check each message, then learn it, with some labels wrong; print what became of the ham."""
    random, spec = np.random.default_rng(seed), Spec()
    said: dict[tuple[bool, str], int] = {}
    held_back, first, worst, ham = 0, 0, 0.0, 0
    with tempfile.TemporaryDirectory() as home, Filter.open(home, Options(ham_lost=promised)) as filter_:
        for i, (labelled, _) in enumerate(zip(read_index(index), range(n), strict=False)):
            message, is_spam = prepare(labelled.raw, spec), labelled.label == "spam"
            verdict = filter_.check(message)
            said[is_spam, verdict.label] = said.get((is_spam, verdict.label), 0) + 1
            held_back += is_spam and "promise" in verdict.reason
            first = first or (i if verdict.label == "spam" else 0)
            ham += not is_spam
            worst = max(worst, said.get((False, "spam"), 0) / ham) if ham > 1000 else worst
            filter_.learn(message, "spam" if is_spam != (random.random() < flip) else "ham")
        stats = filter_.stats()
    lost, missed = said.get((False, "spam"), 0), said.get((True, "ham"), 0)
    spam = sum(count for (is_spam, _), count in said.items() if is_spam)
    unsure = said.get((True, "unsure"), 0) + said.get((False, "unsure"), 0)
    print(
        f"{name}, promise {promised}, wrong labels {flip:.1%}, seed {seed}: lost {lost} of {ham} ({lost / ham:.3%}; at "
        f"most {worst:.3%} after 1,000 ham), missed {missed / spam:.2%}, unsure {unsure / (ham + spam):.2%}, spam held "
        f"back {held_back / spam:.2%}, first spam after {first}\n  {stats.lost_ham}\n  {stats.promise}",
        flush=True,
    )


def _corpora(asked: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    for name in asked.corpus:
        yield name.partition("/")[0], Path(os.environ["PRIORY_CORPORA"]) / name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["widths", "simulate", "silence", "passes", "replay"])
    parser.add_argument("--runs", type=int, default=4000, help="of a simulation")
    parser.add_argument("--corpus", nargs="+", default=["trec07p/full/index", "spamassassin/index"])
    parser.add_argument("--messages", type=int, default=6000, help="of a pass or a replay")
    parser.add_argument("--scored", type=int, default=37_710, help="messages of the corpus that passes draw from")
    parser.add_argument("--scores", type=Path, default=Path(tempfile.gettempdir()), help="a folder for the scores")
    parser.add_argument("--passes", type=int, default=1000)
    parser.add_argument("--every", type=int, default=60, help="messages between two looks of a pass")
    parser.add_argument("--promise", type=float, nargs="*", default=[0.01, 0.002])
    parser.add_argument("--flip", type=float, nargs="*", default=[0.0, 0.05], help="rates of wrong labels")
    parser.add_argument("--seeds", type=int, nargs="+", default=[7])
    asked = parser.parse_args()
    if asked.part == "widths":
        show_widths()
    elif asked.part == "simulate":
        simulate(asked.runs)
    elif asked.part == "silence":
        simulate_silence()
    elif asked.part == "passes":
        for name, index in _corpora(asked):
            show_passes(Pool(*scores_of(index, asked.scores, asked.scored)), name, asked)
    else:
        for name, index in _corpora(asked):
            for flip in asked.flip:
                for promised in (None, *asked.promise):
                    for seed in asked.seeds:
                        show_replay(index, name, asked.messages, promised, flip, seed)


if __name__ == "__main__":
    main()
