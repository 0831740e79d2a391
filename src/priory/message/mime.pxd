from priory.message.fields cimport Budget, Fields


cdef class Kind:
    cdef readonly str content_type, encoding, disposition, filename
    cdef readonly object charset
    cdef readonly dict parameters
    cdef readonly bint is_malformed, is_ascii_charset, is_text, is_html, is_multipart

    cdef int _classify(self) except -1
    cdef Kind as_text(self)


cdef class Part:
    cdef readonly Fields fields
    cdef readonly Kind kind
    cdef readonly Py_ssize_t start, end


cdef class Structure:
    cdef readonly bytes raw
    cdef readonly Py_ssize_t body
    cdef readonly list parts, outer, defects
    cdef readonly Budget budget
    cdef Py_ssize_t* dashes
    cdef Py_ssize_t n_dashes

    cdef Py_ssize_t _read(self, Py_ssize_t start, Py_ssize_t end, int depth) except -1
    cdef Part _part(self, Fields own, Py_ssize_t start, Py_ssize_t end)
    cdef int _pay_for(self, str value) except -1
    cdef int _read_multipart(self, Part part, int depth) except -1
    cdef int _descend(self, Part part, list pieces, int depth) except -1
    cdef list _pieces(self, Py_ssize_t start, Py_ssize_t end, bytes boundary)
    cdef int _find_dashes(self, Py_ssize_t start) except -1
    cdef Py_ssize_t _dashes_from(self, Py_ssize_t start) noexcept


cpdef tuple header_end(bytes raw, Py_ssize_t start, Py_ssize_t end)
cpdef tuple body(bytes raw, Part part, Py_ssize_t most)
