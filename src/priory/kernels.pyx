# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The toolkit's tables, compiled: add rows to them, read them, and turn joint into posterior probabilities.

A table has weights, a row for each feature or value. Rows of data are sparse (`add_rows`) or name the cells they fall
into (`add_cells`, `sum_cells`). The loops run without the GIL. The filter's table, of whole numbers, is in `table`.
"""

import numpy as np

from libc.math cimport INFINITY, isinf, log
from libc.stdint cimport int32_t, int64_t

from priory.buckets cimport AHEAD, fetch

cdef enum:
    SMALL = 256  # counts below this have their logarithms in a table


ctypedef fused Index:
    int32_t
    int64_t


def add_rows(
    double[:, ::1] counts,
    const Index[::1] indptr,
    const Index[::1] indices,
    const double[::1] values,
    const int64_t[::1] labels,
    const double[::1] weights,
):
    """Add the rows of a sparse matrix (CSR) to the table: counts[column, label of the row] += weight · value.

    The cost is one addition per non-zero, however many columns there are. Returns what was added to each label in all.
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
    """Add rows that name the cells they fall into: counts[cell, label of the row] += weight; cell -1 is none."""
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
    """Return for each row the sum of `logs[cell]` over the cells it falls into, [row, class]; cell -1 adds nothing."""
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
    """Return the sum of log p(absent) over all features, by class; fill `gains` with log p(present) - log p(absent).

    p(present) is (count + α) / (total + 2α) with α > 0; `totals` has a row for each feature, or one for all. `gains` has
    a row for each feature, or none if they are not wanted. With one row of totals the logarithms of small whole counts,
    which are nearly all there are, come from a table.
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
    """Return p(class given x) from each row of log p(x, class); see `log_posterior` for rows at infinity.

    The exponentials are numpy's, which takes several at a time: 100,000 rows of 10 classes in half the time of libc's.
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
    """Return each row of log p(x, class) less log p(x), so that its exponentials sum to 1.

    Of several classes at plus infinity each is as probable as its prior says, and of a row at minus infinity under every
    class all are.
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
    """Return each row less its highest value; where that is infinite, with the prior in place of the row."""
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
    """Raise if some cell lies outside of a table of so many: no loop looks again."""
    cdef Py_ssize_t i, j
    cdef int32_t largest = -1, least = -1
    for i in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            largest, least = max(largest, cells[i, j]), min(least, cells[i, j])
    if largest >= n_cells or least < -1:
        raise IndexError(f"cell {largest if largest >= n_cells else least} is not in a table of {n_cells}")
    return 0
