# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled kernel: what is done once per byte or once per feature, and nothing else.

Hash the words and n-grams of a text to buckets, sort them, add them to the table of counts, read the terms of a score
from it, pack a vector of buckets for the journal. The table is bucket-major (`counts[bucket, label]`), so that a
feature costs one cache miss and not one per label. Nothing here allocates Python objects inside a loop, and the loops
run without the GIL.
"""

import numpy as np

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

Buckets = Positions = np.ndarray  # names for annotations: kernels.pyi says of what

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define priory_fetch(place) __builtin_prefetch(place)
    #else
    #define priory_fetch(place) ((void) (place))
    #endif
    """
    void fetch "priory_fetch" (const void* place) noexcept nogil

cdef enum:
    AHEAD = 16  # buckets lie anywhere in a large table: ask the memory for one while others are worked on
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


cdef int fit_table(const uint32_t[:, ::1] counts, const uint32_t[::1] buckets, Py_ssize_t label) except -1:
    """Raise if some bucket or the label lies outside of the table: no loop below looks again."""
    cdef Py_ssize_t i
    cdef uint32_t largest = 0
    for i in range(buckets.shape[0]):
        largest = max(largest, buckets[i])
    if buckets.shape[0] and largest >= counts.shape[0] or not 0 <= label < counts.shape[1]:
        raise IndexError(f"bucket {largest} or label {label} is not in a table of {counts.shape[0]} × {counts.shape[1]}")
    return 0


cdef int fit_groups(const int64_t[::1] offsets, Py_ssize_t groups, Py_ssize_t n) except -1:
    """Raise unless the offsets divide `n` buckets into so many groups."""
    cdef Py_ssize_t i
    cdef bint whole = groups >= 0 and offsets.shape[0] == groups + 1 and offsets[0] == 0 and offsets[groups] == n
    for i in range(groups if whole else 0):
        whole = whole and offsets[i] <= offsets[i + 1]
    if not whole:
        raise IndexError(f"{offsets.shape[0]} offsets do not divide {n} buckets into {groups} groups")
    return 0


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


def add(uint32_t[:, ::1] counts, const uint32_t[::1] buckets, int label):
    """Count the presence of each bucket once more under the label."""
    cdef Py_ssize_t i
    fit_table(counts, buckets, label)
    with nogil:
        for i in range(buckets.shape[0]):
            counts[buckets[i], label] += 1


def subtract(uint32_t[:, ::1] counts, const uint32_t[::1] buckets, int label):
    """Take back one `add`; if some bucket was never counted, change nothing and raise ValueError."""
    cdef Py_ssize_t i, n = buckets.shape[0], taken = 0, missing = 0
    fit_table(counts, buckets, label)
    with nogil:
        while taken < n and counts[buckets[taken], label] > 0:
            counts[buckets[taken], label] -= 1
            taken += 1
        if taken < n:
            for i in range(taken):
                counts[buckets[i], label] += 1
            for i in range(n):
                missing += counts[buckets[i], label] == 0
    if taken < n:
        raise ValueError(f"{max(missing, 1)} of {n} features were never counted")


def terms(
    const uint32_t[:, ::1] counts,
    const uint32_t[::1] buckets,
    const int64_t[::1] offsets,
    const double[::1] scales,
    const double[::1] log_table,
    double smoothing,
    int label,
    double shift,
):
    """Return scale · (log((c + β) / (r + β)) + shift) for each bucket: c counts the label, r all others together.

    A bucket that was never counted says nothing: its term is 0.

    Group i has the buckets `buckets[offsets[i]:offsets[i + 1]]` and the scale `scales[i]`. `log_table[c]` is
    log(c + β); larger counts are computed.
    """
    cdef Py_ssize_t known = log_table.shape[0], labels = counts.shape[1], group, i, k
    cdef uint64_t own, rest
    cdef double[::1] out = np.empty(buckets.shape[0])
    fit_table(counts, buckets, label)
    fit_groups(offsets, scales.shape[0], buckets.shape[0])
    with nogil:
        for group in range(scales.shape[0]):
            for i in range(offsets[group], offsets[group + 1]):
                if i + AHEAD < buckets.shape[0]:
                    fetch(&counts[buckets[i + AHEAD], 0])
                own = counts[buckets[i], label]
                rest = 0
                for k in range(labels):
                    rest += counts[buckets[i], k]
                if rest == 0:
                    out[i] = 0
                    continue
                rest -= own
                out[i] = scales[group] * (
                    (log_table[own] if own < <uint64_t> known else log(own + smoothing))
                    - (log_table[rest] if rest < <uint64_t> known else log(rest + smoothing))
                    + shift
                )
    return np.asarray(out)


cdef inline int rice_parameter(Py_ssize_t n, int bits) noexcept nogil:
    """Bits of a gap that are written as they are: gaps of n random buckets are geometric with mean 2^bits / n."""
    cdef int k = 0
    cdef Py_ssize_t mean = (<Py_ssize_t> 1 << bits) * 7 // (10 * (n + 1))
    while mean > 1 and k < bits:
        mean >>= 1
        k += 1
    return k


cdef struct Writer:
    uint8_t* out
    Py_ssize_t at
    uint64_t pending
    int held


