# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The table of counts, compiled: add rows to it, take them away, read them; for the filter and for the toolkit.

A table has a row for each bucket, so that a feature costs one cache miss and not one per label. The loops run without
the GIL. There is no mail in here. The filter's table has whole numbers (in a row the counts of the labels, then the
corrections), and a vector of features is a sorted array of bucket numbers: `add`, `subtract`, `terms`,
`learn_certain`, `pack`, `unpack`. The toolkit's has weights, and rows are sparse (`add_rows`) or name the cells they fall into (`add_cells`,
`sum_cells`).
"""

import numpy as np

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport INFINITY, isinf, log
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

Buckets = Positions = np.ndarray  # names for annotations: kernels.pyi says of what

cdef extern from *:
    """
    #define priory_fetch(place) __builtin_prefetch(place)
    #define priory_trailing_ones(word) __builtin_ctzll(~(word) | 1ull << 63)
    #if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define priory_little_end_first(word) __builtin_bswap64(word)
    #else
    #define priory_little_end_first(word) (word)
    #endif
    """
    void fetch "priory_fetch" (const void* place) noexcept nogil
    int trailing_ones "priory_trailing_ones" (uint64_t word) noexcept nogil  # up to 63 of them
    uint64_t little_end_first "priory_little_end_first" (uint64_t word) noexcept nogil

cdef enum:
    SMALL = 256  # counts below this have their logarithms in a table
    AHEAD = 48  # buckets lie anywhere in a large table: ask the memory for one while others are worked on

cdef double NO_LESS = 1e-9  # features that a term is divided by


cdef int fit_table(Py_ssize_t rows, Py_ssize_t columns, const uint32_t[::1] buckets, Py_ssize_t column) except -1:
    """Raise if some bucket or the column lies outside of a table: no loop below looks again."""
    cdef Py_ssize_t i
    cdef uint32_t largest = 0
    for i in range(buckets.shape[0]):
        largest |= buckets[i]  # no less than any of them, and found in a quarter of the time
    if largest >= rows:
        largest = 0
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


def add(uint32_t[:, ::1] rows, const uint32_t[::1] buckets, int label, const int8_t[:] corrections=None):
    """Count the presence of each bucket once more under the label, and add the corrections to the row's last columns."""
    fit_table(rows.shape[0], rows.shape[1], buckets, label)
    with nogil:
        count(rows, buckets, label)
    if corrections is not None:
        correct(rows, buckets, corrections, 1)


cdef void count(uint32_t[:, ::1] rows, const uint32_t[::1] buckets, Py_ssize_t label) noexcept nogil:
    """Count each bucket once more under the label."""
    cdef Py_ssize_t i, n = buckets.shape[0]
    for i in range(n):
        if i + AHEAD < n:
            fetch(&rows[buckets[i + AHEAD], 0])
        rows[buckets[i], label] += 1


def subtract(uint32_t[:, ::1] rows, const uint32_t[::1] buckets, int label, const int8_t[:] corrections=None):
    """Take back one `add`; if some bucket was never counted, change nothing and raise ValueError."""
    cdef Py_ssize_t i, n = buckets.shape[0], taken = 0, missing = 0
    fit_table(rows.shape[0], rows.shape[1], buckets, label)
    with nogil:
        while taken < n and rows[buckets[taken], label] > 0:
            rows[buckets[taken], label] -= 1
            taken += 1
        if taken < n:
            for i in range(taken):
                rows[buckets[i], label] += 1
            for i in range(n):
                missing += rows[buckets[i], label] == 0
    if taken < n:
        raise ValueError(f"{max(missing, 1)} of {n} features were never counted")
    if corrections is not None:
        correct(rows, buckets, corrections, -1)


