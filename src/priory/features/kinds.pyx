# cython: language_level=3, allow_none_for_extension_args=False
"""The kinds of features and how each is extracted from the sections of a message.

A kind adds its features to `Keys`. If positions and names are wanted (`keys.located`), it also passes the section in
which they occur and a function that names them.
"""

import re

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t

from priory.features.hashing cimport Keys
from priory.features.sections cimport Section, Sections
from priory.message.fields cimport Field, Fields, is_named
from priory.message.parser cimport Message, Text

from priory.features.attachments import attachments
from priory.features.hashing import kind_seed
from priory.features.names import gram_namer, header_words_namer, tags_namer, words_namer
from priory.features.patterns import pattern_matches
from priory.features.sections import MOST_SOURCE

KINDS = (
    "word", "pair", "triple", "header", "sender", "fact", "link", "markup", "attachment", "source-gram", "header-gram",
    "pattern",
)
"""All kinds, in the order in which a journal stores them; a new kind is added at the end."""
NAMED = sum([1 << i for i, kind in enumerate(KINDS) if not kind.endswith("-gram")])
"""The kinds whose features have names of their own, one bit each; n-grams share buckets."""
GRAM_LENGTH = 6
MOST_MARKUP = 3_000
MOST_PART_HEADERS = 500

cdef enum:  # the numbers of the kinds
    WORD, PAIR, TRIPLE, HEADER, SENDER, FACT, LINK, MARKUP, ATTACHMENT, SOURCE_GRAM, HEADER_GRAM, PATTERN
cdef list _SEEDS = [kind_seed(kind.encode()) for kind in KINDS]
cdef unsigned int _NAMED = NAMED
cdef int _GRAM_LENGTH = GRAM_LENGTH, _ONE_GRAM_IN = 2
cdef Py_ssize_t _MOST_SOURCE = MOST_SOURCE, _MOST_PART_HEADERS = MOST_PART_HEADERS, _MOST_MARKUP = MOST_MARKUP


def find(Message message, kinds, patterns, int bits, bint located=False):
    """Return the features of these kinds in a message."""
    cdef Keys keys = Keys(bits, located, _NAMED)
    cdef Sections sections = Sections(message)
    cdef int number
    for number in range(len(KINDS)):
        if KINDS[number] not in kinds:
            continue
        keys.begin(number, _SEEDS[number])
        if number <= TRIPLE:
            _words(sections, keys, number - WORD + 1)
        elif number == HEADER:
            _header_words(sections, keys)
        elif number == SENDER:
            _sender(sections, keys)
        elif number == FACT:
            _facts(sections.message, keys)
        elif number == LINK:
            _links(sections, keys)
        elif number == MARKUP:
            _markup(sections, keys)
        elif number == ATTACHMENT:
            if message.attachments:
                attachments(sections, keys)
        elif number == SOURCE_GRAM:
            _source_grams(sections, keys)
        elif number == HEADER_GRAM:
            _header_grams(sections, keys)
        elif patterns:
            pattern_matches(sections, keys, patterns)
    return keys


# Words of the visible text, single or two or three in a row. The addresses of links are read as text, too: spammers
# cannot leave them out.


cdef int _words(Sections sections, Keys keys, int n) except -1:
    keys.runs(sections.text_tokens, n)
    if keys.located:
        keys.close(sections.text, words_namer(sections.text, sections.text_tokens, n))
    if sections.message.targets:
        keys.runs(sections.link_tokens, n)
        if keys.located:
            keys.close(sections.links, words_namer(sections.links, sections.link_tokens, n))
    return 0


# Names of headers (`subject`), and words and pairs of words of the headers, each tagged with its header
# (`subject=offer`): "offer" in the subject is not "offer" in a mailer's name.


cdef int _header_words(Sections sections, Keys keys) except -1:
    cdef int n
    for n in range(1, 3):
        keys.runs(sections.header_tokens, n)
        if keys.located:
            keys.close(sections.headers, header_words_namer(sections.headers, sections.header_tokens, n))
    return 0


