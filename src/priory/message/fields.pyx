# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""Finds the fields of one header block: the position of each name and value, in one pass over the bytes.

A field is a name of visible ASCII, a colon, and a value that goes on up to the first line that does not begin with
white space. Other lines are skipped, and so are fields that are never evidence. Nothing is copied unless the lines end
in CR LF or a value has to be decoded. A `Budget` bounds the work: fields beyond it are not read.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.unicode cimport PyUnicode_DecodeLatin1, PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcpy

from priory.native.buckets cimport is_tight

from priory.message.headers import decode_value, is_evidence

MOST_STEPS = 50_000  #: of a budget; the dearest real message takes 15,000
MOST_VALUE_BYTES = 32 * 1024  #: of a value that is decoded or split into parameters

cdef enum:
    LONGEST_NAME = 200  # no program writes longer names, and is_evidence caches every name it sees
    STEPS_OF_VALUE = 2
    STEPS_OF_WORD = 2
    BYTES_OF_STEP = 2048  # that are decoded
cdef Py_ssize_t _MOST_STEPS = MOST_STEPS, _MOST_VALUE_BYTES = MOST_VALUE_BYTES


cdef inline bint is_space(uint8_t c) noexcept:
    """Tell whether Python's str.isspace is true for this Latin-1 character."""
    return c == 32 or 9 <= c <= 13 or 28 <= c <= 31 or c == 0x85 or c == 0xA0


cdef inline bint is_plain(const uint8_t* text, Py_ssize_t length) noexcept:
    """Tell whether a value is ASCII without `=?`, the start of an encoded word."""
    cdef Py_ssize_t i
    cdef uint8_t every = text[0] if length else 0, encoded = 0
    for i in range(1, length):
        every |= text[i]
        encoded |= (text[i] == 63) & (text[i - 1] == 61)
    return every < 128 and not encoded


cdef int fit(bytes raw, Py_ssize_t start, Py_ssize_t end) except -1:
    """Raise IndexError unless start and end lie inside the bytes. The loops rely on it and do not check again."""
    if not 0 <= start <= end <= PyBytes_GET_SIZE(raw):
        raise IndexError(f"{start} to {end} is not within {PyBytes_GET_SIZE(raw)} bytes")
    return 0


cdef const uint8_t* field_end(
    const uint8_t* at, const uint8_t* end, Py_ssize_t* name, Py_ssize_t* colon
) noexcept:
    """Return the end of the field that begins at `at`, a line end or `end`; NULL if no field begins there.

    Sets `name` to the length of the field's name and `colon` to the offset of its colon.
    """
    cdef const uint8_t* line_end
    name[0] = 0
    while at + name[0] < end and 33 <= at[name[0]] <= 126 and at[name[0]] != 58:
        name[0] += 1
    colon[0] = name[0]
    while at + colon[0] < end and (at[colon[0]] == 32 or at[colon[0]] == 9):
        colon[0] += 1
    if not 0 < name[0] <= LONGEST_NAME or at + colon[0] >= end or at[colon[0]] != 58:
        return NULL
    line_end = <const uint8_t*> memchr(at, 10, end - at)
    while line_end != NULL and line_end + 1 < end and (line_end[1] == 32 or line_end[1] == 9):
        line_end = <const uint8_t*> memchr(line_end + 1, 10, end - line_end - 1)
    return end if line_end == NULL else line_end


def leading_fields_end(bytes raw, Py_ssize_t start, Py_ssize_t end):
    """Return the position of the first line that is not a header field.

    >>> leading_fields_end(b"X-Spam-Status: Yes\\nHello Ann,\\n", 0, 30)
    19
    """
    fit(raw, start, end)
    cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(raw)
    cdef const uint8_t* after
    cdef Py_ssize_t name = 0, colon = 0
    while start < end:
        after = field_end(text + start, text + end, &name, &colon)
        if after == NULL:
            return start
        start = min(after + 1 - text, end)
    return start


cdef bint is_named(const Field* field, bytes name) noexcept:
    """Tell whether a field has this name. The name is in lower case."""
    cdef const uint8_t* wanted = <const uint8_t*> PyBytes_AS_STRING(name)
    cdef Py_ssize_t i
    if field.name_length != PyBytes_GET_SIZE(name):
        return False
    for i in range(field.name_length):
        if (field.name[i] | 32 if 65 <= field.name[i] <= 90 else field.name[i]) != wanted[i]:
            return False
    return True


cdef class Budget:
    """The work that may still be spent on a message, in steps of about two microseconds.

    What takes longest for its size has a price: a field, an encoded word, a parameter, a line that begins like a
    boundary. It is paid after it was done. So the work is bounded by MOST_STEPS and one value more, whatever the
    message is, and it is the same on every machine.
    """

    def __cinit__(self):
        self.left = _MOST_STEPS


