"""The domain the sender claims, and the domains above it."""

from collections.abc import Iterator

from priory.features.found import Found, listing
from priory.features.sections import Sections


def sender(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find the sender's domains.

    >>> from priory.message import parse
    >>> found, = sender(Sections(parse(b"From: <news@mail.shop.example>\\n\\n")), seed=1, bits=22)
    >>> [found.value(i) for i in range(len(found.buckets))]
    ['mail.shop.example', 'shop.example']
    """
    domain = sections.message.sender_domain
    yield listing("sender", ((domain, name) for name in domains(domain)), seed, bits)


def domains(host: str) -> list[str]:
    """Return a host's name and the names above it, without the last label alone.

    >>> domains("a.b.example")
    ['a.b.example', 'b.example']
    """
    labels = host.split(".")[-6:]
    return [".".join(labels[i:]) for i in range(max(len(labels) - 1, 1))] if host else []
