"""Measure how often intervals cover the truth where mail comes in campaigns, for `measures.md` and `trust.md`.

    python docs/lab/campaigns_measured.py

simulates errors in groups of near-copies; it takes a minute.
"""

import sys
from typing import Any
from unittest.mock import patch

import numpy as np

from priory.lab.measures.design_effect import design_effect
from priory.lab.measures.interval import share
from priory.lab.trust import winner_trust

SIZES: dict[str, Any] = {
    "800 single messages, 40 campaigns of ten": [1] * 800 + [10] * 40,
    "900 single messages, 100 campaigns of three": [1] * 900 + [3] * 100,
    "600 single messages, 20 campaigns of five, one of 300": [1] * 600 + [5] * 20 + [300],
    "900 campaigns, sizes with a long tail": np.random.default_rng(5).pareto(1.3, 900).astype(int) + 1,
}


def covered(  # noqa: PLR0913 - a simulation has as many settings
    groups: Any, rate: float, alike: float, n_supposed: int | None, *, worse: int = 1, n_times: int = 1000
) -> tuple[float, float]:
    """Return how often the true share of errors is inside its interval, and half the mean width.

    `alike` is the share of each campaign that is judged as a whole, and `n_supposed` how many groups are supposed to be
    wrong as a whole; None ignores the groups. Campaigns are misjudged `worse` times as often as single messages.
    """
    rates = rate * np.where(np.bincount(groups) > 1, worse, 1)
    true = rates[groups].mean()
    random, n, inside, widths = np.random.default_rng(0), len(groups), 0, 0.0
    for _ in range(n_times):
        together = (random.random(groups[-1] + 1) < rates)[groups]
        errors = np.where(random.random(n) < alike, together, random.random(n) < rates[groups])
        with patch("priory.lab.measures.design_effect.N_SUPPOSED", n_supposed or 1e-9):
            effect = design_effect(errors, None if n_supposed is None else groups)
        found = share(int(errors.sum()), n, design_effect=effect)
        inside += found.low <= true <= found.high
        widths += (found.high - found.low) / 2
    return inside / n_times, widths / n_times


def winner_covered(groups: Any, rate: float, n_models: int, n_times: int = 300) -> tuple[float, ...]:
    """Return how often the winner's bound holds and its interval has the true error, with groups and without."""
    random, names, held = np.random.default_rng(0), [f"filter {i}" for i in range(n_models)], []
    for _ in range(n_times):
        wrong = (random.random((groups[-1] + 1, n_models)) < rate)[groups]
        judged = [winner_trust(wrong, names, given, n_resamples=200) for given in (groups, None)]
        held.append([(each.bound >= rate, each.expected.low <= rate <= each.expected.high) for each in judged])
    return tuple(np.mean(held, axis=0).ravel().tolist())


if __name__ == "__main__":
    for title, sizes in SIZES.items():
        sys.stdout.write(f"{title}: without groups, then with 0, 2, 8, 32 groups supposed to be wrong as a whole\n")
        numbers = np.repeat(np.arange(len(sizes)), sizes)
        for share_alike in (1.0, 0.7, 0.0):
            for error_rate in (0.002, 0.01, 0.05, 0.2):
                cells = [covered(numbers, error_rate, share_alike, supposed) for supposed in (None, 0, 2, 8, 32)]
                shown = ", ".join(f"{often:.1%} (± {100 * width:.2f})" for often, width in cells)
                sys.stdout.write(f"  {error_rate:.1%} wrong, {share_alike:.0%} judged alike: {shown}\n")
        for error_rate in (0.002, 0.01, 0.05):
            cells = [covered(numbers, error_rate, 1.0, supposed, worse=5) for supposed in (None, 8)]
            shown = ", ".join(f"{often:.1%} (± {100 * width:.2f})" for often, width in cells)
            sys.stdout.write(
                f"  {error_rate:.1%} wrong, campaigns five times as often; without groups and with: {shown}\n"
            )
    title, sizes = next(iter(SIZES.items()))
    bound, inside, bound_alone, inside_alone = winner_covered(np.repeat(np.arange(len(sizes)), sizes), 0.1, 12)
    sys.stdout.write(
        f"best of 12, 10 % wrong each, {title}: the bound holds in {bound:.1%}, the interval in {inside:.1%}; "
        f"without groups in {bound_alone:.1%} and {inside_alone:.1%}\n"
    )
