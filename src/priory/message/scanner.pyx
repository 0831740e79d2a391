# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One linear pass over HTML: the text a person sees, the links, and the skeleton of the markup.

A mail's HTML needs no tree: what is visible is what stands outside of tags, comments, scripts and styles. A scanner
that never goes back costs the same for a flat page and for a hundred thousand nested tables. Tags that browsers draw
as a box of their own (`<p>`, `<td>`, `<img>` …) break a word, all others do not, those nobody knows included: so
`V<b></b>ia<xyz>gra` reads "Viagra", as on the screen.
"""

import binascii
import re
from html.entities import html5

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memchr

cdef extern from "string.h" nogil:
    void* memmem(const void* text, size_t length, const void* piece, size_t piece_length)

cdef enum:
    LONGEST_TAG = 4096
    SHOWN_ATTRIBUTES = 60
    MOST_LINKS = 500
    LONGEST_ENTITY = 32

cdef enum:  # what a tag does to the text around and inside of it
    LINE = 1  # a line of its own
    BOX = 2  # a box of its own: it breaks a word
    HIDDEN = 4  # up to its closing tag it holds text and no tags, which a browser does not draw
    SHOWN = 8  # the same, drawn
    SLOTS = 1024

cdef uint64_t[SLOTS] NAMES
cdef uint8_t[SLOTS] EFFECTS


cdef uint64_t code(bytes name):
    """A tag's name of up to eight letters as one number."""
    cdef uint64_t c = 0
    for letter in name:
        c = (c << 8) | <uint8_t> letter
    return c


cdef inline int slot(uint64_t name) noexcept nogil:
    """Where the effect of a tag stands, or would: most names have a place of their own, the others the next free."""
    cdef int at = <int> (name * <uint64_t> 0x9E3779B97F4A7C15 >> 54)
    while NAMES[at] != 0 and NAMES[at] != name:
        at = (at + 1) % SLOTS
    return at


cdef int _note_effect(bytes names, uint8_t effect) except -1:
    cdef int at
    for name in names.split():
        at = slot(code(name))
        NAMES[at] = code(name)
        EFFECTS[at] |= effect
    return 0


_note_effect(
    b"p br hr li ul ol tr h1 h2 h3 h4 h5 h6 dl dt dd div pre nav main menu table tbody thead tfoot center title body html "
    b"head form legend figure aside section article header footer address fieldset blockquo figcapti xmp dir listing "
    b"plaintex marquee frameset", LINE
)
_note_effect(
    b"td th img input button select option optgroup textarea caption col colgroup iframe frame object embed applet param "
    b"video audio source canvas svg map area meta link base style script noframes noscript noembed isindex progress meter",
    BOX,
)
_note_effect(b"script style noframes noembed iframe", HIDDEN)
_note_effect(b"title textarea xmp", SHOWN)

cdef uint64_t ANCHOR = code(b"a")
cdef uint64_t HREF = code(b"href"), SRC = code(b"src"), ACTION = code(b"action"), BACKGROUND = code(b"backgrou")


cdef inline uint8_t lower(uint8_t c) noexcept nogil:
    return c | 32 if 65 <= c <= 90 else c


cdef struct Span:
    Py_ssize_t target, target_end, shown, shown_end


