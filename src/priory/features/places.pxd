from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from priory.features.sections cimport Section
from priory.features.units cimport Units


cdef struct Stretch:  # the occurrences of one kind in one section
    Py_ssize_t found, kind, section, n
    Py_ssize_t at  # of its first occurrence among all
    const uint32_t* bucket
    const int32_t* start
    const int32_t* end
    bint is_sorted  # by start


cdef struct Piece:  # adjacent units that are shown together
    int32_t first, last, group
    int32_t leader, more  # the first piece with the same text, and the next one; -1 after the last
    const uint8_t* text  # in lower case, if pieces of this group can have the same text
    int32_t length  # of the text
    double share
    double total  # of all pieces with the same text, if this is the leader


cdef class Places:
    cdef readonly tuple sections
    cdef readonly list taken  # what the places that each rule ignores would add
    cdef list _found, _moved
    cdef Units _units
    cdef Stretch* stretch
    cdef Piece* piece
    cdef int32_t* term_of
    cdef double* terms
    cdef int32_t* covered
    cdef Py_ssize_t n_stretches, n_pieces, n_terms, n_occurrences
    cdef Py_ssize_t sender, author  # the units of the sender's domain and of the header From; -1 without

    cdef list _read(self, list found, Py_ssize_t kinds)
    cdef int _find_terms(self, const uint32_t[::1] buckets, const int64_t[::1] offsets) except -1
    cdef int _split(self, dict headers) except -1
    cdef int _spread(self, list ignored) except -1
    cdef int _take(self, Section section, list ignored, double* heat) except -1
    cdef int _fold(self) except -1
    cdef int _join(self) except -1
    cdef int _merge(self) except -1
    cdef void _find_text(self, Piece* piece) noexcept
    cdef Py_ssize_t _phrase_end(self, Py_ssize_t u, double least, double* share) noexcept
    cdef tuple _item(self, Py_ssize_t i, uint32_t kinds)
    cdef Py_ssize_t _known(self, Py_ssize_t section, Py_ssize_t first, Py_ssize_t last, bint positive, uint32_t kinds,
                           Stretch** chosen) noexcept
