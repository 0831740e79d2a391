r"""Means and scatter of rows by class, in parts that add up.

The rows of a class are kept as their number $n$, their mean $m$ and their scatter
$S = \sum_i (x_i - m)(x_i - m)^\top$. Two such parts add up (Chan, Golub, LeVeque 1983), without any large squares in
between that would cancel:

$$ \delta = m_b - m_a, \qquad m = m_a + \tfrac{n_b}{n}\delta, \qquad
   S = S_a + S_b + \tfrac{n_a n_b}{n}\delta\delta^\top $$

Forgetting is the same with $-n_b$ and $-S_b$.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from priory.bayes.tables import ROUNDING, Floats, Labels, spread


@dataclass(frozen=True)
class Scatter:
    """The rows of each class as weight [class], mean [class, column] and scatter [class, column, column]."""

    n: Floats
    means: Floats
    scatters: Floats

    @classmethod
    def of_nothing(cls, n_classes: int, width: int) -> Self:
        """Return the scatter of no rows."""
        return cls(np.zeros(n_classes), np.zeros((n_classes, width)), np.zeros((n_classes, width, width)))

    @classmethod
    def of(cls, rows: Floats, labels: Labels, weights: Floats, classes: Labels) -> Self:
        """Return the scatter of these rows, for these classes, all of which have rows."""
        n, width = np.bincount(labels, weights).astype(np.float64)[classes], rows.shape[1]
        found = cls(n, np.empty((len(n), width)), np.empty((len(n), width, width)))
        for k, label in enumerate(classes):
            mine = labels == label
            some, weight = rows[mine], weights[mine]
            found.means[k] = weight @ some / n[k]
            some -= found.means[k]
            found.scatters[k] = some.T @ (some if (weight == 1.0).all() else some * weight[:, None])
        return found

    @property
    def squares(self) -> Floats:
        """The sum of squares of each column, [class, column]."""
        return np.asarray(np.diagonal(self.scatters, axis1=1, axis2=2))

    def part(self, classes: Labels) -> Self:
        """Return a copy for some classes alone."""
        return type(self)(self.n[classes], self.means[classes], self.scatters[classes])

    def replace(self, classes: Labels, part: Self) -> None:
        """Put a part in the place of what these classes have."""
        self.n[classes], self.means[classes], self.scatters[classes] = part.n, part.means, part.scatters

    def spread(self, where: NDArray[np.int64], n_classes: int) -> Self:
        """Return the same with its classes moved to new places among more of them."""
        parts = (self.n, self.means, self.scatters)
        moved = (np.moveaxis(spread(np.moveaxis(part, 0, -1), where, n_classes), -1, 0) for part in parts)
        return type(self)(*(np.ascontiguousarray(part) for part in moved))

    def joined(self, other: Self) -> Self:
        """Add two parts up; where nothing is left, all is zero."""
        n = self.n + other.n
        left = n > ROUNDING * np.abs(other.n)
        share = np.divide(other.n, n, out=np.zeros_like(n), where=left)[:, None]
        away = other.means - self.means
        means = self.means + share * away
        between = (self.n[:, None] * share * away)[:, :, None] * away[:, None, :]
        scatters = self.scatters + other.scatters + between
        lost = np.where(other.n < 0, 1e-13, 0.0)[:, None] * self.squares  # in the rounding of what was taken
        varied = (np.diagonal(scatters, axis1=1, axis2=2) > lost) & left[:, None]
        together = varied[:, :, None] & varied[:, None, :]
        return type(self)(np.where(left, n, 0.0), means * left[:, None], scatters * together)

    def has_learned(self, taken: Self) -> bool:
        """Whether what is taken (with weights below zero) leaves no square below zero, and is all, if none are left."""
        n, n_taken = self.n[:, None], taken.n[:, None]
        apart, rounding = (self.means - taken.means) ** 2, 1e-9 * (self.squares + n * self.means**2)
        left, some_left = self.squares + taken.squares, n + n_taken > -ROUNDING * n_taken
        between = np.divide(n * n_taken, n + n_taken, out=np.zeros_like(n), where=some_left) * apart
        all_taken = (n * apart <= rounding) & (np.abs(left) <= rounding)
        return bool(np.where(some_left, left + between >= -rounding, all_taken).all())
