# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""Which features many messages share with one: an index that is read from end to end, at a billion features a second.

The index holds one in `one_in` features of each message as hashes of 32 bits, chosen by hash, so that all messages have
the same ones. A filter of 2^16 bits, small enough for the fastest cache, sorts out nearly all features that are not
shared. Nothing here depends on mail.
"""

from cpython.array cimport array, clone, resize, resize_smart
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport INFINITY, NAN, fabs
from libc.stdint cimport int8_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from priory.native.buckets cimport IS_TIGHT, fit_bits, fit_groups, is_in, name_bits
from priory.native.names cimport hash_of

cdef enum:
    MOST_ONE_IN = 1 << 28  # a hash has this many values beside the bits that the filter looks at
    MOST_LOOKUPS = 1 << 24
cdef array HASHES = array("I")
cdef array SUMS = array("d")
cdef array PLACES = array("q")


cdef inline uint32_t hash_in(uint32_t number, Py_ssize_t group, uint32_t named, int bits) noexcept nogil:
    """Return the hash of a feature; in messages without names (`named` is 0), other hashes than those of names."""
    if named:
        return hash_of(<uint32_t> group << name_bits(bits) | number)
    return ~hash_of(<uint32_t> group << name_bits(bits) | number)


cdef inline uint32_t nameless(uint32_t number, Py_ssize_t group, uint32_t named, int bits) noexcept nogil:
    """Return the number that a feature has in messages without names."""
    return number >> (name_bits(bits) - bits) if is_in(named, group) else number


cdef class FeatureIndex:
    """The features of many messages, in the order in which they were appended."""

    cdef array hashes  # of all messages, one message after the other
    cdef array ends  # where in `hashes` each message ends
    cdef array sizes  # how many features each message has
    cdef readonly int bits
    cdef readonly uint32_t one_in

    def __cinit__(self, int bits, uint32_t one_in=1):
        fit_bits(bits)
        if not 1 <= one_in <= MOST_ONE_IN or one_in & (one_in - 1):
            raise ValueError(f"one in a power of two features is held, not one in {one_in}")
        self.bits, self.one_in = bits, one_in
        self.hashes, self.ends, self.sizes = clone(HASHES, 0, False), clone(PLACES, 0, False), clone(PLACES, 0, False)

    def __len__(self):
        return len(self.ends)

    @property
    def n_features(self):
        """The number of features held."""
        return len(self.hashes)

    def append(self, const uint32_t[::1] buckets, const int64_t[::1] offsets, uint32_t named):
        """Append a message: group i has `buckets[offsets[i]:offsets[i + 1]]`, and names if it is in `named`."""
        cdef Py_ssize_t groups = offsets.shape[0] - 1, group, i, n = len(self.hashes)
        cdef uint32_t hash_, others = self.one_in - 1
        fit_groups(offsets, groups, buckets.shape[0])
        if IS_TIGHT:
            resize(self.hashes, n + buckets.shape[0])
        else:
            resize_smart(self.hashes, n + buckets.shape[0])
        for group in range(groups):
            for i in range(offsets[group], offsets[group + 1]):
                hash_ = hash_in(buckets[i], group, named, self.bits)
                self.hashes.data.as_uints[n] = hash_
                n += (hash_ >> 4 & others) == 0
        resize_smart(self.hashes, n)
        self.ends.append(n)
        self.sizes.append(buckets.shape[0])

    def thin(self):
        """Hold only every other feature from now on."""
        cdef Py_ssize_t message, i = 0, n = 0
        cdef uint32_t others = 2 * self.one_in - 1
        cdef uint32_t* hashes = self.hashes.data.as_uints
        cdef int64_t* ends = <int64_t*> self.ends.data.as_longlongs
        if self.one_in == MOST_ONE_IN:
            raise ValueError(f"one in {self.one_in} features is held: an index cannot hold fewer")
        self.one_in *= 2
        for message in range(len(self.ends)):
            while i < ends[message]:
                hashes[n] = hashes[i]
                n += (hashes[i] >> 4 & others) == 0
                i += 1
            ends[message] = n
        resize_smart(self.hashes, n)

    def overlap(self, const uint32_t[::1] buckets, const int64_t[::1] offsets, uint32_t named, bint is_with_nameless,
                const double[:, ::1] weights, const uint8_t[::1] labels, const double[::1] corrections,
                const int8_t[::1] corrected):
        """Return for each message the weight of the features that it shares with this one, and its likeness.

        The likeness is the Jaccard index: the share of the features of both messages that they have in common.

        `weights[k]` holds the weight of each feature of this message for the messages with label k; `corrections` a
        second weight, which counts as often as `corrected` says for each message. Both are scaled to all features if
        only some are held. `is_with_nameless` also compares with messages whose features have no names.
        """
        cdef Py_ssize_t n = len(self.ends), m = buckets.shape[0]
        if labels.shape[0] != n or corrected.shape[0] != n or weights.shape[1] != m or corrections.shape[0] != m:
            raise IndexError(f"{n} messages have {labels.shape[0]} labels, {corrected.shape[0]} corrections; {m} features")
        cdef Lookup lookup = self.lookup(buckets, offsets, named, is_with_nameless)
        cdef Py_ssize_t i, message, start = 0, at
        for i in range(n):
            if labels[i] >= weights.shape[0]:
                raise IndexError(f"label {labels[i]} of {weights.shape[0]}")
        cdef array sums = clone(SUMS, n, True), likeness = clone(SUMS, n, True)
        cdef const int64_t* sizes = <const int64_t*> self.sizes.data.as_longlongs
        cdef const uint32_t* hashes = self.hashes.data.as_uints
        cdef const int64_t* ends = <const int64_t*> self.ends.data.as_longlongs
        cdef double weight, scale = self.one_in
        cdef int64_t found
        with nogil:
            for message in range(n):
                weight, found = 0, 0
                for i in range(start, ends[message]):
                    if lookup.may_have(hashes[i]):
                        at = lookup.place(hashes[i])
                        if at >= 0:
                            found += 1
                            weight += weights[labels[message], at] + corrected[message] * corrections[at]
                start = ends[message]
                sums.data.as_doubles[message] = scale * weight
                found *= self.one_in
                likeness.data.as_doubles[message] = <double> found / max(m + sizes[message] - found, 1)
        return sums, likeness

    def earliest(self, const uint32_t[::1] buckets, const int64_t[::1] offsets, uint32_t named, bint is_with_nameless,
                 const double[::1] times):
        """Return for each feature the earliest of the times of the messages that have it.

        It is None for a feature that no message has at a finite time, and for one that is not held. The features are
        given as those of one message.
        """
        cdef Py_ssize_t n = len(self.ends), m = buckets.shape[0]
        if times.shape[0] != n:
            raise IndexError(f"{n} messages have {times.shape[0]} times")
        cdef Lookup lookup = self.lookup(buckets, offsets, named, is_with_nameless)
        cdef array first = clone(SUMS, m, False)
        cdef double* firsts = first.data.as_doubles
        cdef Py_ssize_t group, i, message, start = 0, at
        for group in range(offsets.shape[0] - 1):
            for i in range(offsets[group], offsets[group + 1]):
                firsts[i] = INFINITY if self.holds(buckets[i], group, named, is_with_nameless) else NAN
        cdef const uint32_t* hashes = self.hashes.data.as_uints
        cdef const int64_t* ends = <const int64_t*> self.ends.data.as_longlongs
        with nogil:
            for message in range(n):
                for i in range(start, ends[message]):
                    if lookup.may_have(hashes[i]):
                        at = lookup.place(hashes[i])
                        if at >= 0 and times[message] < firsts[at]:  # never if it is not a number
                            firsts[at] = times[message]
                start = ends[message]
        return [time if time < INFINITY else None for time in first]

    cdef Lookup lookup(self, const uint32_t[::1] buckets, const int64_t[::1] offsets, uint32_t named,
                       bint is_with_nameless):
        """Return the hashes of the features of a message, with their places in it."""
        cdef Lookup lookup = Lookup(2 * buckets.shape[0])
        cdef Py_ssize_t group, i
        fit_groups(offsets, offsets.shape[0] - 1, buckets.shape[0])
        for group in range(offsets.shape[0] - 1):
            for i in range(offsets[group], offsets[group + 1]):
                lookup.put(hash_in(buckets[i], group, named, self.bits), i)
                if is_with_nameless and named:
                    lookup.put(hash_in(nameless(buckets[i], group, named, self.bits), group, 0, self.bits), i)
        return lookup

    cdef bint holds(self, uint32_t number, Py_ssize_t group, uint32_t named, bint is_with_nameless) noexcept:
        """Tell whether every message that has a feature is held with it."""
        cdef uint32_t others = self.one_in - 1
        if hash_in(number, group, named, self.bits) >> 4 & others:
            return False
        if not (is_with_nameless and named):
            return True
        return (hash_in(nameless(number, group, named, self.bits), group, 0, self.bits) >> 4 & others) == 0


cdef class Lookup:
    """The place of each of some hashes, in an open table that is at most half full."""

    cdef uint64_t[1024] filter
    cdef uint32_t* keys
    cdef Py_ssize_t* places
    cdef uint32_t mask

    def __cinit__(self, Py_ssize_t n):
        cdef Py_ssize_t size = 16
        if not 0 <= n <= MOST_LOOKUPS:
            raise ValueError(f"a lookup has places for 0 to {MOST_LOOKUPS:,} hashes, not {n:,}")
        while size < 2 * n:
            size *= 2
        memset(self.filter, 0, sizeof(self.filter))
        self.mask = <uint32_t> (size - 1)
        self.keys = <uint32_t*> PyMem_Malloc(size * sizeof(uint32_t))
        self.places = <Py_ssize_t*> PyMem_Malloc(size * sizeof(Py_ssize_t))
        if self.keys == NULL or self.places == NULL:
            raise MemoryError
        memset(self.places, 0xFF, size * sizeof(Py_ssize_t))

    def __dealloc__(self):
        PyMem_Free(self.keys)
        PyMem_Free(self.places)

    cdef void put(self, uint32_t key, Py_ssize_t place) noexcept nogil:
        cdef uint32_t i = key & self.mask
        while self.places[i] >= 0 and self.keys[i] != key:
            i = (i + 1) & self.mask
        self.keys[i], self.places[i] = key, place
        self.filter[key >> 22] |= <uint64_t> 1 << (key >> 16 & 63)

    cdef inline bint may_have(self, uint32_t key) noexcept nogil:
        return self.filter[key >> 22] >> (key >> 16 & 63) & 1

    cdef Py_ssize_t place(self, uint32_t key) noexcept nogil:
        """Return the place of a hash; -1 if it is not one of them."""
        cdef uint32_t i = key & self.mask
        while self.places[i] >= 0:
            if self.keys[i] == key:
                return self.places[i]
            i = (i + 1) & self.mask
        return -1


def n_in_common(const uint32_t[::1] one, const int64_t[::1] one_offsets, const uint32_t[::1] other,
                const int64_t[::1] other_offsets):
    """Return how many features two messages have in common; both have the same groups, each sorted."""
    cdef Py_ssize_t group, i, k, n = 0
    fit_groups(one_offsets, one_offsets.shape[0] - 1, one.shape[0])
    fit_groups(other_offsets, one_offsets.shape[0] - 1, other.shape[0])
    for group in range(one_offsets.shape[0] - 1):
        i, k = one_offsets[group], other_offsets[group]
        while i < one_offsets[group + 1] and k < other_offsets[group + 1]:
            if one[i] == other[k]:
                i, k, n = i + 1, k + 1, n + 1
            elif one[i] < other[k]:
                i += 1
            else:
                k += 1
    return n


def largest(const double[::1] values, Py_ssize_t most):
    """Return the places of the numbers farthest from 0, the farthest first, at most so many."""
    cdef list places = []
    most = max(min(most, values.shape[0]), 0)
    cdef array heights = clone(SUMS, most + 1, True)
    cdef Py_ssize_t i, k, n = 0
    cdef double height, least = -1
    for i in range(values.shape[0] if most > 0 else 0):
        height = fabs(values[i])
        if n == most and not height > least:
            continue
        k = n
        while k and heights.data.as_doubles[k - 1] < height:
            k -= 1
        places.insert(k, i)
        for j in range(min(n, most - 1), k, -1):
            heights.data.as_doubles[j] = heights.data.as_doubles[j - 1]
        heights.data.as_doubles[k] = height
        if n == most:
            places.pop()
        else:
            n += 1
        least = heights.data.as_doubles[n - 1]
    return places
