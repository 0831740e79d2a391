"""What a configuration says about the daemon."""

import re
from collections.abc import Mapping
from typing import Any, Final

from priory.config.tables import SECTIONS, ConfigError, given, is_number, labels_of, refuse_unknown, table
from priory.server.http import missing
from priory.server.options import Policy, Serving, host_and_port, is_local

#: What each number of [serve] can be at most.
MOST: Final = {"workers": 1024, "max_connections": 100_000, "max_bytes": 1 << 30, "timeout": 3600}
#: What [http] rate can be at most.
MOST_RATE: Final = 1_000_000
#: Where each section usually listens.
USUAL: Final = {"spamd": "127.0.0.1:783", "milter": "127.0.0.1:7357", "http": "127.0.0.1:7358"}


def parse_serving(text: str) -> Serving:
    """Return what a configuration says about the daemon.

    >>> parse_serving('[spamd]\\nlisten = "127.0.0.1:783"').spamd
    ('127.0.0.1:783',)
    """
    return serving_in(given(text))


def serving_in(every: Mapping[str, Any]) -> Serving:
    """Return what the tables of a configuration say about the daemon."""
    refuse_unknown(every, SECTIONS)
    serve, spamd, milter, http = (table(every, section) for section in ("serve", "spamd", "milter", "http"))
    refuse_unknown(serve, MOST, "serve")
    refuse_unknown(spamd, ("listen",), "spamd")
    refuse_unknown(milter, ("listen", "reject", "quarantine", "check_authenticated"), "milter")
    refuse_unknown(http, ("listen", "rate", "url"), "http")
    usual, url = Serving(), _url(http.get("url", ""))
    return Serving(
        spamd=_addresses("spamd", spamd.get("listen", [])),
        milter=_addresses("milter", milter.get("listen", [])),
        http=_private(_addresses("http", http.get("listen", [])), url),
        url=url,
        rate=_number("rate", http.get("rate", usual.rate), "http", MOST_RATE),
        policy=_policy(milter, labels_of(every)),
        **{key: _number(key, serve.get(key, getattr(usual, key)), "serve", most) for key, most in MOST.items()},
    )


def _policy(given: Mapping[str, Any], labels: tuple[str, ...]) -> Policy:
    checks = given.get("check_authenticated", False)
    if not isinstance(checks, bool):
        raise ConfigError(
            f"[milter] check_authenticated must be true or false, not {checks!r}", "milter", "check_authenticated"
        )
    actions = {key: _prices(key, given[key], labels) for key in ("reject", "quarantine") if key in given}
    return Policy(**actions, checks_authenticated=checks)


def _prices(action: str, given: Any, labels: tuple[str, ...]) -> dict[str, float]:
    """What an action costs, or saves, by the label that is true."""
    if not (isinstance(given, dict) and set(given) == set(labels) and all(map(is_number, given.values()))):
        example = ", ".join(f"{label} = {1000 if label == labels[0] else -1}" for label in labels)
        raise ConfigError(
            f"[milter] {action} must say what it costs for each label, such as {{ {example} }}, not {given!r}",
            "milter",
            action,
        )
    return given


def _addresses(section: str, given: Any) -> tuple[str, ...]:
    several = [given] if isinstance(given, str) else given
    usual = USUAL[section]
    if not isinstance(several, list):
        raise ConfigError(
            f'[{section}] listen must be an address or a list of them, such as "{usual}", not {given!r}',
            section,
            "listen",
        )
    for each in several:
        if not (isinstance(each, str) and (_is_path(each) or host_and_port(each))):
            raise ConfigError(
                f'[{section}] listen: {each!r} is no address; use host:port, such as "{usual}" or "[::1]:783", or the '
                "full path of a socket, and nothing before them",
                section,
                "listen",
            )
    return tuple(several)


def _is_path(address: str) -> bool:
    return address.startswith("/") and "\0" not in address


def _url(given: Any) -> str:
    """Where people find the page behind a proxy: no more than a scheme and a host."""
    if given == "":
        return ""
    if not (isinstance(given, str) and re.fullmatch(r"https://[a-z0-9.-]+(:\d+)?", given)):
        raise ConfigError(
            f'[http] url must be where a proxy with TLS leads to this daemon, such as "https://priory.mail.example", '
            f"without a path and in small letters, not {given!r}",
            "http",
            "url",
        )
    return given


def _private(addresses: tuple[str, ...], url: str) -> tuple[str, ...]:
    """Refuse addresses for HTTP that other machines reach without TLS, and all where nothing could answer."""
    for each in addresses:
        if not (url or is_local(each)):
            raise ConfigError(
                f"[http] listen: other machines could reach {each}, and here is no TLS; use "
                f'"{USUAL["http"]}" or the full path of a socket, or put a proxy with TLS before it and say how '
                'people find it: url = "https://…"',
                "http",
                "listen",
            )
    if addresses and (lacking := missing()):
        raise ConfigError(
            f"[http] needs packages that are not installed ({', '.join(lacking)}); pip install 'priory[server]'",
            "http",
            "listen",
        )
    return addresses


def _number(key: str, given: Any, section: str, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= most:
        raise ConfigError(f"[{section}] {key} must be a whole number from 1 to {most}, not {given!r}", section, key)
    return given
