# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""The toolkit's tables of counts, compiled: add rows, sum log-probabilities, normalise to posteriors, look up codes.

A table holds weights, one row per feature or value. Rows of data are sparse (`add_rows`) or given by the cells that
their values fall into (`add_cells`, `sum_cells`). The loops run without the GIL. The filter's table, of whole numbers,
is in `priory.native.table`.
"""

import numpy as np

from libc.math cimport INFINITY, isinf, isnan, log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from priory.native.buckets cimport AHEAD, fetch

cdef enum:
    SMALL = 256  # logarithms of counts below this come from a table


ctypedef fused Index:
    int32_t
    int64_t


ctypedef fused Number:
    int64_t
    double


def add_rows(
    double[:, ::1] counts,
    const Index[::1] indptr,
    const Index[::1] indices,
    const double[::1] values,
    const int64_t[::1] labels,
    const double[::1] weights,
):
    """Add the rows of a sparse matrix (CSR) to the table: counts[column, label of the row] += weight · value.

    The cost is one addition per non-zero, independent of the number of columns. Return the total added to each label.
    """
    cdef Py_ssize_t rows = labels.shape[0], i, at
    cdef Index largest = -1, least = 0
    cdef double total
    cdef double[::1] totals = np.zeros(counts.shape[1])
    if indptr.shape[0] != rows + 1 or weights.shape[0] != rows or values.shape[0] != indices.shape[0]:
        raise IndexError(f"labels, weights and indptr do not describe the same {rows} rows")
    if indptr[0] != 0 or indptr[rows] > indices.shape[0]:
        raise IndexError(f"indptr does not divide {indices.shape[0]} values into {rows} rows")
    for at in range(indices.shape[0]):
        largest = max(largest, indices[at])
        least = min(least, indices[at])
    for i in range(rows):
        if not 0 <= labels[i] < counts.shape[1] or indptr[i] > indptr[i + 1]:
            raise IndexError(f"row {i} has no place in a table of {counts.shape[0]} × {counts.shape[1]}")
    if least < 0 or largest >= counts.shape[0]:
        wrong = largest if least >= 0 else least
        raise IndexError(f"column {wrong} is not in a table of {counts.shape[0]} × {counts.shape[1]}")
    with nogil:
        for i in range(rows):
            total = 0
            for at in range(indptr[i], indptr[i + 1]):
                if at + AHEAD < indptr[rows]:
                    fetch(&counts[indices[at + AHEAD], labels[i]])
                counts[indices[at], labels[i]] += weights[i] * values[at]
                total += values[at]
            totals[labels[i]] += weights[i] * total
    return np.asarray(totals)


def add_cells(
    double[:, ::1] counts, const int32_t[:, ::1] cells, const int64_t[::1] labels, const double[::1] weights
):
    """Add rows given by their cells: counts[cell, label of the row] += weight; cell -1 is skipped."""
    cdef Py_ssize_t i, j
    fit_cells(cells, counts.shape[0])
    if labels.shape[0] != cells.shape[0] or weights.shape[0] != cells.shape[0]:
        raise IndexError(f"{labels.shape[0]} labels and {weights.shape[0]} weights for {cells.shape[0]} rows")
    for i in range(labels.shape[0]):
        if not 0 <= labels[i] < counts.shape[1]:
            raise IndexError(f"label {labels[i]} is not in a table of {counts.shape[0]} × {counts.shape[1]}")
    with nogil:
        for i in range(cells.shape[0]):
            for j in range(cells.shape[1]):
                if cells[i, j] >= 0:
                    counts[cells[i, j], labels[i]] += weights[i]


def sum_cells(const double[:, ::1] logs, const int32_t[:, ::1] cells):
    """Return the sum of `logs[cell]` over the cells of each row, [row, class]; cell -1 adds nothing."""
    cdef Py_ssize_t i, j, k, classes = logs.shape[1]
    cdef double[:, ::1] out = np.zeros((cells.shape[0], classes))
    fit_cells(cells, logs.shape[0])
    with nogil:
        for i in range(cells.shape[0]):
            for j in range(cells.shape[1]):
                if cells[i, j] >= 0:
                    for k in range(classes):
                        out[i, k] += logs[cells[i, j], k]
    return np.asarray(out)


def weigh_coins(const double[:, ::1] counts, const double[:, ::1] totals, double alpha, double[:, ::1] gains):
    """Return Σ log p(absent) over all features for each class; fill `gains` with log p(present) - log p(absent).

    p(present) is (count + α) / (total + 2α) with α > 0. `totals` has one row per feature, or a single row for all.
    `gains` has one row per feature, or none if they are not wanted. With a single row of totals, the logarithms of
    small whole counts, which are nearly all counts, come from a table.
    """
    cdef Py_ssize_t j, k, classes = counts.shape[1], at
    cdef bint one = totals.shape[0] == 1, wanted = gains.shape[0] > 0
    cdef double n, c, absent
    cdef double[::1] baseline = np.zeros(classes)
    cdef double[:, ::1] absences = np.zeros((SMALL, classes)), differences = np.zeros((SMALL, classes))
    if totals.shape[1] != classes or not (one or totals.shape[0] == counts.shape[0]):
        raise IndexError(f"totals do not fit a table of {counts.shape[0]} × {classes}")
    if wanted and (gains.shape[0] != counts.shape[0] or gains.shape[1] != classes):
        raise IndexError(f"gains do not fit a table of {counts.shape[0]} × {classes}")
    for at in range(SMALL if one else 0):
        for k in range(classes):
            n = totals[0, k]
            absent = log(max(n - at, 0) + alpha)
            absences[at, k] = absent - log(n + 2 * alpha)
            differences[at, k] = log(at + alpha) - absent
    with nogil:
        for j in range(counts.shape[0]):
            for k in range(classes):
                c = counts[j, k]
                if one and 0 <= c < SMALL and c == <int> c:
                    baseline[k] += absences[<int> c, k]
                    if wanted:
                        gains[j, k] = differences[<int> c, k]
                    continue
                n = totals[0 if one else j, k]
                absent = log(max(n - c, 0) + alpha)
                baseline[k] += absent - log(n + 2 * alpha)
                if wanted:
                    gains[j, k] = log(c + alpha) - absent
    return np.asarray(baseline)


def posterior(const double[:, ::1] joint, const double[::1] log_prior):
    """Return p(class given x) from each row of log p(x, class); `log_posterior` describes rows at infinity.

    numpy computes several exponentials at a time: 100,000 rows of 10 classes take half the time of libc's `exp`.
    """
    cdef Py_ssize_t i, k, classes = joint.shape[1]
    cdef double total
    found = below_highest(joint, log_prior)
    cdef double[:, ::1] out = np.exp(found, out=found)
    with nogil:
        for i in range(out.shape[0]):
            total = 0
            for k in range(classes):
                total += out[i, k]
            for k in range(classes):
                out[i, k] /= total
    return found


def log_posterior(const double[:, ::1] joint, const double[::1] log_prior):
    """Return each row of log p(x, class) minus log p(x), so that its exponentials sum to 1.

    Classes at plus infinity share the row in proportion to their priors. A row at minus infinity under every class gets
    the prior.
    """
    cdef Py_ssize_t i, k, classes = joint.shape[1]
    cdef double total
    found = below_highest(joint, log_prior)
    cdef double[:, ::1] out = found
    cdef const double[:, ::1] shares = np.exp(found)
    with nogil:
        for i in range(out.shape[0]):
            total = 0
            for k in range(classes):
                total += shares[i, k]
            total = log(total)
            for k in range(classes):
                out[i, k] -= total
    return found


cdef below_highest(const double[:, ::1] joint, const double[::1] log_prior):
    """Return each row minus its highest value; where that is infinite, the prior replaces the row."""
    cdef Py_ssize_t i, k, classes = joint.shape[1]
    cdef double highest, extreme
    found = np.empty((joint.shape[0], classes))
    cdef double[:, ::1] out = found
    if log_prior.shape[0] != classes:
        raise IndexError(f"{log_prior.shape[0]} priors for {classes} classes")
    with nogil:
        for i in range(joint.shape[0]):
            highest = -INFINITY
            for k in range(classes):
                out[i, k] = joint[i, k]
                highest = max(highest, joint[i, k])
            if isinf(highest):
                extreme, highest = highest, -INFINITY
                for k in range(classes):
                    out[i, k] = log_prior[k] if joint[i, k] == extreme else -INFINITY
                    highest = max(highest, out[i, k])
            for k in range(classes):
                out[i, k] -= highest
    return found


cpdef int fit_cells(const int32_t[:, ::1] cells, Py_ssize_t n_cells) except -1:
    """Raise IndexError if a cell lies outside a table of `n_cells` cells; the loops do not check again."""
    cdef Py_ssize_t i, j
    cdef int32_t largest = -1, least = -1
    for i in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            largest, least = max(largest, cells[i, j]), min(least, cells[i, j])
    if largest >= n_cells or least < -1:
        raise IndexError(f"cell {largest if largest >= n_cells else least} is not in a table of {n_cells}")
    return 0


def occurring_values(const int64_t[:, :] matrix, const int64_t[::1] least, const int64_t[::1] starts):
    """Return flags of the whole numbers that occur: `starts[j] + value - least[j]` is 1 if column j has the value.

    Column j has whole numbers from `least[j]` to `least[j] + starts[j + 1] - starts[j] - 1`. The matrix is read once,
    in the order in which it lies in memory.
    """
    cdef Py_ssize_t i, j, n = matrix.shape[1]
    cdef int64_t place
    fit_spans(least, starts, n)
    cdef uint8_t[::1] flags = np.zeros(starts[n], np.uint8)
    with nogil:
        for i in range(matrix.shape[0]):
            for j in range(n):
                place = place_in(matrix[i, j], least[j], starts[j + 1] - starts[j])
                if place >= 0:
                    flags[starts[j] + place] = 1
    return np.asarray(flags)


cdef inline int64_t place_in(int64_t value, int64_t least, int64_t n) noexcept nogil:
    """Return value - least if it is from 0 to n - 1, else -1. Signed numbers far apart would overflow."""
    cdef uint64_t place = <uint64_t> value - <uint64_t> least
    return <int64_t> place if place < <uint64_t> n else -1


cdef int fit_spans(const int64_t[::1] least, const int64_t[::1] starts, Py_ssize_t n) except -1:
    """Raise IndexError unless the starts divide a table into one part for each of n columns."""
    cdef Py_ssize_t j
    cdef bint whole = least.shape[0] == n and starts.shape[0] == n + 1 and starts[0] == 0
    for j in range(n if whole else 0):
        whole = whole and starts[j] <= starts[j + 1]
    if not whole:
        raise IndexError(f"the table does not describe {n} columns")
    return 0


def look_up_codes(
    const Number[:, :] matrix,
    const int32_t[::1] table,
    const int64_t[::1] least,
    const int64_t[::1] starts,
    const int32_t[::1] unknown,
    int32_t missing,
):
    """Return `table[starts[j] + value - least[j]]` for each value of column j, [row, column].

    A value outside the column's part of the table, or not a whole number, is `unknown[j]`; NaN is `missing`.
    """
    cdef Py_ssize_t i, j, n = matrix.shape[1]
    cdef int64_t place
    cdef double value
    cdef int32_t[:, ::1] out = np.empty((matrix.shape[0], n), np.int32)
    fit_spans(least, starts, n)
    if unknown.shape[0] != n or starts[n] != table.shape[0]:
        raise IndexError(f"the table does not describe {n} columns")
    with nogil:
        for i in range(matrix.shape[0]):
            for j in range(n):
                if Number is double:
                    value = matrix[i, j]
                    if isnan(value):
                        out[i, j] = missing
                        continue
                    if not -9e15 < value < 9e15 or <double> <int64_t> value != value:
                        out[i, j] = unknown[j]
                        continue
                place = place_in(<int64_t> matrix[i, j], least[j], starts[j + 1] - starts[j])
                out[i, j] = table[starts[j] + place] if place >= 0 else unknown[j]
    return np.asarray(out)
