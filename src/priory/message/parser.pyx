# cython: language_level=3, allow_none_for_extension_args=False
"""The parser: reads the texts, links and attachments of a message and computes its digest.

Text is kept as UTF-8, which is what feature extraction reads. ASCII text, which is most mail, is never decoded.
"""

import hashlib
import re

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t

from priory.message.fields cimport Budget, Field, Fields
from priory.message.mime cimport Kind, Part, Structure
from priory.message.mime cimport body as body_of

from priory.message import mime
from priory.message.charset import decode
from priory.message.entities import unescape_entities
from priory.message.html_scanner import Scan
from priory.message.plain_text import plain_links, without_invisible
from priory.message.values import Attachment, Header, Link

MOST_TEXT_BYTES = 256 * 1024  #: limit of decoded text, over all parts
MOST_SKELETON_BYTES = 8 * 1024
MOST_LINKS = 500

cdef enum:
    LONGEST_DOMAIN = 255
_ADDRESS = re.compile(r"(?<=[^\s<>@\"(),;:])@([\w.-]{1,255})")


cdef class Text:
    """One text part: its visible text (HTML without markup) and its source. For plain text the two are the same."""

    def __cinit__(self, str content_type, charset, bytes visible, bytes markup):
        self.content_type = content_type
        self.charset = charset
        self.visible = visible
        self.markup = markup

    @property
    def text(self):
        """The visible text."""
        return self.visible.decode("utf-8", "replace")

    @property
    def source(self):
        """The text with its markup."""
        return self.markup.decode("utf-8", "replace")

    def __eq__(self, other):
        return isinstance(other, Text) and (self.content_type, self.charset, self.visible, self.markup) == (
            other.content_type, other.charset, other.visible, other.markup
        )


cdef class Message:
    """A parsed message.

    `digest` identifies the message. Line endings (LF or CRLF), an mbox `From ` line, and headers that filters and
    mailboxes add do not change it.
    """

    def __cinit__(self, bytes raw):
        cdef Structure found = Structure(raw, envelope_end(raw))
        cdef Part part
        cdef Fields fields
        cdef Budget budget = Budget()  # of its own: whatever the parts are, the message's headers are decoded first
        self.raw = raw
        self.own = found.outer[0] if found.outer else (<Part> found.parts[0]).fields
        self.digest = _digest(self.own.canonical(), raw, found.body)
        self.defects_found = found.defects
        if self.own.n == 0:
            self.defects_found.append("no headers")
        self.own.decode(self.defects_found, budget)
        self.inner = []
        for fields in found.outer:
            if fields is not self.own:
                fields.decode(self.defects_found, budget)
                self.inner.append(fields)
        for part in found.parts:
            if part.fields is not self.own:
                part.fields.decode(self.defects_found, budget)
                self.inner.append(part.fields)
        if budget.left <= 0:
            self.defects_found.append(mime.TOO_MUCH_WORK)
        self.bodies = []
        self.targets = []
        self.tags = b""
        self.attachments = ()
        self.room = MOST_TEXT_BYTES
        for part in found.parts:
            self._read_part(part)
        del self.targets[MOST_LINKS:]
        if len(self.tags) > MOST_SKELETON_BYTES:
            self.tags = _whole_characters(self.tags[:MOST_SKELETON_BYTES])
        self.sender_domain = _domain(self.own.first(b"from"))

    cdef str _value(self, bytes name):
        """Return the first value of the field `name`, which is in lower case."""
        cdef const Field* field = self.own.first(name)
        return "" if field == NULL else PyUnicode_DecodeUTF8(<const char*> field.value, field.value_length, "replace")

    cdef int _read_part(self, Part part) except -1:
        cdef Kind kind = part.kind
        if kind.is_text:
            self._read_text(part)
        if not kind.is_text or kind.filename or kind.disposition == "attachment":
            data, _ = body_of(self.raw, part, mime.MOST_DECODED_BYTES)
            digest = hashlib.sha256(data).hexdigest()[:32]
            self.attachments += (Attachment(kind.content_type, kind.filename, len(data), digest),)
        return 0

    cdef int _read_text(self, Part part) except -1:
        cdef bytes data, source
        cdef Py_ssize_t room = self.room
        data, defect = body_of(self.raw, part, room + 1)
        self.room = max(room - len(data), 0)
        if len(data) > room:
            self.defects_found.append("too much text")
            data = _whole_words(data[:room])
        lie = None
        if part.kind.is_ascii_charset and data.isascii():
            source = data
        else:
            text, lie = decode(data, part.kind.charset)
            source = text.encode("utf-8", "replace")
        if defect is not None:
            self.defects_found.append(defect)
        if lie is not None:
            self.defects_found.append(lie)
        visible = self._shown(source, part.kind.is_html)
        markup = source if part.kind.is_html else visible
        self.bodies.append(Text(part.kind.content_type, part.kind.charset, visible, markup))
        return 0

    cdef bytes _shown(self, bytes source, bint is_html):
        cdef bytes text = source
        if is_html:
            scan = Scan(source, MOST_SKELETON_BYTES)
            self.tags += _whole_characters(scan.skeleton)
            self.targets += [(unescape_entities(target), unescape_entities(shown)) for target, shown in scan.links]
            text = unescape_entities(scan.visible)
        else:
            self.targets += [(target, target) for target in plain_links(source)]
        if b"\0" in text:
            self.defects_found.append("zero bytes in text")
            text = text.replace(b"\0", b" ")
        seen = without_invisible(text)
        if seen is not text:
            self.defects_found.append("invisible characters")
        return seen

    @property
    def headers(self):
        """The message's own header fields: names as written, values decoded, line folds unchanged."""
        return tuple(Header(name, value) for name, value in self.own.pairs())

    @property
    def part_headers(self):
        """The header fields of the parts inside the body."""
        return tuple(Header(name, value) for fields in self.inner for name, value in fields.pairs())

    def header(self, str name):
        """Return the first header of this name on one line, or an empty string.

        >>> parse(b"Subject: lunch\\n  on Friday?\\n\\n").header("subject")
        'lunch on Friday?'
        """
        return " ".join(self._value(name.lower().encode("utf-8", "replace")).split())

    @property
    def texts(self):
        """The text parts, in order."""
        return tuple(self.bodies)

    @property
    def text(self):
        """All visible text."""
        return "\n".join([part.text for part in self.bodies])

    @property
    def links(self):
        """The links of all text parts."""
        return tuple(Link(target.decode("utf-8", "replace"), shown.decode("utf-8", "replace"))
                     for target, shown in self.targets)

    @property
    def skeleton(self):
        """The HTML tags without the text between them."""
        return self.tags.decode("utf-8", "replace")

    @property
    def defects(self):
        """Everything in the message that is malformed, falsely declared or too large; each defect once."""
        return tuple(dict.fromkeys(self.defects_found))

    def __eq__(self, other):
        if not isinstance(other, Message):
            return NotImplemented
        return all(
            getattr(self, name) == getattr(other, name)
            for name in ("headers", "part_headers", "texts", "links", "skeleton", "attachments", "defects", "digest")
        )


