"""What a configuration says about where the journal is."""

import os
from collections.abc import Mapping
from typing import Any, Final

from priory.config.tables import ConfigError, refuse_unknown, table
from priory.journal import Store

VARIABLE: Final = "PRIORY_STORE"  #: says for all commands where the journal is, whatever the file says
_BEGINNINGS: Final = ("postgresql://", "postgres://")
_EXAMPLE: Final = "postgresql://priory@db.example/priory"


def is_address(text: str) -> bool:
    """Tell the address of a database from a folder."""
    return text.startswith(_BEGINNINGS)


def store_of(every: Mapping[str, Any]) -> Store | None:
    """Return where the journal is, by the environment or else by the configuration; None if it is in the home.

    >>> store_of({}), store_of({"store": {"url": "postgresql://db.example/mail", "node": "mx1"}}).node
    (None, 'mx1')
    """
    section, named = table(every, "store"), os.environ.get(VARIABLE, "")
    refuse_unknown(section, ("url", "node"), "store")
    url, node = section.get("url"), section.get("node", "")
    if url is not None and not (isinstance(url, str) and is_address(url)):
        raise ConfigError(f"[store] url must be an address such as {_EXAMPLE}", "store", "url")
    if not isinstance(node, str) or not node.isprintable():
        raise ConfigError(f"[store] node must be a name in quotes, not {node!r}", "store", "node")
    if node and not (named or url):
        raise ConfigError(f"[store] node is for a journal on a server: give its url, as {_EXAMPLE}", "store", "node")
    return Store(named or str(url), node or os.uname().nodename) if named or url else None


def refuse_variable() -> None:
    """Refuse what the environment says about the journal, if it is no address: the configuration is not to blame."""
    named = os.environ.get(VARIABLE)
    if named and not is_address(named):
        raise ConfigError(f"{VARIABLE}, or --store, must be an address such as {_EXAMPLE}")
