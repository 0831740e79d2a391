# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""The filter's tables of counts, compiled: add messages, subtract them, and read the terms of a message.

A feature has its counts in one place, so it costs one cache miss instead of one per label. The place holds the counts
of the labels, then the corrections, all as whole numbers. The features of some groups, the *named* ones, have a slot of
their own in a table of names; those of the others share the rows of a table with one row per bucket.

A message is an array of numbers, sorted in each group. Arrays are passed by the buffer protocol, usually as
`array.array`: importing numpy takes longer than everything else a single message needs. Scoring runs without the GIL.
Nothing here depends on mail.

A message may have been counted without names, in rows alone. As long as there is one (`nameless`), named features are
read from both tables: from the bucket, too, in which they would have been counted.
"""

from cpython.array cimport array, clone, resize
from libc.math cimport INFINITY, log
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from priory.native.blocks cimport MappedBlocks
from priory.native.buckets cimport AHEAD, IS_TIGHT, bits_of, fetch, fit_groups, fit_rows, is_in, name_bits
from priory.native.names cimport NameTable, Slots, find_in, hash_of, home_in

cdef enum:
    LEAST_LOGS = 1 << 12  # length of the shortest table of logarithms; it grows with the messages read
    MOST_LOGS = 1 << 18  # and of the longest: 2 MB, computed in two milliseconds

cdef double NO_LESS = 1e-9  # smallest divisor of a term
cdef array DOUBLES = array("d")


cdef int fit_table(Py_ssize_t rows, Py_ssize_t columns, const uint32_t[::1] buckets, Py_ssize_t column) except -1:
    """Raise IndexError if a bucket or the column lies outside the table; the loops below do not check again."""
    cdef Py_ssize_t i
    cdef uint32_t largest = 0
    fit_rows(rows)
    for i in range(buckets.shape[0]):
        largest |= buckets[i]  # an upper bound, found in a quarter of the time
    if largest >= rows:
        largest = 0
        for i in range(buckets.shape[0]):
            largest = max(largest, buckets[i])
    if buckets.shape[0] and largest >= rows or not 0 <= column < columns:
        raise IndexError(f"bucket {largest} or column {column} is not in a table of {rows} × {columns}")
    return 0


cdef int fit_contrast(Py_ssize_t columns, Py_ssize_t labels, Py_ssize_t contrast) except -1:
    """Raise IndexError unless rows of this many columns hold the corrections of a contrast."""
    if labels < 2 or contrast < 0 or labels + contrast >= columns:
        raise IndexError(f"contrast {contrast} of {labels} labels is not in rows of {columns}")
    return 0


cdef int fit_features(Py_ssize_t rows, Py_ssize_t columns, const uint32_t[::1] buckets, const int64_t[::1] offsets,
                      uint32_t named, Py_ssize_t column) except -1:
    """Raise IndexError if a bucket, the number of a named feature or the column lies outside the tables."""
    cdef Py_ssize_t groups = offsets.shape[0] - 1, group, i
    cdef uint32_t bits, bits_of_names = 0, bits_of_buckets = 0
    fit_rows(rows)
    fit_groups(offsets, groups, buckets.shape[0])
    for group in range(groups):
        bits = 0
        for i in range(offsets[group], offsets[group + 1]):
            bits |= buckets[i]
        if is_in(named, group):
            bits_of_names |= bits
        else:
            bits_of_buckets |= bits
    if bits_of_buckets >> bits_of(rows) or bits_of_names >> name_bits(bits_of(rows)) or not 0 <= column < columns:
        raise IndexError(f"a bucket, a name or column {column} is not in tables of {rows} × {columns}")
    return 0


cdef inline bint are_guarded(NameTable names) noexcept:
    """Tell whether the tables are mapped from a file and not verified as a whole yet."""
    return names.blocks is not None and names.blocks.n_left > 0


def require_features(const uint32_t[:, ::1] rows, NameTable names, const uint32_t[::1] buckets,
                     const int64_t[::1] offsets, uint32_t named):
    """Raise DamagedBlockError if a feature is in a damaged part of a mapped file."""
    cdef Py_ssize_t group, i
    cdef int bits = bits_of(rows.shape[0]), extra = name_bits(bits) - bits
    cdef MappedBlocks blocks = names.blocks
    if not are_guarded(names):
        return
    fit_features(rows.shape[0], rows.shape[1], buckets, offsets, named, 0)
    for group in range(offsets.shape[0] - 1):
        for i in range(offsets[group], offsets[group + 1]):
            if is_in(named, group):
                names.require(hash_of(key_of(bits, group, buckets[i])), False)
            if not is_in(named, group) or names.nameless > 0:
                blocks.require(&rows[buckets[i] >> (extra if is_in(named, group) else 0), 0],
                               rows.shape[1] * sizeof(uint32_t))


def require_rows(const uint32_t[:, ::1] rows, MappedBlocks blocks, const uint32_t[::1] buckets):
    """Raise DamagedBlockError if a bucket is in a damaged part of a mapped file."""
    cdef Py_ssize_t i
    fit_table(rows.shape[0], rows.shape[1], buckets, 0)
    for i in range(buckets.shape[0]):
        blocks.require(&rows[buckets[i], 0], rows.shape[1] * sizeof(uint32_t))


def bits_of_names(int bits):
    """Return the bits of a feature with a name of its own, for 2^bits buckets."""
    return name_bits(bits)


def add(uint32_t[:, ::1] rows, const uint32_t[::1] buckets, int label):
    """Increment the count of each bucket under the label."""
    fit_table(rows.shape[0], rows.shape[1], buckets, label)
    with nogil:
        count(rows, buckets, 0, buckets.shape[0], label)


def subtract(uint32_t[:, ::1] rows, const uint32_t[::1] buckets, int label):
    """Reverse one `add`; if a bucket was never counted, change nothing and raise ValueError."""
    cdef Py_ssize_t i, n = buckets.shape[0], taken = 0, missing = 0
    fit_table(rows.shape[0], rows.shape[1], buckets, label)
    while taken < n and rows[buckets[taken], label]:
        rows[buckets[taken], label] -= 1
        taken += 1
    if taken < n:
        for i in range(taken):
            rows[buckets[i], label] += 1
        for i in range(n):
            missing += rows[buckets[i], label] == 0
        raise ValueError(f"{max(missing, 1)} of {n} features were never counted")


def add_features(uint32_t[:, ::1] rows, NameTable names, const uint32_t[::1] buckets, const int64_t[::1] offsets,
                 uint32_t named, int label, const int8_t[:] corrections=None):
    """Increment the count of each feature under the label, and add the corrections to its last columns.

    The features of the groups in `named` have slots in the table of names, the others share the buckets of the rows.
    """
    fit_features(rows.shape[0], rows.shape[1], buckets, offsets, named, label)
    fit_names(rows.shape[1], names)
    fit_corrections(rows, corrections)
    require_features(rows, names, buckets, offsets, named)
    names.nameless += named == 0
    count_features(rows, names, buckets, offsets, named, label)
    correct(rows, names, buckets, offsets, named, corrections, 1)


def subtract_features(uint32_t[:, ::1] rows, NameTable names, const uint32_t[::1] buckets, const int64_t[::1] offsets,
                      uint32_t named, int label, const int8_t[:] corrections=None):
    """Reverse one `add_features`; if a feature was never counted, change nothing and raise ValueError."""
    cdef Py_ssize_t n = buckets.shape[0], group, i, taken, missing = 0
    cdef int bits = bits_of(rows.shape[0])
    cdef uint32_t* columns
    fit_features(rows.shape[0], rows.shape[1], buckets, offsets, named, label)
    fit_names(rows.shape[1], names)
    fit_corrections(rows, corrections)
    require_features(rows, names, buckets, offsets, named)
    taken = take_back(rows, names, buckets, offsets, named, label)
    if taken < n:
        for group in range(offsets.shape[0] - 1):
            for i in range(offsets[group], min(offsets[group + 1], taken)):
                place_of(rows, names, bits, named, group, buckets[i])[label] += 1
        for group in range(offsets.shape[0] - 1):
            for i in range(offsets[group], offsets[group + 1]):
                columns = place_of(rows, names, bits, named, group, buckets[i])
                missing += columns == NULL or columns[label] == 0
        raise ValueError(f"{max(missing, 1)} of {n} features were never counted")
    names.nameless -= named == 0
    correct(rows, names, buckets, offsets, named, corrections, -1)
    for group in range(offsets.shape[0] - 1):
        for i in range(offsets[group], offsets[group + 1] if is_in(named, group) else 0):
            names.require(hash_of(key_of(bits, group, buckets[i])), True)
            names.remove_if_zero(hash_of(key_of(bits, group, buckets[i])))
    names.fit()


cdef Py_ssize_t take_back(uint32_t[:, ::1] rows, NameTable names, const uint32_t[::1] buckets,
                          const int64_t[::1] offsets, uint32_t named, Py_ssize_t label) noexcept:
    """Decrement the count of each feature under the label, up to the first without one; return how many they were."""
    cdef Py_ssize_t group, i
    cdef int bits = bits_of(rows.shape[0])
    cdef uint32_t* columns
    for group in range(offsets.shape[0] - 1):
        for i in range(offsets[group], offsets[group + 1]):
            columns = place_of(rows, names, bits, named, group, buckets[i])
            if columns == NULL or columns[label] == 0:
                return i
            columns[label] -= 1
    return buckets.shape[0]


cdef inline uint32_t key_of(int bits, Py_ssize_t group, uint32_t number) noexcept nogil:
    """Return the key of a name in tables with 2^bits rows."""
    return <uint32_t> group << name_bits(bits) | number


cdef inline uint32_t* place_of(uint32_t[:, ::1] rows, NameTable names, int bits, uint32_t named, Py_ssize_t group,
                               uint32_t number) noexcept:
    """Return the columns in which a feature is counted; NULL for a name that was never counted."""
    return names.find(hash_of(key_of(bits, group, number))) if is_in(named, group) else &rows[number, 0]


cdef int fit_names(Py_ssize_t columns, NameTable names) except -1:
    """Raise IndexError unless the table of names has the columns of the rows."""
    if names.columns != columns:
        raise IndexError(f"a table of names has {names.columns} columns, and the rows have {columns}")
    return 0


cdef int fit_corrections(const uint32_t[:, ::1] rows, const int8_t[:] corrections) except -1:
    """Raise IndexError if there are more corrections than columns."""
    if corrections is not None and corrections.shape[0] > rows.shape[1]:
        raise IndexError(f"{corrections.shape[0]} corrections are not in a table of {rows.shape[0]} × {rows.shape[1]}")
    return 0


cdef int count_features(uint32_t[:, ::1] rows, NameTable names, const uint32_t[::1] buckets,
                        const int64_t[::1] offsets, uint32_t named, Py_ssize_t label) except -1:
    """Increment the count of each feature under the label.

    This holds the GIL: two threads that move the slots of the same table would lose names.
    """
    cdef Py_ssize_t group, i
    cdef int bits = bits_of(rows.shape[0])
    for group in range(offsets.shape[0] - 1):
        if not is_in(named, group):
            count(rows, buckets, offsets[group], offsets[group + 1], label)
            continue
        for i in range(offsets[group], offsets[group + 1]):
            if i + AHEAD < offsets[group + 1]:
                fetch(names.home(hash_of(key_of(bits, group, buckets[i + AHEAD]))))
            names.insert(hash_of(key_of(bits, group, buckets[i])))[label] += 1
    return 0


cdef void count(uint32_t[:, ::1] rows, const uint32_t[::1] buckets, Py_ssize_t start, Py_ssize_t end,
                Py_ssize_t label) noexcept nogil:
    """Increment the count of the buckets from index `start` to before `end` under the label."""
    cdef Py_ssize_t i
    for i in range(start, end):
        if i + AHEAD < end:
            fetch(&rows[buckets[i + AHEAD], 0])
        rows[buckets[i], label] += 1


cdef void correct(uint32_t[:, ::1] rows, NameTable names, const uint32_t[::1] buckets, const int64_t[::1] offsets,
                  uint32_t named, const int8_t[:] corrections, int sign) noexcept:
    """Add the corrections, times a sign, to the last columns of counted features; most corrections are 0."""
    cdef Py_ssize_t group, i, contrast, n = 0 if corrections is None else corrections.shape[0]
    cdef Py_ssize_t column = rows.shape[1] - n
    cdef int bits = bits_of(rows.shape[0])
    cdef uint32_t by
    for contrast in range(n):
        by = <uint32_t> (sign * corrections[contrast])
        for group in range(offsets.shape[0] - 1 if by else 0):
            for i in range(offsets[group], offsets[group + 1]):
                place_of(rows, names, bits, named, group, buckets[i])[column + contrast] += by


def counts_of(const uint32_t[:, ::1] rows, NameTable names, uint32_t number, Py_ssize_t group, uint32_t named,
              Py_ssize_t labels):
    """Return how many messages of each label had a feature, given by its number and group."""
    cdef uint32_t* columns = NULL
    cdef int extra = name_bits(bits_of(rows.shape[0])) - bits_of(rows.shape[0])
    cdef bint reads_rows = names.nameless > 0
    cdef Py_ssize_t label
    fit_rows(rows.shape[0])
    fit_names(rows.shape[1], names)
    if not (0 < labels <= rows.shape[1] and 0 <= group < 32 and number >> name_bits(bits_of(rows.shape[0])) == 0):
        raise IndexError(f"feature {number} of group {group}, {labels} labels: not in rows of {rows.shape[1]}")
    if is_in(named, group):
        columns = names.find(hash_of(key_of(bits_of(rows.shape[0]), group, number)))
        number >>= extra
    else:
        reads_rows = True
    if number >= rows.shape[0]:
        raise IndexError(f"bucket {number} is not in a table of {rows.shape[0]} rows")
    return tuple([
        (columns[label] if columns != NULL else 0) + (rows[number, label] if reads_rows else 0)
        for label in range(labels)
    ])


def n_used(const uint32_t[:, ::1] rows, Py_ssize_t labels):
    """Return how many rows count a message of one of the first `labels` labels."""
    cdef Py_ssize_t i, k, n = 0
    cdef uint32_t used
    if not 0 <= labels <= rows.shape[1]:
        raise IndexError(f"there are not {labels} labels in rows of {rows.shape[1]}")
    with nogil:
        for i in range(rows.shape[0]):
            used = 0
            for k in range(labels):
                used |= rows[i, k]
            n += used != 0
    return n


def total(const double[::1] values):
    """Return the pairwise sum of numbers: rounding errors grow with the logarithm of how many there are."""
    return sum_by_halves(&values[0], values.shape[0]) if values.shape[0] else 0.0


cdef double sum_by_halves(const double* values, Py_ssize_t n) noexcept nogil:
    """Add up to 128 numbers in eight parallel sums, more as two halves: bit for bit the result of numpy's sum."""
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
    """Return the bin of a score among equal bins from -limit to limit; scores beyond fall into the outermost."""
    cdef double bin_ = (score + limit) / width
    return 0 if not bin_ > 0 else bins - 1 if bin_ >= bins - 1 else <Py_ssize_t> bin_  # a score that is no number: 0


