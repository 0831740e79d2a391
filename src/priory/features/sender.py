"""The domain the sender claims, and the domains above it."""

from priory.features.hashing import Keys
from priory.features.sections import Section, Sections


def sender(sections: Sections, keys: Keys) -> None:
    """Find the sender's domains.

    >>> from priory.features import Spec, extract
    >>> from priory.message import parse
    >>> found, = extract(parse(b"From: <news@mail.shop.example>\\n\\n"), Spec(kinds=frozenset({"sender"}))).found[4]
    >>> [found.value(i) for i in range(len(found.buckets))]
    ['mail.shop.example', 'shop.example']
    """
    domain = sections.message.sender_domain.encode("utf-8", "replace")
    keys.domains(domain, 0, len(domain))
    if keys.located:
        keys.close(Section("sender", domain, domain))
