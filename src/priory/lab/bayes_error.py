r"""The error that no classifier can avoid: how hard a question is, whatever answers it.

Whoever knows how messages come about still errs where the same features occur under several classes. The best answer is
the most probable class, and it is wrong with probability

$$ R^* = E_x[1 - \max_y p(y \mid x)] = \int \Big( \sum_y p(x, y) - \max_y p(x, y) \Big) \, dx , $$

the Bayes error. It belongs to the features, not to the classifier: only other features make it smaller. It can be
computed where $p(x, y)$ is known: here for densities of one number, for tables, and for a fitted generative model *as
if that model were the truth*. From data alone it can only be bounded: see `priory.lab.bayes_bounds`.

Reference: K. Fukunaga, Introduction to Statistical Pattern Recognition (1990), chapter 3.
"""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.utils import check_random_state

from priory.lab.densities import class_density, pieces
from priory.lab.error import LabError
from priory.lab.interval import LEVEL, Interval

Floats = NDArray[np.float64]
MOST_CELLS: Final = 1_000_000
CHUNK: Final = 10_000  #: rows drawn at once: wide ones must fit in memory


def of_densities(
    densities: Sequence[Any], priors: ArrayLike | None = None, *, support: tuple[float, float] | None = None
) -> float:
    r"""Return the Bayes error of one number whose density under each class is known.

    The line is cut where the most probable class changes, and in each piece the other classes' masses are added up.

    `densities`: distributions of scipy.stats with their parameters, or functions from an array to densities; functions
    need a `support`, the finite range outside which they are zero. `priors`: the classes' probabilities; equal if not
    given.

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
    """Return the Bayes error of a table [cell, class] of counts or probabilities, taken for the truth.

    Of counts it is the error that the rule "say what is most frequent in the cell" has on the rows that were counted:
    the least training error of any rule on these cells.

    >>> of_table([[42, 15], [338, 287], [3, 5]]) == 305 / 690          # (15 + 287 + 3) / 690
    True
    """
    table = np.asarray(counts, np.float64)
    if table.ndim != 2 or not np.isfinite(table).all() or (table < 0).any() or not table.sum() > 0:
        raise LabError(
            "a table for the Bayes error has a row for each cell and a column for each class, of counts of at least 0 "
            "that are not all 0"
        )
    return float((table.sum(axis=1) - table.max(axis=1)).sum() / table.sum())


def of_cells(model: Any, values: Sequence[ArrayLike] | None = None) -> float:
    """Return the Bayes error of a fitted generative model of discrete columns, exactly: the sum over all cells.

    `values` are those of each column; if not given, the model's `categories_`.

    >>> from priory.bayes import CategoricalNB
    >>> mail = [["html", "link"], ["html", "plain"], ["text", "link"], ["text", "plain"]] * 2
    >>> model = CategoricalNB().fit(mail, ["spam", "spam", "ham", "ham"] * 2)
    >>> round(of_cells(model), 12)                                # links say nothing; HTML is spam with 5/6
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
    The interval (a normal one) is for the chance in drawing alone: that the model may be wrong about the world is not
    in it.

    >>> from priory.bayes import GaussianNB
    >>> model = GaussianNB().fit([[1], [5], [4], [8]], ["ham", "ham", "spam", "spam"])     # 3 ± 2 and 6 ± 2
    >>> found = of_model(model, n_samples=20_000)
    >>> found.low < float(norm.cdf(-3 / 4)) < found.high
    True
    """
    if not (hasattr(model, "sample") and hasattr(model, "predict_log_proba")):
        raise LabError(f"{type(model).__name__} draws no rows: only of a generative model is the Bayes error known")
    if n_samples < 2:
        raise LabError(f"the Bayes error needs two draws or more, not {n_samples}")
    random = check_random_state(seed)
    sizes = [min(CHUNK, n_samples - begin) for begin in range(0, n_samples, CHUNK)]
    doubts = np.concatenate([_doubts(model, model.sample(size, random_state=random)[0]) for size in sizes])
    estimate, n_classes = float(doubts.mean()), len(model.classes_)
    spread = float(norm.isf((1 - level) / 2) * doubts.std(ddof=1) / np.sqrt(n_samples))
    return Interval(estimate, max(estimate - spread, 0.0), min(estimate + spread, 1 - 1 / n_classes))


def _doubts(model: Any, rows: Any) -> Floats:
    """1 - max p(y | x) of each row."""
    return np.asarray(-np.expm1(model.predict_log_proba(rows).max(axis=1)), np.float64)


def _shares(priors: ArrayLike | None, n_classes: int) -> Floats:
    if n_classes < 2:
        raise LabError(f"the Bayes error is about two classes or more; {n_classes} densities were given")
    shares = np.full(n_classes, 1 / n_classes) if priors is None else np.asarray(priors, np.float64)
    if shares.shape != (n_classes,) or not ((shares >= 0).all() and abs(shares.sum() - 1) < 1e-9):
        raise LabError(f"give one prior for each of the {n_classes} densities, at least 0 and 1 in sum")
    return shares
