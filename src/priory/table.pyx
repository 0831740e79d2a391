# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The filter's table of counts, compiled: add messages to it, take them away, read them.

A table has a row for each bucket, so that a feature costs one cache miss and not one per label. In a row stand the
counts of the labels, then the corrections, all whole numbers; a message is a sorted array of bucket numbers. Numbers
come and go by the buffer protocol, as `array.array` or whatever else has it: numpy, which takes longer to load than
all else that a single message needs, is not used. The loops run without the GIL. There is no mail in here.
"""

from cpython.array cimport array, clone, resize
from libc.math cimport INFINITY, log
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from priory.buckets cimport AHEAD, fetch, fit_groups

cdef enum:
    LEAST_LOGS = 1 << 12  # counts whose logarithms are at hand, at least; up to as many more for each message read,
    MOST_LOGS = 1 << 18  # and at most: 2 MB, and two milliseconds to compute them

cdef double NO_LESS = 1e-9  # features that a term is divided by
cdef array DOUBLES = array("d")


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


cdef int fit_contrast(Py_ssize_t columns, Py_ssize_t labels, Py_ssize_t contrast) except -1:
    """Raise unless rows of so many columns have the corrections of a contrast."""
    if labels < 2 or contrast < 0 or labels + contrast >= columns:
        raise IndexError(f"contrast {contrast} of {labels} labels is not in rows of {columns}")
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


cpdef bint are_comparable(const int64_t[::1] totals, int64_t without=0) noexcept nogil:
    """Tell whether the second most frequent label has a tenth of the messages of the first, with so many taken away.

    Who learns a folder of ham and then begins with the spam would otherwise count how badly a handful of spam predicts.
    Further labels may be rare, or not be learned yet.
    """
    cdef Py_ssize_t i
    cdef int64_t most = 0, second = 0
    for i in range(totals.shape[0]):
        second = max(second, min(most, totals[i]))
        most = max(most, totals[i])
    return second > without and 10 * (second - without) >= most


cdef int64_t least_known = 10
LEAST_KNOWN = least_known  # messages of a label from which on it is known, where there are more than two


cpdef bint is_known(const int64_t[::1] totals, Py_ssize_t label) noexcept nogil:
    """Tell whether so much of a label was learned that a score about it says something; of two labels it always does.

    Of more, some may be rare or new, and should not keep the others from being scored.
    """
    return totals.shape[0] <= 2 or totals[label] >= least_known


cdef int64_t n_counted(const int64_t[::1] totals) noexcept nogil:
    """Return how many messages there are of all labels."""
    cdef Py_ssize_t i
    cdef int64_t n = 0
    for i in range(totals.shape[0]):
        n += totals[i]
    return n


cdef class Reading:
    """How the counts are read: each group of a message's features has a weight and a damping, for all are β and η.

    Several threads may read by the same one. No array in it changes once it is there: to have more logarithms is to have
    another array, and who looks them up without the GIL holds the one that was there before.
    """

    cdef Py_ssize_t groups
    cdef array weights, damping
    cdef array logs  # of the counts 0, 1, 2 …, each with β added: to look them up takes less time than to compute them
    cdef int64_t n_read
    cdef double smoothing, rate

    def __cinit__(self, weights, damping, double smoothing, double rate):
        self.weights, self.damping = array("d", weights), array("d", damping)
        self.groups = len(self.weights)
        if len(self.damping) != self.groups:
            raise IndexError(f"{self.groups} groups have {len(self.damping)} dampings")
        self.smoothing, self.rate = smoothing, rate
        self.logs, self.n_read = clone(DOUBLES, 0, False), 0

    def __reduce__(self):
        return Reading, (self.weights, self.damping, self.smoothing, self.rate)

    cdef array know(self, int64_t n_messages, Py_ssize_t to_read):
        """Return the logarithms of counts to read so many messages by, where no count is above the number of messages.

        A process that reads a single message computes no more than it looks up.
        """
        cdef int64_t wanted = LEAST_LOGS, known = len(self.logs), count
        cdef array logs
        self.n_read += to_read
        while wanted <= n_messages and wanted < MOST_LOGS and wanted < LEAST_LOGS * self.n_read:
            wanted *= 2
        if wanted > known:
            logs = clone(DOUBLES, wanted, False)
            memcpy(logs.data.as_doubles, self.logs.data.as_doubles, known * sizeof(double))
            for count in range(known, wanted):
                logs.data.as_doubles[count] = log(<uint64_t> count + self.smoothing)
            self.logs = logs
        return self.logs

    def terms(self, const uint32_t[:, ::1] rows, const int64_t[::1] totals, const uint32_t[::1] buckets,
              const int64_t[::1] offsets, Py_ssize_t label, double slope=1):
        """Return slope · w / (m + d) · (log((c + β) / (r + β)) + shift + η · correction) for each bucket.

        c counts the label, r all others together, and the shift is log((n_r + 2β) / (n_c + 2β)). A bucket that was never
        counted says nothing: its term is 0. Group i has the m buckets `buckets[offsets[i]:offsets[i + 1]]`, the weight w
        and the damping d. With two labels there is one contrast, about the second, with more each label has its own.
        """
        cdef Py_ssize_t labels = totals.shape[0], n = buckets.shape[0], contrast = label if labels > 2 else 0
        cdef array found = clone(DOUBLES, n, False)
        fit_table(rows.shape[0], min(labels, rows.shape[1]), buckets, label)
        fit_groups(offsets, self.groups, n)
        fit_contrast(rows.shape[1], labels, contrast)
        cdef int64_t n_messages = n_counted(totals)
        cdef array logs = self.know(n_messages, 1)
        cdef uint64_t known = len(logs)
        with nogil:
            self.fill(rows, totals, n_messages, logs.data.as_doubles, known, buckets, offsets, label, contrast, slope,
                      found.data.as_doubles)
        return found

    cdef void fill(self, const uint32_t[:, ::1] rows, const int64_t[::1] totals, int64_t n_messages,
                   const double* logs, uint64_t known, const uint32_t[::1] buckets, const int64_t[::1] offsets,
                   Py_ssize_t label, Py_ssize_t contrast, double slope, double* out) noexcept nogil:
        """Write what `terms` returns."""
        cdef Py_ssize_t n = buckets.shape[0], labels = totals.shape[0], group, i, k, correction = labels + contrast
        cdef uint64_t own, rest
        cdef double scale, smoothing = self.smoothing
        cdef double rate = -self.rate if labels == 2 and label == 0 else self.rate
        cdef double shift = log(n_messages - totals[label] + 2 * smoothing) - log(totals[label] + 2 * smoothing)
        cdef const double* weights = self.weights.data.as_doubles
        cdef const double* damping = self.damping.data.as_doubles
        cdef const uint32_t* row
        for group in range(self.groups):
            scale = weights[group] / max(<double> (offsets[group + 1] - offsets[group]) + damping[group], NO_LESS)
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
                out[i] = slope * (scale * (
                    (logs[own] if own < known else log(own + smoothing))
                    - (logs[rest] if rest < known else log(rest + smoothing))
                    + shift
                    + rate * <int32_t> row[correction]
                ))

    def learn(self, uint32_t[:, ::1] rows, int64_t[::1] totals, int64_t[:, :, ::1] held_out, list messages,
              const int64_t[::1] labels, const uint8_t[::1] in_turn, Py_ssize_t start, Py_ssize_t late,
              const double[::1] lines, double certain, double limit, double width, double[::1] scores):
        """Count messages, (buckets, offsets), from `start` on, in their order; return the first that was not counted.

        What is in turn is scored just before, if the totals are comparable then and its label is known: its score in each
        contrast is the sum of the `terms`, `scores` gets it, and `held_out` the bin of it as a short float. About a label
        that is not known it is minus infinity, which is not counted. It ends at the first that would be scored but is
        late, and after it has scored one to whose label some line, a slope and an intercept, does not give log-odds of at
        least `certain`.
        """
        cdef Py_ssize_t n_labels = totals.shape[0], n = len(messages), contrasts = held_out.shape[0], contrast, i, at
        cdef Py_ssize_t size, label, about, bins = held_out.shape[1]
        cdef const uint32_t[::1] buckets
        cdef const int64_t[::1] offsets
        cdef array terms = clone(DOUBLES, 0, False)
        cdef double log_odds
        cdef int64_t n_messages = n_counted(totals)
        cdef array logs = self.know(n_messages, n - start)
        cdef uint64_t known = len(logs)
        cdef bint is_certain, is_scored
        fit_contrast(rows.shape[1], n_labels, contrasts - 1)
        if not (0 <= start and n == labels.shape[0] == in_turn.shape[0]) or scores.shape[0] != n * contrasts:
            raise IndexError(f"{n} messages, from {start} on, have {labels.shape[0]} labels, {scores.shape[0]} scores and "
                             "so on")
        if contrasts != (1 if n_labels == 2 else n_labels) or lines.shape[0] != 2 * contrasts:
            raise IndexError(f"{n_labels} labels have {contrasts} contrasts and {lines.shape[0]} numbers of lines")
        if held_out.shape[2] != 2 or bins < 1:
            raise IndexError(f"scores are counted in {bins} × {held_out.shape[2]} bins")
        for i in range(start, n):
            buckets, offsets = messages[i]
            label, size = labels[i], buckets.shape[0]
            fit_table(rows.shape[0], n_labels, buckets, label)
            fit_groups(offsets, self.groups, size)
            is_scored = in_turn[i] and is_known(totals, label) and are_comparable(totals)
            if is_scored and i >= late:
                return i
            if size > len(terms):
                resize(terms, 2 * size)
            with nogil:
                is_certain = True
                for contrast in range(contrasts if is_scored else 0):
                    about, at = 1 if n_labels == 2 else contrast, i * contrasts + contrast
                    if not is_known(totals, about):
                        scores[at] = -INFINITY
                        continue
                    self.fill(rows, totals, n_messages, logs.data.as_doubles, known, buckets, offsets, about, contrast,
                              1, terms.data.as_doubles)
                    scores[at] = sum_by_halves(terms.data.as_doubles, size)
                    log_odds = lines[2 * contrast] * scores[at] + lines[2 * contrast + 1]
                    if (log_odds if about == label else -log_odds) < certain:
                        is_certain = False
                if is_certain:
                    for contrast in range(contrasts if is_scored else 0):
                        about, at = 1 if n_labels == 2 else contrast, i * contrasts + contrast
                        if scores[at] > -INFINITY:
                            held_out[contrast, score_bin(<float> scores[at], limit, width, bins), about == label] += 1
                    totals[label] += 1
                    n_messages += 1
                    count(rows, buckets, label)
            if not is_certain:
                return i
        return n
