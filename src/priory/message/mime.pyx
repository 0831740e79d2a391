# cython: language_level=3, allow_none_for_extension_args=False
"""Splits raw bytes into the MIME parts of a message. Works for any bytes, within fixed limits.

The parser is written for hostile mail: it works with positions in one buffer, copies only what it returns, and never
backtracks. docs/decisions/parsing.md has measurements of the alternatives.
"""

import binascii
from functools import lru_cache

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp

from priory.message.fields cimport Budget, Fields, fit

from priory.message.charset import is_ascii_charset
from priory.message.fields import leading_fields_end
from priory.message.headers import decode_words, parameters
from priory.message.transfer import base64_bytes

DEEPEST = 25  #: levels of multipart inside multipart
MOST_PARTS = 250
MOST_HEADER_BYTES = 256 * 1024  #: of one header block
MOST_DECODED_BYTES = 32 * 1024 * 1024  #: of one part
TOO_MUCH_WORK = "too much work"  #: the defect of a message that is not read to the end, because its budget is spent

cdef enum:
    LINES_OF_STEP = 256  # that are compared with a boundary
    STEPS_OF_PARAMETER = 2
    BYTES_OF_STEP = 16  # of a value with parameters
    STEPS_OF_WORD = 4  # in a file's name, which is decoded twice
cdef int _DEEPEST = DEEPEST, _MOST_PARTS = MOST_PARTS
cdef Py_ssize_t _LONGEST_MESSAGE = 1 << 60
cdef Py_ssize_t _MOST_HEADER_BYTES = MOST_HEADER_BYTES
cdef dict _DECODERS = {"base64": (base64_bytes, 2), "quoted-printable": (binascii.a2b_qp, 4)}
"""The decoder of each encoding, and the most encoded bytes to read per decoded byte."""
cdef frozenset _PLAIN = frozenset(("", "7bit", "8bit", "binary"))


cdef class Kind:
    """The content type, encoding and file name that the headers of a part declare.

    Nearly all parts without a boundary have one of a few kinds, so kinds are cached.
    """

    def __init__(self, str content_type, str disposition, str encoding):
        declared, self.parameters = parameters(content_type)
        self.content_type = declared
        self.is_malformed = False
        if declared.count("/") != 1 or " " in declared:
            self.is_malformed = bool(declared)
            first = declared.partition(" ")[0]
            self.content_type = first if first.count("/") == 1 else "text/plain"
        self.disposition, named = parameters(disposition)
        self.filename = decode_words(named.get("filename") or self.parameters.get("name") or "")
        self.encoding = encoding.lower().partition(";")[0].strip()
        self._classify()

    cdef int _classify(self) except -1:
        charset = " ".join(self.parameters.get("charset", "").split())
        self.charset = charset or None
        self.is_ascii_charset = not charset or is_ascii_charset(charset)
        self.is_text = self.content_type.startswith("text/")
        self.is_html = self.content_type == "text/html"
        self.is_multipart = self.content_type.startswith("multipart/")
        return 0

    cdef Kind as_text(self):
        """Return a copy of this kind with the content type text/plain."""
        cdef Kind text = Kind("text/plain", "", "")
        text.encoding, text.disposition, text.filename = self.encoding, self.disposition, self.filename
        return text


_usual_kind = lru_cache(maxsize=512)(Kind)


cdef class Part:
    """A leaf of the MIME tree: its header fields, its kind, and the positions of its encoded body."""

    def __cinit__(self, Fields fields, Kind kind, Py_ssize_t start, Py_ssize_t end):
        self.fields = fields
        self.kind = kind
        self.start = start
        self.end = end

    @property
    def content_type(self):
        """The declared content type, such as `text/plain`."""
        return self.kind.content_type

    @property
    def parameters(self):
        """The parameters of the content type, such as `charset`."""
        return self.kind.parameters