cdef int correct(uint32_t[:, ::1] rows, const uint32_t[::1] buckets, const int8_t[:] corrections, int sign) except -1:
    """Move the last columns of the rows, which hold signed numbers, by so much; most corrections are 0."""
    cdef Py_ssize_t i, contrast, column = rows.shape[1] - corrections.shape[0]
    cdef uint32_t by
    if column < 0:
        raise IndexError(f"{corrections.shape[0]} corrections are not in a table of {rows.shape[0]} × {rows.shape[1]}")
    with nogil:
        for contrast in range(corrections.shape[0]):
            by = <uint32_t> (sign * corrections[contrast])
            if by:
                for i in range(buckets.shape[0]):
                    rows[buckets[i], column + contrast] += by
    return 0


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


def log_counts(double[::1] table, Py_ssize_t first, double smoothing):
    """Fill a table of logarithms from `first` on with those that `terms` would compute: log(c + β) for the count c."""
    cdef Py_ssize_t count
    with nogil:
        for count in range(max(first, 0), table.shape[0]):
            table[count] = log(<uint64_t> count + smoothing)


cdef struct Reading:
    # How counts are read. Group i of a message's buckets has the weight w and the damping d; `logs[c]` is log(c + β) for
    # c below `known`, larger counts are computed.
    Py_ssize_t groups
    const double* weights
    const double* damping
    const double* logs
    uint64_t known
    double smoothing
    double rate


cdef Reading reading(const double[::1] weights, const double[::1] damping, const double[::1] log_table, double smoothing,
                     double rate) except *:
    """Return pointers to the numbers of a model, once they are known to fit."""
    if damping.shape[0] != weights.shape[0]:
        raise IndexError(f"{weights.shape[0]} groups have {damping.shape[0]} dampings")
    cdef Reading how
    how.groups, how.known, how.smoothing, how.rate = weights.shape[0], log_table.shape[0], smoothing, rate
    how.weights = &weights[0] if weights.shape[0] else NULL
    how.damping = &damping[0] if damping.shape[0] else NULL
    how.logs = &log_table[0] if log_table.shape[0] else NULL
    return how


cdef void fill_terms(const Reading* how, const uint32_t[:, ::1] rows, Py_ssize_t labels, const uint32_t[::1] buckets,
                     const int64_t[::1] offsets, Py_ssize_t label, Py_ssize_t contrast, double shift,
                     double* out) noexcept nogil:
    """Write w / (m + d) · (log((c + β) / (r + β)) + shift + rate · correction) for each bucket; what `terms` returns."""
    cdef Py_ssize_t n = buckets.shape[0], group, i, k, correction = labels + contrast
    cdef uint64_t own, rest
    cdef double scale
    cdef const uint32_t* row
    for group in range(how.groups):
        scale = how.weights[group] / max(<double> (offsets[group + 1] - offsets[group]) + how.damping[group], NO_LESS)
        for i in range(offsets[group], offsets[group + 1]):
            if i + AHEAD < n:
                fetch(&rows[buckets[i + AHEAD], 0])
            row = &rows[buckets[i], 0]
            own = row[label]
            rest = <uint64_t> row[0] + row[1]
            for k in range(2, labels):
                rest += row[k]
            if rest == 0:
                out[i] = 0
                continue
            rest -= own
            out[i] = scale * (
                (how.logs[own] if own < how.known else log(own + how.smoothing))
                - (how.logs[rest] if rest < how.known else log(rest + how.smoothing))
                + shift
                + how.rate * <int32_t> row[correction]
            )


def terms(
    const uint32_t[:, ::1] rows,
    Py_ssize_t labels,
    const uint32_t[::1] buckets,
    const int64_t[::1] offsets,
    const double[::1] weights,
    const double[::1] damping,
    const double[::1] log_table,
    double smoothing,
    int label,
    int contrast,
    double shift,
    double rate,
):
    """Return w / (m + d) · (log((c + β) / (r + β)) + shift + rate · correction) for each bucket.

    c counts the label, r all others together. A bucket that was never counted says nothing: its term is 0.

    Group i has the m buckets `buckets[offsets[i]:offsets[i + 1]]`, the weight w and the damping d. A row has the counts
    of all labels, then the corrections. `log_table[c]` is log(c + β); larger counts are computed.
    """
    cdef Reading how = reading(weights, damping, log_table, smoothing, rate)
    fit_table(rows.shape[0], min(labels, rows.shape[1]), buckets, label)
    fit_groups(offsets, weights.shape[0], buckets.shape[0])
    fit_contrast(rows.shape[1], labels, contrast)
    found = np.empty(buckets.shape[0])
    cdef double[::1] out = found
    if buckets.shape[0]:
        with nogil:
            fill_terms(&how, rows, labels, buckets, offsets, label, contrast, shift, &out[0])
    return found


