"""Where a message leads: hosts of its links, and links that show one host and go to another."""

import re
from collections.abc import Iterator

from priory.features.found import Found, found_values, line_spans
from priory.features.sections import Sections
from priory.features.sender import domains
from priory.message import Link

_TARGET = re.compile(
    r"\s*([a-z][a-z0-9+.-]{0,20}):(?://)?(?:[^/@?#\s]*@)?([^/:?#\s\\]*)(:\d+)?([^?#\s]*)", re.IGNORECASE
)
_SHOWN_HOST = re.compile(r"(?:https?://)?((?:[\w-]{1,63}\.){1,6}[a-z]{2,20})(?:[/:?#].*)?", re.IGNORECASE)


def links(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find hosts, the domains above them, schemes, file endings, and link texts that lie.

    >>> from priory.message import parse
    >>> raw = b"Content-Type: text/html\\n\\n<a href='http://login.bad.test/x.php'>bank.example</a>"
    >>> found, = links(Sections(parse(raw)), seed=1, bits=22)
    >>> [found.value(i) for i in range(len(found.buckets))]
    ['http', 'login.bad.test', 'bad.test', 'ends in .php', 'shows another host']
    """
    if not sections.message.links:
        return
    section = sections.links
    lines = line_spans(section.shown)
    entries = [
        (value.encode("utf-8", "replace"), start, end)
        for link, (start, end) in zip(sections.distinct_links, lines, strict=False)
        if start < end
        for value in _values(link)
    ]
    yield found_values(section, entries, seed, bits)


def _values(link: Link) -> Iterator[str]:
    target = _TARGET.match(link.target)
    if not target:
        yield "relative"
        return
    scheme, host, port, path = (text or "" for text in target.groups())
    host = host.lower().rstrip(".")
    yield scheme.lower()
    yield from domains(host) if not host.replace(".", "").isdigit() else (host, "address of numbers")
    if port:
        yield f"port {port[1:]}"
    ending = path.rpartition(".")[2]
    if "." in path and 0 < len(ending) < 6 and ending.isalnum():
        yield f"ends in .{ending.lower()}"
    shown = _SHOWN_HOST.fullmatch(link.text.strip())
    if shown and _organisation(shown[1]) != _organisation(host):
        yield "shows another host"


def _organisation(host: str) -> str:
    return ".".join(host.lower().split(".")[-2:])
