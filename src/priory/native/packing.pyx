# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""Encode a feature vector for the journal: sorted bucket numbers as bytes, and back.

Buckets are random numbers, so the gaps between them have a geometric distribution, for which the Rice code is nearly
optimal.
"""

from cpython.array cimport array, clone, resize
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from priory.native.buckets cimport fit_bits, fit_groups, is_in, name_bits

cdef extern from *:
    """
    #define priory_trailing_ones(word) __builtin_ctzll(~(word) | 1ull << 63)
    #if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define priory_little_end_first(word) __builtin_bswap64(word)
    #else
    #define priory_little_end_first(word) (word)
    #endif
    """
    int trailing_ones "priory_trailing_ones" (uint64_t word) noexcept nogil  # up to 63 of them
    uint64_t little_end_first "priory_little_end_first" (uint64_t word) noexcept nogil

cdef enum:
    MOST_KINDS = 32  # one bit each says which have names
    HAS_NAMES = 128  # added to the number of kinds if the features of some groups have names
cdef array BUCKETS = array("I")
cdef array OFFSETS = array("q")


cdef inline int rice_parameter(Py_ssize_t n, int bits) noexcept nogil:
    """Return the number of low bits of a gap that are written verbatim.

    The gaps of n random buckets are geometric with mean μ = 2^bits / n. One more bit pays while the share of gaps that
    reach 2^k, exp(-2^k / μ), is above 0.618.
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
    """Append `n` ≤ 56 bits, lowest first; this may write up to 8 bytes beyond the last one."""
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


cdef int fit_kinds(Py_ssize_t kinds) except -1:
    """Raise ValueError unless features can be of this many kinds."""
    if not 0 <= kinds <= MOST_KINDS:
        raise ValueError(f"features have 0 to {MOST_KINDS} kinds, not {kinds}")
    return 0


def pack(const uint32_t[::1] buckets, const int64_t[::1] offsets, int bits, uint32_t named=0):
    """Return a feature vector as bytes: for each kind the number of its features, then their gaps in Rice code.

    Kind i has the sorted distinct numbers `buckets[offsets[i]:offsets[i + 1]]`; those of the kinds in `named` have more
    bits. How many there are is written as its bit length, in 5 bits, followed by its bits without the highest.
    """
    cdef Py_ssize_t kinds = offsets.shape[0] - 1, kind, n, i
    cdef int k, length, width
    cdef uint64_t bucket, last, least, gap, ones, low, limit
    cdef bint in_order = True
    fit_groups(offsets, kinds, buckets.shape[0])
    fit_bits(bits)
    fit_kinds(kinds)
    # A gap takes k + 1 bits and one more for each 2^k that it spans; the gaps of a kind span at most 2^width in total.
    cdef Py_ssize_t most = 16 + 5 * kinds
    for kind in range(kinds):
        width = name_bits(bits) if is_in(named, kind) else bits
        n = offsets[kind + 1] - offsets[kind]
        k = rice_parameter(n, width)
        most += (n * (k + 1) + (((<Py_ssize_t> 1 << width) >> k) if n else 0)) // 8 + 1
    cdef uint8_t* out = <uint8_t*> PyMem_Malloc(most)
    if out == NULL:
        raise MemoryError
    cdef Writer w = Writer(out, 0, 0)
    with nogil:
        write(&w, <uint64_t> kinds | (HAS_NAMES if named else 0), 8)
        for kind in range(kinds):
            width = name_bits(bits) if is_in(named, kind) else bits
            limit = <uint64_t> 1 << width
            n = offsets[kind + 1] - offsets[kind]
            k = rice_parameter(n, width)
            length = bit_length(n)
            write(&w, <uint64_t> length, 5)
            write(&w, <uint64_t> n & ~(<uint64_t> 1 << length >> 1), max(length - 1, 0))
            last, least, low = 0, 0, (<uint64_t> 1 << k) - 1
            for i in range(offsets[kind], offsets[kind + 1]):
                bucket = buckets[i]
                if bucket < least or bucket >= limit:
                    in_order = False
                    break
                gap = bucket - last
                last, least = bucket, bucket + 1
                ones = gap >> k
                while ones > 24:
                    write(&w, 0xFFFFFF, 24)
                    ones -= 24
                write(&w, ((<uint64_t> 1 << ones) - 1) | (gap & low) << (ones + 1), <int> ones + 1 + k)
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
    """Return the next bits, at least 56; bits beyond the end are zero."""
    cdef uint64_t value = 0
    cdef Py_ssize_t byte = r.at >> 3, left = (r.end >> 3) - byte
    if left >= 8:
        memcpy(&value, r.data + byte, 8)
    elif left > 0:
        memcpy(&value, r.data + byte, left)
    return little_end_first(value) >> (r.at & 7)


cdef inline uint64_t read(Reader* r, int n) noexcept nogil:
    """Consume the next `n` ≤ 56 bits; bits beyond the end are zero, and `at` passes `end`."""
    cdef uint64_t value = peek(r) & ((<uint64_t> 1 << n) - 1)
    r.at += n
    return value


def unpack(const uint8_t[::1] packed, Py_ssize_t most_kinds, int bits, uint32_t named=0):
    """Return the numbers and offsets that `pack` wrote, and which groups have names; raise ValueError for damaged bytes.

    `named` are the groups that have names unless all features were packed without.
    """
    fit_bits(bits)
    fit_kinds(most_kinds)
    if packed.shape[0] == 0:
        raise ValueError("packed features are damaged")
    cdef Reader r = Reader(&packed[0], 0, packed.shape[0] * 8)
    cdef Py_ssize_t kinds = <Py_ssize_t> read(&r, 8), kind, n, i, found = 0
    cdef uint64_t bucket, gap, ahead
    cdef int k, length, ones, width
    if kinds & HAS_NAMES:
        kinds &= ~HAS_NAMES
    else:
        named = 0
    cdef bint whole = kinds <= most_kinds
    cdef array buckets = clone(BUCKETS, min(packed.shape[0] * 8, most_kinds << name_bits(bits)), False)
    cdef array offsets = clone(OFFSETS, most_kinds + 1, True)
    cdef uint32_t* to_bucket = buckets.data.as_uints
    cdef int64_t* ends = <int64_t*> offsets.data.as_longlongs + 1
    with nogil:
        for kind in range(kinds if whole else 0):
            length = <int> read(&r, 5)
            n = (<Py_ssize_t> 1 << length >> 1) | <Py_ssize_t> read(&r, max(length - 1, 0))
            width = name_bits(bits) if is_in(named, kind) else bits
            k = rice_parameter(n, width)
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
                if r.at > r.end or bucket >> width or (gap == 0 and i > 0):
                    whole = False
                    break
                to_bucket[found] = <uint32_t> bucket
                found += 1
            if not whole:
                break
            ends[kind] = found
        for kind in range(kinds if whole else 0, most_kinds):
            ends[kind] = found
    if not whole or not 0 <= r.end - r.at < 8 or read(&r, <int> (r.end - r.at)):
        raise ValueError("packed features are damaged")
    resize(buckets, found)
    return buckets, offsets, named
