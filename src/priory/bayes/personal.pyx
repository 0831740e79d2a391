# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
r"""A user's own evidence: how one person's labels differ from everyone's.

All users share one table. The row of a feature for a user is found by hashing the feature together with the user
(Weinberger et al., Feature hashing for large scale multitask learning, 2009), so no list of users is needed and any
number of them costs the same. A row holds one count per label. The number of a user's messages under each label is kept
in a few more rows, found by hashing the user alone. Hash collisions only add to a count, so the least of these rows is
nearest to the truth.

For a label $k$ against the rest $\bar k$, each group $g$ of features adds its damped mean, as in `PresenceBayes`:

$$ s = \frac{n}{n + t} \sum_g \frac{w_g}{m_g + d} \sum_{f \in g} \left(
   \log\frac{c_{fk} + \beta}{c_{f\bar k} + \beta} + \log\frac{n_{\bar k} + \kappa}{n_k + \kappa} \right) $$

The first factor is the trust in the user's own evidence: none without messages, one half with $t$ messages. Of a group
with many features only one in every few is counted, chosen by its hash: the mean stays the same and a user takes less
space. docs/decisions/users.md tells how the numbers were chosen. Nothing here depends on mail.
"""

from cpython.array cimport array, clone
from libc.math cimport log
from libc.stdint cimport int64_t, uint32_t, uint64_t

from priory.native.buckets cimport fetch

cdef enum:
    TOTALS = 4  # rows that hold the number of a user's messages
cdef uint64_t BEYOND = <uint64_t> 1 << 32  # above every bucket number
cdef array WHOLE = array("I")
cdef array PLACES = array("q")


