# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""Spreads the terms of a score over the message, and adds them up by what a person can see.

The term of a feature is spread evenly over the bytes of all its occurrences. Every byte belongs to exactly one unit: a
word, a header, a tag, a line. With the term T of a feature that covers C bytes, the share of a unit is

    share = sum over the unit's bytes, and over the features that cover each of them, of T / C

So the prior, all shares, and the terms of features without any place add up to the log-odds. Bytes that rules ignore
have no share; `taken` has what they would have. Adjacent words of one line
are one item, a phrase, if their shares are noteworthy and have the same sign.
"""

from cpython.array cimport array
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.tuple cimport PyTuple_GET_ITEM
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memset

from priory.features.hashing cimport MOST_KINDS, Tokens
from priory.features.sections cimport Section, words_of
from priory.features.units cimport Unit, Units
from priory.native.buckets cimport fit_groups

GROUPS = (
    "text", "subject", "links", "sender", "route", "program", "list", "header", "code", "attachment", "fact", "other",
    "familiarity", "labels",
)
"""What a share belongs to, as a person sees the message. The last three have no place in it."""

cdef enum:  # the numbers of the groups
    TEXT, SUBJECT, LINKS, SENDER, ROUTE, PROGRAM, LIST, HEADER, CODE, ATTACHMENT, FACT, OTHER
    SIDES = 2 * 12  # groups with places, each for and against
    MOST_ITEMS = 32
    LONGEST_PHRASE = 6
    SHORT = 3  # bytes; shorter features are not named
    MOST_SHOWN = 240  # bytes of an item
    READ_AS_TEXT = 0b1111  # the kinds whose features are parts of the text: words, pairs, triples, words of headers

cdef double PAIR = 0.7  # the weight of a feature of several words among those that may be named
cdef double NUMBER = 0.5  # and of a feature without letters

cdef dict _GROUP_OF_SECTION = {"text": TEXT, "links": LINKS, "sender": SENDER, "markup": CODE, "source": CODE,
                               "facts": FACT, "attachments": ATTACHMENT}


cdef class Places:
    """The places of a message, each with its exact share of a score."""

    def __dealloc__(self):
        PyMem_Free(self.stretch)
        PyMem_Free(self.piece)
        PyMem_Free(self.term_of)
        PyMem_Free(self.terms)
        PyMem_Free(self.covered)

    def __cinit__(self, list found, const uint32_t[::1] buckets, const int64_t[::1] offsets, const double[::1] terms,
                 int sign, dict headers, list ignored):
        """Spread the terms, times a sign, over the occurrences that `Keys.found` returned.

        `headers` has the number of the group of each header that is not in the group of other headers. `ignored` has the
        places that each rule ignores, as name of the section, first byte and byte after the last.
        """
        cdef Py_ssize_t i
        fit_terms(buckets, offsets, terms)
        for group in headers.values():
            if not 0 <= group < SIDES // 2:
                raise ValueError(f"headers are of the groups 0 to {SIDES // 2 - 1}, not {group}")
        self._found = found
        self._units = Units()
        self.n_terms = terms.shape[0]
        self._moved = []
        self.terms = <double*> PyMem_Malloc((self.n_terms + 1) * sizeof(double))
        self.covered = <int32_t*> PyMem_Calloc(self.n_terms + 1, sizeof(int32_t))
        self.stretch = <Stretch*> PyMem_Calloc(len(found) + 1, sizeof(Stretch))
        if self.terms == NULL or self.covered == NULL or self.stretch == NULL:
            raise MemoryError
        for i in range(self.n_terms):
            self.terms[i] = sign * terms[i]
        self.terms[self.n_terms] = 0  # of features that were never counted
        self.sections = tuple(self._read(found, offsets.shape[0] - 1))
        self._find_terms(buckets, offsets)
        self._split(headers)
        self._spread(ignored)
        self._fold()
        self._join()
        self._merge()

    cdef list _read(self, list found, Py_ssize_t kinds):
        """Note the occurrences in sections that have any text; return these sections."""
        cdef list sections = []
        cdef Section section
        cdef array buckets, starts, ends
        cdef Stretch* stretch
        cdef Py_ssize_t i, number, kind, n
        for i in range(len(found)):
            kind, (section, buckets, starts, ends, _) = found[i]
            n = len(buckets)
            if section is None or not 0 <= kind < kinds or not n == len(starts) == len(ends) or (
                buckets.typecode + starts.typecode + ends.typecode != "Iii"
            ):
                raise ValueError(f"{n} occurrences of kind {kind} have no places in a section")
            if n == 0 or len(section.shown) == 0:
                continue
            number = 0
            while number < len(sections) and sections[number] is not section:
                number += 1
            if number == len(sections):
                sections.append(section)
            stretch = &self.stretch[self.n_stretches]
            stretch.found, stretch.kind, stretch.section, stretch.n = i, kind, number, n
            stretch.at, stretch.bucket = self.n_occurrences, <const uint32_t*> buckets.data.as_uints
            if not _are_inside(starts, ends, <int32_t> len(section.shown)):
                starts, ends = _moved_inside(starts, ends, len(section.shown))
                self._moved += [starts, ends]  # keeps them alive
            stretch.start, stretch.end = <const int32_t*> starts.data.as_ints, <const int32_t*> ends.data.as_ints
            stretch.is_sorted = _are_sorted(stretch.start, n)
            self.n_occurrences += stretch.n
            self.n_stretches += 1
        return sections

    cdef int _find_terms(self, const uint32_t[::1] buckets, const int64_t[::1] offsets) except -1:
        """Find the term of each occurrence, and count the bytes that each term covers.

        Buckets are sorted and spread evenly, so their highest bits nearly say where they are: mostly within one step,
        which is taken without a branch that the processor would have to predict.
        """
        cdef Py_ssize_t s, i, kind = -1, begin = 0, end = 0, most = 1
        cdef int shift = 0
        cdef uint32_t bucket, last = 0
        cdef int32_t* first
        cdef int32_t* term_of
        cdef int32_t* covered = self.covered
        cdef Stretch* stretch
        cdef int32_t term, without_term = <int32_t> self.n_terms
        self.term_of = <int32_t*> PyMem_Malloc((self.n_occurrences + 1) * sizeof(int32_t))
        for i in range(offsets.shape[0] - 1):
            most = max(most, offsets[i + 1] - offsets[i])
        first = <int32_t*> PyMem_Calloc(4 * most + 1, sizeof(int32_t))
        if self.term_of == NULL or first == NULL:
            PyMem_Free(first)
            raise MemoryError
        for s in range(self.n_stretches):
            stretch = &self.stretch[s]
            if stretch.kind != kind:
                kind = stretch.kind
                begin, end = offsets[kind], offsets[kind + 1]
                shift = 0
                while end > begin and buckets[end - 1] >> shift >= 4 * (end - begin):
                    shift += 1
                for i in range(end - 1, begin - 1, -1):
                    first[buckets[i] >> shift] = <int32_t> i
                last = buckets[end - 1] if end > begin else 0
            term_of = &self.term_of[stretch.at]
            for i in range(stretch.n):
                bucket = stretch.bucket[i]
                term = without_term
                if end > begin and bucket <= last:
                    term = max(first[bucket >> shift], <int32_t> begin)
                    term += buckets[term] < bucket
                    while buckets[term] < bucket:
                        term += 1
                    if buckets[term] != bucket:
                        term = without_term
                term_of[i] = term
                covered[term] += stretch.end[i] - stretch.start[i]
        PyMem_Free(first)
        return 0

    cdef int _split(self, dict headers) except -1:
        """Split all sections into units."""
        cdef Section section, text = None
        cdef Units units = self._units
        cdef Py_ssize_t number, first_word = 0, first
        self.sender = self.author = -1
        for number in range(len(self.sections)):
            section = self.sections[number]
            first = units.n
            group = _GROUP_OF_SECTION.get(section.name, HEADER)
            if section.name == "text":
                text, first_word = section, first
                units.words(section, number, group)
            elif section.name == "links":
                units.words(section, number, group)
            elif group == HEADER:
                units.header_lines(section, number, headers, HEADER)
                if section.name == "headers":
                    self.author = self._author(section, first)
            elif section.name == "markup":
                units.tags(section, number, group)
            elif section.name == "source":
                units.source(section, number, group, words_of(text) if text is not None else Tokens(b"", False),
                             first_word)
            else:
                if section.name == "sender":
                    self.sender = first
                units.whole_lines(section, number, group)
        if self.author >= 0 and self.sender >= 0:
            units.unit[self.sender].home = <int32_t> self.author
        return 0

    def _author(self, Section section, Py_ssize_t first):
        """Return the unit of the header From among those from `first` on; -1 without it."""
        cdef Py_ssize_t u
        for u in range(first, self._units.n):
            if section.folded.startswith(b"from:", self._units.unit[u].start):
                return u
        return -1

    cdef int _spread(self, list ignored) except -1:
        """Add up the terms over the bytes of each unit, without the bytes that rules ignore."""
        cdef Py_ssize_t number, s, i, u = 0, length, longest = 0
        cdef Section section
        cdef Stretch* stretch
        cdef Unit* unit
        cdef int32_t term
        cdef double heat, share
        cdef double* changes  # of the heat at each byte, and then the heat itself
        self.taken = [0.0] * len(ignored)
        cdef double* per_byte = <double*> PyMem_Malloc((self.n_terms + 1) * sizeof(double))
        for section in self.sections:
            longest = max(longest, len(section.shown))
        changes = <double*> PyMem_Malloc((longest + 1) * sizeof(double))
        if per_byte == NULL or changes == NULL:
            PyMem_Free(per_byte)
            PyMem_Free(changes)
            raise MemoryError
        for i in range(self.n_terms):
            per_byte[i] = self.terms[i] / max(self.covered[i], 1)
        per_byte[self.n_terms] = 0
        for number in range(len(self.sections)):
            length = len((<Section> self.sections[number]).shown)
            memset(changes, 0, (length + 1) * sizeof(double))
            for s in range(self.n_stretches):
                stretch = &self.stretch[s]
                if stretch.section != number:
                    continue
                for i in range(stretch.n):
                    term = self.term_of[stretch.at + i]
                    changes[stretch.start[i]] += per_byte[term]
                    changes[stretch.end[i]] -= per_byte[term]
            heat = 0
            for i in range(length):
                heat += changes[i]
                changes[i] = heat
            if ignored:
                self._take(self.sections[number], ignored, changes)
            while u < self._units.n and self._units.unit[u].section == number:
                unit = &self._units.unit[u]
                share = 0
                for i in range(unit.start, unit.end):
                    share += changes[i]
                unit.share = share
                u += 1
        PyMem_Free(per_byte)
        PyMem_Free(changes)
        return 0

    cdef int _take(self, Section section, list ignored, double* heat) except -1:
        """Move the heat of ignored bytes of a section to the rules that ignore them."""
        cdef bytes owners = _owners(section, ignored)
        cdef Py_ssize_t i
        cdef uint8_t owner
        for i in range(len(owners)):
            owner = <uint8_t> owners[i]
            if owner:
                self.taken[owner - 1] += heat[i]
                heat[i] = 0
        return 0

    cdef int _fold(self) except -1:
        """Move the shares of units to their homes."""
        cdef Py_ssize_t u
        cdef Unit* unit = self._units.unit
        for u in range(self._units.n):
            if unit[u].home != u:
                unit[unit[u].home].share += unit[u].share
                unit[u].share = 0
        return 0

    cdef int _join(self) except -1:
        """Join units to pieces: words to phrases, the words of a link to the link."""
        cdef Py_ssize_t u = 0, end, words = 0, n = self._units.n
        cdef Unit* unit = self._units.unit
        cdef Piece* piece
        cdef double least = 0
        self.piece = <Piece*> PyMem_Malloc((n + 1) * sizeof(Piece))
        if self.piece == NULL:
            raise MemoryError
        for u in range(n):
            if unit[u].group == TEXT:
                least += fabs(unit[u].share)
                words += 1
        least /= max(words, 1)
        u = 0
        while u < n:
            if unit[u].home != u:
                u += 1
                continue
            piece = &self.piece[self.n_pieces]
            piece.first, piece.group, piece.share = <int32_t> u, unit[u].group, unit[u].share
            end = u + 1
            if piece.group == TEXT:
                end = self._phrase_end(u, least, &piece.share)
            elif piece.group == LINKS:
                while end < n and unit[end].section == unit[u].section and unit[end].line == unit[u].line:
                    piece.share += unit[end].share
                    end += 1
            piece.last = <int32_t> end - 1
            piece.leader, piece.more, piece.total = <int32_t> self.n_pieces, -1, piece.share
            self.n_pieces += 1
            u = end
        return 0

    cdef int _merge(self) except -1:
        """Give words and tags with the same text to the first of them."""
        cdef Py_ssize_t i, size = 8
        cdef uint32_t at
        cdef Piece* piece = self.piece
        cdef Piece* other
        while size < 2 * self.n_pieces:
            size *= 2
        cdef int32_t* newest = <int32_t*> PyMem_Malloc(size * sizeof(int32_t))
        if newest == NULL:
            raise MemoryError
        memset(newest, 255, size * sizeof(int32_t))
        for i in range(self.n_pieces):
            if piece[i].group != TEXT and piece[i].group != CODE:
                continue
            self._find_text(&piece[i])
            at = <uint32_t> (hash_of(piece[i].group, piece[i].text, piece[i].length) >> 32) & <uint32_t> (size - 1)
            while newest[at] >= 0:
                other = &piece[newest[at]]
                if other.group == piece[i].group and other.length == piece[i].length and (
                    memcmp(other.text, piece[i].text, piece[i].length) == 0
                ):
                    other.more = <int32_t> i
                    piece[i].leader = other.leader
                    piece[piece[i].leader].total += piece[i].share
                    break
                at = at + 1 & <uint32_t> (size - 1)
            newest[at] = <int32_t> i
        PyMem_Free(newest)
        return 0

    cdef void _find_text(self, Piece* piece) noexcept:
        """Set the text of a piece, in lower case; of a tag only its name."""
        cdef const Unit* first = &self._units.unit[piece.first]
        cdef Section section = <Section> PyTuple_GET_ITEM(self.sections, first.section)
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(section.folded) + first.first
        cdef int32_t length = self._units.unit[piece.last].last - first.first, i = 1
        if length and text[0] == 60:
            while i < length and text[i] > 32 and text[i] != 62:
                i += 1
            length = i
        piece.text, piece.length = text, length

    cdef Py_ssize_t _phrase_end(self, Py_ssize_t u, double least, double* share) noexcept:
        """Return the unit after the phrase that begins at `u`, and set its share.

        A phrase begins and ends with noteworthy words; a weak word of the same sign may stand between two of them.
        """
        cdef const Unit* unit = self._units.unit
        cdef Py_ssize_t j = u + 1, end = u + 1
        cdef bint is_positive = unit[u].share > 0
        cdef double joined = unit[u].share
        if fabs(joined) < least or joined == 0:
            return end
        while j < self._units.n and j < u + LONGEST_PHRASE and j < end + 2:
            if unit[j].section != unit[u].section or unit[j].line != unit[u].line:
                break
            if unit[j].share == 0 or (unit[j].share > 0) != is_positive:
                break
            joined += unit[j].share
            j += 1
            if fabs(unit[j - 1].share) >= least:
                end = j
                share[0] = joined
        return end

    @property
    def nowhere(self):
        """The terms that have no place: index and value."""
        return [(i, self.terms[i]) for i in range(self.n_terms) if self.covered[i] == 0 and self.terms[i] != 0]

    @property
    def units(self):
        """Each unit in order: its section, first byte, byte after the last, and share.

        A unit whose share is part of another unit's, such as a word in the source of HTML, has the share 0.
        """
        cdef const Unit* unit = self._units.unit
        return [(unit[i].section, unit[i].first, unit[i].last, unit[i].share) for i in range(self._units.n)]

    @property
    def pieces(self):
        """Each place that is shown, in order: its section, first byte, byte after the last, share, and item."""
        return [(*self.place(i), self.piece[i].leader) for i in range(self.n_pieces)]

    def place(self, Py_ssize_t i):
        """Return the place of a piece: its section, first byte, byte after the last, and share."""
        if not 0 <= i < self.n_pieces:
            raise IndexError(f"{i} of {self.n_pieces} places")
        cdef const Unit* first = &self._units.unit[self.piece[i].first]
        cdef const Unit* last = &self._units.unit[self.piece[i].last]
        return first.section, first.first, last.last, self.piece[i].share

    def places_of(self, Py_ssize_t item):
        """Return all places of an item, which share its text."""
        cdef list places = []
        while item >= 0:
            places.append(self.place(item))
            item = self.piece[item].more
        return places

    cdef tuple _item(self, Py_ssize_t i, uint32_t kinds):
        """Return an item: number, share, text, and of its weightiest feature of these kinds the number of the kind,

        the bucket, the text, and whether it begins the item. Without such a feature, the number of its kind is -1.
        """
        cdef const Unit* first = &self._units.unit[self.piece[i].first]
        cdef const Unit* last = &self._units.unit[self.piece[i].last]
        cdef Section section = <Section> PyTuple_GET_ITEM(self.sections, first.section)
        cdef double share = self.piece[i].total
        cdef str text = _on_one_line(section.shown, first.first, last.last)
        cdef Stretch* stretch = NULL
        cdef Py_ssize_t at = self._known(first.section, first.first, last.last, share > 0, kinds, &stretch)
        if stretch == NULL:
            return i, share, text, -1, 0, "", False
        if READ_AS_TEXT >> stretch.kind & 1:
            known = _on_one_line(section.shown, stretch.start[at], stretch.end[at])
        else:
            known = self._found[stretch.found][1][4](at)
        return i, share, text, stretch.kind, stretch.bucket[at], known, stretch.start[at] == first.first

    def reasons(self, Py_ssize_t most, double strong, double least, uint32_t kinds):
        """Return for each group and side its share, the number of its items, and the weightiest items.

        A side that has less than the part `strong` of all shares lists only items with at least the part `least`. An item
        is its number, its share, its text, and its weightiest feature of the `kinds`, a bit for each: the number of the
        kind, the bucket, the text, and whether this begins the item. Without one, the number of the kind is -1.
        """
        cdef double[SIDES] share
        cdef int32_t[SIDES][MOST_ITEMS] best
        cdef Py_ssize_t[SIDES] n, kept
        cdef Py_ssize_t i, at, side
        cdef double whole = 0
        cdef list found = [], items
        cdef const Piece* piece
        most = max(min(most, MOST_ITEMS), 0)
        for side in range(SIDES):
            share[side], n[side], kept[side] = 0, 0, 0
        for i in range(self.n_pieces):
            piece = &self.piece[i]
            if piece.leader != i or piece.total == 0:
                continue
            side = 2 * piece.group + (piece.total < 0)
            share[side] += piece.total
            n[side] += 1
            at = kept[side]
            if at == most and (most == 0 or fabs(self.piece[best[side][most - 1]].total) >= fabs(piece.total)):
                continue
            if at < most:
                kept[side] += 1
            else:
                at -= 1
            while at and fabs(self.piece[best[side][at - 1]].total) < fabs(piece.total):
                best[side][at] = best[side][at - 1]
                at -= 1
            best[side][at] = <int32_t> i
        for side in range(SIDES):
            whole += fabs(share[side])
        for side in range(SIDES):
            if n[side]:
                items = []
                for i in range(kept[side]):
                    piece = &self.piece[best[side][i]]
                    if fabs(share[side]) >= strong * whole or fabs(piece.total) >= least * whole:
                        items.append(self._item(best[side][i], kinds))
                found.append((side >> 1, share[side], n[side], items))
        return found

    cdef Py_ssize_t _known(self, Py_ssize_t section, Py_ssize_t first, Py_ssize_t last, bint positive, uint32_t kinds,
                           Stretch** chosen) noexcept:
        """Find the weightiest feature of these kinds between two bytes, on one side.

        A single word is preferred to a pair that weighs little more, and a word to a number. The domain of the sender
        belongs to the header From.
        """
        cdef Py_ssize_t s, i, best = -1, author = -1
        cdef double weight, most = 0
        cdef Stretch* stretch
        cdef const uint8_t* text
        cdef bint is_here
        if self.author >= 0 and self.sender >= 0 and self._units.unit[self.author].section == section and (
            self._units.unit[self.author].start == first
        ):
            author = self._units.unit[self.sender].section
        for s in range(self.n_stretches):
            stretch = &self.stretch[s]
            is_here = stretch.section == section
            if not (is_here or stretch.section == author) or not kinds >> stretch.kind & 1:
                continue
            text = <const uint8_t*> PyBytes_AS_STRING(
                (<Section> PyTuple_GET_ITEM(self.sections, stretch.section)).shown
            )
            for i in range(_first_from(stretch, first) if is_here else 0, stretch.n):
                if is_here and (stretch.start[i] < first or stretch.end[i] > last):
                    if stretch.is_sorted and stretch.start[i] >= last:
                        break
                    continue
                weight = self.terms[self.term_of[stretch.at + i]]
                if not positive:
                    weight = -weight
                if weight <= most or stretch.end[i] - stretch.start[i] < SHORT:
                    continue
                if memchr(text + stretch.start[i], 32, stretch.end[i] - stretch.start[i]) != NULL:
                    weight *= PAIR
                elif not _has_letter(text, stretch.start[i], stretch.end[i]):
                    weight *= NUMBER
                if weight > most:
                    most, best = weight, i
                    chosen[0] = stretch
        return best


cdef int fit_terms(const uint32_t[::1] buckets, const int64_t[::1] offsets, const double[::1] terms) except -1:
    """Raise IndexError unless each bucket has a term, and the buckets of each kind are in order."""
    cdef Py_ssize_t kind, i
    fit_groups(offsets, offsets.shape[0] - 1, buckets.shape[0])
    if terms.shape[0] != buckets.shape[0] or offsets.shape[0] > MOST_KINDS + 1:
        raise IndexError(f"{buckets.shape[0]} buckets of {offsets.shape[0] - 1} kinds have {terms.shape[0]} terms")
    for kind in range(offsets.shape[0] - 1):
        for i in range(offsets[kind] + 1, offsets[kind + 1]):
            if buckets[i - 1] >= buckets[i]:
                raise IndexError(f"the buckets of kind {kind} are not in order")
    return 0


cdef str _on_one_line(bytes text, Py_ssize_t first, Py_ssize_t last):
    """Return a part of a text with single spaces, cut to what can be shown."""
    cdef const uint8_t* old = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef uint8_t[MOST_SHOWN] line
    cdef Py_ssize_t i, n = 0
    for i in range(first, last):
        if n == MOST_SHOWN:
            break
        if old[i] > 32:
            line[n] = old[i]
            n += 1
        elif n and line[n - 1] != 32:
            line[n] = 32
            n += 1
    if n and line[n - 1] == 32:
        n -= 1
    return (<const char*> line)[:n].decode("utf-8", "replace")



def _owners(section, list ignored):
    """Return for each byte of a section which rule ignores it, counted from 1; 0 for none. No bytes if none does.

    A byte belongs to the first rule. Rules beyond the 255th share a number.
    """
    if not any(name == section.name for places in ignored for name, _, _ in places):
        return b""
    owners = bytearray(len(section.shown))
    for number in range(len(ignored), 0, -1):
        for name, start, end in ignored[number - 1]:
            start = max(start, 0)
            if name == section.name:
                owners[start:end] = bytes([min(number, 255)]) * (min(end, len(owners)) - start)
    return bytes(owners)

def kind_totals(const double[::1] terms, const int64_t[::1] offsets, int sign):
    """Return the sum of the terms of each kind, times a sign."""
    cdef Py_ssize_t kind, i
    cdef double total, lost, changed
    cdef list totals = []
    fit_groups(offsets, offsets.shape[0] - 1, terms.shape[0])
    for kind in range(offsets.shape[0] - 1):
        total = lost = 0
        for i in range(offsets[kind], offsets[kind + 1]):  # Neumaier's summation
            changed = total + terms[i]
            lost += (total - changed) + terms[i] if fabs(total) >= fabs(terms[i]) else (terms[i] - changed) + total
            total = changed
        totals.append(sign * (total + lost))
    return totals


cdef inline uint64_t hash_of(uint64_t h, const uint8_t* text, Py_ssize_t length) noexcept nogil:
    """Mix a text into a hash, eight bytes at a time."""
    cdef uint64_t part
    cdef Py_ssize_t i, whole = length - length % 8
    for i in range(0, whole, 8):
        memcpy(&part, text + i, 8)
        h = (h ^ part) * <uint64_t> 0x9E3779B97F4A7C15
        h ^= h >> 32
    part = length
    for i in range(whole, length):
        part = part << 8 | text[i]
    return (h ^ part) * <uint64_t> 0x9E3779B97F4A7C15


cdef Py_ssize_t _first_from(const Stretch* stretch, Py_ssize_t start) noexcept nogil:
    """Return the first occurrence that begins at `start` or later, or 0 if they are not sorted."""
    cdef Py_ssize_t low = 0, high = stretch.n, middle
    while stretch.is_sorted and low < high:
        middle = (low + high) // 2
        if stretch.start[middle] < start:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline bint _has_letter(const uint8_t* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(start, end):
        if 97 <= text[i] | 32 <= 122 or text[i] > 127:
            return True
    return False


cdef bint _are_inside(array starts, array ends, int32_t length) noexcept:
    """Tell whether all occurrences cover bytes of a section of this length."""
    cdef const int* start = starts.data.as_ints
    cdef const int* end = ends.data.as_ints
    cdef Py_ssize_t i
    cdef bint inside = True
    for i in range(len(starts)):
        inside &= (0 <= start[i]) & (start[i] < end[i]) & (end[i] <= length)
    return inside


cdef bint _are_sorted(const int32_t* starts, Py_ssize_t n) noexcept:
    cdef Py_ssize_t i
    cdef bint are_sorted = True
    for i in range(n - 1):
        are_sorted &= starts[i] <= starts[i + 1]
    return are_sorted


cdef tuple _moved_inside(array starts, array ends, Py_ssize_t length):
    """Return starts and ends so that an empty occurrence, such as an empty link, covers a neighbouring byte."""
    if min(starts) < 0:
        raise IndexError(f"an occurrence begins at byte {min(starts)}")
    moved = [min(start, length - 1) for start in starts]
    return array("i", moved), array("i", [min(max(end, at + 1), length) for at, end in zip(moved, ends)])