# Byte n-grams: six bytes in a row at any position. They do not depend on words, so they see through obfuscation and
# work for scripts without spaces. Half of them, chosen by hash, carry the same information as all
# (docs/decisions/features.md); so do those of the first 3,000 bytes, headers first (docs/decisions/accuracy.md).


cdef int _grams(Section section, Py_ssize_t most, Keys keys) except -1:
    keys.grams(section.shown, most, _GRAM_LENGTH, _ONE_GRAM_IN)
    if keys.located:
        keys.close(section, gram_namer(section))
    return 0


cdef int _source_grams(Sections sections, Keys keys) except -1:
    """Add the n-grams of the text with its markup, up to the room that the headers leave."""
    cdef Py_ssize_t room = _MOST_SOURCE - len(sections.headers.shown)
    return _grams(sections.source, room, keys) if room > 0 else 0


cdef int _header_grams(Sections sections, Keys keys) except -1:
    """Add the n-grams of the headers, including those of parts: how the mail was made and which way it came."""
    _grams(sections.headers, _MOST_SOURCE, keys)
    return _grams(sections.part_headers, _MOST_PART_HEADERS, keys) if sections.message.inner else 0


# The skeleton of the HTML: tags with the start of their attributes, and pairs of adjacent tags. Programs that send spam
# in bulk write distinctive markup.


cdef int _markup(Sections sections, Keys keys) except -1:
    cdef Section skeleton
    if sections.message.tags:
        skeleton = sections.markup
        keys.tags(skeleton.folded, _MOST_MARKUP)
        if keys.located:
            keys.close(skeleton, tags_namer(skeleton))
    return 0


# The domain of the From header, and its parent domains.


cdef int _sender(Sections sections, Keys keys) except -1:
    cdef bytes domain = sections.message.sender_domain.encode("utf-8", "replace")
    keys.domains(domain, 0, len(domain))
    if keys.located:
        keys.close(Section("sender", domain, domain))
    return 0


# Facts about a message that no single word shows: missing headers, contradictions, defects.

cdef list _EXPECTED = [
    (name, b"no " + name) for name in (b"from", b"to", b"subject", b"date", b"message-id", b"received")
]
# Counts, rounded to powers of two, so that like sizes share a feature.
cdef list _ABOUT = [b"0", b"1", b"2"] + [b"%d to %d" % (1 << n, (2 << n) - 1) for n in range(1, 64)]


cdef int _facts(Message message, Keys keys) except -1:
    cdef list lines = []
    cdef bytes line, shown
    cdef Py_ssize_t start = 0
    _header_facts(message, lines)
    _shape(message, lines)
    if not keys.located:
        for line in lines:
            keys.value(line)
        return 0
    lines = list(dict.fromkeys(lines))
    for line in lines:
        keys.value(line, start, start + len(line))
        start += len(line) + 1
    shown = b"\n".join(lines)
    keys.close(Section("facts", shown, shown))
    return 0


cdef bytes _about(Py_ssize_t n):
    cdef int size = 0
    while n >> size:
        size += 1
    return _ABOUT[n] if n < 3 else _ABOUT[size + 1]


cdef int _header_facts(Message message, list lines) except -1:
    cdef Fields own = message.own
    cdef bytes sender = message.sender_domain.encode("utf-8", "replace"), domain
    cdef Py_ssize_t i, received = 0
    for name, line in _EXPECTED:
        if own.first(name) == NULL:
            lines.append(line)
    domain = _address_domain(own.first(b"reply-to"))
    if domain is not None and domain != sender:
        lines.append(b"replies go elsewhere")
    domain = _address_domain(own.first(b"message-id"))
    if domain is not None and sender:
        is_theirs = domain.endswith(sender) and (b"." + domain).endswith(b"." + sender)
        lines.append(b"message-id of the sender's domain" if is_theirs else b"message-id not of the sender's domain")
    cdef bytes zone = _zone(own.first(b"date"))
    if zone is not None:
        lines.append(b"time zone " + zone)
    lines.append(_about(_n_addresses(own.first(b"to")) + _n_addresses(own.first(b"cc"))) + b" recipients")
    for i in range(own.n):
        received += is_named(&own.field[i], b"received")
    lines.append(_about(received) + b" received lines")
    cdef const Field* subject = own.first(b"subject")
    if subject != NULL:
        _subject_facts(" ".join(PyBytes_FromStringAndSize(<const char*> subject.value, subject.value_length)
                                .decode("utf-8", "replace").split()), own, lines)
    return 0


