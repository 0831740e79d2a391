"""Types of settings: each checks a value from TOML, converts it, and describes its limits."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from priory.decision import LARGEST

STORE_EXAMPLE: Final = "postgresql://priory@db.example/priory"


class ConfigError(Exception):
    """A configuration that cannot be used; the text names the mistake and the remedy.

    `key` is the path of the wrong key, beginning with its section, if there is one. `line` is its line, once known.
    """

    def __init__(self, text: str, *key: str, line: int | None = None) -> None:
        super().__init__(text)
        self.key = key
        self.line = line


class ValueType(NamedTuple):
    """A type of values."""

    description: str  #: completes "must be …"
    convert: Callable[[Any], Any]  #: raises ValueError, with a text if the description does not say enough
    is_secret: bool = False  #: errors must not repeat the value


def anything(description: str) -> ValueType:
    """Return a type whose values are checked elsewhere, because they depend on other settings."""
    return ValueType(description, lambda value: value)


def whole_number(least: int, most: int | None = None) -> ValueType:
    """Return the type of whole numbers within limits.

    >>> whole_number(1, 9).description, whole_number(1, 9).convert(3)
    ('a whole number from 1 to 9', 3)
    """
    limits = f"from {least} up" if most is None else f"from {least} to {most}"
    largest = 1 << 53 if most is None else most

    def convert(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= largest:
            raise ValueError
        return value

    return ValueType(f"a whole number {limits}", convert)


def probability(least: float) -> ValueType:
    """Return the type of probabilities below 1."""

    def convert(value: Any) -> float:
        if not (is_number(value) and least <= value < 1):
            raise ValueError
        return float(value)

    return ValueType(f"a probability from {f'{least:.9f}'.rstrip('0')} to below 1", convert)


def choice(*texts: str) -> ValueType:
    """Return the type of one of several texts."""

    def convert(value: Any) -> str:
        if value not in texts or not isinstance(value, str):
            raise ValueError
        return value

    return ValueType(f"one of {', '.join(texts)}", convert)


def measure(units: Mapping[str, int], example: str) -> ValueType:
    """Return the type of texts of a number and a unit; the value is the number of the smallest units.

    >>> measure({"day": 86_400, "week": 604_800}, "2 weeks").convert("2 weeks")
    1209600
    """

    def convert(value: Any) -> int:
        match = re.fullmatch(r"([1-9]\d{0,8}) ?([A-Za-z]+)", value) if isinstance(value, str) else None
        unit = units.get(match[2]) or units.get(match[2].removesuffix("s")) if match else None
        if match is None or unit is None:
            raise ValueError
        return int(match[1]) * unit

    return ValueType(f'a number and one of {", ".join(units)}, such as "{example}"', convert)


def addresses(example: str) -> ValueType:
    """Return the type of one or several addresses to listen on, each host:port or the path of a socket."""

    def convert(value: Any) -> tuple[str, ...]:
        from priory.server.options import host_and_port  # noqa: PLC0415 - needed only for a daemon

        several = [value] if isinstance(value, str) else value
        if not isinstance(several, list):
            raise ValueError
        for address in several:
            is_path = isinstance(address, str) and address.startswith("/") and "\0" not in address
            if not (is_path or (isinstance(address, str) and host_and_port(address))):
                raise ValueError(
                    f'{address!r} is not an address; use host:port, such as "{example}" or "[::1]:783", or the full '
                    "path of a socket, without a prefix"
                )
        return tuple(several)

    return ValueType(f'an address or a list of addresses, such as "{example}"', convert)


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _text(value: Any) -> str:
    if not is_text(value):
        raise ValueError
    return str(value)


def _path(value: Any) -> Path:
    try:
        return Path(_text(value)).expanduser()
    except RuntimeError:
        raise ValueError(f"cannot resolve {value}; use an absolute path") from None


def _host(value: Any) -> str:
    if "/" in _text(value) or value.count(":") == 1:  # an IPv6 address has more colons
        raise ValueError(f"use only the name of the server, not {value!r}; the port is a setting of its own")
    return str(value)


def _folder_list(value: Any) -> tuple[str, ...]:
    if not (isinstance(value, list) and all(map(is_text, value))):
        raise ValueError
    return tuple(value)


def _folder_table(value: Any) -> dict[str, str]:
    if not (isinstance(value, dict) and all(map(is_text, value.values()))):
        raise ValueError
    return value


def _public_url(value: Any) -> str:
    if value != "" and not (isinstance(value, str) and re.fullmatch(r"https://[a-z0-9.-]+(:\d+)?", value)):
        raise ValueError
    return str(value)


def _store_url(value: Any) -> str:
    if not (isinstance(value, str) and is_store_url(value)):
        raise ValueError
    return value


def _node(value: Any) -> str:
    if not (isinstance(value, str) and value.isprintable()):
        raise ValueError
    return value


def _senders(value: Any) -> frozenset[str]:
    if not isinstance(value, list):
        raise ValueError
    for sender in value:
        if not (isinstance(sender, str) and re.fullmatch(r"[^\s@]*@[^\s@]+", sender)):
            raise ValueError(
                f"{sender!r} is neither an address, such as ann@mail.example, nor a domain, such as @home.example"
            )
    return frozenset(sender.lower() for sender in value)


SWITCH: Final = ValueType("true or false", _switch)
TEXT: Final = ValueType("a text on one line", _text)
SECRET_TEXT: Final = ValueType("a text on one line", _text, is_secret=True)
PATH: Final = ValueType("the path of a file", _path)
HOST: Final = ValueType("the name or the address of a server", _host)
FOLDER_LIST: Final = ValueType('a list of folders, such as ["Family"]', _folder_list)
FOLDER_TABLE: Final = ValueType('a table of folders by label, such as { newsletter = "News" }', _folder_table)
PUBLIC_URL: Final = ValueType(
    'the address of a proxy with TLS, such as "https://priory.mail.example", in lower case and without a path',
    _public_url,
)
STORE_URL: Final = ValueType(f"an address such as {STORE_EXAMPLE}", _store_url, is_secret=True)
NODE: Final = ValueType("a printable name", _node)
SENDERS: Final = ValueType('a list of senders, such as ["ann@mail.example", "@home.example"]', _senders)


def is_store_url(text: str) -> bool:
    """Tell whether a text is the address of a database, and not a folder."""
    return text.startswith(("postgresql://", "postgres://"))


def is_name(text: str) -> bool:
    """Tell whether a text can be the name of a label or a pattern."""
    return re.fullmatch(r"[\w-]{1,40}", text, re.ASCII) is not None


def is_number(value: Any) -> bool:
    """Tell whether a value is a number that is not too large for arithmetic."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def is_text(value: Any) -> bool:
    """Tell whether a value is a printable text that is not blank."""
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()
