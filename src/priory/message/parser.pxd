from priory.message.fields cimport Fields
from priory.message.mime cimport Part


cdef class Text:
    cdef readonly str content_type
    cdef readonly object charset
    cdef readonly bytes visible, markup


cdef class Message:
    cdef readonly Fields own
    cdef readonly list inner, bodies, targets, defects_found
    cdef readonly bytes tags
    cdef readonly tuple attachments
    cdef readonly str sender_domain
    cdef readonly bytes digest
    cdef readonly bytes raw
    cdef Py_ssize_t room

    cdef str _value(self, bytes name)
    cdef int _read_part(self, Part part) except -1
    cdef int _read_text(self, Part part) except -1
    cdef bytes _shown(self, bytes source, bint is_html)
