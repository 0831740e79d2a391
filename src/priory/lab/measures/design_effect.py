r"""The design effect: how many near-copies count as one independent example.

Every interval assumes independent examples, but ten copies of one newsletter are judged alike. If examples come in
groups, a mean over $n$ of them is as uncertain as one over $n/d$ independent ones. The *design effect* $d$ is estimated
from the residuals $r_i$ (the value of each example minus the mean): with $G$ groups of $m_g$ examples,

$$ D = \frac{\frac{G}{G-1} \sum_g \bigl(\sum_{i \in g} r_i\bigr)^2}{\frac{n}{n-1} \sum_i r_i^2}. $$

But few examples determine a small error rate: $\nu = (\sum r_i^2)^2 / \sum r_i^4$ of them, which is the number of
errors if these are rare. As long as no campaign has been misjudged, D shows nothing. If all groups were judged as a
whole (Kish 1965), the effect would be

$$ K = n\,\frac{\sum_g c_g^2}{(\sum_g c_g)^2}, \qquad c_g = \min(m_g, \nu + 1), $$

where the size of a group is capped at one more than the errors: 60 errors in all exclude that a campaign of 600 was
misjudged as surely as no error does. With no error at all, $n/K$ is the number of groups, which is exact. The two are
averaged, as if eight more groups of the usual size had been misjudged as a whole, and the effect is at least 1:

$$ d = \max\Bigl(1, \frac{\nu D + 8 K \cdot K}{\nu + 8 K}\Bigr). $$

Eight was chosen by measurement: with fewer, intervals are too short if errors are rare; with more, they are too wide if
copies are not judged alike (`docs/lab/campaigns_measured.py`).

L. Kish: Survey sampling. Wiley, 1965. E. Korn, B. Graubard: Confidence intervals for proportions with small expected
number of positive counts estimated from survey data. Survey Methodology 24, 1998, 193-201.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

N_SUPPOSED: Final = 8  #: groups assumed to be misjudged as a whole


def design_effect(values: NDArray[Any], groups: NDArray[np.int64] | None) -> float:
    """Return how many examples count as one in the mean of these values; 1 without groups.

    >>> errors = np.repeat([0, 1, 0, 1, 0, 0], 10)                              # six newsletters, ten copies of each
    >>> round(design_effect(errors, np.repeat(np.arange(6), 10)), 1)
    10.6
    >>> design_effect(errors, None)
    1.0
    """
    n = len(values)
    if groups is None or n < 2:
        return 1.0
    codes, sizes = _number_groups(groups)
    residuals = _scale_down(values - values.mean())
    squares = residuals**2
    total = float(squares.sum())
    n_unlike = total**2 / float((squares**2).sum()) if total else 0.0
    capped = np.minimum(sizes, n_unlike + 1)
    as_a_whole = n * float((capped**2).sum() / capped.sum() ** 2)
    if len(sizes) == 1 or not n_unlike:
        return as_a_whole
    of_groups = np.bincount(codes, residuals)
    seen = float((of_groups**2).sum()) * len(sizes) / (len(sizes) - 1) / (total * n / (n - 1))
    supposed = N_SUPPOSED * as_a_whole
    return max(1.0, (n_unlike * seen + supposed * as_a_whole) / (n_unlike + supposed))


def _scale_down(residuals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values divided by a power of two, so that their fourth powers do not overflow.

    The effect is the same, to the last digit.
    """
    _, power = np.frexp(np.abs(residuals).max())
    return np.asarray(np.ldexp(residuals, -power))


def n_groups(groups: NDArray[np.int64] | None, n: int) -> int:
    """Return the number of groups of n examples; without groups it is n."""
    return n if groups is None else len(_number_groups(groups)[1])


def _number_groups(groups: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the groups numbered from 0, and the size of each."""
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return codes, sizes
