from libc.stdint cimport uint8_t


cdef struct Field:
    const uint8_t* name
    Py_ssize_t name_length
    const uint8_t* value
    Py_ssize_t value_length
    bint is_plain  # ASCII without encoded words: decoded, it is the same


cdef class Budget:
    cdef readonly Py_ssize_t left


cdef class Fields:
    cdef Field* field
    cdef readonly Py_ssize_t n
    cdef list _kept

    cdef int _find(self, const uint8_t* text, Py_ssize_t length, Budget budget) except -1
    cdef int _append(
        self, const uint8_t* name, Py_ssize_t name_length, const uint8_t* value, const uint8_t* end
    ) except -1
    cdef const Field* first(self, bytes name) noexcept
    cdef str raw_value(self, bytes name, list defects)
    cdef int decode(self, list defects, Budget budget) except -1
    cdef bytes canonical(self)


cdef bint is_named(const Field* field, bytes name) noexcept
cdef int fit(bytes raw, Py_ssize_t start, Py_ssize_t end) except -1
