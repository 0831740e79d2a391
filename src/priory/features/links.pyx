# cython: language_level=3
"""Where a message leads: hosts of its links, and links that show one host and go to another."""

import re

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t

from priory.features.hashing cimport Keys
from priory.features.sections cimport Sections

_SHOWN_HOST = re.compile(r"(?:https?://)?((?:[\w-]{1,63}\.){1,6}[a-z]{2,20})(?:[/:?#].*)?", re.IGNORECASE)

cdef enum:
    LONGEST_SCHEME = 21
    LONGEST_ENDING = 5


def links(Sections sections, Keys keys):
    """Find hosts, the domains above them, schemes, file endings, and link texts that lie.

    >>> from priory.features import Spec, extract
    >>> from priory.message import parse
    >>> raw = b"Content-Type: text/html\\n\\n<a href='http://login.bad.test/x.php'>bank.example</a>"
    >>> found, = extract(parse(raw), Spec(kinds=frozenset({"link"}))).found[6]
    >>> [found.value(i) for i in range(len(found.buckets))]
    ['http', 'login.bad.test', 'bad.test', 'ends in .php', 'shows another host']
    """
    if not sections.message.targets:
        return
    section = sections.links
    cdef Py_ssize_t start = 0, end, room = len(section.shown)
    cdef bytes target, shown
    for target, shown in sections.distinct_links:
        end = min(start + len(target), room)
        if start < end:
            _describe(target, shown, keys, start, end)
        start += len(target) + 1
    if keys.located:
        keys.close(section)


cdef inline bint _is_letter(uint8_t c) noexcept:
    return 97 <= c | 32 <= 122


cdef inline bint _is_digit(uint8_t c) noexcept:
    return 48 <= c <= 57


cdef int _describe(bytes target, bytes shown, Keys keys, Py_ssize_t start, Py_ssize_t end) except -1:
    """The parts of `scheme://user@host:port/path.ending`, of which most may be missing."""
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
    """Most texts of links are words, and can be told from hosts by their first: a dot follows it."""
    cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(shown)
    cdef Py_ssize_t length = PyBytes_GET_SIZE(shown), i = 0
    while i < length and text[i] <= 32:
        i += 1
    while i < length and (_is_letter(text[i]) or _is_digit(text[i]) or text[i] == 45 or text[i] == 95 or text[i] > 127):
        i += 1
    return i < length and (text[i] == 46 or text[i] == 58)


cdef str _organisation(str host):
    return ".".join(host.lower().split(".")[-2:])
