# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The table of counts, compiled: add rows to it, take them away, read them; for the filter and for the toolkit.

The table is bucket-major (`counts[bucket, label]`), so that a feature costs one cache miss and not one per label. The
loops run without the GIL. There is no mail in here. The filter's table has whole numbers, and a vector of features is a
sorted array of bucket numbers: `add`, `subtract`, `correct`, `terms`, `pack`, `unpack`. The toolkit's has weights, and
rows are sparse (`add_rows`) or name the cells they fall into (`add_cells`, `sum_cells`).
"""

import numpy as np

from libc.math cimport INFINITY, isinf, log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

Buckets = Positions = np.ndarray  # names for annotations: kernels.pyi says of what

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define priory_fetch(place) __builtin_prefetch(place)
    #else
    #define priory_fetch(place) ((void) (place))
    #endif
    """
    void fetch "priory_fetch" (const void* place) noexcept nogil

cdef enum:
    SMALL = 256  # counts below this have their logarithms in a table
    AHEAD = 16  # buckets lie anywhere in a large table: ask the memory for one while others are worked on


cdef int fit_table(Py_ssize_t rows, Py_ssize_t columns, const uint32_t[::1] buckets, Py_ssize_t column) except -1:
    """Raise if some bucket or the column lies outside of a table: no loop below looks again."""
    cdef Py_ssize_t i
    cdef uint32_t largest = 0
    for i in range(buckets.shape[0]):
        largest = max(largest, buckets[i])
    if buckets.shape[0] and largest >= rows or not 0 <= column < columns:
        raise IndexError(f"bucket {largest} or column {column} is not in a table of {rows} × {columns}")
    return 0


cdef int fit_groups(const int64_t[::1] offsets, Py_ssize_t groups, Py_ssize_t n) except -1:
    """Raise unless the offsets divide `n` buckets into so many groups."""
    cdef Py_ssize_t i
    cdef bint whole = groups >= 0 and offsets.shape[0] == groups + 1 and offsets[0] == 0 and offsets[groups] == n
    for i in range(groups if whole else 0):
        whole = whole and offsets[i] <= offsets[i + 1]
    if not whole:
        raise IndexError(f"{offsets.shape[0]} offsets do not divide {n} buckets into {groups} groups")
    return 0


def add(uint32_t[:, ::1] counts, const uint32_t[::1] buckets, int label):
    """Count the presence of each bucket once more under the label."""
    cdef Py_ssize_t i
    fit_table(counts.shape[0], counts.shape[1], buckets, label)
    with nogil:
        for i in range(buckets.shape[0]):
            counts[buckets[i], label] += 1


def correct(int32_t[:, ::1] corrections, const uint32_t[::1] buckets, int contrast, int by):
    """Move the correction of each bucket in one contrast by so much."""
    cdef Py_ssize_t i
    fit_table(corrections.shape[0], corrections.shape[1], buckets, contrast)
    with nogil:
        for i in range(buckets.shape[0]):
            corrections[buckets[i], contrast] += by


def subtract(uint32_t[:, ::1] counts, const uint32_t[::1] buckets, int label):
    """Take back one `add`; if some bucket was never counted, change nothing and raise ValueError."""
    cdef Py_ssize_t i, n = buckets.shape[0], taken = 0, missing = 0
    fit_table(counts.shape[0], counts.shape[1], buckets, label)
    with nogil:
        while taken < n and counts[buckets[taken], label] > 0:
            counts[buckets[taken], label] -= 1
            taken += 1
        if taken < n:
            for i in range(taken):
                counts[buckets[i], label] += 1
            for i in range(n):
                missing += counts[buckets[i], label] == 0
    if taken < n:
        raise ValueError(f"{max(missing, 1)} of {n} features were never counted")


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


def terms(
    const uint32_t[:, ::1] counts,
    const int32_t[:, ::1] corrections,
    const uint32_t[::1] buckets,
    const int64_t[::1] offsets,
    const double[::1] scales,
    const double[::1] log_table,
    double smoothing,
    int label,
    int contrast,
    double shift,
    double rate,
):
    """Return scale · (log((c + β) / (r + β)) + shift + rate · correction) for each bucket.

    c counts the label, r all others together. A bucket that was never counted says nothing: its term is 0.

    Group i has the buckets `buckets[offsets[i]:offsets[i + 1]]` and the scale `scales[i]`. `log_table[c]` is
    log(c + β); larger counts are computed.
    """
    cdef Py_ssize_t known = log_table.shape[0], labels = counts.shape[1], group, i, k
    cdef uint64_t own, rest
    cdef double[::1] out = np.empty(buckets.shape[0])
    fit_table(counts.shape[0], labels, buckets, label)
    fit_table(corrections.shape[0], corrections.shape[1], buckets, contrast)
    fit_groups(offsets, scales.shape[0], buckets.shape[0])
    with nogil:
        for group in range(scales.shape[0]):
            for i in range(offsets[group], offsets[group + 1]):
                if i + AHEAD < buckets.shape[0]:
                    fetch(&counts[buckets[i + AHEAD], 0])
                    fetch(&corrections[buckets[i + AHEAD], 0])
                own = counts[buckets[i], label]
                rest = 0
                for k in range(labels):
                    rest += counts[buckets[i], k]
                if rest == 0:
                    out[i] = 0
                    continue
                rest -= own
                out[i] = scales[group] * (
                    (log_table[own] if own < <uint64_t> known else log(own + smoothing))
                    - (log_table[rest] if rest < <uint64_t> known else log(rest + smoothing))
                    + shift
                    + rate * corrections[buckets[i], contrast]
                )
    return np.asarray(out)