cdef int fit_contrast(Py_ssize_t columns, Py_ssize_t labels, Py_ssize_t contrast) except -1:
    """Raise unless rows of so many columns have the corrections of a contrast."""
    if labels < 2 or contrast < 0 or labels + contrast >= columns:
        raise IndexError(f"contrast {contrast} of {labels} labels is not in rows of {columns}")
    return 0


def total(const double[::1] values):
    """Return the sum of numbers, by halves: rounding errors grow with the logarithm of how many there are."""
    return sum_by_halves(&values[0], values.shape[0]) if values.shape[0] else 0.0


cdef double sum_by_halves(const double* values, Py_ssize_t n) noexcept nogil:
    """Add up to 128 numbers in eight sums side by side, more as two halves: bit for bit what numpy does."""
    cdef double sums[8]
    cdef double found = 0
    cdef Py_ssize_t i, k, half
    if n > 128:
        half = n // 2
        half -= half % 8
        return sum_by_halves(values, half) + sum_by_halves(values + half, n - half)
    i = 0
    if n >= 8:
        for k in range(8):
            sums[k] = values[k]
        i = 8
        while i + 8 <= n:
            for k in range(8):
                sums[k] += values[i + k]
            i += 8
        found = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))
    while i < n:
        found += values[i]
        i += 1
    return found


cpdef Py_ssize_t score_bin(double score, double limit, double width, Py_ssize_t bins) noexcept nogil:
    """Return the bin of a score, in bins of a width from -limit to limit; beyond the limits it is the outermost."""
    return <Py_ssize_t> max(0.0, min((score + limit) / width, <double> (bins - 1)))


def learn_certain(
    uint32_t[:, ::1] rows,
    int64_t[::1] totals,
    int64_t[:, :, ::1] held_out,
    list messages,
    const int64_t[::1] labels,
    const uint8_t[::1] is_scored,
    const double[:, ::1] shifts,
    Py_ssize_t start,
    Py_ssize_t end,
    const double[:, ::1] lines,
    double certain,
    const double[::1] weights,
    const double[::1] damping,
    const double[::1] log_table,
    double smoothing,
    double rate,
    double limit,
    double width,
    double[:, ::1] scores,
):
    """Count messages, (buckets, offsets), from start to end, each scored first if it is to be; return where that ends.

    The first that is scored and to whose label some line does not give log-odds of at least `certain` is not counted, nor
    is any after it. A message's score in each contrast is the sum of `terms` against the rows as they are when it is its
    turn, with a shift of its own; `scores` gets it, `held_out` the bin of it as a short float. A line is a slope and an
    intercept. With two labels the one contrast is about the second, with more each label has its own.
    """
    cdef Py_ssize_t n_labels = totals.shape[0], n = len(messages), contrasts = held_out.shape[0], contrast, i, j
    cdef Py_ssize_t room = 0, size, label, about, bins = held_out.shape[1]
    cdef Reading how = reading(weights, damping, log_table, smoothing, rate)
    cdef const uint32_t[::1] buckets
    cdef const int64_t[::1] offsets
    cdef double* terms_of = NULL
    cdef double log_odds
    cdef bint is_certain
    fit_contrast(rows.shape[1], n_labels, contrasts - 1)
    if not 0 <= start <= end <= n == labels.shape[0] == is_scored.shape[0] == shifts.shape[0] == scores.shape[0]:
        raise IndexError(f"{n} messages, {start} to {end}, have {labels.shape[0]} labels, {shifts.shape[0]} shifts and so "
                         "on")
    if not contrasts == shifts.shape[1] == scores.shape[1] == lines.shape[0] or lines.shape[1] != 2 or (
        held_out.shape[2] != 2
    ):
        raise IndexError(f"{contrasts} contrasts have {lines.shape[0]} lines, {shifts.shape[1]} shifts and so on")
    try:
        for i in range(start, end):
            buckets, offsets = messages[i]
            label, size = labels[i], buckets.shape[0]
            fit_table(rows.shape[0], n_labels, buckets, label)
            fit_groups(offsets, how.groups, size)
            if size > room:
                PyMem_Free(terms_of)
                room = 2 * size
                terms_of = <double*> PyMem_Malloc(room * sizeof(double))
                if terms_of == NULL:
                    raise MemoryError
            with nogil:
                is_certain = True
                for contrast in range(contrasts if is_scored[i] else 0):
                    about = 1 if n_labels == 2 else contrast
                    fill_terms(&how, rows, n_labels, buckets, offsets, about, contrast, shifts[i, contrast], terms_of)
                    scores[i, contrast] = sum_by_halves(terms_of, size)
                    log_odds = lines[contrast, 0] * scores[i, contrast] + lines[contrast, 1]
                    if (log_odds if about == label else -log_odds) < certain:
                        is_certain = False
                if is_certain:
                    for contrast in range(contrasts if is_scored[i] else 0):
                        about = 1 if n_labels == 2 else contrast
                        held_out[contrast, score_bin(<float> scores[i, contrast], limit, width, bins), about == label] += 1
                    totals[label] += 1
                    count(rows, buckets, label)
            if not is_certain:
                return i
    finally:
        PyMem_Free(terms_of)
    return end


