"""Should you believe the number? That depends on how it came about, not only on how good it is.

An error rate of 2 % may be a training error (the model has seen the answers), one look at mail kept aside, or the best
of a billion models on such mail. The first may mean nothing at all, the second is unbiased, the third was picked for
being low. `judgement` says what to think of each, with a bound on the true error and an estimate of the optimism;
`winner_trust` does so for the winner of a comparison. Both come from `priory.lab.optimism`, which has the formulas.

The words follow from the numbers. An error rate that was seen is believed, probably, unless

- nobody can say of how many rules it is the best (a training error of a rich model has no bound);
- choosing flatters: the optimism is more than what was seen, and more than half a point;
- examples are few: the truth may be more than five points away from what was seen;
- guessing would do: the best of as many coins would look as good. Then the answer is no;
- a second set speaks against it: its error is above the one claimed, and not by chance. Then the answer is no, too.

All of this supposes that the golden rule was kept, and that new mail is like the old: drawn from the same source.
Messages in groups of near-copies count for as many as are independent (`priory.lab.design_effect`).
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from priory.lab.claim import FAR, Claim, Look
from priory.lab.design_effect import design_effect
from priory.lab.error import LabError
from priory.lab.interval import LEVEL, Interval, percent, share
from priory.lab.optimism import (
    N_REPEATS,
    expected_error,
    hoeffding_bound,
    lower_bound,
    optimism_of_winner,
    rate_interval,
    upper_bound,
)

__all__ = ["Believe", "Claim", "Judgement", "judgement", "winner_trust"]

Believe = Literal["probably", "probably not", "no"]

SMALL_OPTIMISM: Final = 0.005  #: choosing that flatters by no more is let pass, even if as much was seen
GUESSING: Final = 0.5  #: the error rate of a coin

_SIMPLE: Final = (
    "if only a few very simple rules were considered, such as one word each, it may be right: say how many they were"
)
_ALIKE: Final = "models that are nearly the same count as one, and many more examples would make choosing harmless"
_FEW_RULES: Final = "only if no other rules were considered, and if new {noun} are like these"
_NOTHING_ELSE: Final = "there is no 'probably': guessing explains it"
_GOLDEN: Final = "only if nobody looked at these {noun} in training, and if new ones are like them"
_MORE: Final = "the number is unbiased, only uncertain: more examples would settle it"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether to believe an error rate, and how bad the truth may be; every figure is a share of the examples."""

    believe: Believe
    reason: str
    why_probably: str  #: what the word depends on
    seen: float
    expected: Interval  #: the true error, corrected for choosing
    optimism: float  #: by how much choosing flatters on average; NaN if unknown
    bound: float  #: what the true error does not exceed, with confidence `level`
    hoeffding: float  #: the same by Hoeffding's inequality, for comparison
    level: float
    n_examples: int
    n_groups: int  #: of near-copies; as many as examples where each is its own
    n_models: int | None
    line: str  #: all of it in one line for people

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON; what is not known is null."""
        plain = asdict(self) | {"expected": self.expected.as_dict()}
        return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in plain.items()}


def judgement(claim: Claim, *, level: float = LEVEL, noun: str = "messages") -> Judgement:
    """Return whether to believe a claim.

    >>> print(judgement(Claim(10, 500)).line)    # doctest: +NORMALIZE_WHITESPACE
    one look at 500 messages: 2.00 % wrong as seen (0.96 to 3.65); at most 3.37 % with 95 % confidence.
    Believe it: probably.
    >>> judgement(Claim(10, 500, n_models=10**9)).believe
    'probably not'
    """
    _check_level(level)
    if claim.second is not None:
        return _judged_by_second(claim, claim.second, level, noun)
    if claim.n_compared is None:
        return _unbounded(claim, level, noun)
    look = Look(claim, claim.n_compared, level, noun)
    return _judged(look, look.subject, expected_error(look.k, look.n, look.m, level, look.effect))


def winner_trust(  # noqa: PLR0913 - all but the first two have a default that fits
    errors: NDArray[np.bool_],
    names: Sequence[str],
    groups: NDArray[np.int64] | None = None,
    *,
    level: float = LEVEL,
    n_resamples: int = N_REPEATS,
    seed: int = 0,
    noun: str = "messages",
) -> Judgement:
    """Return whether to believe the error of the best of several models, given the errors [example, model] of all.

    What choosing did is found by bootstrap, so models that resemble each other count as the few that they are. Examples
    with the same number in `groups` are near-copies of each other: they are drawn together, and count for fewer.

    >>> wrong = np.random.default_rng(1).random((400, 3)) < [0.3, 0.05, 0.3]     # one is clearly best
    >>> print(winner_trust(wrong, ["stump", "bernoulli", "guess"]).line)    # doctest: +NORMALIZE_WHITESPACE
    bernoulli, best of 3 on 400 messages: 2.50 % wrong as seen, 2.50 % (1.21 to 4.55) after correcting for choosing;
    at most 4.74 % with 95 % confidence. Believe it: probably.
    """
    _check_level(level)
    wrong, m = _errors_of(errors, names, groups), len(names)
    found = optimism_of_winner(wrong, groups, n_resamples=n_resamples, seed=seed)
    effect = float(np.mean([design_effect(each, groups) for each in wrong.T]))  # the winner's was picked for being low
    look = Look(replace(Claim.of(wrong[:, found.winner], groups), design_effect=effect), m, level, noun)
    rate = min(1.0, max(look.seen + found.optimism, 0.0))
    judged = _judged(look, f"{names[found.winner]}, {look.subject}", _corrected(look, rate))
    if m == 1:
        return judged
    return replace(judged, reason=f"{judged.reason}; on {noun} drawn again it wins {found.share_won:.0%} of the time")


def _corrected(look: Look, rate: float) -> Interval:
    """The corrected rate with its interval, which ends where the union bound does, if that is lower."""
    found = rate_interval(rate, look.n, look.level, look.effect)
    highest = upper_bound(look.k, look.n, look.m, (1 + look.level) / 2, look.effect)
    return replace(found, high=max(rate, min(found.high, highest)))


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise LabError(f"confidence is between 0 and 1, such as 0.95, not {level:g}")


def _errors_of(errors: NDArray[np.bool_], names: Sequence[str], groups: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    wrong = np.asarray(errors)
    if wrong.ndim != 2 or wrong.shape[1] != len(names):
        raise LabError(f"errors of shape {wrong.shape} are not those of {len(names)} models: give one column for each")
    if not wrong.size:
        raise LabError("no errors of no model: there is nothing to compare")
    if groups is not None and np.shape(groups) != wrong.shape[:1]:
        raise LabError(
            f"groups of shape {np.shape(groups)} are not those of {len(wrong):,} examples: give one for each"
        )
    if not np.isin(wrong, (0, 1)).all():
        raise LabError("errors are 0 or 1 for each example: give whether the model was wrong, not what that cost")
    return wrong.astype(np.bool_)


def _judged(look: Look, subject: str, expected: Interval) -> Judgement:
    believe, reason, why = _words(look, expected.estimate)
    scatter = f" ({100 * expected.low:.2f} to {100 * expected.high:.2f})"
    corrected = scatter if look.m == 1 else f", {percent(expected.estimate)}{scatter} after correcting for choosing"
    return Judgement(
        believe=believe,
        reason=reason,
        why_probably=why,
        seen=look.seen,
        expected=expected,
        optimism=expected.estimate - look.seen,
        bound=look.bound,
        hoeffding=hoeffding_bound(look.k, look.n, look.m, look.level, look.effect),
        level=look.level,
        n_examples=look.n,
        n_groups=look.n_groups,
        n_models=look.m,
        line=f"{subject}: {percent(look.seen)} wrong as seen{corrected}; at most {percent(look.bound)} with "
        f"{100 * look.level:g} % confidence. Believe it: {believe}.",
    )


def _words(look: Look, expected: float) -> tuple[Believe, str, str]:
    """What to believe, the reason, and what that depends on: see the rules at the head of this file."""
    seen, many, on = look.seen, f"the best of {look.m:,}", look.examples
    if seen < GUESSING <= expected:
        return "no", f"{many} coins would look as good on {on}", _NOTHING_ELSE
    if expected - seen > max(seen, SMALL_OPTIMISM):
        reason = f"{many} looks good by chance: some {percent(expected)} wrong is to be expected, not {percent(seen)}"
        return "probably not", reason, _ALIKE
    if look.is_vague:
        return "probably not", f"{on} are too few to tell {percent(seen)} from much more or less", _MORE
    if look.bound - seen > FAR:
        return "probably not", f"{many} on {on}: too much choosing for so few", _ALIKE
    kept = (_FEW_RULES if look.claim.how == "training" else _GOLDEN).format(noun=look.noun)
    if look.m == 1:
        return "probably", f"the {look.noun} were looked at once: the number is unbiased", kept
    return "probably", f"{many} looks better than it is, but by {100 * (expected - seen):.2f} points only", kept


def _unbounded(claim: Claim, level: float, noun: str) -> Judgement:
    """A training error of nobody knows how many rules."""
    seen = claim.errors / claim.n_examples
    return Judgement(
        believe="probably not",
        reason=f"this is a training error: a rich enough model has all {noun} right that it has learned",
        why_probably=_SIMPLE,
        seen=seen,
        expected=Interval(math.nan, 0.0, 1.0),
        optimism=math.nan,
        bound=1.0,
        hoeffding=1.0,
        level=level,
        n_examples=claim.n_examples,
        n_groups=claim.n_groups or claim.n_examples,
        n_models=None,
        line=f"training error on {claim.n_examples:,} {noun}: {percent(seen)} wrong as seen; nothing is known about "
        "others. Believe it: probably not.",
    )


def _judged_by_second(claim: Claim, second: tuple[int, int], level: float, noun: str) -> Judgement:
    """The first set has been used up by choosing; the second was looked at once and stands for itself."""
    look, first = Look(Claim(*second), 1, level, noun), claim.errors / claim.n_examples
    found = _judged(look, f"a second set of {look.n:,} {noun}, looked at once", share(look.k, look.n, level))
    if lower_bound(look.k, look.n, level) > first:
        return _refuted(found, first)
    if found.believe != "probably":
        return found
    return replace(
        found, reason="the second set was looked at once: its number is unbiased, whatever became of the first"
    )


def _refuted(found: Judgement, first: float) -> Judgement:
    return replace(
        found,
        believe="no",
        reason=f"the second set shows {percent(found.seen)}, which chance does not make of {percent(first)}",
        why_probably="there is no 'probably': believe the second set, which was looked at once, not the first",
        line=found.line.removesuffix(f"{found.believe}.") + f"no, not the {percent(first)} of the first set.",
    )
