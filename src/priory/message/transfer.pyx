# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""Decodes base64 as it occurs in mail: truncated, wrongly padded, or with stray characters."""

import binascii

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    NO_DIGIT = 64

cdef bytes DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
cdef bytes FOREIGN = bytes(set(range(256)).difference(DIGITS))
cdef uint8_t[256] DIGIT
for _byte in range(256):
    DIGIT[_byte] = NO_DIGIT
for _digit, _byte in enumerate(bytearray(DIGITS)):
    DIGIT[_byte] = _digit


def base64_bytes(bytes data):
    """Decode base64 as far as possible: skip foreign characters and drop an incomplete end.

    Valid input, which is nearly all, is decoded here; from the first irregularity on the standard library takes over.

    >>> base64_bytes(b"SGVsbG8"), base64_bytes(b"SGVs!bG8=x")
    (b'Hello', b'Hello')
    """
    cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef Py_ssize_t length = PyBytes_GET_SIZE(data), i = 0, n = 0
    cdef bytes decoded = PyBytes_FromStringAndSize(NULL, length // 4 * 3)
    cdef uint8_t* out = <uint8_t*> PyBytes_AS_STRING(decoded)
    cdef uint32_t a, b, c, d
    while True:
        while i < length and (text[i] == 10 or text[i] == 13):
            i += 1
        if i + 4 > length:
            break
        a, b, c, d = DIGIT[text[i]], DIGIT[text[i + 1]], DIGIT[text[i + 2]], DIGIT[text[i + 3]]
        if (a | b | c | d) & NO_DIGIT:
            break
        a = a << 18 | b << 12 | c << 6 | d
        out[n] = <uint8_t> (a >> 16)
        out[n + 1] = <uint8_t> (a >> 8)
        out[n + 2] = <uint8_t> a
        n += 3
        i += 4
    try:
        return decoded[:n] + binascii.a2b_base64(data[i:])
    except binascii.Error:
        kept = data.translate(None, FOREIGN)
        kept = kept[: len(kept) - (len(kept) % 4 == 1)]
        return binascii.a2b_base64(kept + b"=" * (3 - (len(kept) + 3) % 4))
