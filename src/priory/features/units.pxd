from libc.stdint cimport int32_t

from priory.features.hashing cimport Tokens
from priory.features.sections cimport Section


cdef struct Unit:
    int32_t start, end  # the bytes that belong to the unit
    int32_t first, last  # the bytes of them that are shown: a word without the white space around it
    int32_t line, home  # `home` is the unit that gets its share; most units get their own
    int32_t section, group
    double share


cdef class Units:
    cdef Unit* unit
    cdef Py_ssize_t n, room

    cdef int add(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t line, int section, int group) except -1
    cdef int whole_lines(self, Section section, int number, int group) except -1
    cdef int header_lines(self, Section section, int number, dict groups, int others) except -1
    cdef int words(self, Section section, int number, int group) except -1
    cdef int tags(self, Section section, int number, int group) except -1
    cdef int source(self, Section section, int number, int group, Tokens shown, Py_ssize_t first) except -1