cdef inline int rice_parameter(Py_ssize_t n, int bits) noexcept nogil:
    """Bits of a gap that are written as they are: gaps of n random buckets are geometric with mean μ = 2^bits / n.

    One bit more is worth its place while the share of gaps that reach 2^k, exp(-2^k / μ), is above 0.618.
    """
    cdef int k = 0
    cdef Py_ssize_t mean = (<Py_ssize_t> 1 << bits) * 96 // (100 * (n + 1))
    while mean > 1 and k < bits:
        mean >>= 1
        k += 1
    return k


cdef struct Writer:
    uint8_t* out
    uint64_t pending
    int held


cdef inline void write(Writer* w, uint64_t value, int n) noexcept nogil:
    """Append `n` ≤ 56 bits, the lowest first; up to 8 bytes beyond the last one are written to."""
    w.pending |= value << w.held
    w.held += n
    cdef uint64_t bytes_ = little_end_first(w.pending)
    memcpy(w.out, &bytes_, 8)
    w.out += w.held >> 3
    w.pending >>= w.held & ~7
    w.held &= 7


cdef inline int bit_length(uint64_t n) noexcept nogil:
    cdef int length = 0
    while n >> length:
        length += 1
    return length


def pack(const uint32_t[::1] buckets, const int64_t[::1] offsets, int bits):
    """Return a vector of features as bytes: for each kind how many, then the gaps between its buckets in Rice's code.

    Kind i has the sorted distinct buckets `buckets[offsets[i]:offsets[i + 1]]`. A number of them is written as the
    number of its bits, in 5 bits, and those bits but the highest.
    """
    cdef Py_ssize_t kinds = offsets.shape[0] - 1, kind, n, i
    cdef int k, length
    cdef uint32_t last, ones
    cdef int64_t gap
    cdef bint in_order = True
    fit_groups(offsets, kinds, buckets.shape[0])
    # A gap takes k + 1 bits and one more for each 2^k it spans; all gaps of a kind together span at most 2^bits.
    cdef Py_ssize_t most = 16 + 5 * kinds
    for kind in range(kinds):
        n = offsets[kind + 1] - offsets[kind]
        k = rice_parameter(n, bits)
        most += (n * (k + 1) + (((<Py_ssize_t> 1 << bits) >> k) if n else 0)) // 8 + 1
    cdef uint8_t* out = <uint8_t*> PyMem_Malloc(most)
    if out == NULL:
        raise MemoryError
    cdef Writer w = Writer(out, 0, 0)
    with nogil:
        write(&w, <uint64_t> kinds, 8)
        for kind in range(kinds):
            n = offsets[kind + 1] - offsets[kind]
            k = rice_parameter(n, bits)
            length = bit_length(n)
            write(&w, <uint64_t> length, 5)
            write(&w, <uint64_t> n & ~(<uint64_t> 1 << length >> 1), max(length - 1, 0))
            last = 0
            for i in range(offsets[kind], offsets[kind + 1]):
                gap = <int64_t> buckets[i] - last
                if gap < (i > offsets[kind]) or buckets[i] >> bits:
                    in_order = False
                    break
                last = buckets[i]
                ones = <uint32_t> (gap >> k)
                while ones > 24:
                    write(&w, 0xFFFFFF, 24)
                    ones -= 24
                write(&w, ((<uint64_t> 1 << ones) - 1) | (<uint64_t> gap & ((<uint64_t> 1 << k) - 1)) << (ones + 1),
                      <int> ones + 1 + k)
            if not in_order:
                break
        write(&w, 0, 7)
    try:
        if not in_order:
            raise ValueError("buckets to be packed must be distinct, in order, and within the table")
        return PyBytes_FromStringAndSize(<char*> out, w.out - out)
    finally:
        PyMem_Free(out)