cdef class Structure:
    """The MIME tree of a message: its parts, the header fields of the containers around them, and its defects."""

    def __cinit__(self):
        self.budget = Budget()
        self.dashes = NULL
        self.n_dashes = -1

    def __dealloc__(self):
        PyMem_Free(self.dashes)

    def __init__(self, bytes raw, Py_ssize_t start):
        self.raw = raw
        self.parts = []
        self.outer = []
        self.defects = []
        self.body = self._read(start, len(raw), 0)
        if self.budget.left <= 0:
            self.defects.append(TOO_MUCH_WORK)

    cdef Py_ssize_t _read(self, Py_ssize_t start, Py_ssize_t end, int depth) except -1:
        """Add the parts between `start` and `end`; return the position at which the body begins."""
        cdef Py_ssize_t block_end, body, text
        block_end, body = header_end(self.raw, start, end)
        if block_end - start > _MOST_HEADER_BYTES:
            self.defects.append("headers too long")
            block_end = start + _MOST_HEADER_BYTES
        cdef Fields own = Fields(self.raw, start, block_end, self.budget)
        if own.n == 0:  # no headers at all: lines in their place belong to the text
            text = leading_fields_end(self.raw, start, block_end)
            body = text if text < block_end else body
        cdef Part part = self._part(own, body, end)
        if part.kind.is_multipart:
            self._read_multipart(part, depth)
        elif part.kind.content_type == "message/rfc822" and part.kind.encoding not in _DECODERS:
            self._descend(part, [(body, end)], depth)
        else:
            self.parts.append(part)
        return body

    cdef Part _part(self, Fields own, Py_ssize_t start, Py_ssize_t end):
        cdef str content_type = own.raw_value(b"content-type", self.defects)
        cdef str disposition = own.raw_value(b"content-disposition", self.defects)
        cdef str encoding = own.raw_value(b"content-transfer-encoding", self.defects)
        if len(content_type) + len(disposition) + len(encoding) > 150 or "oundary" in content_type:
            self._pay_for(content_type)
            self._pay_for(disposition)
            kind = Kind(content_type, disposition, encoding)
        else:
            kind = _usual_kind(content_type, disposition, encoding)
        if (<Kind> kind).is_malformed:
            self.defects.append("malformed content type")
        return Part(own, kind, start, end)

    cdef int _pay_for(self, str value) except -1:
        """Take from the budget what a value with parameters costs."""
        self.budget.left -= len(value) // BYTES_OF_STEP
        self.budget.left -= STEPS_OF_PARAMETER * value.count(";") + STEPS_OF_WORD * value.count("=?")
        return 0

    cdef int _read_multipart(self, Part part, int depth) except -1:
        line = part.kind.parameters.get("boundary", "").rstrip().encode("latin-1", "replace")
        pieces = self._pieces(part.start, part.end, line) if line else []
        if pieces and self.budget.left > 0:
            return self._descend(part, pieces, depth)
        if not pieces:
            self.defects.append("multipart without parts")
        self.parts.append(Part(part.fields, part.kind.as_text(), part.start, part.end))
        return 0

    cdef int _descend(self, Part part, list pieces, int depth) except -1:
        self.outer.append(part.fields)
        if depth >= _DEEPEST:
            self.defects.append("nested too deeply")
            return 0
        for start, end in pieces:
            if len(self.parts) + len(self.outer) >= _MOST_PARTS:
                self.defects.append("too many parts")
                return 0
            if self.budget.left <= 0:
                return 0
            self._read(start, end, depth + 1)
        return 0

    cdef list _pieces(self, Py_ssize_t start, Py_ssize_t end, bytes boundary):
        """Return the start and end of each piece between two boundary lines (RFC 2046, 5.1.1)."""
        cdef bytes raw = self.raw
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(raw)
        cdef const uint8_t* name = <const uint8_t*> PyBytes_AS_STRING(boundary)
        cdef Py_ssize_t length = PyBytes_GET_SIZE(boundary), begin = -1, at, after, line_end, i, compared = 0
        cdef list pieces = []
        if self.n_dashes < 0:
            self._find_dashes(max(start - 1, 0))
        i = self._dashes_from(max(start - 1, 0))
        while i < self.n_dashes and len(pieces) <= _MOST_PARTS and self.budget.left > 0:
            at = self.dashes[i]
            after = at + 3 + length
            if after > end:
                break
            compared += 1
            if compared % LINES_OF_STEP == 0:
                self.budget.left -= 1
            if memcmp(text + at + 3, name, length) != 0:
                i += 1
                continue
            self.budget.left -= 1
            line_end = raw.find(b"\n", after, end)
            line_end = line_end if line_end >= 0 else end
            rest = raw[after : min(line_end, after + 80)].strip()
            if rest in (b"", b"--"):
                if begin >= 0:
                    pieces.append((begin, max(begin, at - (raw[at - 1 : at] == b"\r"))))  # two boundaries in a row
                if rest:
                    return pieces
                begin = min(line_end + 1, end)
            i = self._dashes_from(line_end)
        if begin >= 0 and len(pieces) <= _MOST_PARTS:
            self.defects.append("multipart without end")
            pieces.append((begin, end))
        return pieces

    cdef int _find_dashes(self, Py_ssize_t start) except -1:
        """Find the line ends from `start` on that two hyphens follow. Multiparts that nest need not search again."""
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(self.raw)
        cdef const uint8_t* last = text + PyBytes_GET_SIZE(self.raw) - 2
        cdef const uint8_t* at = text + start
        cdef Py_ssize_t room = 0
        cdef Py_ssize_t* more
        self.n_dashes = 0
        while at < last:
            at = <const uint8_t*> memchr(at, 10, last - at)
            if at == NULL:
                break
            if at[1] == 45 and at[2] == 45:
                if self.n_dashes == room:
                    room = max(64, 2 * room)
                    more = <Py_ssize_t*> PyMem_Realloc(self.dashes, room * sizeof(Py_ssize_t))
                    if more == NULL:
                        raise MemoryError
                    self.dashes = more
                self.dashes[self.n_dashes] = at - text
                self.n_dashes += 1
            at += 1
        return 0

    cdef Py_ssize_t _dashes_from(self, Py_ssize_t start) noexcept:
        """Return the index of the first of these line ends at `start` or later."""
        cdef Py_ssize_t low = 0, high = self.n_dashes, middle
        while low < high:
            middle = (low + high) // 2
            if self.dashes[middle] < start:
                low = middle + 1
            else:
                high = middle
        return low