cdef int _subject_facts(str subject, Fields own, list lines) except -1:
    if subject.isupper():
        lines.append(b"subject in capitals")
    if subject[:3].lower() == "re:" and own.first(b"references") == NULL and own.first(b"in-reply-to") == NULL:
        lines.append(b"a reply to nothing")
    if not subject.isascii():
        lines.append(b"subject beyond ASCII")
    return 0


_NAME = re.compile(r"[\w.-]*")


cdef bytes _address_domain(const Field* field):
    """Return the name after the first @ that has one, in lower case; None without one."""
    cdef Py_ssize_t i = 0, end
    cdef bytes name
    if field == NULL:
        return None
    while i < field.value_length:
        if field.value[i] == 64:
            end = i + 1
            while end < field.value_length and (
                _is_letter(field.value[end]) or _is_digit(field.value[end]) or field.value[end] == 45
                or field.value[end] == 46 or field.value[end] == 95 or field.value[end] > 127
            ):
                end += 1
            name = PyBytes_FromStringAndSize(<const char*> field.value + i + 1, end - i - 1)
            if not name.isascii():  # \w decides which non-ASCII characters are letters
                name = _NAME.match(name.decode("utf-8", "replace"))[0].encode()
            if name:
                return _lower(name)
        i += 1
    return None


cdef bytes _zone(const Field* date):
    """Return the time zone of a date, the first sign with four digits; None without one."""
    cdef Py_ssize_t i, length = 0 if date == NULL else date.value_length
    for i in range(length - 4):
        if (date.value[i] == 43 or date.value[i] == 45) and (
            _is_digit(date.value[i + 1]) and _is_digit(date.value[i + 2])
            and _is_digit(date.value[i + 3]) and _is_digit(date.value[i + 4])
        ):
            return PyBytes_FromStringAndSize(<const char*> date.value + i, 5)
    return None


cdef Py_ssize_t _n_addresses(const Field* field) noexcept:
    cdef Py_ssize_t i, n = 0
    for i in range(0 if field == NULL else field.value_length):
        n += field.value[i] == 64
    return n


cdef int _shape(Message message, list lines) except -1:
    cdef Py_ssize_t characters = 0
    cdef Text part
    cdef set types = set()
    for part in message.bodies:
        types.add(part.content_type)
        characters += len(part.visible) if part.visible.isascii() else len(part.text)
    lines.append(_line("text as " + (" and ".join(sorted(types)) if types else "nothing")))
    lines.append(_about(characters) + b" characters")
    lines.append(_about(len(message.targets)) + b" links")
    lines.append(_about(len(message.attachments)) + b" attachments")
    for part in message.bodies:
        if part.charset is not None:
            lines.append(_line("charset " + part.charset.lower()[:40]))
    for defect in message.defects:
        lines.append(_line("defect: " + defect))
    return 0


cdef bytes _line(str text):
    return text.replace("\n", " ").encode("utf-8", "replace")


# Features of links: hosts and their parent domains, schemes, file extensions, and links whose text shows one host while
# the target is another.

_SHOWN_HOST = re.compile(r"(?:https?://)?((?:[\w-]{1,63}\.){1,6}[a-z]{2,20})(?:[/:?#].*)?", re.IGNORECASE)

cdef enum:
    LONGEST_SCHEME = 21
    LONGEST_ENDING = 5


