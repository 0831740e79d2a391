# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""Hashes the words, tags and n-grams of a message to bucket numbers while scanning it.

All work per byte of a message happens here. No loop allocates Python objects. All text is UTF-8.
"""

from cpython.array cimport array, clone, resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from priory.native.buckets cimport IS_TIGHT, fit_bits, is_in, is_tight, name_bits

cdef enum:
    SEPARATOR = 0
    LETTER = 1
    JOINER = 2
    UNSEGMENTED = 3
    BEYOND = 4  # not ASCII: the class depends on the whole character
    LONGEST_WORD = 40
    MOST_LABELS = 6

cdef uint64_t FNV_OFFSET = 0xCBF29CE484222325
cdef uint64_t FNV_PRIME = 0x100000001B3

cdef array BUCKETS = array("I")
cdef array OFFSETS = array("q")
cdef array PLACES = array("i")

cdef uint8_t[256] ASCII_CLASS
for _byte in range(256):
    ASCII_CLASS[_byte] = SEPARATOR if _byte < 128 else BEYOND
for _byte in bytearray(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$"):
    ASCII_CLASS[_byte] = LETTER
for _byte in bytearray(b"'.@-_"):
    ASCII_CLASS[_byte] = JOINER


cdef inline uint64_t mixed(uint64_t h) noexcept nogil:
    """Mix a hash so that every bit depends on every bit of `h` (the finaliser of splitmix64)."""
    h = (h ^ (h >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    h = (h ^ (h >> 27)) * <uint64_t> 0x94D049BB133111EB
    return h ^ (h >> 31)


cdef inline uint64_t fnv(uint64_t h, const uint8_t* text, Py_ssize_t length) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(length):
        h = (h ^ text[i]) * FNV_PRIME
    return h


def kind_seed(bytes name):
    """Return the seed that separates the buckets of one kind from those of the others."""
    return mixed(fnv(FNV_OFFSET, <const uint8_t*> PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name)))


cdef inline int symbol(const uint8_t* text, Py_ssize_t i, Py_ssize_t length, int* size) noexcept nogil:
    """Return the class of the non-ASCII character at `i` and set its size. Python encoded the text: it is valid UTF-8."""
    cdef uint32_t c = text[i]
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
    """Return SEPARATOR, LETTER, or UNSEGMENTED for emoji and scripts without spaces between words."""
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
    """The words of a text, each with its hash, span and line.

    A word is a run of letters, digits and `$`, joined by single `'.@-_` inside it, 2 to 40 bytes long. Scripts without
    spaces between words (Chinese, Japanese, Thai …) give overlapping pairs of characters instead. In tagged text (the
    headers) each line that does not begin with white space begins with a name. The name is a token itself and part of
    the hash of every word up to the next name.
    """

    def __cinit__(self, bytes folded, bint tagged):
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(folded)
        cdef Py_ssize_t length = PyBytes_GET_SIZE(folded)
        self.token = <Token*> PyMem_Malloc((length // 2 + 2) * sizeof(Token))  # no token is shorter than two bytes
        if self.token == NULL:
            raise MemoryError
        self.found = 0
        with nogil:
            self._scan(text, length, tagged)

    def __dealloc__(self):
        PyMem_Free(self.token)

    def spans(self):
        """Return the start and end of each token."""
        return [(self.token[i].start, self.token[i].end) for i in range(self.found)]

    def run(self, Py_ssize_t start, Py_ssize_t n):
        """Return the start and end of the first `n` tokens that begin at `start` or later."""
        cdef Py_ssize_t low = 0, high = self.found, middle
        while low < high:
            middle = (low + high) // 2
            if self.token[middle].start < start:
                low = middle + 1
            else:
                high = middle
        return [(self.token[i].start, self.token[i].end) for i in range(low, low + min(n, self.found - low))]

    cdef void _put(self, uint64_t h, Py_ssize_t start, Py_ssize_t end, int line) noexcept nogil:
        self.token[self.found] = Token(h, <int32_t> start, <int32_t> end, line)
        self.found += 1

    cdef void _scan(self, const uint8_t* text, Py_ssize_t length, bint tagged) noexcept nogil:
        cdef Py_ssize_t i = 0, start = -1, end = 0, previous = -1, previous_end = 0
        cdef int size, kind, line = 0, k
        cdef bint alone = False, joined = False, fresh = tagged
        cdef uint64_t tag = FNV_OFFSET, h = 0, at_end = 0
        while i < length:
            if fresh:
                fresh = False
                if text[i] > 32:
                    end = i
                    while i < length and text[i] != 58 and text[i] != 10:
                        i += 1
                    line += 1
                    h = fnv(FNV_OFFSET, text + end, i - end)
                    if i > end:
                        self._put(h, end, i, -line)
                    tag = (h ^ 61) * FNV_PRIME
                    continue
            kind = ASCII_CLASS[text[i]]
            if kind == LETTER:
                if start < 0:
                    start = i
                    h = tag
                while kind == LETTER:  # beyond the end there is a zero
                    h = (h ^ text[i]) * FNV_PRIME
                    i += 1
                    kind = ASCII_CLASS[text[i]]
                end = i
                at_end = h
                joined = False
                if previous < 0:
                    continue
                size = 0
                kind = LETTER
            elif kind == BEYOND:
                kind = symbol(text, i, length, &size)
                if kind == LETTER:
                    if start < 0:
                        start = i
                        h = tag
                    for k in range(size):
                        h = (h ^ text[i + k]) * FNV_PRIME
                    end = i + size
                    at_end = h
                    joined = False
            else:
                size = 1
                fresh = tagged and text[i] == 10
            if kind == JOINER and start >= 0 and not joined:
                h = (h ^ text[i]) * FNV_PRIME
                joined = True
            elif kind != LETTER and start >= 0:
                if 2 <= end - start <= LONGEST_WORD:
                    self._put(at_end, start, end, line)
                start = -1
                joined = False
            if kind == UNSEGMENTED:
                if previous >= 0:
                    self._put(fnv(tag, text + previous, i + size - previous), previous, i + size, line)
                alone = previous < 0
                previous = i
                previous_end = i + size
            elif previous >= 0:
                if alone:
                    self._put(fnv(tag, text + previous, previous_end - previous), previous, previous_end, line)
                previous = -1
            i += size
        if 2 <= end - start <= LONGEST_WORD and start >= 0:
            self._put(at_end, start, end, line)
        if previous >= 0 and alone:
            self._put(fnv(tag, text + previous, previous_end - previous), previous, previous_end, line)


cdef class Keys:
    """The features found so far: keys with the kind in the high bits and the number below, optionally with positions.

    The number of a feature is the first bits of its hash: its bucket or, for the kinds in `named`, some more bits.
    Kinds come in order: call `begin` for each. With `located`, call `close` after the features of each section.
    """

    def __cinit__(self, int bits, bint located=False, uint32_t named=0xFFFFFFFF):
        fit_bits(bits)
        self.bits = bits
        self.named = named
        self.located = located
        self.keys = NULL
        self.starts = NULL
        self.ends = NULL
        self.room = 0
        self.begins[0] = 0
        self.restart()
        self.reserve(1 if IS_TIGHT else 4096)
        self._values = []
        self._found = []

    def __dealloc__(self):
        PyMem_Free(self.keys)
        PyMem_Free(self.starts)
        PyMem_Free(self.ends)

    cdef void restart(self) noexcept:
        self.n = self.closed = 0
        self.kind = self.number = 0
        self.own_bits = self.bits_of(0)

    cdef int reserve(self, Py_ssize_t n) except -1:
        """Make room for `n` more keys."""
        cdef Py_ssize_t wanted = self.n + n
        if wanted <= self.room:
            return 0
        if not is_tight(wanted):
            wanted = max(wanted, 2 * self.room)
        self.keys = <uint32_t*> _grown(self.keys, wanted)
        if self.located:
            self.starts = <int32_t*> _grown(self.starts, wanted)
            self.ends = <int32_t*> _grown(self.ends, wanted)
        self.room = wanted
        return 0

    cpdef int begin(self, uint32_t kind, uint64_t seed) except -1:
        """Start the features of a kind."""
        if kind >= MOST_KINDS:
            raise ValueError(f"there is no kind {kind}: kinds are numbered below {MOST_KINDS}")
        if kind < self.number:
            raise ValueError(f"kind {kind} cannot follow kind {self.number}: kinds come in order")
        cdef uint32_t i
        for i in range(self.number + 1, kind + 1):
            self.begins[i] = self.n
        self.own_bits = self.bits_of(kind)
        self.number = kind
        self.kind = kind << self.own_bits
        self.seed = seed
        return 0

    cdef int bits_of(self, uint32_t kind) noexcept:
        return name_bits(self.bits) if is_in(self.named, kind) else self.bits

    cdef int put_value(self, const uint8_t* value, Py_ssize_t length, Py_ssize_t start, Py_ssize_t end) except -1:
        self.reserve(1)
        if self.located:
            self._values.append(PyBytes_FromStringAndSize(<const char*> value, length))
        self.put(mixed(fnv(FNV_OFFSET, value, length) ^ self.seed), start, end)
        return 0

    cpdef int value(self, bytes value, Py_ssize_t start=0, Py_ssize_t end=0) except -1:
        """Add a feature by its value, for kinds whose values are not part of the text."""
        return self.put_value(<const uint8_t*> PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value), start, end)

    cpdef int domains(self, bytes host, Py_ssize_t start, Py_ssize_t end) except -1:
        """Add a host name and its parent domains of two to six labels; a host of one label is added itself."""
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(host)
        cdef Py_ssize_t length = PyBytes_GET_SIZE(host), i, at = 0
        cdef int labels = 1
        for i in range(length):
            labels += text[i] == 46
        cdef int left = labels
        while length:
            if left <= MOST_LABELS and (left > 1 or labels == 1):
                self.put_value(text + at, length - at, start, end)
            while at < length and text[at] != 46:
                at += 1
            at += 1
            left -= 1
            if left == 0:
                break
        return 0

    cpdef int runs(self, Tokens tokens, int n) except -1:
        """Add the runs of `n` consecutive words of one line."""
        if n < 1:
            raise ValueError(f"runs need at least one word, not {n}")
        cdef Py_ssize_t i, most = max(tokens.found - n + 1, 0)
        cdef const Token* token = tokens.token
        cdef int j
        cdef uint64_t h
        self.reserve(most)
        with nogil:
            for i in range(most):
                if token[i].line != token[i + n - 1].line:
                    continue
                h = token[i].hash
                for j in range(1, n):
                    h = (mixed(h) ^ token[i + j].hash) * FNV_PRIME
                self.put(mixed(h ^ self.seed), token[i].start, token[i + n - 1].end)
        return 0

    cpdef int grams(self, bytes text, Py_ssize_t most, int length, int every) except -1:
        """Add the byte n-grams (n ≤ 8) of the first `most` bytes; one in `every`, a power of two, chosen by its hash."""
        if not 1 <= length <= 8 or every < 1 or every & (every - 1):
            raise ValueError(f"n-grams have 1 to 8 bytes and one in a power of two is kept, not {length}, one in {every}")
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        cdef Py_ssize_t end = min(PyBytes_GET_SIZE(text), most), i
        cdef uint64_t window = 0, h, seed = self.seed
        cdef uint64_t mask = <uint64_t> 0xFFFFFFFFFFFFFFFF >> (64 - 8 * length), left_out = every - 1
        cdef uint32_t* keys
        cdef int32_t* starts
        cdef int32_t* ends
        cdef uint32_t kind = self.kind
        cdef int shift = 64 - self.own_bits
        cdef Py_ssize_t n
        self.reserve(max(end, 0))
        with nogil:
            for i in range(min(length - 1, end)):
                window = (window << 8) | data[i]
            keys, starts, ends, n = self.keys, self.starts, self.ends, self.n
            if self.located:
                for i in range(length - 1, end):
                    window = ((window << 8) | data[i]) & mask
                    h = mixed(window ^ seed)
                    keys[n] = kind | <uint32_t> (h >> shift)
                    starts[n] = <int32_t> (i - length + 1)
                    ends[n] = <int32_t> (i + 1)
                    n += (h & left_out) == 0
                self.n = n
            else:  # the same without positions: n-grams are most of the features of a message
                for i in range(length - 1, end):
                    window = ((window << 8) | data[i]) & mask
                    h = mixed(window ^ seed)
                    keys[n] = kind | <uint32_t> (h >> shift)
                    n += (h & left_out) == 0
                self.n = n
        return 0

    cpdef int tags(self, bytes skeleton, Py_ssize_t most) except -1:
        """Add the tags of a skeleton (`<p><b class=x>`), then each pair of adjacent tags.

        A single tag is hashed with its attributes, a pair by the two names alone.
        """
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(skeleton)
        cdef Py_ssize_t length = max(min(PyBytes_GET_SIZE(skeleton), most), 0), i = 0, end, name, n = 0, j
        cdef uint64_t named
        self.reserve(2 * (length // 3 + 1))
        cdef Token* tag = <Token*> PyMem_Malloc((length // 3 + 1) * sizeof(Token))
        if tag == NULL:
            raise MemoryError
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
                self.put(mixed(fnv(FNV_OFFSET, text + i, end + 1 - i) ^ self.seed), i, end + 1)
                tag[n] = Token(mixed(fnv(FNV_OFFSET, text + i + 1, name - i - 1)), <int32_t> i, <int32_t> end + 1, 0)
                n += 1
                i = end + 1
            for j in range(1, n):
                named = tag[j].hash
                self.put(
                    mixed(((tag[j - 1].hash ^ named) * FNV_PRIME + named) ^ self.seed), tag[j - 1].start, tag[j].end
                )
        PyMem_Free(tag)
        return 0

    def close(self, section, name=None):
        """Assign the features that were added since the last call to a section.

        `name` returns the name of the feature between two positions; without it, names are the values that were added.
        """
        cdef Py_ssize_t n = self.n - self.closed
        if not self.located:
            raise ValueError("features without positions have no sections")
        cdef array buckets = _filled(BUCKETS, n, self.keys + self.closed)
        cdef array starts = _filled(PLACES, n, self.starts + self.closed)
        cdef array ends = _filled(PLACES, n, self.ends + self.closed)
        cdef uint32_t* bucket = <uint32_t*> buckets.data.as_uints
        cdef uint32_t mask = (<uint32_t> 1 << self.own_bits) - 1
        cdef Py_ssize_t i
        for i in range(n):
            bucket[i] &= mask
        value = _cut_out(name, starts, ends) if name else _decoded(self._values)
        self._found.append((self.number, (section, buckets, starts, ends, value)))
        self._values = []
        self.closed = self.n

    def found(self):
        """Return each closed stretch as its kind and (section, buckets, starts, ends, value)."""
        return self._found

    def distinct(self, Py_ssize_t kinds):
        """Return the distinct numbers of each kind, sorted, and the offset at which each kind begins."""
        cdef Py_ssize_t first = 0, last, i, found = 0
        cdef int64_t[MOST_KINDS + 1] offsets
        if not 0 <= kinds <= MOST_KINDS:
            raise ValueError(f"there are 0 to {MOST_KINDS} kinds, not {kinds}")
        cdef uint32_t* room = <uint32_t*> _grown(NULL, self.room)
        cdef uint32_t* keys
        cdef array numbers = clone(BUCKETS, self.n, False)
        for i in range(<Py_ssize_t> self.number + 1, MOST_KINDS + 1):
            self.begins[i] = self.n
        offsets[0] = 0
        while first < kinds:  # kinds that follow each other and have numbers of the same size are sorted together
            last = first + 1
            while last < kinds and is_in(self.named, last) == is_in(self.named, first):
                last += 1
            keys = self.sorted_run(room, first, last)
            for i in range(first, last):
                found = without_repeats(keys, self.begins[i] - self.begins[first], self.begins[i + 1] - self.begins[first],
                                        (<uint32_t> 1 << self.bits_of(i)) - 1, numbers.data.as_uints, found)
                offsets[i + 1] = found
            first = last
        self.restart()
        PyMem_Free(room)
        resize(numbers, found)
        return numbers, _filled(OFFSETS, kinds + 1, offsets)

    cdef uint32_t* sorted_run(self, uint32_t* room, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Sort the keys of kinds from `first` to before `last`, which have numbers of one size; return where they are.

        A radix sort by the highest two digits of nine bits leaves few keys out of order, and an insertion sort mends
        those. Short numbers have their kind among the eighteen bits; long ones get a pass by kind.
        """
        cdef uint32_t* keys = self.keys + self.begins[first]
        cdef Py_ssize_t n = self.begins[last] - self.begins[first], i
        cdef int bits = self.bits_of(first), width = bits if is_in(self.named, first) else bits + 4
        cdef int low = max(width - 18, 0)
        cdef uint32_t[2][512] places
        cdef uint32_t[MOST_KINDS] of_kinds
        if n == 0:
            return keys
        count_digits(keys, n, low, places)
        by_digit(keys, room, n, low, 511, places[0])
        by_digit(room, keys, n, low + 9, 511, places[1])
        if width == bits and last - first > 1:
            for i in range(first, last):
                of_kinds[i] = <uint32_t> (self.begins[i] - self.begins[first])
            by_digit(keys, room, n, bits, MOST_KINDS - 1, of_kinds)
            keys = room
        insert_in_order(keys, n)
        return keys