cdef class Scan:
    """What one pass found: `visible` and `skeleton` as UTF-8, `links` as (target, text) pairs of bytes."""

    cdef readonly bytes visible, skeleton
    cdef readonly list links
    cdef const uint8_t* html
    cdef Py_ssize_t length
    cdef uint8_t* text
    cdef uint8_t* tags
    cdef Span* found
    cdef Py_ssize_t n_text, n_tags, n_links, most_tags, anchor

    def __init__(self, bytes html, Py_ssize_t most_skeleton):
        self.html = <const uint8_t*> PyBytes_AS_STRING(html)
        self.length = PyBytes_GET_SIZE(html)
        self.most_tags = most_skeleton
        self.n_text = self.n_tags = self.n_links = 0
        self.anchor = -1
        cdef size_t text_room = self.length + 1, tags_room = most_skeleton + LONGEST_TAG
        cdef uint8_t* room = <uint8_t*> PyMem_Malloc(MOST_LINKS * sizeof(Span) + text_room + tags_room)
        if room == NULL:
            raise MemoryError
        try:
            self.found = <Span*> room
            self.text = room + MOST_LINKS * sizeof(Span)
            self.tags = self.text + text_room
            with nogil:
                self.scan()
                self.end_anchor()
            self.visible = self.text[: self.n_text]
            self.skeleton = self.tags[: min(self.n_tags, most_skeleton)]
            self.links = [
                (
                    self.html[self.found[i].target : self.found[i].target_end],
                    self.text[self.found[i].shown : self.found[i].shown_end],
                )
                for i in range(self.n_links)
            ]
        finally:
            PyMem_Free(room)

    cdef inline void show(self, uint8_t c) noexcept nogil:
        """Append to the visible text; white space is written once."""
        if c <= 32:
            if self.n_text == 0 or self.text[self.n_text - 1] <= 32:
                return
            c = 10 if c == 11 else 32
        self.text[self.n_text] = c
        self.n_text += 1

    cdef void scan(self) noexcept nogil:
        cdef const uint8_t* html = self.html
        cdef uint8_t* text = self.text
        cdef Py_ssize_t i = 0, n = 0, after
        while i < self.length:
            if html[i] == 60:
                self.n_text = n
                after = self.markup(i)
                n = self.n_text
                if after > i:
                    i = after
                    continue
            if html[i] > 32:
                text[n] = html[i]
                n += 1
            elif n and text[n - 1] > 32:
                text[n] = 32
                n += 1
            i += 1
        self.n_text = n

    cdef Py_ssize_t markup(self, Py_ssize_t i) noexcept nogil:
        """Deal with the tag, comment or declaration at `i` and return what follows it, or `i` if it is only a `<`."""
        cdef Py_ssize_t j = i + 1
        if j >= self.length:
            return i
        if self.html[j] == 33 and j + 2 < self.length and self.html[j + 1] == 45 and self.html[j + 2] == 45:
            return self.past_comment(j + 3)
        if self.html[j] == 33 or self.html[j] == 63:
            return self.past_declaration(j)
        if self.html[j] == 47:
            j += 1
        if j < self.length and 97 <= lower(self.html[j]) <= 122:
            return self.tag(i, j)
        return self.past_declaration(j) if i + 1 < j < self.length else i

    cdef Py_ssize_t past_declaration(self, Py_ssize_t j) noexcept nogil:
        while j < self.length and self.html[j] != 62:
            j += 1
        return min(j + 1, self.length)

    cdef Py_ssize_t past_comment(self, Py_ssize_t j) noexcept nogil:
        """Skip to what follows `-->` or, as browsers do, `--!>`; `j` is just behind the opening `<!--`."""
        cdef Py_ssize_t dashes
        while j < self.length:
            if self.html[j] == 62:
                dashes = j - 2 if self.html[j - 1] == 33 else j - 1
                if self.html[dashes] == 45 and self.html[dashes - 1] == 45:
                    return j + 1
            j += 1
        return self.length

    cdef Py_ssize_t tag(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Deal with the tag that opens at `i` and whose name begins at `j`."""
        cdef uint64_t name = 0
        cdef Py_ssize_t begin = j, end = self.tag_end(j), links
        cdef bint closing = self.html[i + 1] == 47
        if end == 0:
            return i
        while j < end and self.html[j] > 32 and self.html[j] != 47 and self.html[j] != 62:
            if j - begin < 8:
                name = (name << 8) | lower(self.html[j])
            j += 1
        self.skeleton_of(begin, j, end, closing)
        cdef uint8_t effect = EFFECTS[slot(name)]
        if effect & LINE:
            self.show(11)
        elif effect & BOX:
            self.show(32)
        if name == ANCHOR:
            self.end_anchor()
        if closing:
            return end
        links = self.n_links
        self.attributes(j, end)
        if name == ANCHOR and self.n_links > links:
            self.anchor = links
        if effect & (HIDDEN | SHOWN):
            return self.past_raw_text(end, begin, j, effect & SHOWN)
        return end

    cdef void end_anchor(self) noexcept nogil:
        """The text of a link ends where its tag is closed, or the next link opens, or the mail ends."""
        if self.anchor >= 0:
            self.found[self.anchor].shown_end = self.n_text
        self.anchor = -1

    cdef Py_ssize_t tag_end(self, Py_ssize_t j) noexcept nogil:
        """Where the tag ends, just behind its `>`; without one, at the next `<`; 0 if neither comes.

        A quote that is not closed within LONGEST_TAG is none: then the first `>` ends the tag. A tag that is longer
        (a picture in its address) and has none takes all the rest with it, as in browsers.
        """
        cdef Py_ssize_t i = j, plain = 0, most = min(self.length, j + LONGEST_TAG)
        cdef uint8_t quote = 0
        while i < most:
            if self.html[i] == 62 and plain == 0:
                plain = i + 1
            if quote:
                if self.html[i] == quote:
                    quote = 0
            elif self.html[i] == 62:
                return i + 1
            elif self.html[i] == 60:
                return plain if plain else i
            elif (self.html[i] == 34 or self.html[i] == 39) and self.html[i - 1] == 61:
                quote = self.html[i]
            i += 1
        if plain or most == self.length:
            return plain
        while i < self.length and self.html[i] != 62:
            i += 1
        return min(i + 1, self.length)

    cdef Py_ssize_t past_raw_text(
        self, Py_ssize_t j, Py_ssize_t name, Py_ssize_t name_end, bint visible
    ) noexcept nogil:
        """Skip or show what stands between `<script>`, `<title>` and their like and the closing tag."""
        cdef Py_ssize_t k
        while j < self.length:
            if self.html[j] == 60 and j + 1 < self.length and self.html[j + 1] == 47:
                k = 0
                while name + k < name_end and j + 2 + k < self.length and (
                    lower(self.html[j + 2 + k]) == lower(self.html[name + k])
                ):
                    k += 1
                if name + k == name_end:
                    return j
            if visible:
                self.show(self.html[j] if self.html[j] != 11 else 32)
            j += 1
        return self.length

    cdef void attributes(self, Py_ssize_t j, Py_ssize_t end) noexcept nogil:
        """Note the targets of href, src, action and background."""
        cdef uint64_t name
        cdef Py_ssize_t begin
        cdef int letters
        cdef uint8_t quote
        while j < end:
            name = 0
            letters = 0
            while j < end and not (97 <= lower(self.html[j]) <= 122):
                j += 1
            while j < end and self.html[j] > 32 and self.html[j] != 61 and self.html[j] != 62:
                if letters < 8:
                    name = (name << 8) | lower(self.html[j])
                letters += 1
                j += 1
            while j < end and self.html[j] <= 32:
                j += 1
            if j >= end or self.html[j] != 61:
                continue
            j += 1
            while j < end and self.html[j] <= 32:
                j += 1
            quote = self.html[j] if j < end and (self.html[j] == 34 or self.html[j] == 39) else 0
            j += quote != 0
            begin = j
            while j < end and (self.html[j] != quote if quote else self.html[j] > 32 and self.html[j] != 62):
                j += 1
            if name == HREF or name == SRC or name == ACTION or name == BACKGROUND:
                self.note(begin, j - 1 if j == end and self.html[j - 1] == 62 else j)
            j += 1

    cdef void note(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        if self.n_links < MOST_LINKS and end > begin:
            self.found[self.n_links] = Span(begin, end, self.n_text, self.n_text)
            self.n_links += 1

    cdef void skeleton_of(self, Py_ssize_t begin, Py_ssize_t name_end, Py_ssize_t end, bint closing) noexcept nogil:
        """Append `<name attributes>` in lower case; of the attributes only the beginning."""
        cdef Py_ssize_t j, stop = min(end, name_end + SHOWN_ATTRIBUTES)
        cdef uint8_t c
        if self.n_tags >= self.most_tags:
            return
        self.put(60)
        if closing:
            self.put(47)
        for j in range(begin, min(stop, begin + LONGEST_TAG // 2)):
            c = lower(self.html[j])
            if c == 60 or c == 62:
                break
            if c > 32:
                self.put(c)
            elif self.tags[self.n_tags - 1] != 32:
                self.put(32)
        self.put(62)

    cdef inline void put(self, uint8_t c) noexcept nogil:
        self.tags[self.n_tags] = c
        self.n_tags += 1


cdef inline int space(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """How many bytes the white space at a place of UTF-8 has; 0 if there is none."""
    if at[0] < 0x80:
        return at[0] == 32 or 9 <= at[0] <= 13 or 28 <= at[0] <= 31
    if at[0] == 0xC2 and at + 1 < end:
        return 2 if at[1] == 0x85 or at[1] == 0xA0 else 0
    if at[0] == 0xE1 and at + 2 < end:
        return 3 if at[1] == 0x9A and at[2] == 0x80 else 0
    if at[0] == 0xE2 and at + 2 < end:
        if at[1] == 0x80:
            return 3 if at[2] <= 0x8A or 0xA8 <= at[2] <= 0xA9 or at[2] == 0xAF else 0
        return 3 if at[1] == 0x81 and at[2] == 0x9F else 0
    return 3 if at[0] == 0xE3 and at + 2 < end and at[1] == 0x80 and at[2] == 0x80 else 0


cdef inline bint ends_with(const uint8_t* begin, const uint8_t* at, const char* word, int length) noexcept nogil:
    cdef int i
    if at - begin < length:
        return False
    for i in range(length):
        if lower(at[i - length]) != <uint8_t> word[i]:
            return False
    return True


def plain_links(bytes text):
    """Return the addresses that stand in plain text: http, https or ftp, and 3 to 500 characters.

    >>> plain_links(b"see HTTP://a.example/x, or <ftp://b.example>; not http://a")
    [b'HTTP://a.example/x,', b'ftp://b.example']
    """
    cdef const uint8_t* begin = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef const uint8_t* end = begin + PyBytes_GET_SIZE(text)
    cdef const uint8_t* at
    cdef const uint8_t* start
    cdef int characters
    cdef list links = []
    while True:
        at = <const uint8_t*> memmem(begin, end - begin, b"://", 3)
        if at == NULL:
            return links
        if ends_with(begin, at, b"https", 5):
            start = at - 5
        elif ends_with(begin, at, b"http", 4):
            start = at - 4
        elif ends_with(begin, at, b"ftp", 3):
            start = at - 3
        else:
            start = NULL
        at += 3
        if start != NULL:
            begin = at
            characters = 0
            while at < end and at[0] != 60 and at[0] != 62 and at[0] != 34 and at[0] != 39 and not space(at, end):
                if at[0] & 0xC0 != 0x80:
                    if characters == 500:
                        break
                    characters += 1
                at += 1
            if characters >= 3:
                links.append(PyBytes_FromStringAndSize(<const char*> start, at - start))
            else:
                at = begin
        begin = at


def without_invisible(bytes text):
    """Return UTF-8 without zero-width and direction-changing characters; the same object if there are none.

    >>> without_invisible("mon\\u200bey".encode())
    b'money'
    """
    cdef const uint8_t* old = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t length = PyBytes_GET_SIZE(text), i = 0, begin = 0, size
    cdef list pieces = []
    if text.isascii():
        return text
    while i < length:
        if old[i] < 0xC2:
            i += 1
            continue
        size = invisible(old + i, old + length)
        if size:
            pieces.append(text[begin:i])
            begin = i + size
        i += size if size else 1
    return b"".join(pieces) + text[begin:] if pieces else text


cdef inline int invisible(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """How many bytes the invisible character at a place has; 0 if there is none."""
    if at[0] == 0xC2:
        return 2 if at + 1 < end and at[1] == 0xAD else 0
    if at + 2 >= end:
        return 0
    if at[0] == 0xE2:
        if at[1] == 0x80:
            return 3 if 0x8B <= at[2] <= 0x8F or 0xAA <= at[2] <= 0xAE else 0
        return 3 if at[1] == 0x81 and 0xA0 <= at[2] <= 0xA4 else 0
    return 3 if at[0] == 0xEF and at[1] == 0xBB and at[2] == 0xBF else 0


def unescaped(bytes text):
    """Return UTF-8 with its entities decoded, as `html.unescape` does it, for numbers of any length.

    >>> unescaped(b"5 &lt; 7 &amp; &#8364;&#x20AC; &notit; &nosuch;").decode()
    '5 < 7 & €€ ¬it; &nosuch;'
    """
    cdef const uint8_t* begin = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef const uint8_t* end = begin + PyBytes_GET_SIZE(text)
    cdef const uint8_t* at = <const uint8_t*> memchr(begin, 38, end - begin)
    cdef const uint8_t* after
    cdef list pieces = []
    if at == NULL:
        return text
    while at != NULL:
        decoded = None
        after = at + 1
        if after < end and after[0] == 35:
            after = number_end(after + 1, end)
            if after != NULL:
                decoded = by_number(at + 2, after)
                after += after < end and after[0] == 59
        else:
            while after < end and after - at <= LONGEST_ENTITY and not (
                after[0] == 9 or after[0] == 10 or after[0] == 12 or after[0] == 32 or after[0] == 60 or
                after[0] == 38 or after[0] == 35 or after[0] == 59
            ):
                after += 1
            if after > at + 1:
                decoded = by_name(at + 1, after + (after < end and after[0] == 59))
                after += after < end and after[0] == 59
        if decoded is not None:
            pieces.append(PyBytes_FromStringAndSize(<const char*> begin, at - begin))
            pieces.append(decoded)
            begin = at = after
        else:
            at += 1
        at = <const uint8_t*> memchr(at, 38, end - at)
    pieces.append(PyBytes_FromStringAndSize(<const char*> begin, end - begin))
    return b"".join(pieces)


cdef const uint8_t* number_end(const uint8_t* at, const uint8_t* end) noexcept:
    """Where the digits of `&#…` or `&#x…` end; NULL if there are none."""
    cdef bint is_hexadecimal = at < end and at[0] | 32 == 120
    cdef const uint8_t* begin
    at += is_hexadecimal
    begin = at
    while at < end and (48 <= at[0] <= 57 or is_hexadecimal and 97 <= at[0] | 32 <= 102):
        at += 1
    return at if at > begin else NULL


cdef bytes by_number(const uint8_t* at, const uint8_t* end):
    """The character of a number; what is none gives a sign for that, or nothing, as in browsers."""
    cdef uint32_t n = 0
    cdef bint is_hexadecimal = at[0] | 32 == 120
    at += is_hexadecimal
    while at < end and n < 0x110000:
        n = n * 16 + (at[0] & 15 if at[0] <= 57 else (at[0] & 15) + 9) if is_hexadecimal else n * 10 + at[0] - 48
        at += 1
    if n == 0 or 0xD800 <= n <= 0xDFFF or n > 0x10FFFF:
        return b"\xef\xbf\xbd"
    if 0x80 <= n <= 0x9F:
        return (WINDOWS[n - 0x80]).encode()
    if 1 <= n <= 8 or n == 11 or 14 <= n <= 31 or n == 127 or 0xFDD0 <= n <= 0xFDEF or n & 0xFFFE == 0xFFFE:
        return b""
    return chr(n).encode()


# Numbers of control characters are read as what Windows has in their place.
cdef str WINDOWS = "".join(
    [bytes([n]).decode("cp1252") if n not in (0x81, 0x8D, 0x8F, 0x90, 0x9D) else chr(n) for n in range(0x80, 0xA0)]
)


cdef bytes by_name(const uint8_t* at, const uint8_t* end):
    """The characters of a name, or of the longest beginning of it that is one, with the rest as it stands."""
    cdef bytes name = PyBytes_FromStringAndSize(<const char*> at, end - at)
    cdef Py_ssize_t length = len(name)
    if not name.isascii():
        while length and at[length - 1] >= 0x80:
            length -= 1
    while length > 1:
        found = html5.get(name[:length].decode("utf-8", "replace"))
        if found is not None:
            return found.encode() + name[length:]
        length -= 1
    return None


cdef enum:
    NO_DIGIT = 64

cdef uint8_t[256] DIGIT
for _byte in range(256):
    DIGIT[_byte] = NO_DIGIT
for _digit, _byte in enumerate(bytearray(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")):
    DIGIT[_byte] = _digit


def base64_bytes(bytes data):
    """Decode base64 as far as it goes: foreign characters are skipped, a cut-off end is dropped.

    What is as it should be, which is nearly all, is decoded here; where something is not, the standard library goes on.

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
        kept = re.sub(rb"[^A-Za-z0-9+/]", b"", data)
        kept = kept[: len(kept) - (len(kept) % 4 == 1)]
        return binascii.a2b_base64(kept + b"=" * (3 - (len(kept) + 3) % 4))
