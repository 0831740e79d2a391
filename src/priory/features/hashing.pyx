# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""From text to bucket numbers: the words, tags and n-grams of a message, hashed while it is scanned.

All that is done once per byte of a message is here. Nothing allocates Python objects inside a loop, and the loops run
without the GIL. Texts are UTF-8.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    SEPARATOR = 0
    LETTER = 1
    JOINER = 2
    UNSEGMENTED = 3
    LONGEST_WORD = 40

cdef uint64_t FNV_OFFSET = 0xCBF29CE484222325
cdef uint64_t FNV_PRIME = 0x100000001B3

cdef uint8_t[128] ASCII_CLASS
for _byte in range(128):
    ASCII_CLASS[_byte] = SEPARATOR
for _byte in bytearray(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$"):
    ASCII_CLASS[_byte] = LETTER
for _byte in bytearray(b"'.@-_"):
    ASCII_CLASS[_byte] = JOINER


cdef inline uint64_t mixed(uint64_t h) noexcept nogil:
    """Every bit of the answer depends on every bit of `h` (the finaliser of splitmix64)."""
    h = (h ^ (h >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    h = (h ^ (h >> 27)) * <uint64_t> 0x94D049BB133111EB
    return h ^ (h >> 31)


cdef inline uint64_t fnv(uint64_t h, const uint8_t* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(start, end):
        h = (h ^ text[i]) * FNV_PRIME
    return h


def value_buckets(list values, uint64_t seed, int bits):
    """Return the buckets of readable values (UTF-8), in the kind whose seed this is."""
    cdef uint32_t[::1] buckets = np.empty(len(values), np.uint32)
    cdef Py_ssize_t i
    cdef bytes value
    for i in range(buckets.shape[0]):
        value = values[i]
        buckets[i] = <uint32_t> (mixed(fnv(FNV_OFFSET, <const uint8_t*> value, 0, len(value)) ^ seed) >> (64 - bits))
    return np.asarray(buckets)


def kind_seed(bytes name):
    """Return the seed that keeps the buckets of one kind apart from those of the others."""
    cdef const uint8_t* text = name
    return mixed(fnv(FNV_OFFSET, text, 0, len(name)))


def grams(const uint8_t[::1] text, int n, int every, uint64_t seed, int bits):
    """Return buckets and starts of the byte n-grams (n ≤ 8), of which one in `every` is kept, chosen by its hash."""
    if not (1 <= n <= 8 and every >= 1):
        raise ValueError(f"no n-grams of {n} bytes, one in {every}")
    cdef Py_ssize_t length = text.shape[0], i, found = 0
    cdef Py_ssize_t most = length - n + 1 if length >= n else 0
    cdef uint32_t[::1] buckets = np.empty(most, np.uint32)
    cdef int32_t[::1] starts = np.empty(most, np.int32)
    cdef uint64_t window = 0, h
    cdef uint64_t mask = <uint64_t> 0xFFFFFFFFFFFFFFFF >> (64 - 8 * n)
    with nogil:
        for i in range(length):
            window = ((window << 8) | text[i]) & mask
            if i < n - 1:
                continue
            h = mixed(window ^ seed)
            if (h & 0xFFFF) % every:
                continue
            buckets[found] = <uint32_t> (h >> (64 - bits))
            starts[found] = <int32_t> (i - n + 1)
            found += 1
    return np.asarray(buckets)[:found], np.asarray(starts)[:found]


cdef inline int symbol(const uint8_t* text, Py_ssize_t i, Py_ssize_t length, int* size) noexcept nogil:
    """Class of the UTF-8 character at `i`, and its size; broken UTF-8 cannot occur (Python encoded the text)."""
    cdef uint32_t c = text[i]
    if c < 0x80:
        size[0] = 1
        return ASCII_CLASS[c]
    if c < 0xE0:
        size[0] = 2
        c = (c & 0x1F) << 6
    elif c < 0xF0:
        size[0] = 3
        c = (c & 0x0F) << 12
    else:
        size[0] = 4
        c = (c & 0x07) << 18
    if i + size[0] > length:
        size[0] = <int> (length - i)
        return SEPARATOR
    if size[0] == 2:
        c |= text[i + 1] & 0x3F
    elif size[0] == 3:
        c |= ((text[i + 1] & 0x3F) << 6) | (text[i + 2] & 0x3F)
    else:
        c |= ((text[i + 1] & 0x3F) << 12) | ((text[i + 2] & 0x3F) << 6) | (text[i + 3] & 0x3F)
    return script(c)


cdef inline int script(uint32_t c) noexcept nogil:
    """Separator, letter, or a character of a script (or an emoji) that is written without spaces between words."""
    if c < 0xC0 or 0x2000 <= c <= 0x206F or 0x3000 <= c <= 0x3004 or 0x3008 <= c <= 0x303F:
        return SEPARATOR
    if 0xFF00 <= c <= 0xFF0F or 0xFF1A <= c <= 0xFF20 or c == 0xFFFD:
        return SEPARATOR
    if 0x0E00 <= c <= 0x0EFF or 0x1000 <= c <= 0x109F or 0x1780 <= c <= 0x17FF:
        return UNSEGMENTED
    if 0x2190 <= c <= 0x2BFF or 0x2E80 <= c <= 0x9FFF or 0xF900 <= c <= 0xFAFF or c >= 0x1F000:
        return UNSEGMENTED
    return LETTER


cdef class Tokens:
    """The words of a text: hash, span and line of each.

    A word is a run of letters, digits and `$`, joined by single `'.@-_` inside it, 2 to 40 bytes long. Scripts
    without spaces between words (Chinese, Japanese, Thai …) give overlapping pairs of characters instead.
    """

    cdef readonly object hashes, starts, ends, lines
    cdef uint64_t[::1] _hashes
    cdef int32_t[::1] _starts, _ends, _lines
    cdef Py_ssize_t found

    def __init__(self, const uint8_t[::1] folded, bint tagged):
        cdef Py_ssize_t most = folded.shape[0] // 2 + 2  # no token is shorter than two bytes
        self._hashes = np.empty(most, np.uint64)
        self._starts, self._ends, self._lines = np.empty((3, most), np.int32)
        self.found = 0
        if folded.shape[0]:
            with nogil:
                self.scan(&folded[0], folded.shape[0], tagged)
        self.hashes = np.asarray(self._hashes)[: self.found]
        self.starts = np.asarray(self._starts)[: self.found]
        self.ends = np.asarray(self._ends)[: self.found]
        self.lines = np.asarray(self._lines)[: self.found]

    cdef void put(self, const uint8_t* text, uint64_t tag, Py_ssize_t start, Py_ssize_t end, int line) noexcept nogil:
        self._hashes[self.found] = fnv(tag, text, start, end)
        self._starts[self.found] = <int32_t> start
        self._ends[self.found] = <int32_t> end
        self._lines[self.found] = line
        self.found += 1

    cdef Py_ssize_t header_name(self, const uint8_t* text, Py_ssize_t length, Py_ssize_t i, int line) noexcept nogil:
        """Put the header's name as a token of its own; return where its value begins."""
        cdef Py_ssize_t colon = i
        while colon < length and text[colon] != 58 and text[colon] != 10:
            colon += 1
        if colon > i:
            self.put(text, FNV_OFFSET, i, colon, -line)
        return colon

    cdef void scan(self, const uint8_t* text, Py_ssize_t length, bint tagged) noexcept nogil:
        cdef Py_ssize_t i = 0, start = -1, end = -1, previous = -1
        cdef int size = 1, kind, line = 0
        cdef bint alone = False, joined = False
        cdef uint64_t tag = FNV_OFFSET
        while i <= length:
            kind = symbol(text, i, length, &size) if i < length else SEPARATOR
            if kind == LETTER:
                if start < 0:
                    start = i
                end = i + size
                joined = False
            elif kind == JOINER and start >= 0 and not joined:
                joined = True
            elif start >= 0:
                if 2 <= end - start <= LONGEST_WORD:
                    self.put(text, tag, start, end, line)
                start = -1
                joined = False
            if kind == UNSEGMENTED:
                if previous >= 0:
                    self.put(text, tag, previous, i + size, line)
                alone = previous < 0
                previous = i
            elif previous >= 0:
                if alone:
                    self.put(text, tag, previous, i, line)
                previous = -1
            if tagged and i < length and (i == 0 or text[i - 1] == 10) and text[i] > 32:
                start = -1
                line += 1
                end = i
                i = self.header_name(text, length, i, line)
                tag = (fnv(FNV_OFFSET, text, end, i) ^ 61) * FNV_PRIME
                size = 1
                if i < length and text[i] == 10:
                    continue
            i += size

    def runs(self, int n, uint64_t seed, int bits):
        """Return buckets, starts and ends of the runs of `n` consecutive words of one line."""
        if n < 1:
            raise ValueError(f"no runs of {n} words")
        cdef Py_ssize_t most = max(self.found - n + 1, 0), i, found = 0
        cdef int j
        cdef uint64_t h
        cdef uint32_t[::1] buckets = np.empty(most, np.uint32)
        cdef int32_t[:, ::1] spans = np.empty((2, most), np.int32)
        with nogil:
            for i in range(most):
                if self._lines[i] != self._lines[i + n - 1]:
                    continue
                h = self._hashes[i]
                for j in range(1, n):
                    h = (mixed(h) ^ self._hashes[i + j]) * FNV_PRIME
                buckets[found] = <uint32_t> (mixed(h ^ seed) >> (64 - bits))
                spans[0, found] = self._starts[i]
                spans[1, found] = self._ends[i + n - 1]
                found += 1
        return np.asarray(buckets)[:found], np.asarray(spans[0])[:found], np.asarray(spans[1])[:found]


def tags(bytes skeleton, uint64_t seed, int bits):
    """Return buckets, starts and ends of the tags of a skeleton (`<p><b class=x>`), then of each two in a row.

    A pair is known by the two names alone, a single tag by all that stands in it.
    """
    cdef const uint8_t* text = skeleton
    cdef Py_ssize_t length = len(skeleton), i = 0, end, name, found = 0, most = len(skeleton) // 3 + 1
    cdef uint64_t previous = 0, named
    cdef uint32_t[:, ::1] buckets = np.empty((2, most), np.uint32)
    cdef int32_t[:, ::1] spans = np.empty((2, most), np.int32)
    with nogil:
        while i < length:
            if text[i] != 60:
                i += 1
                continue
            end = i + 1
            while end < length and text[end] != 62:
                end += 1
            name = i + 1
            while name < end and text[name] > 32:
                name += 1
            if end == length or name == i + 1:
                i += 1
                continue
            named = mixed(fnv(FNV_OFFSET, text, i + 1, name))
            buckets[0, found] = <uint32_t> (mixed(fnv(FNV_OFFSET, text, i, end + 1) ^ seed) >> (64 - bits))
            buckets[1, found] = <uint32_t> (mixed(((previous ^ named) * FNV_PRIME + named) ^ seed) >> (64 - bits))
            spans[0, found] = <int32_t> i
            spans[1, found] = <int32_t> end + 1
            previous = named
            found += 1
            i = end + 1
    every, starts, ends = np.asarray(buckets), np.asarray(spans[0]), np.asarray(spans[1])
    last = max(found - 1, 0)
    return (
        np.concatenate((every[0, :found], every[1, 1 : last + 1])),
        np.concatenate((starts[:found], starts[:last])),
        np.concatenate((ends[:found], ends[1 : last + 1])),
    )


def keyed(list arrays, list kinds, int bits):
    """Return all buckets in one array, each with its kind in the bits above it."""
    cdef Py_ssize_t total = 0, at = 0, j
    for each in arrays:
        total += len(each)
    cdef uint32_t[::1] out = np.empty(total, np.uint32)
    cdef const uint32_t[::1] buckets
    cdef uint32_t kind
    for each, number in zip(arrays, kinds, strict=True):
        buckets = each
        kind = <uint32_t> number << bits
        for j in range(buckets.shape[0]):
            out[at] = buckets[j] | kind
            at += 1
    return np.asarray(out)


def distinct(const uint32_t[::1] keys, Py_ssize_t kinds, int bits):
    """Return the buckets of sorted keys, each once per kind, and where each kind begins."""
    cdef Py_ssize_t i, found = 0
    cdef uint32_t kind = 0, mask = (<uint32_t> 1 << bits) - 1
    cdef bint fits = True
    cdef uint32_t[::1] buckets = np.empty(keys.shape[0], np.uint32)
    cdef int64_t[::1] offsets = np.zeros(kinds + 1, np.int64)
    with nogil:
        for i in range(keys.shape[0]):
            if i and keys[i] == keys[i - 1]:
                continue
            if keys[i] >> bits >= kinds:
                fits = False
                break
            while kind < keys[i] >> bits:
                kind += 1
                offsets[kind] = found
            buckets[found] = keys[i] & mask
            found += 1
        while kind < kinds:
            kind += 1
            offsets[kind] = found
    if not fits:
        raise IndexError(f"a key's kind is not one of {kinds}")
    return np.asarray(buckets)[:found], np.asarray(offsets)


def squeeze(bytes text):
    """Return the text with every run of white space as one character: a new line if it has one, else a space."""
    cdef const uint8_t* old = text
    cdef Py_ssize_t length = len(text), i, n = 0
    cdef uint8_t c
    cdef uint8_t[::1] out = np.empty(length, np.uint8)
    with nogil:
        for i in range(length):
            c = old[i]
            if c > 32:
                out[n] = c
                n += 1
            elif n and out[n - 1] <= 32:
                if c == 10:
                    out[n - 1] = 10
            else:
                out[n] = 10 if c == 10 else 32
                n += 1
    return np.asarray(out)[:n].tobytes()