def parse(raw):
    """Parse a message. Never raises, whatever the bytes are.

    >>> message = parse(b"Subject: =?utf-8?q?Caf=C3=A9?=\\nContent-Type: text/html\\n\\n<p>See <a href='http://a.example'>it</a>")
    >>> message.header("Subject"), message.text, message.links
    ('Café', 'See it', (Link(target='http://a.example', text='it'),))
    """
    return Message(bytes(raw))


cpdef Py_ssize_t envelope_end(bytes raw) except -1:
    """Return the offset at which the message begins, after the `From ` line of an mbox if it has one."""
    if not raw.startswith(b"From "):
        return 0
    cdef Py_ssize_t end = raw.find(b"\n")
    return end + 1 if end >= 0 else len(raw)


cdef bytes _digest(bytes head, bytes raw, Py_ssize_t start):
    """Hash the message's own headers and body. Line endings and empty lines at the end do not count."""
    cdef Py_ssize_t end = len(raw)
    sha = hashlib.sha256(head)
    if raw.find(b"\r", start) >= 0:
        sha.update(raw[start:].replace(b"\r\n", b"\n").rstrip(b"\r\n"))
    else:
        while end > start and raw[end - 1] == 10:
            end -= 1
        sha.update(memoryview(raw)[start:end])
    return sha.digest()


cdef str _domain(const Field* sender):
    """Return the domain of the last address in a From header: `mail.example` for `Ann <ann@Mail.Example>`."""
    cdef Py_ssize_t i = 1, begin = 0, end = 0, at
    if sender == NULL:
        return ""
    text = PyUnicode_DecodeUTF8(<const char*> sender.value, sender.value_length, "replace")
    if not text.isascii():  # \w decides which non-ASCII characters are letters
        addresses = _ADDRESS.findall(text)
        return addresses[-1].lower().strip(".") if addresses else ""
    while i < sender.value_length:
        if sender.value[i] == 64 and _may_end_name(sender.value[i - 1]):
            at = i + 1
            while at < sender.value_length and at - i <= LONGEST_DOMAIN and _is_in_domain(sender.value[at]):
                at += 1
            if at > i + 1:
                begin, end = i + 1, at
                i = at - 1
        i += 1
    return text[begin:end].lower().strip(".")


cdef inline bint _may_end_name(uint8_t c) noexcept:
    """Tell whether a character may stand before the @ of an address: no white space, quote, bracket or comma."""
    return not (
        c <= 32 and (c == 32 or 9 <= c <= 13 or 28 <= c) or c == 60 or c == 62 or c == 64 or c == 34 or c == 40 or c == 41
        or c == 44 or c == 59 or c == 58
    )


cdef inline bint _is_in_domain(uint8_t c) noexcept:
    return 97 <= c | 32 <= 122 or 48 <= c <= 57 or c == 46 or c == 45 or c == 95


cdef bytes _whole_characters(bytes text):
    """Replace characters that were cut in the middle by U+FFFD."""
    return text if text.isascii() else text.decode("utf-8", "replace").encode()


cdef bytes _whole_words(bytes data):
    """Cut at the last space or line end, if one is near: a cut elsewhere could split a character."""
    near = max(len(data) - 1000, 0)
    return data[: max(data.rfind(b" ", near), data.rfind(b"\n", near)) + 1] or data