cdef int _links(Sections sections, Keys keys) except -1:
    cdef Section section
    cdef Py_ssize_t start = 0, end
    cdef bytes target, shown
    if not sections.message.targets:
        return 0
    section = sections.links
    for target, shown in sections.distinct_links:
        end = min(start + len(target), len(section.shown))
        if start < end:
            _describe_link(target, shown, keys, start, end)
        start += len(target) + 1
    if keys.located:
        keys.close(section)
    return 0


cdef inline bint _is_letter(uint8_t c) noexcept:
    return 97 <= c | 32 <= 122


cdef inline bint _is_digit(uint8_t c) noexcept:
    return 48 <= c <= 57


cdef int _describe_link(bytes target, bytes shown, Keys keys, Py_ssize_t start, Py_ssize_t end) except -1:
    """Add the parts of `scheme://user@host:port/path.ending`; most of them are optional."""
    cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(target)
    cdef Py_ssize_t length = PyBytes_GET_SIZE(target), i = 0, at, dot = -1
    if length and _is_letter(text[0]):
        while i < length and i < LONGEST_SCHEME and (
            _is_letter(text[i]) or _is_digit(text[i]) or text[i] == 43 or text[i] == 45 or text[i] == 46
        ):
            i += 1
    if i == 0 or i == length or text[i] != 58:
        return keys.value(b"relative", start, end)
    keys.value(target[:i].lower(), start, end)
    i += 1
    if i + 1 < length and text[i] == 47 and text[i + 1] == 47:
        i += 2
    at = i
    while at < length and text[at] != 47 and text[at] != 64 and text[at] != 63 and text[at] != 35 and text[at] != 32:
        at += 1
    if at < length and text[at] == 64:
        i = at + 1
    at = i
    while at < length and (
        text[at] != 47 and text[at] != 58 and text[at] != 63 and text[at] != 35 and text[at] != 32 and text[at] != 92
    ):
        at += 1
    cdef bytes host = _lower(target[i:at]).rstrip(b".")
    if host.replace(b".", b"").isdigit():
        keys.value(host, start, end)
        keys.value(b"address of numbers", start, end)
    else:
        keys.domains(host, start, end)
    i = at + 1
    if at < length and text[at] == 58 and i < length and _is_digit(text[i]):
        while i < length and _is_digit(text[i]):
            i += 1
        keys.value(b"port " + target[at + 1 : i], start, end)
        at = i
    while at < length and text[at] != 63 and text[at] != 35 and text[at] != 32:
        if text[at] == 46:
            dot = at
        at += 1
    if 0 <= dot and _is_ending(target[dot + 1 : at]):
        keys.value(b"ends in ." + _lower(target[dot + 1 : at]), start, end)
    if _may_show_host(shown):
        lie = _SHOWN_HOST.fullmatch(shown.decode("utf-8", "replace").strip())
        if lie and _organisation(lie[1]) != _organisation(host.decode("utf-8", "replace")):
            keys.value(b"shows another host", start, end)
    return 0


cdef bytes _lower(bytes text):
    return text.lower() if text.isascii() else text.decode("utf-8", "replace").lower().encode()


cdef bint _is_ending(bytes text):
    if text.isascii():
        return 0 < len(text) <= LONGEST_ENDING and text.isalnum()
    seen = text.decode("utf-8", "replace")
    return len(seen) <= LONGEST_ENDING and seen.isalnum()


cdef bint _may_show_host(bytes shown):
    """Tell quickly whether the text of a link may be a host: its first word is followed by a dot or a colon."""
    cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(shown)
    cdef Py_ssize_t length = PyBytes_GET_SIZE(shown), i = 0
    while i < length and text[i] <= 32:
        i += 1
    while i < length and (_is_letter(text[i]) or _is_digit(text[i]) or text[i] == 45 or text[i] == 95 or text[i] > 127):
        i += 1
    return i < length and (text[i] == 46 or text[i] == 58)


cdef str _organisation(str host):
    return ".".join(host.lower().split(".")[-2:])
