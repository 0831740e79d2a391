# cython: language_level=3, boundscheck=False, wraparound=False, allow_none_for_extension_args=False
"""The canonical text of a message, in sections: features are extracted from them, and explanations colour them.

Every feature has a position in some section, so an explanation can show all evidence in the message. A section has two
UTF-8 forms, as shown and in lower case. The two have the same length, so byte positions fit both.
"""

import re

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from priory.features.folding cimport folded
from priory.features.hashing cimport Tokens
from priory.message.fields cimport Field, Fields
from priory.message.parser cimport Message, Text

from priory.features.folding import squeeze

MOST_HEADER = 400  #: characters of one header: longer ones are signatures and routes
MOST_HEADERS = 6_000
MOST_PART_FIELDS = 40
MOST_TEXT = 12_000
MOST_SOURCE = 3_000  #: bytes of headers and source together, headers first
MOST_LINK = 200
MOST_LINKS = 50

# Characters whose lower case has another number of bytes; tests/features/test_sections.py searches for others.
_OUT_OF_STEP = re.compile("[İȺȾẞ\u2126\u212a\u212bⱢⱤⱭⱮⱯⱰⱾⱿꞍꞪꞫꞬꞭꞮꞰꞱꞲꟅ]")


cdef class Section:
    """A named text, as shown and in lower case."""

    def __cinit__(self, str name, bytes shown, bytes folded):
        if len(shown) != len(folded):
            raise ValueError(f"a section has {len(shown)} bytes and {len(folded)} bytes in lower case")
        self.name = name
        self.shown = shown
        self.folded = folded


def section(str name, bytes text, Py_ssize_t most):
    """Return a section of at most `most` bytes.

    >>> section("text", "Grüße, 50 % OFF".encode(), 100).folded.decode()
    'grüße, 50 % off'
    """
    if most < 0:
        raise ValueError(f"a section cannot have {most} bytes")
    cdef bytes shown = _cut(text, most), lower = folded(shown)
    if lower is not None:
        return Section(name, shown, lower)
    in_step = _OUT_OF_STEP.sub(lambda letter: letter[0].lower(), text.decode("utf-8", "replace"))
    return Section(name, _cut(in_step.encode(), most), _cut(in_step.lower().encode(), most))


cdef Tokens words_of(Section section):
    """Return the words of a section, scanned once."""
    if section.tokens is None:
        section.tokens = Tokens(section.folded, False)
    return section.tokens


cdef bytes _cut(bytes data, Py_ssize_t most):
    """Cut to at most `most` bytes, at the boundary of a character."""
    if len(data) <= most:
        return data
    while most and (<const uint8_t*> PyBytes_AS_STRING(data))[most] & 0xC0 == 0x80:
        most -= 1
    return data[:most]


cdef bytes _lines(list blocks, Py_ssize_t most_fields):
    """Return fields as lines `name:value` with long values cut, until a section is full."""
    cdef Py_ssize_t most = MOST_HEADERS, n = 0, i, length, fields = 0
    cdef Py_ssize_t room = most + 4 * MOST_HEADER + 202  # one field more, with a name of 200 bytes
    cdef bytes text = PyBytes_FromStringAndSize(NULL, room)
    cdef uint8_t* out = <uint8_t*> PyBytes_AS_STRING(text)
    cdef Fields block
    cdef const Field* field
    for block in blocks:
        for i in range(block.n):
            if fields == most_fields or n > most:
                return text[:n]
            field = &block.field[i]
            length = _cut_length(field)
            if fields:
                out[n] = 10
                n += 1
            memcpy(out + n, field.name, field.name_length)
            n += field.name_length
            out[n] = 58
            memcpy(out + n + 1, field.value, length)
            n += length + 1
            fields += 1
    return text[:n]


cdef inline Py_ssize_t _cut_length(const Field* field) noexcept:
    """Return the number of bytes of the first 400 characters of a value."""
    cdef Py_ssize_t i = 0, characters = 0, most = 400
    if field.value_length <= most:
        return field.value_length
    if field.is_plain:
        return most
    while i < field.value_length:
        if field.value[i] & 0xC0 != 0x80:
            if characters == most:
                break
            characters += 1
        i += 1
    return i


cdef class Sections:
    """The sections of one message, each computed on first use."""

    def __cinit__(self, Message message):
        self.message = message

    @property
    def headers(self):
        """The headers in order, with line folds unchanged."""
        if self._headers is None:
            self._headers = section("headers", _lines([self.message.own], -1), MOST_HEADERS)
        return self._headers

    @property
    def part_headers(self):
        """The headers of the parts inside the body."""
        if self._part_headers is None:
            self._part_headers = section("part headers", _lines(self.message.inner, MOST_PART_FIELDS), MOST_HEADERS)
        return self._part_headers

    @property
    def text(self):
        """The visible text."""
        if self._text is None:
            text = _joined([(<Text> part).visible for part in self.message.bodies])
            self._text = section("text", squeeze(text, MOST_TEXT + 4), MOST_TEXT)
        return self._text

    @property
    def source(self):
        """The text with its markup; without HTML, the visible text."""
        cdef Text part
        if self._source is None:
            for part in self.message.bodies:
                if part.content_type == "text/html":
                    source = _joined([(<Text> body).markup for body in self.message.bodies])
                    self._source = section("source", squeeze(source, MOST_SOURCE + 4), MOST_SOURCE)
                    return self._source
            self._source = self.text
        return self._source

    @property
    def distinct_links(self):
        """The targets and texts of the links; each target once and on one line."""
        if self._distinct_links is None:
            once = {target: shown for target, shown in reversed(self.message.targets)}
            lines = [(_one_line(target), shown) for target, shown in reversed(once.items())]
            self._distinct_links = [(line, shown) for line, shown in lines if line][:MOST_LINKS]
        return self._distinct_links

    @property
    def links(self):
        """The targets of the links, one per line."""
        if self._links is None:
            self._links = section("links", b"\n".join([target for target, _ in self.distinct_links]), MOST_HEADERS)
        return self._links

    @property
    def markup(self):
        """The skeleton of the HTML."""
        if self._markup is None:
            self._markup = section("markup", self.message.tags, MOST_HEADERS)
        return self._markup

    @property
    def text_tokens(self):
        """The words of the text."""
        if self._text_tokens is None:
            self._text_tokens = words_of(self.text)
        return self._text_tokens

    @property
    def link_tokens(self):
        """The words of the links' targets."""
        if self._link_tokens is None:
            self._link_tokens = words_of(self.links)
        return self._link_tokens

    @property
    def header_tokens(self):
        """The words of the headers, each tagged with the name of its header."""
        if self._header_tokens is None:
            self._header_tokens = Tokens(self.headers.folded, True)
        return self._header_tokens


cdef bytes _joined(list texts):
    return texts[0] if len(texts) == 1 else b"\n".join(texts)


cdef bytes _one_line(bytes target):
    """Return a link's target on one line, of at most MOST_LINK characters."""
    cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(target)
    cdef Py_ssize_t length = PyBytes_GET_SIZE(target), i = 0
    while i < length and 32 < text[i] < 127:
        i += 1
    if i == length:
        return target if length <= MOST_LINK else target[:MOST_LINK]
    return " ".join(target.decode("utf-8", "replace").split())[:MOST_LINK].encode()
