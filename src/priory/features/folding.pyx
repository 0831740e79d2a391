# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, allow_none_for_extension_args=False
"""Normalises text before features are extracted: collapses white space and folds case. All text is UTF-8.

Most text is ASCII and is read eight bytes at a time.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "Python.h":
    uint32_t Py_UNICODE_TOLOWER(uint32_t c)

cdef extern from *:
    """
    #define PRIORY_EACH 0x0101010101010101ull
    #if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define priory_first_lowest(word) __builtin_bswap64(word)
    #else
    #define priory_first_lowest(word) (word)
    #endif
    """
    const uint64_t EACH "PRIORY_EACH"  # times a byte: eight of them
    uint64_t first_lowest "priory_first_lowest" (uint64_t word) noexcept nogil

cdef enum:
    SIGMA = 0x3A3  # has another lower case at the end of a word


cdef inline uint64_t eight(const uint8_t* text) noexcept nogil:
    """Return eight bytes as a little-endian number."""
    cdef uint64_t word
    memcpy(&word, text, 8)
    return first_lowest(word)


cdef inline void put_eight(uint8_t* text, uint64_t word) noexcept nogil:
    word = first_lowest(word)
    memcpy(text, &word, 8)


def squeeze(bytes text, Py_ssize_t most):
    """Replace every run of white space by a newline if it contains one, else by a space; return at most `most` bytes.

    >>> squeeze(b"now  or \\n never", 12)
    b'now or\\nnever'
    """
    cdef const uint8_t* old = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t length = PyBytes_GET_SIZE(text), room = max(min(length, most), 0), i = 0, n = 0
    cdef bytes squeezed = PyBytes_FromStringAndSize(NULL, room)
    cdef uint8_t* out = <uint8_t*> PyBytes_AS_STRING(squeezed)
    cdef uint64_t word, spaces, after_space = 0
    while i < length:
        if i + 8 <= length and n + 8 <= room:
            word = eight(old + i)
            spaces = ~((word & EACH * 127) + EACH * (127 - 32) | word) & EACH * 128  # bytes up to 32
            if not spaces & (spaces << 8 | after_space):
                put_eight(out + n, _with_spaces(word, spaces))
                i += 8
                n += 8
                after_space = spaces >> 56
                continue
        if old[i] > 32 or not after_space:
            if n == room:
                break
            out[n] = old[i] if old[i] > 32 or old[i] == 10 else 32
            n += 1
            after_space = 128 if old[i] <= 32 else 0
        elif old[i] == 10:
            out[n - 1] = 10
        i += 1
    return squeezed if n == room else squeezed[:n]


cdef inline uint64_t _with_spaces(uint64_t word, uint64_t spaces) noexcept nogil:
    """Replace each marked byte that is not a newline by a space."""
    cdef uint64_t others = word ^ EACH * 10
    others = ((others & EACH * 127) + EACH * 127 | others) & spaces
    cdef uint64_t whole = (others >> 7) * 255
    return word & ~whole | EACH * 32 & whole


cdef bytes folded(bytes text):
    """Return the text in lower case; None if a character prevents that.

    That is a sigma, a character whose lower case has another length, or one that is cut at the end of the text.
    """
    cdef const uint8_t* old = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t length = PyBytes_GET_SIZE(text), i = 0, size
    cdef bytes lower = PyBytes_FromStringAndSize(NULL, length)
    cdef uint8_t* new = <uint8_t*> PyBytes_AS_STRING(lower)
    cdef uint64_t word, capitals
    while i < length:
        if i + 8 <= length:
            word = eight(old + i)
            if not word & EACH * 128:
                capitals = (word + EACH * (128 - 65) ^ word + EACH * (128 - 91)) & EACH * 128  # A is 65, Z is 90
                put_eight(new + i, word | capitals >> 2)
                i += 8
                continue
        if old[i] < 0x80:
            new[i] = old[i] | 32 if 65 <= old[i] <= 90 else old[i]
            i += 1
        else:
            size = 2 if old[i] < 0xE0 else 3 if old[i] < 0xF0 else 4
            if i + size > length or not _fold_beyond_ascii(old + i, new + i):
                return None
            i += size
    return lower


cdef inline bint _fold_beyond_ascii(const uint8_t* old, uint8_t* new) noexcept:
    """Write the lower case of a character; return False if it has another size."""
    cdef uint32_t c, small
    if old[0] < 0xE0:
        c = (old[0] & 0x1F) << 6 | old[1] & 0x3F
        small = Py_UNICODE_TOLOWER(c)
        if c == SIGMA or small != c and not 0x80 <= small < 0x800:
            return False
        new[0] = 0xC0 | small >> 6
        new[1] = 0x80 | small & 0x3F
        return True
    if old[0] < 0xF0:
        c = (old[0] & 0x0F) << 12 | (old[1] & 0x3F) << 6 | old[2] & 0x3F
        small = Py_UNICODE_TOLOWER(c)
        if small != c and not 0x800 <= small < 0x10000:
            return False
        new[0] = 0xE0 | small >> 12
        new[1] = 0x80 | small >> 6 & 0x3F
        new[2] = 0x80 | small & 0x3F
        return True
    c = (old[0] & 0x07) << 18 | (old[1] & 0x3F) << 12 | (old[2] & 0x3F) << 6 | old[3] & 0x3F
    if Py_UNICODE_TOLOWER(c) != c:
        return False
    memcpy(new, old, 4)
    return True