cpdef bint are_comparable(const int64_t[::1] totals, int64_t without=0) noexcept nogil:
    """Tell whether the two most frequent labels have enough messages for scores to be compared.

    The second label needs at least a tenth of the first's messages, not counting `without` of them. Otherwise, learning
    a folder of ham and then a first few spam messages would record how badly a handful of spam predicts. Further labels
    may be rare or not learned yet.
    """
    cdef Py_ssize_t i
    cdef int64_t most = 0, second = 0
    for i in range(totals.shape[0]):
        second = max(second, min(most, totals[i]))
        most = max(most, totals[i])
    # Without a product or a difference of signed numbers: those of a damaged table could overflow.
    return second > without and <uint64_t> second - <uint64_t> without >= <uint64_t> (most // 10 + (most % 10 > 0))


cdef int64_t least_known = 10
LEAST_KNOWN = least_known  # messages that make a label known, where there are more than two labels


def is_known(const int64_t[::1] totals, Py_ssize_t label):
    """Tell whether enough messages of a label were learned to score it; with two labels this is always true.

    Of more labels some may be rare or new, and must not keep the others from being scored.
    """
    if not 0 <= label < totals.shape[0]:
        raise IndexError(f"label {label} of {totals.shape[0]}")
    return has_enough(totals, label)


cdef inline bint has_enough(const int64_t[::1] totals, Py_ssize_t label) noexcept nogil:
    return totals.shape[0] <= 2 or totals[label] >= least_known


cdef int64_t n_counted(const int64_t[::1] totals) noexcept nogil:
    """Return the number of messages of all labels."""
    cdef Py_ssize_t i
    cdef uint64_t n = 0  # of a damaged table they may overflow
    for i in range(totals.shape[0]):
        n += <uint64_t> totals[i]
    return <int64_t> n


cdef struct Counted:
    uint64_t own  # messages of the label
    uint64_t all  # messages of any label
    int32_t correction


cdef inline void take(Counted* counted, const uint32_t* columns, Py_ssize_t labels, Py_ssize_t label,
                      Py_ssize_t correction) noexcept nogil:
    """Add what a row or a slot says about a feature."""
    cdef Py_ssize_t k
    counted.own += columns[label]
    counted.all += <uint64_t> columns[0] + columns[1]
    for k in range(2, labels):
        counted.all += columns[k]
    counted.correction += <int32_t> columns[correction]


def n_repeated(const uint32_t[:, ::1] rows, NameTable names, Py_ssize_t labels, const uint32_t[::1] buckets,
               Py_ssize_t start, Py_ssize_t end, Py_ssize_t group, uint32_t named):
    """Return how many features were counted at least twice, all labels together.

    They have the numbers from index `start` to before `end`, and are of one group.
    """
    cdef Py_ssize_t i, repeated = 0
    cdef bint reads_rows = names.nameless > 0
    cdef int bits = bits_of(rows.shape[0]), extra = name_bits(bits) - bits if is_in(named, group) else 0
    cdef const uint32_t* columns
    cdef Counted counted
    fit_rows(rows.shape[0])
    fit_names(rows.shape[1], names)
    if not (0 <= start <= end <= buckets.shape[0] and 2 <= labels < rows.shape[1]):
        raise IndexError(f"buckets {start} to {end} of {buckets.shape[0]}, {labels} labels in rows of {rows.shape[1]}")
    for i in range(start, end):  # a few hundred of them: holding the GIL costs less than releasing it
        if buckets[i] >> (bits + extra):
            raise IndexError(f"bucket {buckets[i]} is not in a table of {rows.shape[0]} rows")
        counted = Counted(0, 0, 0)
        if is_in(named, group):
            columns = names.find(hash_of(key_of(bits, group, buckets[i])))
            if columns != NULL:
                take(&counted, columns, labels, 0, 0)
        if reads_rows or not is_in(named, group):
            take(&counted, &rows[buckets[i] >> extra, 0], labels, 0, 0)
        repeated += counted.all >= 2
    return repeated


cdef class Scorer:
    """The parameters of `PresenceBayes` in compiled form: a weight and a damping for each group of features, β and η.

    Threads may share an instance. No array is changed once it is published: a longer table of logarithms is a new
    array, and a loop without the GIL keeps a reference to the array that it started with.
    """

    cdef Py_ssize_t groups
    cdef array weights, damping
    cdef array logs  # log(count + β) of the counts 0, 1, 2 …: a lookup is faster than a logarithm
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
        return Scorer, (self.weights, self.damping, self.smoothing, self.rate)

    cdef array know(self, int64_t n_messages, Py_ssize_t to_read):
        """Return a table of log(count + β) for reading this many messages; no count exceeds the number of messages.

        The table grows with the number of messages read, so a process that reads one message computes few logarithms.
        """
        cdef int64_t wanted = LEAST_LOGS, known = len(self.logs), count
        cdef array logs
        self.n_read += to_read
        while wanted <= n_messages and wanted < MOST_LOGS and wanted < LEAST_LOGS * self.n_read:
            wanted *= 2
        if wanted > known:
            logs = clone(DOUBLES, wanted, False)
            if known:
                memcpy(logs.data.as_doubles, self.logs.data.as_doubles, known * sizeof(double))
            for count in range(known, wanted):
                logs.data.as_doubles[count] = log(<uint64_t> count + self.smoothing)
            self.logs = logs
        return self.logs

    def terms(self, const uint32_t[:, ::1] rows, NameTable names, const int64_t[::1] totals, const uint32_t[::1] buckets,
              const int64_t[::1] offsets, uint32_t named, Py_ssize_t label, double slope=1):
        """Return slope · w / (m + d) · (log((c + β) / (r + β)) + shift + η · correction) for each feature.

        c counts the label, r all other labels together, and the shift is log((n_r + 2β) / (n_c + 2β)). The term of a
        feature that was never counted is 0. Group i has the m features `buckets[offsets[i]:offsets[i + 1]]`, the weight
        w and the damping d. With two labels there is one contrast, about the second; with more, each label has its own.
        """
        cdef Py_ssize_t labels = totals.shape[0], n = buckets.shape[0], contrast = label if labels > 2 else 0
        cdef array found = clone(DOUBLES, n, False)
        fit_features(rows.shape[0], min(labels, rows.shape[1]), buckets, offsets, named, label)
        fit_groups(offsets, self.groups, n)
        fit_contrast(rows.shape[1], labels, contrast)
        fit_names(rows.shape[1], names)
        cdef int64_t n_messages = n_counted(totals)
        cdef array logs = self.know(n_messages, 1)
        cdef uint64_t known = len(logs)
        cdef object memory = names.memory  # keeps the slots alive, should another thread make the table grow
        cdef Slots slots = names.slots
        cdef bint reads_rows = names.nameless > 0
        with nogil:
            self.fill(rows, slots, reads_rows, totals, n_messages, logs.data.as_doubles, known, buckets, offsets, named,
                      label, contrast, slope, found.data.as_doubles)
        return found

    cdef void fill(self, const uint32_t[:, ::1] rows, Slots names, bint reads_rows, const int64_t[::1] totals,
                   int64_t n_messages, const double* logs, uint64_t known, const uint32_t[::1] buckets,
                   const int64_t[::1] offsets, uint32_t named, Py_ssize_t label, Py_ssize_t contrast, double slope,
                   double* out) noexcept nogil:
        """Write the terms that `terms` returns."""
        cdef Py_ssize_t labels = totals.shape[0], group, i, start, end, correction = labels + contrast
        cdef int bits = bits_of(rows.shape[0]), extra = name_bits(bits) - bits
        cdef uint32_t base
        cdef uint64_t rest
        cdef double scale, smoothing = self.smoothing
        cdef double rate = -self.rate if labels == 2 and label == 0 else self.rate
        cdef double shift = log(n_messages - totals[label] + 2 * smoothing) - log(totals[label] + 2 * smoothing)
        cdef const uint32_t* columns
        cdef bint is_named
        cdef Counted counted
        for group in range(self.groups):
            start, end = offsets[group], offsets[group + 1]
            scale = self.weights.data.as_doubles[group] / max(
                <double> (end - start) + self.damping.data.as_doubles[group], NO_LESS
            )
            is_named = is_in(named, group)
            base = <uint32_t> group << (bits + extra)
            for i in range(start, min(start + AHEAD, end)):
                fetch(home_in(names, hash_of(base | buckets[i])) if is_named else <uint32_t*> &rows[buckets[i], 0])
            for i in range(start, end):
                if i + AHEAD < end:
                    fetch(home_in(names, hash_of(base | buckets[i + AHEAD])) if is_named
                          else <uint32_t*> &rows[buckets[i + AHEAD], 0])
                counted = Counted(0, 0, 0)
                if is_named:
                    columns = find_in(names, hash_of(base | buckets[i]))
                    if columns != NULL:
                        take(&counted, columns, labels, label, correction)
                    if reads_rows:
                        take(&counted, &rows[buckets[i] >> extra, 0], labels, label, correction)
                else:
                    take(&counted, &rows[buckets[i], 0], labels, label, correction)
                if counted.all == 0:
                    out[i] = 0
                    continue
                rest = counted.all - counted.own
                out[i] = slope * (scale * (
                    (logs[counted.own] if counted.own < known else log(counted.own + smoothing))
                    - (logs[rest] if rest < known else log(rest + smoothing))
                    + shift
                    + rate * counted.correction
                ))

    def learn(self, uint32_t[:, ::1] rows, NameTable names, int64_t[::1] totals, int64_t[:, :, ::1] held_out,
              list messages, const int64_t[::1] labels, const uint8_t[::1] in_turn, Py_ssize_t start, Py_ssize_t late,
              const double[::1] lines, double certain, double limit, double width, double[::1] scores):
        """Count messages, (buckets, offsets, named), in order from `start` on; return the first that was not counted.

        A message in turn is scored just before it is counted, if the totals are comparable and its label is known. Its
        score in each contrast is the sum of the `terms`; it is written to `scores`, and its bin as a single-precision
        float is counted in `held_out`. The score about an unknown label is minus infinity and is not counted. Learning
        stops at the first message that would be scored but is not before `late`, and after scoring a message whose
        label gets log-odds below `certain` from the line of some contrast, given by slope and intercept.
        """
        cdef Py_ssize_t n_labels = totals.shape[0], n = len(messages), contrasts = held_out.shape[0], contrast, i, at
        cdef Py_ssize_t size, label, about, bins = held_out.shape[1]
        cdef const uint32_t[::1] buckets
        cdef const int64_t[::1] offsets
        cdef uint32_t named
        cdef array terms = clone(DOUBLES, 0, False)
        cdef double log_odds
        cdef int64_t n_messages = n_counted(totals)
        cdef array logs = self.know(n_messages, max(n - max(start, 0), 0))
        cdef uint64_t known = len(logs)
        cdef object memory  # keeps the slots alive, should another thread make the table grow
        cdef Slots slots
        cdef bint is_certain, is_scored, reads_rows
        fit_contrast(rows.shape[1], n_labels, contrasts - 1)
        fit_names(rows.shape[1], names)
        if not (0 <= start and n == labels.shape[0] == in_turn.shape[0]) or scores.shape[0] != n * contrasts:
            raise IndexError(f"{n} messages, from {start} on, have {labels.shape[0]} labels, {scores.shape[0]} scores and "
                             "so on")
        if contrasts != (1 if n_labels == 2 else n_labels) or lines.shape[0] != 2 * contrasts:
            raise IndexError(f"{n_labels} labels have {contrasts} contrasts and {lines.shape[0]} numbers of lines")
        if held_out.shape[2] != 2 or bins < 1:
            raise IndexError(f"scores are counted in {bins} × {held_out.shape[2]} bins")
        for i in range(start, n):
            buckets, offsets, named = messages[i]
            label, size = labels[i], buckets.shape[0]
            fit_features(rows.shape[0], n_labels, buckets, offsets, named, label)
            fit_groups(offsets, self.groups, size)
            is_scored = in_turn[i] and has_enough(totals, label) and are_comparable(totals)
            if is_scored and i >= late:
                return i
            if size > len(terms):
                resize(terms, size if IS_TIGHT else 2 * size)
            memory, slots, reads_rows, is_certain = names.memory, names.slots, names.nameless > 0, True
            with nogil:
                for contrast in range(contrasts if is_scored else 0):
                    about, at = 1 if n_labels == 2 else contrast, i * contrasts + contrast
                    if not has_enough(totals, about):
                        scores[at] = -INFINITY
                        continue
                    self.fill(rows, slots, reads_rows, totals, n_messages, logs.data.as_doubles, known, buckets, offsets,
                              named, about, contrast, 1, terms.data.as_doubles)
                    scores[at] = sum_by_halves(terms.data.as_doubles, size)
                    log_odds = lines[2 * contrast] * scores[at] + lines[2 * contrast + 1]
                    if (log_odds if about == label else -log_odds) < certain:
                        is_certain = False
            if not is_certain:
                return i
            for contrast in range(contrasts if is_scored else 0):
                about, at = 1 if n_labels == 2 else contrast, i * contrasts + contrast
                if scores[at] > -INFINITY:
                    held_out[contrast, score_bin(<float> scores[at], limit, width, bins), about == label] += 1
            totals[label] += 1
            n_messages += 1
            names.nameless += named == 0
            count_features(rows, names, buckets, offsets, named, label)
        return n