cdef inline int rice_parameter(Py_ssize_t n, int bits) noexcept nogil:
    """Bits of a gap that are written as they are: gaps of n random buckets are geometric with mean 2^bits / n."""
    cdef int k = 0
    cdef Py_ssize_t mean = (<Py_ssize_t> 1 << bits) * 7 // (10 * (n + 1))
    while mean > 1 and k < bits:
        mean >>= 1
        k += 1
    return k


cdef struct Writer:
    uint8_t* out
    Py_ssize_t at
    uint64_t pending
    int held


cdef inline void write(Writer* w, uint64_t value, int n) noexcept nogil:
    """Append `n` ≤ 32 bits, the lowest first."""
    w.pending |= value << w.held
    w.held += n
    while w.held >= 8:
        w.out[w.at] = <uint8_t> w.pending
        w.at += 1
        w.pending >>= 8
        w.held -= 8


def pack(const uint32_t[::1] buckets, const int64_t[::1] offsets, int bits):
    """Return a vector of features as bytes: for each kind how many, then the gaps between its buckets in Rice's code.

    Kind i has the sorted distinct buckets `buckets[offsets[i]:offsets[i + 1]]`.
    """
    cdef Py_ssize_t kinds = offsets.shape[0] - 1, kind, n, i
    cdef int k
    cdef uint32_t gap, last, ones
    fit_groups(offsets, kinds, buckets.shape[0])
    for kind in range(kinds):
        for i in range(offsets[kind], offsets[kind + 1]):
            if buckets[i] >> bits or i > offsets[kind] and buckets[i] <= buckets[i - 1]:
                raise ValueError("buckets to be packed must be distinct, in order, and within the table")
    # A gap takes k + 1 bits and one more for each 2^k it spans; all gaps of a kind together span at most 2^bits.
    cdef Py_ssize_t most = 16 + 4 * kinds
    for kind in range(kinds):
        n = offsets[kind + 1] - offsets[kind]
        k = rice_parameter(n, bits)
        most += (n * (k + 1) + (((<Py_ssize_t> 1 << bits) >> k) if n else 0)) // 8 + 1
    cdef uint8_t[::1] out = np.empty(most, np.uint8)
    cdef Writer w = Writer(&out[0], 0, 0, 0)
    with nogil:
        write(&w, <uint64_t> kinds, 8)
        for kind in range(kinds):
            n = offsets[kind + 1] - offsets[kind]
            k = rice_parameter(n, bits)
            write(&w, <uint64_t> n, 32)
            last = 0
            for i in range(offsets[kind], offsets[kind + 1]):
                gap = buckets[i] - last
                last = buckets[i]
                ones = gap >> k
                while ones >= 16:
                    write(&w, 0xFFFF, 16)
                    ones -= 16
                write(&w, (<uint64_t> 1 << ones) - 1, <int> ones + 1)
                write(&w, gap & ((<uint64_t> 1 << k) - 1), k)
        write(&w, 0, 7)
    return np.asarray(out)[: w.at].tobytes()


cdef struct Reader:
    const uint8_t* data
    Py_ssize_t at
    Py_ssize_t end


cdef inline uint64_t read(Reader* r, int n) noexcept nogil:
    """Take the next `n` ≤ 32 bits; beyond the end they are zero, and `at` tells."""
    cdef uint64_t value = 0
    cdef Py_ssize_t byte = r.at >> 3, last = min((r.at + n + 7) >> 3, r.end >> 3)
    cdef int shift = -<int> (r.at & 7)
    while byte < last:
        value |= (<uint64_t> r.data[byte] << shift) if shift >= 0 else (<uint64_t> r.data[byte] >> -shift)
        shift += 8
        byte += 1
    r.at += n
    return value & ((<uint64_t> 1 << n) - 1)


cdef inline uint64_t read_ones(Reader* r) noexcept nogil:
    """Take ones up to the zero that ends them, and the zero."""
    cdef uint64_t n = 0
    while r.at < r.end and r.data[r.at >> 3] >> (r.at & 7) & 1:
        n += 1
        r.at += 1
    r.at += 1
    return n


def unpack(const uint8_t[::1] packed, Py_ssize_t most_kinds, int bits):
    """Return the buckets and offsets that `pack` wrote; bytes that cannot be that raise ValueError."""
    if packed.shape[0] == 0:
        raise ValueError("packed features are damaged")
    cdef Reader r = Reader(&packed[0], 0, packed.shape[0] * 8)
    cdef Py_ssize_t kinds = <Py_ssize_t> read(&r, 8), kind, n, i, found = 0
    cdef uint64_t bucket, gap
    cdef int k
    cdef bint whole = kinds <= most_kinds
    cdef uint32_t[::1] buckets = np.empty(min(packed.shape[0] * 8, most_kinds << bits), np.uint32)
    cdef int64_t[::1] offsets = np.zeros(most_kinds + 1, np.int64)
    with nogil:
        for kind in range(kinds if whole else 0):
            n = <Py_ssize_t> read(&r, 32)
            k = rice_parameter(n, bits)
            bucket = 0
            for i in range(n):
                gap = read_ones(&r) << k
                gap += read(&r, k)
                bucket += gap
                if r.at > r.end or bucket >> bits or (gap == 0 and i > 0):
                    whole = False
                    break
                buckets[found] = <uint32_t> bucket
                found += 1
            if not whole:
                break
            offsets[kind + 1] = found
        for kind in range(kinds if whole else 0, most_kinds):
            offsets[kind + 1] = found
    if not whole or not 0 <= r.end - r.at < 8 or read(&r, <int> (r.end - r.at)):
        raise ValueError("packed features are damaged")
    return np.asarray(buckets)[:found].copy(), np.asarray(offsets)
