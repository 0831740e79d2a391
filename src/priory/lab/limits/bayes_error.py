r"""The Bayes error: the error that no classifier can avoid.

Even with full knowledge of the distribution, the same features may occur under several classes. The best answer is the
most probable class, and it is wrong with probability

$$ R^* = E_x[1 - \max_y p(y \mid x)] = \int \Big( \sum_y p(x, y) - \max_y p(x, y) \Big) \, dx , $$

the Bayes error. It depends on the features, not on the classifier: only other features lower it. It can be computed if
$p(x, y)$ is known: here for densities of one number, for tables, and for a fitted generative model *as if that model
were the truth*. From data alone it can only be bounded: see `priory.lab.limits.bayes_bounds`.

For densities, the line is cut where the most probable class changes. Between neighbouring points of a fine grid with
different classes, the change is found by bisection. The grid of a distribution has its quantiles, far into the tails;
that of a function is even. A missed change lies between two grid points and has hardly any mass.

Reference: K. Fukunaga, Introduction to Statistical Pattern Recognition (1990), chapter 3.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.utils import check_random_state

from priory.lab.error import LabError
from priory.lab.measures.interval import LEVEL, Interval

Floats = NDArray[np.float64]
MOST_CELLS: Final = 1_000_000
CHUNK: Final = 10_000  #: rows drawn at once, so that wide ones fit in memory


_TIE: Final = 1e-13  #: classes whose log p(x, y) differ by less are equally probable
_PIECES: Final = 64  #: pieces in which a function is integrated, so that narrow peaks are found
_LEVELS: Final = np.concatenate([np.logspace(-300, -1, 600), np.linspace(0.1, 0.5, 401)[1:]])


def of_densities(
    densities: Sequence[Any], priors: ArrayLike | None = None, *, support: tuple[float, float] | None = None
) -> float:
    r"""Return the Bayes error of one number whose density under each class is known.

    In each piece between changes of the most probable class, the masses of the other classes are added.

    `densities` are distributions of scipy.stats with their parameters, or functions from an array to densities;
    functions need a `support`, the finite range outside which they are zero. `priors` are the classes' probabilities,
    by default equal.

    Two bell curves of the same width, $d$ widths apart, have the Bayes error $\Phi(-d/2)$:

    >>> ham, spam = norm(loc=3, scale=1.5), norm(loc=6, scale=1.5)       # kilobytes
    >>> round(of_densities([ham, spam]), 12) == round(float(norm.cdf(-1)), 12)
    True
    """
    weights = _shares(priors, len(densities))
    classes = [class_density(density, support, place) for place, density in enumerate(densities)]
    edges, winners = pieces(classes, weights)
    error = 0.0
    for low, high, winner in zip(edges[:-1], edges[1:], winners, strict=True):
        others = (k for k in range(len(classes)) if k != winner)
        error += sum(weights[k] * classes[k].mass(low, high) for k in others)
    return float(error)


def of_table(counts: ArrayLike) -> float:
    """Return the Bayes error of a table [cell, class] of counts or probabilities, taken as the truth.

    For counts it is the training error of the rule "the most frequent class of the cell", the lowest of any rule on
    these cells.

    >>> of_table([[42, 15], [338, 287], [3, 5]]) == 305 / 690          # (15 + 287 + 3) / 690
    True
    """
    table = np.asarray(counts, np.float64)
    if table.ndim != 2 or not np.isfinite(table).all() or (table < 0).any() or not table.sum() > 0:
        raise LabError(
            "a table for the Bayes error needs a row for each cell and a column for each class, with counts of at "
            "least 0 that are not all 0"
        )
    return float((table.sum(axis=1) - table.max(axis=1)).sum() / table.sum())


def of_cells(model: Any, values: Sequence[ArrayLike] | None = None) -> float:
    """Return the Bayes error of a fitted generative model of discrete columns, exactly: the sum over all cells.

    `values` are the values of each column, by default the model's `categories_`.

    >>> from priory.bayes import CategoricalNB
    >>> mail = [["html", "link"], ["html", "plain"], ["text", "link"], ["text", "plain"]] * 2
    >>> model = CategoricalNB().fit(mail, ["spam", "spam", "ham", "ham"] * 2)
    >>> round(of_cells(model), 12)                                # links say nothing; HTML is spam with probability 5/6
    0.166666666667
    """
    columns = getattr(model, "categories_", None) if values is None else values
    if columns is None:
        raise LabError(f"{type(model).__name__} does not list the values of its columns: give them as `values`")
    n_cells = prod(len(np.asarray(column)) for column in columns)
    if n_cells > MOST_CELLS:
        raise LabError(f"{n_cells:,} cells are too many to add up: use of_model, which draws from the model")
    rows = np.array(list(product(*(np.asarray(column).tolist() for column in columns))), dtype=object)
    joint = np.exp(model.predict_joint_log_proba(rows))
    if abs(joint.sum() - 1) > 1e-6:
        raise LabError(
            f"the values given have probability {joint.sum():.6g} together, not 1: name every value a column can have, "
            "once"
        )
    return of_table(joint)


def of_model(model: Any, *, n_samples: int = 100_000, level: float = LEVEL, seed: int = 0) -> Interval:
    r"""Return the Bayes error of a fitted generative model, as if it were the truth, by drawing rows from it.

    The mean of $1 - \max_y p(y \mid x)$ over drawn rows varies less than the share of them that the model misjudges.
    The normal interval covers the chance of drawing alone, not errors of the model.

    >>> from priory.bayes import GaussianNB
    >>> model = GaussianNB().fit([[1], [5], [4], [8]], ["ham", "ham", "spam", "spam"])     # 3 ± 2 and 6 ± 2
    >>> error = of_model(model, n_samples=20_000)
    >>> error.low < float(norm.cdf(-3 / 4)) < error.high
    True
    """
    if not (hasattr(model, "sample") and hasattr(model, "predict_log_proba")):
        raise LabError(f"{type(model).__name__} cannot draw rows: the Bayes error needs a generative model")
    if n_samples < 2:
        raise LabError(f"n_samples must be 2 or more, not {n_samples}")
    random = check_random_state(seed)
    sizes = [min(CHUNK, n_samples - begin) for begin in range(0, n_samples, CHUNK)]
    doubts = np.concatenate([_doubts(model, model.sample(size, random_state=random)[0]) for size in sizes])
    estimate, n_classes = float(doubts.mean()), len(model.classes_)
    spread = float(norm.isf((1 - level) / 2) * doubts.std(ddof=1) / np.sqrt(n_samples))
    return Interval(estimate, max(estimate - spread, 0.0), min(estimate + spread, 1 - 1 / n_classes))


def _doubts(model: Any, rows: Any) -> Floats:
    """Return 1 - max p(y | x) of each row."""
    return np.asarray(-np.expm1(model.predict_log_proba(rows).max(axis=1)), np.float64)


def _shares(priors: ArrayLike | None, n_classes: int) -> Floats:
    if n_classes < 2:
        raise LabError(f"the Bayes error needs at least two classes; {n_classes} densities were given")
    shares = np.full(n_classes, 1 / n_classes) if priors is None else np.asarray(priors, np.float64)
    if shares.shape != (n_classes,) or not ((shares >= 0).all() and abs(shares.sum() - 1) < 1e-9):
        raise LabError(f"give one prior for each of the {n_classes} densities, at least 0 and 1 in sum")
    return shares


@dataclass(frozen=True, slots=True)
class Density:
    """One class: its log density, its mass between two numbers, and its grid points."""

    log_density: Callable[[Floats], Floats]
    mass: Callable[[float, float], float]
    places: Floats
    ends: tuple[float, float]


def class_density(density: Any, support: tuple[float, float] | None, place: int) -> Density:
    """Return a `Density` of a distribution of scipy.stats, or of a function with its support."""
    if hasattr(density, "ppf") and hasattr(density, "logpdf"):
        with warnings.catch_warnings(action="ignore"):  # some quantiles cannot be computed
            places = np.concatenate([density.ppf(_LEVELS), density.isf(_LEVELS)])
        mass = lambda low, high: _mass_of_distribution(density, low, high)  # noqa: E731
        return Density(density.logpdf, mass, places[np.isfinite(places)], (-np.inf, np.inf))
    if not callable(density):
        raise LabError(f"density {place} is neither a continuous distribution of scipy.stats nor a function")
    if support is None or not np.isfinite(support).all() or not support[0] < support[1]:
        raise LabError(f"density {place} is a function: give the finite `support` outside which it is 0")
    return _function_density(density, support, place)


def _function_density(density: Callable[[Floats], Any], support: tuple[float, float], place: int) -> Density:
    def log_density(x: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(np.broadcast_to(np.asarray(density(x), np.float64), x.shape))

    def mass(low: float, high: float) -> float:
        low, high = np.clip([low, high], *support)
        marks = np.unique([low, *cuts[(cuts > low) & (cuts < high)], high])
        value = lambda x: float(np.asarray(density(np.array([x]))).reshape(-1)[0])  # noqa: E731
        return float(sum(quad(value, *piece, epsabs=1e-14, epsrel=1e-12, limit=200)[0] for piece in pairwise(marks)))

    cuts = np.linspace(*support, _PIECES + 1)
    if not abs(mass(*support) - 1) < 1e-6:
        raise LabError(
            f"density {place} has mass {mass(*support):.6g} between {support[0]:g} and {support[1]:g}, not 1: "
            "give a wider support, or divide the function by its integral"
        )
    return Density(log_density, mass, np.linspace(*support, 4001), support)


def _mass_of_distribution(density: Any, low: float, high: float) -> float:
    """Return the mass between two numbers; above the median by the tail, which keeps small masses exact."""
    upper = low > density.median()
    return float(density.sf(low) - density.sf(high) if upper else density.cdf(high) - density.cdf(low))


def pieces(classes: Sequence[Density], weights: Floats) -> tuple[list[float], list[int]]:
    """Cut the line where the most probable class changes; return the edges, and the winner between them."""

    def winner(x: Floats) -> NDArray[np.intp]:
        with np.errstate(divide="ignore", over="ignore"):  # densities vanish in the tails
            joint = np.array([c.log_density(x) for c in classes]) + np.log(weights)[:, None]
        return np.asarray((joint >= joint.max(axis=0) - _TIE).argmax(axis=0))

    grid = np.unique(np.concatenate([c.places for c in classes]))
    for _ in classes:  # between two grid points there may be pieces of other classes
        grid = np.unique(np.concatenate([grid, *_changes(winner, grid)]))
    winners = winner(grid)
    changes = np.flatnonzero(np.diff(winners))
    low, high = min(c.ends[0] for c in classes), max(c.ends[1] for c in classes)
    return [low, *grid[changes].tolist(), high], [*winners[changes].tolist(), int(winners[-1])]


def _changes(winner: Callable[[Floats], NDArray[np.intp]], grid: Floats) -> tuple[Floats, Floats]:
    """Return the two adjacent numbers between which the winner changes, in each gap of the grid with different ends."""
    winners = winner(grid)
    gaps = np.flatnonzero(np.diff(winners))
    low, high, before = grid[gaps], grid[gaps + 1], winners[gaps]
    for _ in range(100 if len(gaps) else 0):
        middle = low + (high - low) / 2
        same = winner(middle) == before
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return low, high
