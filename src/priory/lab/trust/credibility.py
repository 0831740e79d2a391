"""Whether to believe an error rate, which depends on how it was obtained.

An error rate of 2 % may be a training error (the model has seen the answers), one look at separate mail, or the best of
a billion models on such mail. The first may mean nothing, the second is unbiased, the third was chosen for being low.
`judgement` says which to believe, with a bound on the true error and an estimate of the optimism; `winner_trust` does
so for the winner of a comparison. Both come from `priory.lab.trust.optimism`, which has the formulas.

An observed error rate is "probably" to be believed, unless

- it is the best of an unknown number of rules (the training error of a rich model has no bound);
- choosing flatters: the optimism exceeds the observed error, and half a percentage point;
- there are few examples: the true error may be more than five points away;
- guessing explains it: the best of as many coins would look as good. Then the answer is no;
- a second set contradicts it: its error is higher, and not by chance. Then the answer is no, too.

This assumes that the test mail was not used in training, and that new mail comes from the same source. Groups of
near-copies count as the number of independent messages they are worth (`priory.lab.measures.design_effect`).
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from priory.html.numbers import percent
from priory.lab.error import LabError
from priory.lab.measures.design_effect import design_effect
from priory.lab.measures.interval import LEVEL, Interval, share
from priory.lab.trust.claim import FAR, BoundedClaim, ErrorClaim
from priory.lab.trust.optimism import (
    N_REPEATS,
    expected_error,
    hoeffding_bound,
    lower_bound,
    optimism_of_winner,
    rate_interval,
    upper_bound,
)

__all__ = ["Believe", "ErrorClaim", "Judgement", "judgement", "winner_trust"]

Believe = Literal["probably", "probably not", "no"]

SMALL_OPTIMISM: Final = 0.005  #: optimism up to this is accepted, even if it exceeds the observed error
GUESSING: Final = 0.5  #: the error rate of a coin

_SIMPLE: Final = (
    "if only a few very simple rules were considered, such as one word each, it may be right: say how many they were"
)
_ALIKE: Final = "models that are nearly the same count as one, and many more examples would make choosing harmless"
_FEW_RULES: Final = "only if no other rules were considered, and if new {noun} are like these"
_NOTHING_ELSE: Final = "there is no 'probably': guessing explains it"
_GOLDEN: Final = "only if these {noun} were not used in training, and if new ones are like them"
_MORE: Final = "the number is unbiased, only uncertain: more examples would settle it"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether to believe an error rate, and how high the true one may be; all figures are shares of the examples."""

    believe: Believe
    reason: str
    why_probably: str  #: the conditions of the answer
    seen: float
    expected: Interval  #: the true error, corrected for choosing
    optimism: float  #: by how much choosing lowers the error on average; NaN if unknown
    bound: float  #: upper bound of the true error, with confidence `level`
    hoeffding: float  #: the same by Hoeffding's inequality, for comparison
    level: float
    n_examples: int
    n_groups: int  #: of near-copies; without groups, the number of examples
    n_models: int | None
    line: str  #: the result in one line

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON; unknown values are null."""
        plain = asdict(self) | {"expected": self.expected.as_dict()}
        return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in plain.items()}


def judgement(claim: ErrorClaim, *, level: float = LEVEL, noun: str = "messages") -> Judgement:
    """Return whether to believe a claim.

    >>> print(judgement(ErrorClaim(10, 500)).line)    # doctest: +NORMALIZE_WHITESPACE
    one look at 500 messages: 2.00 % wrong as seen (0.96 to 3.65); at most 3.37 % with 95 % confidence.
    Believe it: probably.
    >>> judgement(ErrorClaim(10, 500, n_models=10**9)).believe
    'probably not'
    """
    _check_level(level)
    if claim.second is not None:
        return _judge_by_second(claim, claim.second, level, noun)
    if claim.n_compared is None:
        return _judge_training_error(claim, level, noun)
    look = BoundedClaim(claim, claim.n_compared, level, noun)
    return _judge(look, look.subject, expected_error(look.k, look.n, look.m, level, look.effect))


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

    The effect of choosing is estimated by bootstrap, so that similar models count as few. Examples with the same number
    in `groups` are near-copies: they are drawn together, and count for fewer.

    >>> wrong = np.random.default_rng(1).random((400, 3)) < [0.3, 0.05, 0.3]     # one is clearly best
    >>> print(winner_trust(wrong, ["stump", "bernoulli", "guess"]).line)    # doctest: +NORMALIZE_WHITESPACE
    bernoulli, best of 3 on 400 messages: 2.50 % wrong as seen, 2.50 % (1.21 to 4.55) after correcting for choosing;
    at most 4.74 % with 95 % confidence. Believe it: probably.
    """
    _check_level(level)
    wrong, m = _errors_of(errors, names, groups), len(names)
    optimism = optimism_of_winner(wrong, groups, n_resamples=n_resamples, seed=seed)
    # The mean over all models: the winner's own effect was chosen for being low.
    effect = float(np.mean([design_effect(column, groups) for column in wrong.T]))
    look = BoundedClaim(replace(ErrorClaim.of(wrong[:, optimism.winner], groups), design_effect=effect), m, level, noun)
    rate = min(1.0, max(look.seen + optimism.optimism, 0.0))
    result = _judge(look, f"{names[optimism.winner]}, {look.subject}", _corrected_rate(look, rate))
    if m == 1:
        return result
    return replace(
        result, reason=f"{result.reason}; on {noun} drawn again it wins {optimism.share_won:.0%} of the time"
    )