cdef struct Reader:
    const uint8_t* data
    Py_ssize_t at
    Py_ssize_t end


cdef inline uint64_t peek(const Reader* r) noexcept nogil:
    """The next bits, at least 56; beyond the end they are zero."""
    cdef uint64_t value = 0
    cdef Py_ssize_t byte = r.at >> 3, left = (r.end >> 3) - byte
    if left >= 8:
        memcpy(&value, r.data + byte, 8)
    elif left > 0:
        memcpy(&value, r.data + byte, left)
    return little_end_first(value) >> (r.at & 7)


cdef inline uint64_t read(Reader* r, int n) noexcept nogil:
    """Take the next `n` ≤ 56 bits; beyond the end they are zero, and `at` tells."""
    cdef uint64_t value = peek(r) & ((<uint64_t> 1 << n) - 1)
    r.at += n
    return value


def unpack(const uint8_t[::1] packed, Py_ssize_t most_kinds, int bits):
    """Return the buckets and offsets that `pack` wrote; bytes that cannot be that raise ValueError."""
    if packed.shape[0] == 0:
        raise ValueError("packed features are damaged")
    cdef Reader r = Reader(&packed[0], 0, packed.shape[0] * 8)
    cdef Py_ssize_t kinds = <Py_ssize_t> read(&r, 8), kind, n, i, found = 0
    cdef uint64_t bucket, gap, ahead
    cdef int k, length, ones
    cdef bint whole = kinds <= most_kinds
    cdef uint32_t[::1] buckets = np.empty(min(packed.shape[0] * 8, most_kinds << bits), np.uint32)
    cdef int64_t[::1] offsets = np.zeros(most_kinds + 1, np.int64)
    with nogil:
        for kind in range(kinds if whole else 0):
            length = <int> read(&r, 5)
            n = (<Py_ssize_t> 1 << length >> 1) | <Py_ssize_t> read(&r, max(length - 1, 0))
            k = rice_parameter(n, bits)
            bucket = 0
            for i in range(n):
                gap = 0
                ahead = peek(&r)
                ones = trailing_ones(ahead)
                while ones > 24 and r.at <= r.end:
                    gap += 24
                    r.at += 24
                    ahead = peek(&r)
                    ones = trailing_ones(ahead)
                gap = (gap + ones) << k | (ahead >> (ones + 1) & ((<uint64_t> 1 << k) - 1))
                r.at += ones + 1 + k
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