cdef inline void write(Writer* w, uint64_t value, int n) noexcept nogil:
    """Append `n` ≤ 32 bits, the lowest first."""
    w.pending |= value << w.held
    w.held += n
    while w.held >= 8:
        w.out[w.at] = <uint8_t> w.pending
        w.at += 1
        w.pending >>= 8
        w.held -= 8


def pack(const uint32_t[::1] buckets, const int64_t[::1] offsets, int bits):
    """Return a vector of features as bytes: for each kind how many, then the gaps between its buckets in Rice's code.

    Kind i has the sorted distinct buckets `buckets[offsets[i]:offsets[i + 1]]`.
    """
    cdef Py_ssize_t kinds = offsets.shape[0] - 1, kind, n, i
    cdef int k
    cdef uint32_t gap, last, ones
    fit_groups(offsets, kinds, buckets.shape[0])
    for kind in range(kinds):
        for i in range(offsets[kind], offsets[kind + 1]):
            if buckets[i] >> bits or i > offsets[kind] and buckets[i] <= buckets[i - 1]:
                raise ValueError("buckets to be packed must be distinct, in order, and within the table")
    # A gap takes k + 1 bits and one more for each 2^k it spans; all gaps of a kind together span at most 2^bits.
    cdef Py_ssize_t most = 16 + 4 * kinds
    for kind in range(kinds):
        n = offsets[kind + 1] - offsets[kind]
        k = rice_parameter(n, bits)
        most += (n * (k + 1) + (((<Py_ssize_t> 1 << bits) >> k) if n else 0)) // 8 + 1
    cdef uint8_t[::1] out = np.empty(most, np.uint8)
    cdef Writer w = Writer(&out[0], 0, 0, 0)
    with nogil:
        write(&w, <uint64_t> kinds, 8)
        for kind in range(kinds):
            n = offsets[kind + 1] - offsets[kind]
            k = rice_parameter(n, bits)
            write(&w, <uint64_t> n, 32)
            last = 0
            for i in range(offsets[kind], offsets[kind + 1]):
                gap = buckets[i] - last
                last = buckets[i]
                ones = gap >> k
                while ones >= 16:
                    write(&w, 0xFFFF, 16)
                    ones -= 16
                write(&w, (<uint64_t> 1 << ones) - 1, <int> ones + 1)
                write(&w, gap & ((<uint64_t> 1 << k) - 1), k)
        write(&w, 0, 7)
    return np.asarray(out)[: w.at].tobytes()


cdef struct Reader:
    const uint8_t* data
    Py_ssize_t at
    Py_ssize_t end


cdef inline uint64_t read(Reader* r, int n) noexcept nogil:
    """Take the next `n` ≤ 32 bits; beyond the end they are zero, and `at` tells."""
    cdef uint64_t value = 0
    cdef Py_ssize_t byte = r.at >> 3, last = min((r.at + n + 7) >> 3, r.end >> 3)
    cdef int shift = -<int> (r.at & 7)
    while byte < last:
        value |= (<uint64_t> r.data[byte] << shift) if shift >= 0 else (<uint64_t> r.data[byte] >> -shift)
        shift += 8
        byte += 1
    r.at += n
    return value & ((<uint64_t> 1 << n) - 1)


cdef inline uint64_t read_ones(Reader* r) noexcept nogil:
    """Take ones up to the zero that ends them, and the zero."""
    cdef uint64_t n = 0
    while r.at < r.end and r.data[r.at >> 3] >> (r.at & 7) & 1:
        n += 1
        r.at += 1
    r.at += 1
    return n


def unpack(const uint8_t[::1] packed, Py_ssize_t most_kinds, int bits):
    """Return the buckets and offsets that `pack` wrote; bytes that cannot be that raise ValueError."""
    if packed.shape[0] == 0:
        raise ValueError("packed features are damaged")
    cdef Reader r = Reader(&packed[0], 0, packed.shape[0] * 8)
    cdef Py_ssize_t kinds = <Py_ssize_t> read(&r, 8), kind, n, i, found = 0
    cdef uint64_t bucket, gap
    cdef int k
    cdef bint whole = kinds <= most_kinds
    cdef uint32_t[::1] buckets = np.empty(min(packed.shape[0] * 8, most_kinds << bits), np.uint32)
    cdef int64_t[::1] offsets = np.zeros(most_kinds + 1, np.int64)
    with nogil:
        for kind in range(kinds if whole else 0):
            n = <Py_ssize_t> read(&r, 32)
            k = rice_parameter(n, bits)
            bucket = 0
            for i in range(n):
                gap = read_ones(&r) << k
                gap += read(&r, k)
                bucket += gap
                if r.at > r.end or bucket >> bits or (gap == 0 and i > 0):
                    whole = False
                    break
                buckets[found] = <uint32_t> bucket
                found += 1
            if not whole:
                break
            offsets[kind + 1] = found
        for kind in range(kinds if whole else 0, most_kinds):
            offsets[kind + 1] = found
    if not whole or not 0 <= r.end - r.at < 8 or read(&r, <int> (r.end - r.at)):
        raise ValueError("packed features are damaged")
    return np.asarray(buckets)[:found].copy(), np.asarray(offsets)
