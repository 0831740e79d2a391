from priory.features.hashing cimport Tokens
from priory.message.parser cimport Message


cdef class Section:
    cdef readonly str name
    cdef readonly bytes shown, folded
    cdef Tokens tokens  # if its words were needed


cdef class Sections:
    cdef readonly Message message
    cdef Section _headers, _part_headers, _text, _source, _links, _markup
    cdef Tokens _text_tokens, _link_tokens, _header_tokens
    cdef list _distinct_links


cdef Tokens words_of(Section section)
