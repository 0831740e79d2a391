# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""Scans HTML in one linear pass for the visible text, the links, and the skeleton of the markup.

Mail needs no HTML tree: the visible text is everything outside tags, comments, scripts and styles. A scanner that never
backtracks costs the same for a flat page and for a hundred thousand nested tables. Tags that browsers draw as a box of
their own (`<p>`, `<td>`, `<img>` …) break a word. All other tags, unknown ones included, do not, so
`V<b></b>ia<xyz>gra` reads "Viagra", as on the screen.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memchr

cdef enum:
    LONGEST_TAG = 4096
    SHOWN_ATTRIBUTES = 60
    MOST_LINKS = 500

cdef enum:  # the effect of a tag on the text around and inside it
    LINE = 1  # a line of its own
    BOX = 2  # a box of its own: it breaks a word
    HIDDEN = 4  # contains raw text up to its closing tag, which a browser does not draw
    SHOWN = 8  # contains raw text up to its closing tag, which a browser draws
    SLOTS = 1024

cdef uint64_t[SLOTS] NAMES
cdef uint8_t[SLOTS] EFFECTS


cdef uint64_t code(bytes name):
    """Pack the first eight letters of a tag's name into one number."""
    cdef uint64_t c = 0
    for letter in name:
        c = (c << 8) | <uint8_t> letter
    return c


cdef inline int slot(uint64_t name) noexcept nogil:
    """Return the slot of a tag's name in a hash table with linear probing, or the free slot where it would go."""
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
    """The result of one pass: `visible` and `skeleton` as UTF-8, `links` as (target, text) pairs of bytes."""

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
        if most_skeleton < 0:
            raise ValueError(f"a skeleton cannot have {most_skeleton} bytes")
        # Each has an allocation of its own: sanitizers see an overflow from one into the other.
        self.found = <Span*> PyMem_Malloc(MOST_LINKS * sizeof(Span))
        self.text = <uint8_t*> PyMem_Malloc(self.length + 1)
        self.tags = <uint8_t*> PyMem_Malloc(<size_t> most_skeleton + LONGEST_TAG)
        try:
            if self.found == NULL or self.text == NULL or self.tags == NULL:
                raise MemoryError
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
            PyMem_Free(self.found)
            PyMem_Free(self.text)
            PyMem_Free(self.tags)

    cdef inline void show(self, uint8_t c) noexcept nogil:
        """Append a character to the visible text; write runs of white space once."""
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
        """Process the tag, comment or declaration at `i`; return the position after it, or `i` for a bare `<`."""
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
        """Return the position after `-->` or, as in browsers, `--!>`; `j` is just after the opening `<!--`."""
        cdef Py_ssize_t dashes
        while j < self.length:
            if self.html[j] == 62:
                dashes = j - 2 if self.html[j - 1] == 33 else j - 1
                if self.html[dashes] == 45 and self.html[dashes - 1] == 45:
                    return j + 1
            j += 1
        return self.length

    cdef Py_ssize_t tag(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Process the tag that opens at `i` and whose name begins at `j`; return the position after it."""
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
        """End the text of the open link: at its closing tag, at the next link, or at the end of the text."""
        if self.anchor >= 0:
            self.found[self.anchor].shown_end = self.n_text
        self.anchor = -1

    cdef Py_ssize_t tag_end(self, Py_ssize_t j) noexcept nogil:
        """Return the end of the tag, just after its `>`; without one, the next `<`; 0 if there is neither.

        A quote that is not closed within LONGEST_TAG is ignored: the first `>` then ends the tag. A longer tag without
        `>` (an image in a data: address) extends to the next `>` or to the end, as in browsers.
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
        """Skip or show the raw text of `<script>`, `<title>` and the like, up to the closing tag."""
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
        """Record the targets of href, src, action and background."""
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
        """Append `<name attributes>` in lower case, with the attributes cut after SHOWN_ATTRIBUTES bytes."""
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