cdef inline Py_ssize_t without_repeats(const uint32_t* keys, Py_ssize_t start, Py_ssize_t end, uint32_t mask,
                                       uint32_t* numbers, Py_ssize_t n) noexcept:
    """Append the numbers of sorted keys, each once; return how many numbers there are then."""
    cdef uint32_t last = 0xFFFFFFFF
    cdef Py_ssize_t i
    for i in range(start, end):
        numbers[n] = keys[i] & mask
        n += keys[i] != last
        last = keys[i]
    return n


cdef inline void count_digits(const uint32_t* keys, Py_ssize_t n, int low, uint32_t[512]* places) noexcept:
    """Write the place at which the keys with each value of a digit begin, for the two digits from bit `low` on."""
    cdef uint32_t begin, count
    cdef Py_ssize_t i
    cdef int digit
    memset(places, 0, 2 * sizeof(places[0]))
    for i in range(n):
        places[0][keys[i] >> low & 511] += 1
        places[1][keys[i] >> (low + 9) & 511] += 1
    for digit in range(2):
        begin = 0
        for i in range(512):
            count = places[digit][i]
            places[digit][i] = begin
            begin += count


cdef inline void insert_in_order(uint32_t* keys, Py_ssize_t n) noexcept:
    """Sort keys that are nearly in order."""
    cdef uint32_t key
    cdef Py_ssize_t i, k
    for i in range(1, n):
        key = keys[i]
        if key >= keys[i - 1]:
            continue
        k = i
        while k and keys[k - 1] > key:
            keys[k] = keys[k - 1]
            k -= 1
        keys[k] = key


cdef inline void by_digit(const uint32_t* old, uint32_t* new, Py_ssize_t n, int shift, uint32_t mask,
                          uint32_t* places) noexcept:
    """Do one stable pass of the radix sort: move each key to the place of its digit."""
    cdef uint32_t at, key
    cdef Py_ssize_t i
    for i in range(n):
        key = old[i]
        at = places[key >> shift & mask]
        places[key >> shift & mask] = at + 1
        new[at] = key


cdef array _filled(array like, Py_ssize_t n, const void* values):
    """Return an array of the first `n` values."""
    cdef array filled = clone(like, n, False)
    if n:
        memcpy(filled.data.as_chars, values, n * filled.ob_descr.itemsize)
    return filled


def _decoded(values):
    """Return a function that decodes value i."""
    return lambda i: values[i].decode("utf-8", "replace")


def _cut_out(name, starts, ends):
    """Return a function that names occurrence i."""
    return lambda i: name(starts[i], ends[i])


cdef void* _grown(void* room, Py_ssize_t n) except NULL:
    """Grow a buffer to `n` numbers of four bytes."""
    cdef void* more = PyMem_Realloc(room, n * 4)
    if more == NULL:
        raise MemoryError
    return more
