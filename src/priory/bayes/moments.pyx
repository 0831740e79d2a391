# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
# distutils: extra_compile_args = -O3 -ffp-contract=off
r"""Exact sums of weights, values and squares, which forget without a trace, and the Gaussians read from them.

A sum of floating-point numbers rounds: $(10^{20} + 1) - 10^{20}$ is 0. Here the rounding error of each addition is
added up too, and the error of that sum again. Each sum has three parts, and adding $x$ passes the error down (Knuth's
TwoSum gives $e$ exactly):

$$ s_0 + x = s_0' + e, \qquad s_1 + e = s_1' + e', \qquad s_2' = \operatorname{fl}(s_2 + e') $$

So a sum is as if computed with 159 bits. Among 1,000 rows of size 1, a value of $10^{10}$ can be learned and forgotten
and leave less than $10^{-27}$ in the sum of squares, one of $10^{20}$ less than $10^{-12}$; plain sums would lose
everything below $10^4$ or $10^{24}$. Products enter as two numbers without an error. Because the sums hold so many
bits, the variance can be read by the textbook formula, $\sum x^2/n - (\sum x/n)^2$, with 106 bits, where plain floats
would cancel.

A table of moments is an array [3 · moment + part, column, class]; the moments are weight, sum and sum of squares.

T. Ogita, S. M. Rump, S. Oishi: Accurate sum and dot product. SIAM J. Sci. Comput. 26 (2005), 1955-1988, algorithm 4.8.
"""

import numpy as np

from libc.math cimport fma, isnan
from libc.stdint cimport int64_t

Floats = Labels = np.ndarray  # for annotations only; moments.pyi has the types


cdef struct Two:  # a number as a sum of two floats, the second being the rounding error of the first
    double high
    double low


cdef inline Two two_sum(double a, double b) noexcept nogil:
    cdef double s = a + b, t = s - a
    return Two(s, (a - (s - t)) + (b - t))


cdef inline Two two_product(double a, double b) noexcept nogil:
    """Return the product and its rounding error.

    100,000 rows of 20 columns take 12 ms; with Dekker's products, which need no fma, 14 ms.
    """
    cdef double p = a * b
    return Two(p, fma(a, b, -p))


cdef inline void add(double* parts, double x) noexcept nogil:
    """Add a number to a sum of three parts."""
    cdef Two first = two_sum(parts[0], x), second = two_sum(parts[1], first.low)
    parts[0], parts[1] = first.high, second.high
    parts[2] += second.low


cdef inline void add_two(double* parts, double high, double low) noexcept nogil:
    """Add a number given as two parts; the lower part is too small for the first part of the sum."""
    cdef Two lower = two_sum(parts[1], low)
    parts[1] = lower.high
    parts[2] += lower.low
    add(parts, high)


cdef inline void settle(double* parts) noexcept nogil:
    """Normalise a sum to the nearest float and the rest, so that it does not depend on the order of additions."""
    cdef Two lower = two_sum(parts[1], parts[2])
    cdef Two upper = two_sum(parts[0], lower.high)
    lower = two_sum(upper.low, lower.low)
    upper = two_sum(upper.high, lower.high)
    parts[0] = upper.high
    parts[1], parts[2] = upper.low, lower.low


cdef int fit_rows(Py_ssize_t rows, const int64_t[::1] labels, const double[::1] weights, Py_ssize_t classes) except -1:
    """Raise IndexError unless each row has a weight and a valid label; the loops below do not check again."""
    cdef Py_ssize_t i
    if labels.shape[0] != rows or weights.shape[0] != rows:
        raise IndexError(f"{labels.shape[0]} labels and {weights.shape[0]} weights for {rows} rows")
    for i in range(rows):
        if not 0 <= labels[i] < classes:
            raise IndexError(f"label {labels[i]} is none of {classes} classes")
    return 0


def moments(const double[:, ::1] X, const int64_t[::1] labels, const double[::1] weights, Py_ssize_t n_classes):
    """Return the table of moments of these rows; NaN values are not counted."""
    cdef Py_ssize_t columns = X.shape[1], i, j, k, part
    cdef double[:, :, ::1] sums = np.zeros((n_classes, columns, 9))  # the parts of a sum are adjacent
    cdef double[:, ::1] totals = np.zeros((n_classes, 3))
    cdef double x, w
    cdef double* at
    cdef Two product, square
    fit_rows(X.shape[0], labels, weights, n_classes)
    with nogil:
        for i in range(X.shape[0]):
            k, w = labels[i], weights[i]
            add(&totals[k, 0], w)
            for j in range(columns):
                at, x = &sums[k, j, 0], X[i, j]
                if isnan(x):
                    add(at, -w)
                    continue
                square = two_product(x, x)
                if w == 1.0 or w == -1.0:  # the same result as below, in two thirds of the time
                    add(at + 3, w * x)
                    add_two(at + 6, w * square.high, w * square.low)
                    continue
                product = two_product(w, x)
                add_two(at + 3, product.high, product.low)
                product = two_product(w, square.high)
                add_two(at + 6, product.high, product.low + w * square.low)
        for k in range(n_classes):
            for j in range(columns):
                for part in range(3):
                    add(&sums[k, j, 0], totals[k, part])
                for part in range(0, 9, 3):
                    settle(&sums[k, j, part])
    return np.ascontiguousarray(np.asarray(sums).transpose(2, 1, 0))