cdef inline uint32_t row_of(uint64_t bucket, uint64_t key, uint64_t mask) noexcept nogil:
    """Return the row of a bucket for a user, with SplitMix64 as the mixing function."""
    cdef uint64_t mixed = key + (bucket + 1) * <uint64_t> 0x9E3779B97F4A7C15
    mixed = (mixed ^ (mixed >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    mixed = (mixed ^ (mixed >> 27)) * <uint64_t> 0x94D049BB133111EB
    return <uint32_t> (((mixed ^ (mixed >> 31)) >> 32) & mask)


cdef inline bint is_picked(uint32_t bucket, uint32_t one_in) noexcept nogil:
    """Tell whether a feature is among those of its group that are counted."""
    return (<uint32_t> (bucket * <uint32_t> 0x9E3779B1) >> 8) % one_in == 0


cdef class PersonalBayes:
    """The parameters of the model: `one_in` (0 skips the group) and weight of each group, then d, β, κ and t."""

    cdef array one_in, weights
    cdef double damping, smoothing, doubt, trust

    def __cinit__(self, one_in, weights, double damping, double smoothing, double doubt, double trust):
        self.one_in, self.weights = array("I", one_in), array("d", weights)
        if len(self.one_in) != len(self.weights):
            raise IndexError(f"{len(self.one_in)} groups have {len(self.weights)} weights")
        self.damping, self.smoothing, self.doubt, self.trust = damping, smoothing, doubt, trust

    def __reduce__(self):
        return PersonalBayes, (self.one_in, self.weights, self.damping, self.smoothing, self.doubt, self.trust)

    def rows(self, const uint32_t[::1] buckets, const int64_t[::1] offsets, uint64_t key, int bits, int extra=0):
        """Return the rows in which a user's message is counted, in a table of 2^bits rows; the totals' rows come first.

        Group i of the message has `buckets[offsets[i]:offsets[i + 1]]`, whose last `extra` bits do not count. Groups
        that the model does not know are ignored.
        """
        if not 0 <= bits <= 32:
            raise ValueError(f"a table for single users has 2^0 to 2^32 rows, not 2^{bits}")
        cdef uint64_t mask = (<uint64_t> 1 << bits) - 1
        cdef Py_ssize_t n = TOTALS, i, m, group
        cdef array found = clone(WHOLE, TOTALS + buckets.shape[0], False)
        cdef array places = clone(PLACES, buckets.shape[0], False)
        cdef uint32_t* out = found.data.as_uints
        self.fit(buckets, offsets, extra)
        for i in range(TOTALS):
            out[i] = row_of(BEYOND + i, key, mask)
        for group in range(min(len(self.one_in), offsets.shape[0] - 1)):
            n += self.pick(buckets, offsets, extra, group, key, mask, out + n, <int64_t*> places.data.as_longlongs)
        return found[:n]

    cdef int fit(self, const uint32_t[::1] buckets, const int64_t[::1] offsets, int extra) except -1:
        """Raise IndexError unless the offsets are in order and within the buckets, which have more than `extra` bits."""
        cdef Py_ssize_t i
        cdef bint fits = offsets.shape[0] > 0 and offsets[0] == 0
        for i in range(1, offsets.shape[0]):
            fits = fits and offsets[i - 1] <= offsets[i] <= buckets.shape[0]
        if not 0 <= extra < 32:
            raise IndexError(f"a bucket does not have {extra} more bits")
        if not fits:
            raise IndexError(f"{offsets.shape[0]} offsets do not divide {buckets.shape[0]} buckets")
        return 0

    cdef Py_ssize_t pick(self, const uint32_t[::1] buckets, const int64_t[::1] offsets, int extra, Py_ssize_t group,
                         uint64_t key, uint64_t mask, uint32_t* rows, int64_t* places) noexcept nogil:
        """Write the rows and places of the counted features of a group; return their number."""
        cdef uint32_t one_in = self.one_in.data.as_uints[group]
        cdef Py_ssize_t i, m = 0
        if one_in:
            for i in range(offsets[group], offsets[group + 1]):
                if is_picked(buckets[i] >> extra, one_in):
                    rows[m], places[m] = row_of(buckets[i] >> extra, key, mask), i
                    m += 1
        return m

    def totals(self, const uint32_t[:, ::1] rows, uint64_t key):
        """Return the number of a user's messages under each label."""
        cdef uint64_t mask = rows.shape[0] - 1
        if rows.shape[0] < 1:
            raise IndexError("a table for single users has one row or more")
        return [least(rows, key, mask, label) for label in range(rows.shape[1])]

    def add_terms(self, double[::1] terms, const uint32_t[:, ::1] rows, const uint32_t[::1] buckets,
                  const int64_t[::1] offsets, uint64_t key, Py_ssize_t label, int extra=0):
        """Add the user's own evidence to the term of each feature, and return its sum.

        The table has 2^bits rows.
        """
        cdef Py_ssize_t labels = rows.shape[1], group, i, k, m
        cdef uint64_t mask = rows.shape[0] - 1, own, rest
        cdef int64_t n = 0, n_own = 0
        cdef double scale, shift, term, total = 0, smoothing = self.smoothing
        cdef const uint32_t* row
        if rows.shape[0] < 1 or rows.shape[0] & mask or not 0 <= label < labels or terms.shape[0] != buckets.shape[0]:
            raise IndexError(f"label {label}, {terms.shape[0]} terms: not for {buckets.shape[0]} buckets in a table of "
                             f"{rows.shape[0]} × {labels}")
        self.fit(buckets, offsets, extra)
        for k in range(labels):
            n += least(rows, key, mask, k)
        if n == 0:
            return 0.0
        n_own = least(rows, key, mask, label)
        shift = log((n - n_own + (labels - 1) * self.doubt) / (n_own + self.doubt))
        cdef array found = clone(WHOLE, buckets.shape[0], False), places = clone(PLACES, buckets.shape[0], False)
        cdef uint32_t* which = found.data.as_uints
        cdef int64_t* at = <int64_t*> places.data.as_longlongs
        for group in range(min(len(self.one_in), offsets.shape[0] - 1)):
            m = self.pick(buckets, offsets, extra, group, key, mask, which, at)
            scale = n / (n + self.trust) * self.weights.data.as_doubles[group] / (m + self.damping)
            for i in range(m):
                fetch(&rows[which[i], 0])
            for i in range(m):
                row = &rows[which[i], 0]
                own, rest = row[label], 0
                for k in range(labels):
                    rest += row[k]
                if rest:
                    term = scale * (log((own + smoothing) / (rest - own + smoothing)) + shift)
                    terms[at[i]] += term
                    total += term
        return total


cdef uint32_t least(const uint32_t[:, ::1] rows, uint64_t key, uint64_t mask, Py_ssize_t label) noexcept nogil:
    """Return the number of a user's messages under a label."""
    cdef uint32_t found = rows[row_of(BEYOND, key, mask), label]
    cdef Py_ssize_t i
    for i in range(1, TOTALS):
        found = min(found, rows[row_of(BEYOND + i, key, mask), label])
    return found
