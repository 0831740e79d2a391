"""What a configuration says about where the journal is."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from priory.config.tables import ConfigError, refuse_unknown, table
from priory.journal import Store
from priory.options import Options

VARIABLE: Final = "PRIORY_STORE"  #: says for all commands where the journal is, whatever the file says
_BEGINNINGS: Final = ("postgresql://", "postgres://")
_EXAMPLE: Final = "postgresql://priory@db.example/priory"


def is_address(text: str) -> bool:
    """Tell the address of a database from a folder."""
    return text.startswith(_BEGINNINGS)


def store_of(every: Mapping[str, Any]) -> Store | None:
    """Return where the journal is; None if it is in the home.

    >>> store_of({}), store_of({"store": {"url": "postgresql://db.example/mail", "node": "mx1"}}).node
    (None, 'mx1')
    """
    section = table(every, "store")
    refuse_unknown(section, ("url", "node"), "store")
    url, node = section.get("url", ""), section.get("node", "")
    if not isinstance(url, str) or (url and not is_address(url)):
        raise ConfigError(f"[store] url must be an address such as {_EXAMPLE}", "store", "url")
    if not isinstance(node, str) or not node.isprintable():
        raise ConfigError(f"[store] node must be a name in quotes, not {node!r}", "store", "node")
    return Store(url, node or os.uname().nodename) if url else None


def with_variable(options: Options) -> Options:
    """Return options with the store that the environment names, if it names one."""
    url = os.environ.get(VARIABLE)
    if not url:
        return options
    if not is_address(url):
        raise ConfigError(f"{VARIABLE}, or --store, must be an address such as {_EXAMPLE}")
    node = options.store.node if options.store else os.uname().nodename
    return replace(options, store=Store(url, node))
