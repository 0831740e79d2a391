from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t


cdef enum:
    MOST_KINDS = 16


cdef struct Token:
    uint64_t hash
    int32_t start
    int32_t end
    int32_t line


cdef class Tokens:
    cdef Token* token
    cdef Py_ssize_t found

    cdef void _put(self, uint64_t h, Py_ssize_t start, Py_ssize_t end, int line) noexcept nogil
    cdef void _scan(self, const uint8_t* text, Py_ssize_t length, bint tagged) noexcept nogil


cdef class Keys:
    cdef uint32_t* keys
    cdef int32_t* starts
    cdef int32_t* ends
    cdef Py_ssize_t n, room, closed
    cdef uint64_t seed
    cdef uint32_t kind, number, named
    cdef int bits, own_bits
    cdef Py_ssize_t[MOST_KINDS + 1] begins
    cdef readonly bint located
    cdef list _values, _found

    cdef void restart(self) noexcept
    cdef int reserve(self, Py_ssize_t n) except -1
    cdef inline void put(self, uint64_t h, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Append a hash that is mixed with the seed of its kind."""
        self.keys[self.n] = self.kind | <uint32_t> (h >> (64 - self.own_bits))
        if self.located:
            self.starts[self.n] = <int32_t> start
            self.ends[self.n] = <int32_t> end
        self.n += 1
    cdef int put_value(self, const uint8_t* value, Py_ssize_t length, Py_ssize_t start, Py_ssize_t end) except -1
    cpdef int begin(self, uint32_t kind, uint64_t seed) except -1
    cdef int bits_of(self, uint32_t kind) noexcept
    cdef uint32_t* sorted_run(self, uint32_t* room, Py_ssize_t first, Py_ssize_t last) noexcept
    cpdef int value(self, bytes value, Py_ssize_t start=*, Py_ssize_t end=*) except -1
    cpdef int domains(self, bytes host, Py_ssize_t start, Py_ssize_t end) except -1
    cpdef int runs(self, Tokens tokens, int n) except -1
    cpdef int grams(self, bytes text, Py_ssize_t most, int length, int every) except -1
    cpdef int tags(self, bytes skeleton, Py_ssize_t most) except -1
