"""Draws the pictures of the workbench's pages from simulated data.

    python docs/lab/lab_pictures.py [NAME ...]

writes docs/lab/pictures/NAME.svg, or all of them. It needs matplotlib (the extra `report`). The same versions of the
libraries give the same files, byte for byte.
"""

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit

from priory.bayes import MixedNB, NearestNeighbours
from priory.lab.evaluation.exclusion import one_at_a_time
from priory.lab.label_errors import suspects
from priory.lab.limits.bayes_error import of_densities
from priory.lab.limits.no_free_lunch import no_free_lunch
from priory.lab.predictions import Predictions

sys.path.insert(0, str(Path(__file__).parents[1] / "toolkit"))
from pictures import GREY, HAM, INK, SPAM, canvas, main

FOLDER = Path(__file__).parent / "pictures"


def bayes_error() -> Any:
    """Draw two weighted densities; the area below both is the error of the best classifier."""
    priors, classes = (0.6, 0.4), (stats.norm(3, 1), stats.norm(6, 1.6))
    x = np.linspace(-0.5, 12, 601)
    ham, spam = (prior * density.pdf(x) for prior, density in zip(priors, classes, strict=True))
    figure, axes = canvas(6.4, 3.4)
    axes.fill_between(x, np.minimum(ham, spam), color=GREY, alpha=0.45, linewidth=0)
    axes.plot(x, ham, color=HAM, linewidth=2)
    axes.plot(x, spam, color=SPAM, linewidth=2)
    for border in x[np.flatnonzero(np.diff(ham > spam))]:
        axes.axvline(border, color=INK, linewidth=1, linestyle=":")
    error = of_densities(classes, priors)
    axes.annotate(f"Bayes error {error:.3f}", (4.4, 0.03), (6.6, 0.2), arrowprops={"arrowstyle": "-", "color": INK})
    axes.text(1.6, 0.15, "ham", color=HAM, weight="bold", ha="right")
    axes.text(8.3, 0.07, "spam", color=SPAM, weight="bold")
    axes.set(xlabel="x, size of a message in kilobytes", ylabel="p(x, class)", xlim=(-0.5, 12), ylim=(0, 0.26))
    return figure


def free_lunch() -> Any:
    """Draw the number of labellings by error, and the mean error in rough and smooth worlds."""
    models = {"3 neighbours": NearestNeighbours(k=3), "1 neighbour": NearestNeighbours(k=1)}
    lunches = {name: no_free_lunch(model, n_features=3, seen=(0, 3, 5, 6)) for name, model in models.items()}
    figure, (left, right) = canvas(8.4, 3.3, 2)
    for (name, lunch), colour, move in zip(lunches.items(), (HAM, SPAM), (-0.2, 0.2), strict=True):
        counts = np.bincount(lunch.n_wrong.ravel(), minlength=5)
        left.bar(np.arange(5) + move, counts, width=0.38, color=colour, label=name)
    left.set(xlabel="unseen corners misjudged, of 4", ylabel="labellings, of 256", title="each labelling counts alike")
    odds = [Fraction(4, 16 - n) if n <= 12 else Fraction(n - 8, 4) for n in range(25)]
    for lunch, colour, line in zip(lunches.values(), (HAM, SPAM), ("-", "--"), strict=True):
        means = [float(lunch.average(each)) for each in odds]
        right.plot([float(each) for each in odds], means, line, color=colour, linewidth=2)
    right.axhline(0.5, color=GREY, linestyle=":", linewidth=1)
    right.axvline(1, color=GREY, linestyle=":", linewidth=1)
    right.set(xlabel="odds for equal labels of neighbours", ylabel="mean error, unseen", xscale="log", ylim=(0, 1))
    right.set(title="left: rough worlds; right: smooth ones")
    right.set_xticks([1 / 4, 1 / 2, 1, 2, 4], labels=["1/4", "1/2", "1", "2", "4"])
    right.minorticks_off()
    left.legend(loc="upper right", fontsize=9)
    left.set(ylim=(0, 130))
    return figure


def which_features() -> Any:
    """Draw the value of each column of loan applications, with its interval."""
    loans, paid = loan_applications(4000)
    groups = {name: [name] for name in loans.columns} | {"religion and thank you": ["religion", "thank you"]}
    found = one_at_a_time(MixedNB(), loans, paid, groups=groups)[::-1]
    figure, axes = canvas(6.4, 3.0)
    for place, each in enumerate(found):
        lost = each.errors.difference.times(100)
        axes.plot([lost.low, lost.high], [place, place], color=HAM, linewidth=2)
        axes.plot(lost.estimate, place, "o", color=HAM)
    axes.axvline(0, color=GREY, linestyle=":", linewidth=1.5)
    axes.set_yticks(range(len(found)), labels=[each.name for each in found])
    axes.set(xlabel="errors more, in 100 applications, without it", ylim=(-0.6, len(found) - 0.4))
    return figure


def loan_applications(n: int) -> tuple[pd.DataFrame, Any]:
    """Draw loan applications and whether they were paid back; thanks correlate with faith."""
    random = np.random.default_rng(0)

    def toss(share: Any) -> Any:
        return random.random(n) < share

    paid = toss(0.6)
    religion = toss(np.where(paid, 0.2, 0.5))
    columns = {
        "debt-free": toss(np.where(paid, 0.7, 0.3)),
        "religion": religion,
        "thank you": religion ^ toss(0.1),
        "hospital": toss(np.where(paid, 0.05, 0.25)),
        "weekday": random.integers(0, 7, n).astype(str),
    }
    return pd.DataFrame(columns), np.where(paid, "paid", "unpaid")


def wrong_labels() -> Any:
    """Draw the flipped labels that are found and expected, by the number of suspects inspected."""
    random = np.random.default_rng(0)
    log_odds = random.normal(0, 6, 5000)
    spam = (random.random(5000) < expit(log_odds)) ^ (slipped := random.random(5000) < 0.02)
    p = expit(np.column_stack([-3 * log_odds, 3 * log_odds]))  # it overstates: log-odds three times too large
    found = suspects(Predictions.of(["ham", "spam"], np.where(spam, "spam", "ham"), p))
    looked_at = np.arange(1, 301)
    figure, axes = canvas(6.4, 3.4)
    axes.plot(looked_at, looked_at, color=GREY, linestyle=":", linewidth=1.5)
    axes.plot(looked_at, np.cumsum(found.probabilities)[:300], color=HAM, linewidth=2)
    axes.plot(looked_at, np.cumsum(slipped[found.order])[:300], color=SPAM, linewidth=2, linestyle="--")
    axes.axhline(slipped.sum(), color=GREY, linewidth=1)
    axes.text(5, slipped.sum() + 2, f"{slipped.sum()} wrong labels in all", color=GREY)
    axes.text(300, 50, "expected", color=HAM, weight="bold", ha="right")
    axes.text(300, 40, "found (dashed)", color=SPAM, weight="bold", ha="right")
    axes.set(xlabel="suspects looked at", ylabel="wrong labels among them", xlim=(0, 302), ylim=(0, 112))
    return figure


PICTURES: dict[str, Callable[[], Any]] = {
    "bayes-error": bayes_error,
    "no-free-lunch": free_lunch,
    "suspects": wrong_labels,
    "which-features": which_features,
}


if __name__ == "__main__":
    main(PICTURES, FOLDER)
