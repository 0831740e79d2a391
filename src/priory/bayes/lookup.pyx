# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Values of whole columns looked up in tables, compiled: which whole numbers a matrix holds, and what they are coded as.

One pass over the matrix in the order it lies in memory, however many columns it has.
"""

import numpy as np

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t

ctypedef fused Number:
    int64_t
    double


def found(const int64_t[:, :] matrix, const int64_t[::1] least, const int64_t[::1] starts):
    """Return which whole numbers occur: flag `starts[j] + value - least[j]` is 1 if column j has the value.

    Column j has whole numbers from `least[j]` to `least[j] + starts[j + 1] - starts[j] - 1`.
    """
    cdef Py_ssize_t i, j, n = matrix.shape[1]
    cdef int64_t place
    fit_spans(least, starts, n)
    cdef uint8_t[::1] flags = np.zeros(starts[n], np.uint8)
    with nogil:
        for i in range(matrix.shape[0]):
            for j in range(n):
                place = matrix[i, j] - least[j]
                if 0 <= place < starts[j + 1] - starts[j]:
                    flags[starts[j] + place] = 1
    return np.asarray(flags)


cdef int fit_spans(const int64_t[::1] least, const int64_t[::1] starts, Py_ssize_t n) except -1:
    """Raise unless the starts divide a table into a part for each of so many columns."""
    cdef Py_ssize_t j
    cdef bint whole = least.shape[0] == n and starts.shape[0] == n + 1 and starts[0] == 0
    for j in range(n if whole else 0):
        whole = whole and starts[j] <= starts[j + 1]
    if not whole:
        raise IndexError(f"the table does not describe {n} columns")
    return 0


def looked_up(
    const Number[:, :] matrix,
    const int32_t[::1] table,
    const int64_t[::1] least,
    const int64_t[::1] starts,
    const int32_t[::1] unknown,
    int32_t missing,
):
    """Return `table[starts[j] + value - least[j]]` for each value of column j, [row, column].

    What lies outside of the column's part of the table, or is no whole number, is `unknown[j]`; NaN is `missing`.
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
                place = <int64_t> matrix[i, j] - least[j]
                out[i, j] = table[starts[j] + place] if 0 <= place < starts[j + 1] - starts[j] else unknown[j]
    return np.asarray(out)