cdef class Fields:
    """The header fields between two positions of a message, in order, as far as the budget reaches.

    >>> fields = Fields(b"Subject: hello\\n  you\\nX-Spam-Status: Yes\\n", 0, 40, Budget())
    >>> fields.pairs()
    [('Subject', ' hello\\n  you')]
    """

    def __cinit__(self, bytes raw, Py_ssize_t start, Py_ssize_t end, Budget budget not None):
        fit(raw, start, end)
        self.n = 0
        self.field = <Field*> PyMem_Malloc(32 * sizeof(Field))
        if self.field == NULL:
            raise MemoryError
        self._kept = [raw]
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(raw) + start
        cdef bytes block
        if memchr(text, 13, end - start) != NULL:
            block = raw[start:end].replace(b"\r\n", b"\n")
            self._kept.append(block)
            self._find(<const uint8_t*> PyBytes_AS_STRING(block), PyBytes_GET_SIZE(block), budget)
        else:
            self._find(text, end - start, budget)

    def __dealloc__(self):
        PyMem_Free(self.field)

    def __len__(self):
        return self.n

    cdef int _find(self, const uint8_t* text, Py_ssize_t length, Budget budget) except -1:
        cdef const uint8_t* at = text
        cdef const uint8_t* end = text + length
        cdef const uint8_t* after
        cdef Py_ssize_t name = 0, colon = 0
        while at < end and budget.left > 0:
            after = field_end(at, end, &name, &colon)
            if after != NULL:
                self._append(at, name, at + colon + 1, after)
                budget.left -= 1
            else:
                after = <const uint8_t*> memchr(at, 10, end - at)
            at = end if after == NULL else after + 1
        return 0

    cdef int _append(
        self, const uint8_t* name, Py_ssize_t name_length, const uint8_t* value, const uint8_t* end
    ) except -1:
        # All ignored fields begin with x or s: other names need no lookup.
        if name[0] | 32 == 120 or name[0] | 32 == 115:
            if not is_evidence(PyUnicode_DecodeLatin1(<const char*> name, name_length, NULL)):
                return 0
        cdef Field* more
        cdef bint tight = is_tight(self.n + 1)
        if tight or self.n >= 32 and self.n & (self.n - 1) == 0:
            more = <Field*> PyMem_Realloc(self.field, (self.n + 1 if tight else 2 * self.n) * sizeof(Field))
            if more == NULL:
                raise MemoryError
            self.field = more
        cdef Py_ssize_t length = end - value
        self.field[self.n] = Field(name, name_length, value, length, is_plain(value, length))
        self.n += 1
        return 0

    cdef const Field* first(self, bytes name) noexcept:
        """Return the first field of this name (in lower case), or NULL."""
        cdef Py_ssize_t i
        for i in range(self.n):
            if is_named(&self.field[i], name):
                return &self.field[i]
        return NULL

    cdef str raw_value(self, bytes name, list defects):
        """Return the first non-empty value of this name as Latin-1 text of at most MOST_VALUE_BYTES.

        Call before `decode`.
        """
        cdef Py_ssize_t i
        for i in range(self.n):
            if is_named(&self.field[i], name):
                value = PyUnicode_DecodeLatin1(
                    <const char*> self.field[i].value, min(self.field[i].value_length, _MOST_VALUE_BYTES), NULL
                ).strip()
                if self.field[i].value_length > _MOST_VALUE_BYTES:
                    defects.append("headers too long")
                if value:
                    return value
        return ""

    cdef int decode(self, list defects, Budget budget) except -1:
        """Replace encoded values by their decoded UTF-8, and append the defects of their bytes to `defects`.

        Beyond the budget, they become empty.
        """
        cdef Py_ssize_t i, length
        cdef bytes encoded, decoded
        cdef Field* field
        for i in range(self.n):
            field = &self.field[i]
            if field.is_plain:
                continue
            if budget.left <= 0:
                field.value_length = 0
                continue
            length = field.value_length
            if length > _MOST_VALUE_BYTES:
                length = _MOST_VALUE_BYTES
                while length and field.value[length] & 0xC0 == 0x80:  # not within a character
                    length -= 1
                defects.append("headers too long")
            encoded = PyBytes_FromStringAndSize(<const char*> field.value, length)
            budget.left -= STEPS_OF_VALUE + length // BYTES_OF_STEP + STEPS_OF_WORD * encoded.count(b"=?")
            read, defect = decode_value(encoded)
            if defect is not None:
                defects.append(defect)
            decoded = read.encode("utf-8", "replace")
            self._kept.append(decoded)
            field.value = <const uint8_t*> PyBytes_AS_STRING(decoded)
            field.value_length = PyBytes_GET_SIZE(decoded)
        return 0

    cdef bytes canonical(self):
        """Return the fields as the digest of a message reads them, followed by an empty line. Call before `decode`."""
        cdef Py_ssize_t i, size = 1, length
        for i in range(self.n):
            size += self.field[i].name_length + self.field[i].value_length + 2
        cdef bytes text = PyBytes_FromStringAndSize(NULL, size)
        cdef uint8_t* out = <uint8_t*> PyBytes_AS_STRING(text)
        cdef uint8_t* at = out
        for i in range(self.n):
            memcpy(at, self.field[i].name, self.field[i].name_length)
            at += self.field[i].name_length
            at[0] = 58
            length = self.field[i].value_length
            while length and is_space(self.field[i].value[length - 1]):
                length -= 1
            memcpy(at + 1, self.field[i].value, length)
            at += length + 1
            at[0] = 10
            at += 1
        at[0] = 10
        return text[: at + 1 - out]

    def pairs(self):
        """Return names and values as text."""
        return [
            (
                PyUnicode_DecodeLatin1(<const char*> self.field[i].name, self.field[i].name_length, NULL),
                PyUnicode_DecodeUTF8(<const char*> self.field[i].value, self.field[i].value_length, "replace"),
            )
            for i in range(self.n)
        ]