def add_moments(const double[:, :, ::1] first, const double[:, :, ::1] second):
    """Return the sum of two tables of moments."""
    cdef Py_ssize_t j, k, moment, part
    cdef double[3] parts
    cdef double[:, :, ::1] out = np.empty((9, first.shape[1], first.shape[2]))
    if first.shape[0] != 9 or second.shape[0] != 9 or first.shape[1] != second.shape[1] or first.shape[2] != second.shape[2]:
        raise IndexError("tables of moments of different columns or classes cannot be added")
    with nogil:
        for moment in range(0, 9, 3):
            for j in range(first.shape[1]):
                for k in range(first.shape[2]):
                    for part in range(3):
                        parts[part] = first[moment + part, j, k]
                    for part in range(3):
                        add(parts, second[moment + part, j, k])
                    settle(parts)
                    for part in range(3):
                        out[moment + part, j, k] = parts[part]
    return np.asarray(out)


cdef inline Two times(Two a, Two b) noexcept nogil:
    cdef Two product = two_product(a.high, b.high)
    return two_sum(product.high, product.low + (a.high * b.low + a.low * b.high))


cdef inline Two minus(Two a, Two b) noexcept nogil:
    cdef Two high = two_sum(a.high, -b.high), low = two_sum(a.low, -b.low)
    high = two_sum(high.high, high.low + low.high)
    return two_sum(high.high, high.low + low.low)


cdef inline Two over(Two a, Two b) noexcept nogil:
    cdef double q = a.high / b.high
    cdef Two rest = minus(a, times(Two(q, 0.0), b))
    return two_sum(q, rest.high / b.high)


def means_and_variances(const double[:, :, ::1] table):
    """Return the mean and the variance (1/n) of each column and class, [column, class]; NaN where nothing was counted.

    A variance within the rounding of the squared mean is zero.
    """
    cdef Py_ssize_t j, k
    cdef Two weight, total, squares, mean, variance
    cdef double[:, ::1] means = np.full((table.shape[1], table.shape[2]), np.nan)
    cdef double[:, ::1] variances = np.full((table.shape[1], table.shape[2]), np.nan)
    if table.shape[0] != 9:
        raise IndexError(f"a table of moments has 9 sums, not {table.shape[0]}")
    with nogil:
        for j in range(table.shape[1]):
            for k in range(table.shape[2]):
                if table[0, j, k] <= 0:
                    continue
                weight = Two(table[0, j, k], table[1, j, k])
                mean = over(Two(table[3, j, k], table[4, j, k]), weight)
                squares = over(Two(table[6, j, k], table[7, j, k]), weight)
                variance = minus(squares, times(mean, mean))
                means[j, k] = mean.high
                variances[j, k] = 0.0 if abs(variance.high) < 1e-30 * squares.high else variance.high
    return np.asarray(means), np.asarray(variances)


def log_densities(const double[:, ::1] X, const double[:, :, ::1] gaussians):
    r"""Return the sum of Gaussian log-densities of each row, [row, class]; NaN values add nothing.

    The Gaussians are given by their means, precisions $1/\sigma^2$ and peaks $-\tfrac12\log 2\pi\sigma^2$, in one array
    [3, class, column].
    """
    cdef Py_ssize_t columns = X.shape[1], classes = gaussians.shape[1], i, j, k
    cdef double even, odd, away, missing, base
    if gaussians.shape[0] != 3 or gaussians.shape[2] != columns:
        raise IndexError(f"{gaussians.shape[0]} parameters of {gaussians.shape[2]} columns for rows of {columns}")
    cdef double[:, ::1] out = np.empty((X.shape[0], classes))
    cdef double[::1] heights = np.sum(gaussians[2], axis=1)
    cdef const double[:, ::1] means = gaussians[0], precisions = gaussians[1], peaks = gaussians[2]
    with nogil:
        for i in range(X.shape[0]):
            missing = 0.0
            for j in range(columns):
                missing += isnan(X[i, j])
            for k in range(classes):
                even = odd = 0.0
                base = heights[k]
                if missing:
                    base = 0.0
                    for j in range(columns):
                        if not isnan(X[i, j]):
                            away = X[i, j] - means[k, j]
                            even += away * away * precisions[k, j]
                            base += peaks[k, j]
                else:
                    # two independent sums: an addition need not wait for the previous one
                    for j in range(0, columns - 1, 2):
                        away = X[i, j] - means[k, j]
                        even += away * away * precisions[k, j]
                        away = X[i, j + 1] - means[k, j + 1]
                        odd += away * away * precisions[k, j + 1]
                    if columns & 1:
                        away = X[i, columns - 1] - means[k, columns - 1]
                        even += away * away * precisions[k, columns - 1]
                out[i, k] = base - 0.5 * (even + odd)
    return np.asarray(out)
