from libc.stdint cimport uint8_t, uint64_t


cdef class MappedBlocks:
    cdef readonly Py_ssize_t n_left
    cdef object memory, sums_memory
    cdef uint8_t[::1] verified
    cdef const uint8_t* first
    cdef const uint64_t* sums
    cdef Py_ssize_t size, n_blocks, next
    cdef int place

    cdef int require(self, const void* start, Py_ssize_t size) except -1
