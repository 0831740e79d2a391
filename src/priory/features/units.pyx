# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""Splits the sections of a message into units that a person can see: words, lines and tags.

Every byte of a section belongs to exactly one unit, so whatever is spread over the bytes is complete when it is added
up by unit. The source of HTML mail repeats the visible text between its tags. Its words have the words of the visible
text as their home: they are compared in order, by their hashes.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp

from priory.features.hashing cimport Token, Tokens
from priory.features.sections cimport Section, words_of
from priory.native.buckets cimport is_tight

cdef enum:
    NEAR = 2  # visible words that may be missing from the source, for one word to be found again
    FAR = 60  # and for two words in a row
    LONGEST_TAG = 2048
    LONGEST_NAME = 200


cdef class Units:
    """The units of all sections, in order."""

    def __cinit__(self):
        self.unit = NULL
        self.n = self.room = 0

    def __dealloc__(self):
        PyMem_Free(self.unit)

    cdef int add(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t line, int section, int group) except -1:
        """Append a unit that is shown as a whole and is its own home."""
        cdef Unit* more
        cdef Unit* unit
        cdef Py_ssize_t room
        if self.n == self.room:
            room = self.n + 1 if is_tight(self.n + 1) else max(1024, 2 * self.room)
            more = <Unit*> PyMem_Realloc(self.unit, room * sizeof(Unit))
            if more == NULL:
                raise MemoryError
            self.unit = more
            self.room = room
        unit = &self.unit[self.n]
        unit.start = unit.first = <int32_t> start
        unit.end = unit.last = <int32_t> end
        unit.line = <int32_t> line
        unit.home = <int32_t> self.n
        unit.section = section
        unit.group = group
        unit.share = 0
        self.n += 1
        return 0

    cdef int whole_lines(self, Section section, int number, int group) except -1:
        """Add each line."""
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(section.shown)
        cdef Py_ssize_t length = PyBytes_GET_SIZE(section.shown), start = 0, end, line = 0
        while start < length:
            end = _line_end(text, start, length)
            self.add(start, end, line, number, group)
            self.unit[self.n - 1].last -= text[end - 1] == 10
            start = end
            line += 1
        return 0

    cdef int header_lines(self, Section section, int number, dict groups, int others) except -1:
        """Add each header field with the lines that continue it; `groups` has the group of a name in lower case."""
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(section.folded)
        cdef Py_ssize_t length = PyBytes_GET_SIZE(section.folded), start = 0, end, colon, line = 0
        while start < length:
            end = _line_end(text, start, length)
            while end < length and text[end] <= 32:
                end = _line_end(text, end, length)
            colon = start
            while colon < end and text[colon] != 58:
                colon += 1
            self.add(start, end, line, number, <int> groups.get((<const char*> text)[start:colon], others))
            self.unit[self.n - 1].last -= text[end - 1] == 10
            start = end
            line += 1
        return 0

    cdef int words(self, Section section, int number, int group) except -1:
        """Add each word, up to the next; what precedes the first word of a line belongs to that word."""
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(section.shown)
        cdef Py_ssize_t length = PyBytes_GET_SIZE(section.shown), k, i, cut, line = 0
        cdef Tokens tokens = words_of(section)
        cdef const Token* token = tokens.token
        cdef Unit* before
        if tokens.found == 0:
            return self.add(0, length, 0, number, group)
        for k in range(tokens.found):
            cut = 0
            if k:
                before = &self.unit[self.n - 1]
                cut = max(token[k].start, before.start)
                for i in range(token[k - 1].end, token[k].start):
                    if text[i] == 10:
                        cut = i + 1
                        line += 1
                before.end = <int32_t> cut
                before.last = min(before.last, before.end)
            self.add(cut, length, line, number, group)
            self.unit[self.n - 1].first = token[k].start
            self.unit[self.n - 1].last = token[k].end
        return 0

    cdef int tags(self, Section section, int number, int group) except -1:
        """Add each tag of a skeleton."""
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(section.shown)
        cdef Py_ssize_t length = PyBytes_GET_SIZE(section.shown), start = 0, end
        cdef const void* found
        while start < length:
            found = memchr(text + start + 1, 60, length - start - 1)
            end = length if found == NULL else <const uint8_t*> found - text
            self.add(start, end, 0, number, group)
            start = end
        return 0

    cdef int source(self, Section section, int number, int group, Tokens shown, Py_ssize_t first) except -1:
        """Add each tag, and each word between tags; a word of the visible text has that word's unit as its home.

        `shown` are the words of the visible text, and `first` is the unit of the first of them.
        """
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(section.folded)
        cdef Py_ssize_t length = PyBytes_GET_SIZE(section.folded), i = 0, end, k = 0, at = 0, match, start
        cdef Tokens tokens = words_of(section)
        cdef const Token* token = tokens.token
        cdef Unit* before
        while i < length:
            end = _tag_end(text, i, length)
            if end > i:
                self.add(i, end, 0, number, group)
                while k < tokens.found and token[k].start < end:
                    k += 1
                i = end
                continue
            end = i + 1
            while end < length and not (text[end] == 60 and _tag_end(text, end, length) > end):
                end += 1
            start = i
            while k < tokens.found and token[k].start < end:
                if start > i:  # the word before this one ends here: the pairs of characters of Chinese overlap
                    before = &self.unit[self.n - 1]
                    before.end = token[k].start
                    before.last = min(before.last, before.end)
                    start = token[k].start
                self.add(start, end, 0, number, group)
                self.unit[self.n - 1].first = token[k].start
                self.unit[self.n - 1].last = token[k].end
                match = _next_match(token, k, tokens.found, shown, at)
                if match >= 0:
                    self.unit[self.n - 1].home = <int32_t> (first + match)
                    at = match + 1
                start = max(start, i + 1)
                k += 1
            if start == i:  # no word: the bytes belong to the tag before them
                if i:
                    self.unit[self.n - 1].end = <int32_t> end
                else:
                    self.add(i, end, 0, number, group)
            i = end
        return 0


