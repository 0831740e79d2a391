r"""Where on a line which class is the most probable, and how much of the others is there.

Between two neighbouring places of a fine grid at which different classes win, the place where the winner changes is
found by bisection. The grid of a distribution has its quantiles, far into the tails; that of a function is even. A
change that is missed lies between two of them and back again, and has hardly any mass; one that is a little off costs
less still, for there the classes are equally probable.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad

from priory.lab.error import LabError

Floats = NDArray[np.float64]
_TIE: Final = 1e-13  #: classes whose log p(x, y) differ by less than rounding are equally good
_PIECES: Final = 64  #: in which a function is integrated at least, so that a narrow peak is not overlooked
_LEVELS: Final = np.concatenate([np.logspace(-300, -1, 600), np.linspace(0.1, 0.5, 401)[1:]])


@dataclass(frozen=True, slots=True)
class Density:
    """What is needed of one class: log density, mass between two numbers, and places where it should be looked at."""

    log_density: Callable[[Floats], Floats]
    mass: Callable[[float, float], float]
    places: Floats
    ends: tuple[float, float]


def class_density(density: Any, support: tuple[float, float] | None, place: int) -> Density:
    """Return a distribution of scipy.stats, or a function with its support, in the form that `pieces` reads."""
    if hasattr(density, "ppf") and hasattr(density, "logpdf"):
        with warnings.catch_warnings(action="ignore"):  # some quantiles are beyond what can be computed
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
    """Above the median by what is beyond: differences of numbers near 1 would lose a small mass."""
    upper = low > density.median()
    return float(density.sf(low) - density.sf(high) if upper else density.cdf(high) - density.cdf(low))


def pieces(classes: Sequence[Density], weights: Floats) -> tuple[list[float], list[int]]:
    """Cut the line where the most probable class changes; return the edges, and the winner between them."""

    def winner(x: Floats) -> NDArray[np.intp]:
        with np.errstate(divide="ignore", over="ignore"):  # far out nothing is left of a density
            joint = np.array([c.log_density(x) for c in classes]) + np.log(weights)[:, None]
        return np.asarray((joint >= joint.max(axis=0) - _TIE).argmax(axis=0))

    grid = np.unique(np.concatenate([c.places for c in classes]))
    for _ in classes:  # between two neighbours of the grid there may be pieces of other classes
        grid = np.unique(np.concatenate([grid, *_changes(winner, grid)]))
    winners = winner(grid)
    changes = np.flatnonzero(np.diff(winners))
    low, high = min(c.ends[0] for c in classes), max(c.ends[1] for c in classes)
    return [low, *grid[changes].tolist(), high], [*winners[changes].tolist(), int(winners[-1])]


def _changes(winner: Callable[[Floats], NDArray[np.intp]], grid: Floats) -> tuple[Floats, Floats]:
    """Return a place where the winner changes in each gap of the grid whose ends differ: numbers next to each other."""
    winners = winner(grid)
    gaps = np.flatnonzero(np.diff(winners))
    low, high, before = grid[gaps], grid[gaps + 1], winners[gaps]
    for _ in range(100 if len(gaps) else 0):
        middle = low + (high - low) / 2
        same = winner(middle) == before
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return low, high
