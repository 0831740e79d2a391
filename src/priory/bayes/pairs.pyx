# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""Pairs of values in one row: count them, and sum over the models of one-dependence and of a tree.

A row names the cells that its values fall into, one per column, or -1 where a value is missing. A table of pairs is
`table[class, cell, cell]` while it is counted, so that the rows of one class stay in the cache, and `table[cell, cell,
class]` while it is read. The loops run without the GIL.
"""

import numpy as np

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t, uint8_t

from priory.bayes.kernels import fit_cells


def add_pairs(
    double[:, :, ::1] table, const int32_t[:, ::1] cells, const int64_t[::1] labels, const double[::1] weights
):
    """Add the pairs of each row to table[label, cell, cell], earlier column first; each cell also pairs with itself.

    The cost is one addition per pair of known values.
    """
    cdef Py_ssize_t rows = cells.shape[0], row, i, j, n_known
    cdef int32_t[::1] known = np.empty(max(cells.shape[1], 1), np.int32)
    cdef double* counts
    cdef double weight
    if labels.shape[0] != rows or weights.shape[0] != rows or table.shape[1] != table.shape[2]:
        raise IndexError(f"cells, labels and weights do not describe the same {rows} rows, or the table is not square")
    fit_cells(cells, table.shape[1])
    for row in range(rows):
        if not 0 <= labels[row] < table.shape[0]:
            raise IndexError(f"label {labels[row]} is not in a table of {table.shape[0]}")
    with nogil:
        for row in range(rows):
            n_known = 0
            for i in range(cells.shape[1]):
                known[n_known] = max(cells[row, i], 0)
                n_known += cells[row, i] >= 0
            weight = weights[row]
            for i in range(n_known):
                counts = &table[labels[row], known[i], 0]
                for j in range(i, n_known):
                    counts[known[j]] += weight


def average_parents(const double[:, :, ::1] logs, const uint8_t[::1] may_be_parent, const int32_t[:, ::1] cells):
    """Return log of the mean, over parents a, of the product over all b of exp(logs[a, b]), for each row and class.

    Parents are the row's cells that may be parents; without any, the result is the sum of logs[b, b] over all b.
    """
    cdef Py_ssize_t rows = cells.shape[0], columns = cells.shape[1], classes = logs.shape[2]
    cdef Py_ssize_t row, i, j, k, n_known, n_parents
    cdef int32_t[::1] known = np.empty(max(columns, 1), np.int32)
    cdef double[:, ::1] found = np.empty((max(columns, 1), max(classes, 1)))
    cdef double[:, ::1] out = np.zeros((rows, classes))
    cdef double largest, total
    cdef const double* terms
    if logs.shape[0] != logs.shape[1] or may_be_parent.shape[0] != logs.shape[0]:
        raise IndexError(f"a table of {logs.shape[0]} × {logs.shape[1]} does not fit {may_be_parent.shape[0]} cells")
    fit_cells(cells, logs.shape[0])
    with nogil:
        for row in range(rows):
            n_known = n_parents = 0
            for i in range(columns):
                known[n_known] = max(cells[row, i], 0)
                n_known += cells[row, i] >= 0
            for i in range(n_known):
                if not may_be_parent[known[i]]:
                    continue
                for k in range(classes):
                    found[n_parents, k] = 0
                for j in range(n_known):
                    terms = &logs[known[i], known[j], 0]
                    for k in range(classes):
                        found[n_parents, k] += terms[k]
                n_parents += 1
            for k in range(classes):
                if n_parents == 0:
                    for j in range(n_known):
                        out[row, k] += logs[known[j], known[j], k]
                    continue
                largest, total = found[0, k], 0
                for i in range(1, n_parents):
                    largest = max(largest, found[i, k])
                if largest > -INFINITY:
                    for i in range(n_parents):
                        total += exp(found[i, k] - largest)
                    out[row, k] = largest + log(total / n_parents)
                else:
                    out[row, k] = -INFINITY
    return np.asarray(out)


cdef inline double log_sum(const double* logs, const double* more, Py_ssize_t n, Py_ssize_t step) noexcept nogil:
    """Return log Σ exp(logs + more) over n entries that are `step` numbers apart."""
    cdef double largest = -INFINITY, total = 0
    cdef Py_ssize_t i
    for i in range(n):
        largest = max(largest, logs[i * step] + more[i * step])
    if largest == -INFINITY:
        return largest
    for i in range(n):
        total += exp(logs[i * step] + more[i * step] - largest)
    return largest + log(total)


cdef int fit_tree(
    const double[:, ::1] logs,
    const int64_t[::1] starts,
    const int64_t[::1] widths,
    const int64_t[::1] parents,
    const int64_t[::1] order,
    const int32_t[:, ::1] codes,
) except -1:
    """Raise IndexError unless every code has a place in the tables and every column comes once, after its parent."""
    cdef Py_ssize_t columns = codes.shape[1], row, column, parent, t, room
    cdef uint8_t[::1] seen = np.zeros(max(columns, 1), np.uint8)
    if not starts.shape[0] == widths.shape[0] == parents.shape[0] == order.shape[0] == columns:
        raise IndexError(f"starts, widths, parents and order do not describe {columns} columns")
    for t in range(columns):
        column = order[t]
        if not 0 <= column < columns or seen[column] or not -1 <= parents[column] < columns:
            raise IndexError(f"column {column} has no place in a tree of {columns}")
        parent = parents[column]
        seen[column] = parent < 0 or seen[parent]
        if not seen[column] or widths[column] < 1 or starts[column] < 0:
            raise IndexError(f"column {column} comes before its parent, or has no table")
        room = logs.shape[0] - starts[column]
        if room < 0 or widths[column] > room // (widths[parent] if parent >= 0 else 1):
            raise IndexError(f"the table of column {column} does not lie within {logs.shape[0]} entries")
        for row in range(codes.shape[0]):
            if not -1 <= codes[row, column] < widths[column]:
                raise IndexError(f"code {codes[row, column]} is not in a table of {widths[column]}")
    return 0


def tree_terms(
    const double[:, ::1] logs,
    const int64_t[::1] starts,
    const int64_t[::1] widths,
    const int64_t[::1] parents,
    const int64_t[::1] order,
    const int32_t[:, ::1] codes,
):
    """Return the terms [row, column, class] of rows under a tree, with missing values (-1) summed out.

    Column j has the table `logs[starts[j] + parent's code · widths[j] + code, class]`. Its last code stands for all
    values never seen. A missing value is summed over the other codes, or has that last code if there are no others.

    Messages are passed from the leaves to the root: every column tells its parent, for each value the parent may have,
    how probable the known values at and below the column are. If the parent's value is known, this message is the
    column's term; a missing parent collects the messages.
    """
    cdef Py_ssize_t rows = codes.shape[0], columns = codes.shape[1], classes = logs.shape[1]
    cdef Py_ssize_t row, t, j, parent, a, first, last, k, at
    fit_tree(logs, starts, widths, parents, order, codes)
    cdef int64_t[::1] n_values = np.maximum(np.asarray(widths) - 1, 1)
    cdef int64_t[::1] places = np.cumsum(n_values) - n_values
    cdef double[:, ::1] collected = np.zeros((np.sum(n_values), max(classes, 1)))
    cdef uint8_t[::1] has_collected = np.zeros(max(columns, 1), np.uint8)
    cdef double[:, :, ::1] out = np.zeros((rows, columns, classes))
    cdef double message
    with nogil:
        for row in range(rows):
            has_collected[:] = 0
            for t in range(columns - 1, -1, -1):
                j = order[t]
                parent = parents[j]
                if codes[row, j] < 0 and not has_collected[j]:
                    continue  # nothing is known at or below this column: its sum is 1
                first = 0 if parent < 0 else codes[row, parent]
                last = first + 1
                if first < 0:
                    first, last = 0, n_values[parent]
                    if not has_collected[parent]:
                        collected[places[parent] : places[parent] + last] = 0
                        has_collected[parent] = 1
                for a in range(first, last):
                    at = starts[j] + a * widths[j]
                    for k in range(classes):
                        if codes[row, j] >= 0:
                            message = logs[at + codes[row, j], k]
                        else:
                            message = log_sum(&logs[at, k], &collected[places[j], k], n_values[j], classes)
                        if parent >= 0 and codes[row, parent] < 0:
                            collected[places[parent] + a, k] += message
                        else:
                            out[row, j, k] = message
    return np.asarray(out)