cdef class OuterStructure(Structure):
    """The MIME tree of a message without the insides of attached messages; `attached` has their positions."""

    cdef readonly list attached

    def __cinit__(self):
        self.attached = []

    cdef int _descend(self, Part part, list pieces, int depth) except -1:
        if part.kind.is_multipart:
            return Structure._descend(self, part, pieces, depth)
        self.attached += pieces
        return 0


def structure(bytes raw, Py_ssize_t start):
    """Return the parts of the message that begins at `start`.

    >>> raw = b"Content-Type: multipart/mixed; boundary=x\\n\\n--x\\n\\nhello\\n--x--\\n"
    >>> [(part.content_type, raw[part.start:part.end]) for part in structure(raw, 0).parts]
    [('text/plain', b'hello')]
    """
    return Structure(raw, start)


cpdef tuple header_end(bytes raw, Py_ssize_t start, Py_ssize_t end):
    """Return the end of the header block and the start of the body, before and after the first empty line."""
    fit(raw, start, end)
    cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(raw)
    cdef const uint8_t* at = text + start
    cdef const uint8_t* last = text + end
    while at != NULL and at < last:
        if at[0] == 10:
            return at - text, at + 1 - text
        if at[0] == 13 and at + 1 < last and at[1] == 10:
            return at - text, at + 2 - text
        at = <const uint8_t*> memchr(at, 10, last - at)
        at = at + 1 if at != NULL else NULL
    return end, end


cpdef tuple body(bytes raw, Part part, Py_ssize_t most):
    """Return up to `most` bytes of a part's decoded body, and the defect of its encoding or None."""
    cdef bytes data
    cdef Py_ssize_t longest = 1, stop
    if not 0 <= most <= _LONGEST_MESSAGE or not 0 <= part.start <= part.end <= len(raw):
        raise IndexError(f"{most} bytes of a part from {part.start} to {part.end} of {len(raw)} bytes")
    if part.kind.encoding in _DECODERS:
        decoder, longest = _DECODERS[part.kind.encoding]
        stop = part.start + most * longest + 1024
        data = decoder(raw[part.start : min(part.end, stop)])[:most]
    else:
        stop = part.start + most * longest + 1024
        data = raw[part.start : min(part.end, part.start + most)]
    if len(data) < most and stop < part.end:
        return data, "transfer encoding out of proportion"
    return data, None if part.kind.encoding in _PLAIN or part.kind.encoding in _DECODERS else "unknown transfer encoding"
