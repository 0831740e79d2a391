"""Declarations shared by the loops over the buckets of a table."""

from libc.stdint cimport int64_t, uint32_t


cdef extern from *:
    """
    #define priory_fetch(place) __builtin_prefetch(place)
    #ifdef PRIORY_TIGHT
    #define priory_is_tight 1
    #else
    #define priory_is_tight 0
    #endif
    """
    void fetch "priory_fetch" (const void* place) noexcept nogil
    const bint IS_TIGHT "priory_is_tight"  # for sanitizers: buffers have no room to spare, so an overflow leaves them

cdef enum:
    AHEAD = 48  # buckets are scattered over a large table: prefetch this many ahead
    NAME_BITS = 5  # a feature with a name of its own has this many bits more than its bucket,
    MOST_NAME_BITS = 28  # up to this many: its number and that of its kind share 32 bits


cdef inline bint is_tight(Py_ssize_t n) noexcept nogil:
    """Tell whether a buffer grows to `n` exactly, for sanitizers; large ones do not, since each growth copies them."""
    return IS_TIGHT and n <= 4096


cdef inline int name_bits(int bits) noexcept nogil:
    """Return the bits of a feature with a name of its own, for 2^bits buckets."""
    return bits + NAME_BITS if bits < MOST_NAME_BITS - NAME_BITS else MOST_NAME_BITS


cdef inline int bits_of(Py_ssize_t rows) noexcept nogil:
    """Return the bits of a table with this many rows, a power of two."""
    cdef int bits = 0
    while rows >> bits > 1:
        bits += 1
    return bits


cdef inline int fit_bits(int bits) except -1:
    """Raise ValueError unless a feature can have this many bits beside those of its kind."""
    if not 1 <= bits <= MOST_NAME_BITS:
        raise ValueError(f"features have 2^1 to 2^{MOST_NAME_BITS} buckets, not 2^{bits}")
    return 0


cdef inline int fit_rows(Py_ssize_t rows) except -1:
    """Raise IndexError unless a table of this many rows has a bucket for each feature."""
    if not 1 <= rows <= <Py_ssize_t> 1 << MOST_NAME_BITS:
        raise IndexError(f"a table of counts has 1 to 2^{MOST_NAME_BITS} rows, not {rows}")
    return 0


cdef inline bint is_in(uint32_t groups, Py_ssize_t group) noexcept nogil:
    """Tell whether a group is in a set of groups, one bit each."""
    return group < 32 and groups >> group & 1


cdef inline int fit_groups(const int64_t[::1] offsets, Py_ssize_t groups, Py_ssize_t n) except -1:
    """Raise IndexError unless the offsets divide `n` buckets into `groups` groups."""
    cdef Py_ssize_t i
    cdef bint valid = groups >= 0 and offsets.shape[0] == groups + 1 and offsets[0] == 0 and offsets[groups] == n
    for i in range(groups if valid else 0):
        valid = valid and offsets[i] <= offsets[i + 1]
    if not valid:
        raise IndexError(f"{offsets.shape[0]} offsets do not divide {n} buckets into {groups} groups")
    return 0
