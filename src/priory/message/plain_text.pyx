# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""Finds links in plain text and removes invisible characters. All text is UTF-8."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t

cdef extern from "string.h" nogil:
    void* memmem(const void* text, size_t length, const void* piece, size_t piece_length)


cdef inline int space(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Return the number of bytes of the white space character at this position of UTF-8, or 0."""
    if at[0] < 0x80:
        return at[0] == 32 or 9 <= at[0] <= 13 or 28 <= at[0] <= 31
    if at[0] == 0xC2 and at + 1 < end:
        return 2 if at[1] == 0x85 or at[1] == 0xA0 else 0
    if at[0] == 0xE1 and at + 2 < end:
        return 3 if at[1] == 0x9A and at[2] == 0x80 else 0
    if at[0] == 0xE2 and at + 2 < end:
        if at[1] == 0x80:
            return 3 if at[2] <= 0x8A or 0xA8 <= at[2] <= 0xA9 or at[2] == 0xAF else 0
        return 3 if at[1] == 0x81 and at[2] == 0x9F else 0
    return 3 if at[0] == 0xE3 and at + 2 < end and at[1] == 0x80 and at[2] == 0x80 else 0


cdef inline bint ends_with(const uint8_t* begin, const uint8_t* at, const char* word, int length) noexcept nogil:
    cdef int i
    if at - begin < length:
        return False
    for i in range(length):
        if at[i - length] | 32 != <uint8_t> word[i]:  # | 32 maps only the two cases of a letter to the letter
            return False
    return True


def plain_links(bytes text):
    """Return the http, https and ftp addresses in plain text; after `://` they have 3 to 500 characters.

    >>> plain_links(b"see HTTP://a.example/x, or <ftp://b.example>; not http://a")
    [b'HTTP://a.example/x,', b'ftp://b.example']
    """
    cdef const uint8_t* begin = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef const uint8_t* end = begin + PyBytes_GET_SIZE(text)
    cdef const uint8_t* at
    cdef const uint8_t* start
    cdef int characters
    cdef list links = []
    while True:
        at = <const uint8_t*> memmem(begin, end - begin, b"://", 3)
        if at == NULL:
            return links
        if ends_with(begin, at, b"https", 5):
            start = at - 5
        elif ends_with(begin, at, b"http", 4):
            start = at - 4
        elif ends_with(begin, at, b"ftp", 3):
            start = at - 3
        else:
            start = NULL
        at += 3
        if start != NULL:
            begin = at
            characters = 0
            while at < end and at[0] != 60 and at[0] != 62 and at[0] != 34 and at[0] != 39 and not space(at, end):
                if at[0] & 0xC0 != 0x80:
                    if characters == 500:
                        break
                    characters += 1
                at += 1
            if characters >= 3:
                links.append(PyBytes_FromStringAndSize(<const char*> start, at - start))
            else:
                at = begin
        begin = at


def without_invisible(bytes text):
    """Remove zero-width and direction-changing characters; return the same object if there are none.

    >>> without_invisible("mon\\u200bey".encode())
    b'money'
    """
    cdef const uint8_t* old = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t length = PyBytes_GET_SIZE(text), i = 0, begin = 0, size
    cdef list pieces = []
    if text.isascii():
        return text
    while i < length:
        if old[i] < 0xC2:
            i += 1
            continue
        size = invisible(old + i, old + length)
        if size:
            pieces.append(text[begin:i])
            begin = i + size
        i += size if size else 1
    return b"".join(pieces) + text[begin:] if pieces else text


cdef inline int invisible(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Return the number of bytes of the invisible character at this position, or 0."""
    if at[0] == 0xC2:
        return 2 if at + 1 < end and at[1] == 0xAD else 0
    if at + 2 >= end:
        return 0
    if at[0] == 0xE2:
        if at[1] == 0x80:
            return 3 if 0x8B <= at[2] <= 0x8F or 0xAA <= at[2] <= 0xAE else 0
        return 3 if at[1] == 0x81 and 0xA0 <= at[2] <= 0xA4 else 0
    return 3 if at[0] == 0xEF and at[1] == 0xBB and at[2] == 0xBF else 0
