# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""Decodes HTML entities as browsers do: `&lt;`, `&#8364;`, `&notit;`."""

from html.entities import html5

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memchr

cdef enum:
    LONGEST_ENTITY = 32

cdef Py_ssize_t LONGEST_OPEN = max([len(name) for name in html5 if not name.endswith(";")])  # without a semicolon


def unescape_entities(bytes text):
    """Decode the entities in UTF-8 text like `html.unescape`, but also numbers of any length.

    >>> unescape_entities(b"5 &lt; 7 &amp; &#8364;&#x20AC; &notit; &nosuch;").decode()
    '5 < 7 & €€ ¬it; &nosuch;'
    """
    cdef const uint8_t* begin = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef const uint8_t* end = begin + PyBytes_GET_SIZE(text)
    cdef const uint8_t* at = <const uint8_t*> memchr(begin, 38, end - begin)
    cdef const uint8_t* after
    cdef list pieces = []
    if at == NULL:
        return text
    while at != NULL:
        decoded = None
        after = at + 1
        if after < end and after[0] == 35:
            after = number_end(after + 1, end)
            if after != NULL:
                decoded = by_number(at + 2, after)
                after += after < end and after[0] == 59
        else:
            while after < end and after - at <= LONGEST_ENTITY and not (
                after[0] == 9 or after[0] == 10 or after[0] == 12 or after[0] == 32 or after[0] == 60 or
                after[0] == 38 or after[0] == 35 or after[0] == 59
            ):
                after += 1
            if after > at + 1:
                decoded = by_name(at + 1, after + (after < end and after[0] == 59))
                after += after < end and after[0] == 59
        if decoded is not None:
            pieces.append(PyBytes_FromStringAndSize(<const char*> begin, at - begin))
            pieces.append(decoded)
            begin = at = after
        else:
            at += 1
        at = <const uint8_t*> memchr(at, 38, end - at)
    pieces.append(PyBytes_FromStringAndSize(<const char*> begin, end - begin))
    return b"".join(pieces)


cdef const uint8_t* number_end(const uint8_t* at, const uint8_t* end) noexcept:
    """Return the end of the digits of `&#…` or `&#x…`, or NULL if there are no digits."""
    cdef bint is_hexadecimal = at < end and at[0] | 32 == 120
    cdef const uint8_t* begin
    at += is_hexadecimal
    begin = at
    while at < end and (48 <= at[0] <= 57 or is_hexadecimal and 97 <= at[0] | 32 <= 102):
        at += 1
    return at if at > begin else NULL


cdef bytes by_number(const uint8_t* at, const uint8_t* end):
    """Return the character with this number. Invalid numbers give U+FFFD or nothing, as in browsers."""
    cdef uint32_t n = 0
    cdef bint is_hexadecimal = at[0] | 32 == 120
    at += is_hexadecimal
    while at < end and n < 0x110000:
        n = n * 16 + (at[0] & 15 if at[0] <= 57 else (at[0] & 15) + 9) if is_hexadecimal else n * 10 + at[0] - 48
        at += 1
    if n == 0 or 0xD800 <= n <= 0xDFFF or n > 0x10FFFF:
        return b"\xef\xbf\xbd"
    if 0x80 <= n <= 0x9F:
        return (WINDOWS[n - 0x80]).encode()
    if 1 <= n <= 8 or n == 11 or 14 <= n <= 31 or n == 127 or 0xFDD0 <= n <= 0xFDEF or n & 0xFFFE == 0xFFFE:
        return b""
    return chr(n).encode()


# Browsers read the numbers of these control characters as characters of windows-1252.
cdef str WINDOWS = "".join(
    [bytes([n]).decode("cp1252") if n not in (0x81, 0x8D, 0x8F, 0x90, 0x9D) else chr(n) for n in range(0x80, 0xA0)]
)


cdef bytes by_name(const uint8_t* at, const uint8_t* end):
    """Return the characters of an entity's name, or of its longest prefix that is a name, with the rest unchanged."""
    cdef bytes name = PyBytes_FromStringAndSize(<const char*> at, end - at)
    cdef Py_ssize_t length = len(name)
    if not name.isascii():
        while length and at[length - 1] >= 0x80:
            length -= 1
    while length > 1:
        found = html5.get(name[:length].decode("utf-8", "replace"))
        if found is not None:
            return found.encode() + name[length:]
        length = min(length - 1, LONGEST_OPEN)
    return None
