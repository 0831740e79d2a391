"""What a configuration says about who may report mail."""

import re
from collections.abc import Mapping
from typing import Any, Final

from priory.config.tables import ConfigError, given, refuse_unknown, table

_SENDER: Final = re.compile(r"[^\s@]*@[^\s@]+")


def parse_reporters(text: str) -> frozenset[str]:
    """Return the senders that may report mail, in lower case: addresses, and domains as `@mail.example`.

    >>> sorted(parse_reporters('[report]\\nsenders = ["Ann@mail.example", "@home.example"]'))
    ['@home.example', 'ann@mail.example']
    """
    return reporters_in(given(text))


def reporters_in(every: Mapping[str, Any]) -> frozenset[str]:
    """Return what the tables of a configuration say about them."""
    section = table(every, "report")
    refuse_unknown(section, ("senders",), "report")
    senders = section.get("senders", [])
    if not isinstance(senders, list):
        raise ConfigError(
            f'[report] senders must be a list, such as ["ann@mail.example", "@home.example"], not {senders!r}',
            "report",
            "senders",
        )
    for each in senders:
        if not (isinstance(each, str) and _SENDER.fullmatch(each)):
            raise ConfigError(
                f"[report] senders: {each!r} is neither an address, such as ann@mail.example, nor a domain, such as "
                "@home.example",
                "report",
                "senders",
            )
    return frozenset(each.lower() for each in senders)


def may_report(sender: str, reporters: frozenset[str]) -> bool:
    """Tell whether an address may report: it is named, or its domain is.

    >>> may_report("ann@mail.example", frozenset(["@mail.example"]))
    True
    >>> may_report("ann@sub.mail.example", frozenset(["@mail.example"])), may_report("", frozenset(["@mail.example"]))
    (False, False)
    """
    name, at, domain = sender.lower().rpartition("@")
    return bool(name and domain) and not reporters.isdisjoint((f"{name}@{domain}", at + domain))
