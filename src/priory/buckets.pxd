"""What the loops over the buckets of a table have in common."""

from libc.stdint cimport int64_t


cdef extern from *:
    """
    #define priory_fetch(place) __builtin_prefetch(place)
    """
    void fetch "priory_fetch" (const void* place) noexcept nogil

cdef enum:
    AHEAD = 48  # buckets lie anywhere in a large table: ask the memory for one while others are worked on


cdef inline int fit_groups(const int64_t[::1] offsets, Py_ssize_t groups, Py_ssize_t n) except -1:
    """Raise unless the offsets divide `n` buckets into so many groups."""
    cdef Py_ssize_t i
    cdef bint whole = groups >= 0 and offsets.shape[0] == groups + 1 and offsets[0] == 0 and offsets[groups] == n
    for i in range(groups if whole else 0):
        whole = whole and offsets[i] <= offsets[i + 1]
    if not whole:
        raise IndexError(f"{offsets.shape[0]} offsets do not divide {n} buckets into {groups} groups")
    return 0