def _corrected_rate(look: BoundedClaim, rate: float) -> Interval:
    """Return the corrected rate with its interval, whose upper limit is at most the union bound."""
    interval = rate_interval(rate, look.n, look.level, look.effect)
    highest = upper_bound(look.k, look.n, look.m, (1 + look.level) / 2, look.effect)
    return replace(interval, high=max(rate, min(interval.high, highest)))


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise LabError(f"confidence is between 0 and 1, such as 0.95, not {level:g}")


def _errors_of(errors: NDArray[np.bool_], names: Sequence[str], groups: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    wrong = np.asarray(errors)
    if wrong.ndim != 2 or wrong.shape[1] != len(names):
        raise LabError(f"errors of shape {wrong.shape} do not fit {len(names)} models: give one column for each")
    if not wrong.size:
        raise LabError("there are no errors to compare: give at least one model and one example")
    if groups is not None and np.shape(groups) != wrong.shape[:1]:
        raise LabError(f"groups of shape {np.shape(groups)} do not fit {len(wrong):,} examples: give one for each")
    if not np.isin(wrong, (0, 1)).all():
        raise LabError("errors are 0 or 1 for each example: give whether the model was wrong, not what that cost")
    return wrong.astype(np.bool_)


def _judge(look: BoundedClaim, subject: str, expected: Interval) -> Judgement:
    believe, reason, why = _words(look, expected.estimate)
    scatter = f" ({100 * expected.low:.2f} to {100 * expected.high:.2f})"
    corrected = scatter if look.m == 1 else f", {percent(expected.estimate, 2)}{scatter} after correcting for choosing"
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
        line=f"{subject}: {percent(look.seen, 2)} wrong as seen{corrected}; at most {percent(look.bound, 2)} with "
        f"{100 * look.level:g} % confidence. Believe it: {believe}.",
    )


def _words(look: BoundedClaim, expected: float) -> tuple[Believe, str, str]:
    """Return the answer, the reason and the conditions; the rules are at the top of this file."""
    seen, many, on = look.seen, f"the best of {look.m:,}", look.examples
    if seen < GUESSING <= expected:
        return "no", f"{many} coins would look as good on {on}", _NOTHING_ELSE
    if expected - seen > max(seen, SMALL_OPTIMISM):
        right, claimed = percent(expected, 2), percent(seen, 2)
        reason = f"{many} looks good by chance: some {right} wrong is to be expected, not {claimed}"
        return "probably not", reason, _ALIKE
    if look.is_vague:
        return "probably not", f"{on} are too few to tell {percent(seen, 2)} from much more or less", _MORE
    if look.bound - seen > FAR:
        return "probably not", f"{many} on {on}: too much choosing for so few", _ALIKE
    condition = (_FEW_RULES if look.claim.how == "training" else _GOLDEN).format(noun=look.noun)
    if look.m == 1:
        return "probably", f"the {look.noun} were looked at once: the number is unbiased", condition
    return "probably", f"{many} looks better than it is, but by {100 * (expected - seen):.2f} points only", condition


def _judge_training_error(claim: ErrorClaim, level: float, noun: str) -> Judgement:
    """Judge a training error of an unknown number of rules."""
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
        line=f"training error on {claim.n_examples:,} {noun}: {percent(seen, 2)} wrong as seen; nothing is known about "
        "others. Believe it: probably not.",
    )


def _judge_by_second(claim: ErrorClaim, second: tuple[int, int], level: float, noun: str) -> Judgement:
    """Judge by the second set alone: the first was used for choosing."""
    look, first = BoundedClaim(ErrorClaim(*second), 1, level, noun), claim.errors / claim.n_examples
    result = _judge(look, f"a second set of {look.n:,} {noun}, looked at once", share(look.k, look.n, level))
    if lower_bound(look.k, look.n, level) > first:
        return _refute(result, first)
    if result.believe != "probably":
        return result
    return replace(
        result, reason="the second set was looked at once: its number is unbiased, whatever became of the first"
    )


def _refute(result: Judgement, first: float) -> Judgement:
    return replace(
        result,
        believe="no",
        reason=f"the second set shows {percent(result.seen, 2)}, which chance does not make of {percent(first, 2)}",
        why_probably="there is no 'probably': believe the second set, which was looked at once, not the first",
        line=result.line.removesuffix(f"{result.believe}.") + f"no, not the {percent(first, 2)} of the first set.",
    )