cdef inline Py_ssize_t _line_end(const uint8_t* text, Py_ssize_t start, Py_ssize_t length) noexcept:
    """Return the position after the line that contains `start`."""
    cdef const void* found = memchr(text + start, 10, length - start)
    return length if found == NULL else <const uint8_t*> found - text + 1


cdef Py_ssize_t _next_match(const Token* token, Py_ssize_t k, Py_ssize_t n, Tokens shown, Py_ssize_t at) noexcept:
    """Return the next visible word that is word `k` of the source; -1 if there is none nearby."""
    cdef uint64_t h = token[k].hash
    cdef Py_ssize_t j
    for j in range(at, min(at + FAR, shown.found)):
        if shown.token[j].hash == h and (
            j <= at + NEAR or k + 1 < n and j + 1 < shown.found and shown.token[j + 1].hash == token[k + 1].hash
        ):
            return j
    return -1


cdef Py_ssize_t _tag_end(const uint8_t* text, Py_ssize_t i, Py_ssize_t length) noexcept:
    """Return the position after the tag or comment at `i`, with the whole of a style sheet or script; `i` if there is none."""
    cdef Py_ssize_t j = i + 1, end
    if j >= length or text[i] != 60:
        return i
    if text[j] == 33 or text[j] == 63:
        if j + 2 < length and text[j + 1] == 45 and text[j + 2] == 45:
            return _after(text, j + 3, length, b"-->", 3)
        return _after(text, j, length, b">", 1)
    if text[j] == 47:
        j += 1
    if j >= length or not 97 <= text[j] <= 122:
        return i
    end = j
    while end < min(length, j + LONGEST_NAME) and text[end] > 32 and text[end] != 62 and text[end] != 47:
        if text[end] == 64 or text[end] == 58 and end + 1 < length and text[end + 1] == 47:
            return i  # an address in plain text, such as <ann@mail.example> or <http://mail.example>
        end += 1
    end = _after(text, end, min(length, i + LONGEST_TAG), b">", 1)
    if end < length and end - j > 5 and memcmp(text + j, b"style", 5) == 0:
        return _after(text, end, length, b"</style", 7)
    if end < length and end - j > 6 and memcmp(text + j, b"script", 6) == 0 and text[i + 1] != 47:
        return _after(text, end, length, b"</script", 8)
    return end


cdef Py_ssize_t _after(const uint8_t* text, Py_ssize_t i, Py_ssize_t length, const char* mark, Py_ssize_t size) noexcept:
    """Return the position after the next mark, or the end of the text."""
    while i + size <= length:
        if text[i] == <uint8_t> mark[0] and memcmp(text + i, mark, size) == 0:
            return i + size
        i += 1
    return length
