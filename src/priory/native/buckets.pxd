"""Declarations shared by the loops over the buckets of a table."""

from libc.stdint cimport int64_t


cdef extern from *:
    """
    #define priory_fetch(place) __builtin_prefetch(place)
    """
    void fetch "priory_fetch" (const void* place) noexcept nogil

cdef enum:
    AHEAD = 48  # buckets are scattered over a large table: prefetch this many ahead


cdef inline int fit_groups(const int64_t[::1] offsets, Py_ssize_t groups, Py_ssize_t n) except -1:
    """Raise IndexError unless the offsets divide `n` buckets into `groups` groups."""
    cdef Py_ssize_t i
    cdef bint valid = groups >= 0 and offsets.shape[0] == groups + 1 and offsets[0] == 0 and offsets[groups] == n
    for i in range(groups if valid else 0):
        valid = valid and offsets[i] <= offsets[i + 1]
    if not valid:
        raise IndexError(f"{offsets.shape[0]} offsets do not divide {n} buckets into {groups} groups")
    return 0
