"""The configuration file: TOML in, options out, read once and passed down as values.

A home may hold a `priory.toml`:

    labels = ["ham", "spam"]

    [costs]                    # what a mistake costs: what is said = { what is true = cost }
    spam = { ham = 100 }
    ham = { spam = 10 }
    unsure = 4

    [features]                 # kinds of features to switch on or off
    triple = true

    [patterns]                 # your own regular expressions (RE2), each a feature
    my-name = '(?i)dear ada'

    [spamd]                    # the daemon, `priory serve`
    listen = "127.0.0.1:783"
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from priory.decision import UNSURE, Costs
from priory.features import KINDS, Spec
from priory.features.patterns import PatternError, compiled
from priory.filter import Options
from priory.server.options import Serving, host_and_port

Thing = TypeVar("Thing")
#: What each number of [spamd] can be at most.
MOST: Final = {"workers": 1024, "max_connections": 100_000, "max_bytes": 1 << 30, "timeout": 3600}


class ConfigError(Exception):
    """A configuration that cannot be used; the text says which file, what is wrong, and what to do."""


def load(path: Path) -> Options:
    """Return the options in a file; without a file, the defaults."""
    return _loaded(path, parse)


def load_serving(path: Path) -> Serving:
    """Return what a file says about the daemon; without a file, the defaults."""
    return _loaded(path, parse_serving)


def _loaded(path: Path, parse: Callable[[str], Thing]) -> Thing:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    try:
        return parse(text)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def parse(text: str) -> Options:
    """Return the options in a configuration.

    >>> parse('[costs]\\nunsure = 2').costs.unsure
    2
    >>> parse('[cost]')
    Traceback (most recent call last):
    priory.config.ConfigError: unknown key 'cost'; did you mean 'costs'?
    """
    given = _given(text)
    labels = _labels(given.get("labels", ["ham", "spam"]))
    costs = _costs(labels, _table(given, "costs"))
    return Options(costs=costs, spec=_spec(_table(given, "features"), _table(given, "patterns")))


def parse_serving(text: str) -> Serving:
    """Return what a configuration says about the daemon.

    >>> parse_serving('[spamd]\\nlisten = "127.0.0.1:783"').listen
    ('127.0.0.1:783',)
    """
    given = _table(_given(text), "spamd")
    usual = Serving()
    _refuse_unknown(given, ("listen", "workers", "max_connections", "max_bytes", "timeout"), "[spamd] ")
    return Serving(
        listen=_addresses(given.get("listen", [])),
        workers=_number("workers", given.get("workers", usual.workers)),
        max_connections=_number("max_connections", given.get("max_connections", usual.max_connections)),
        max_bytes=_number("max_bytes", given.get("max_bytes", usual.max_bytes)),
        timeout=_number("timeout", given.get("timeout", usual.timeout)),
    )


def _given(text: str) -> Mapping[str, Any]:
    if not text:
        return {}
    from tomllib import TOMLDecodeError, loads  # noqa: PLC0415 - a quick start where there is no file

    try:
        given = loads(text)
    except TOMLDecodeError as error:
        raise ConfigError(str(error)) from None
    _refuse_unknown(given, ("labels", "costs", "features", "patterns", "spamd"))
    return given


def _addresses(given: Any) -> tuple[str, ...]:
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, list):
        raise ConfigError(
            f'[spamd] listen must be an address or a list of them, such as "127.0.0.1:783", not {given!r}'
        )
    for each in several:
        if not (isinstance(each, str) and (each.startswith("/") or host_and_port(each))):
            raise ConfigError(
                f'[spamd] listen: {each!r} is no address; use host:port, such as "127.0.0.1:783" or "[::1]:783", or '
                "the full path of a socket"
            )
    return tuple(several)


def _number(key: str, given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MOST[key]:
        raise ConfigError(f"[spamd] {key} must be a whole number from 1 to {MOST[key]}, not {given!r}")
    return given


def _labels(given: Any) -> tuple[str, ...]:
    if not (isinstance(given, list) and all(isinstance(label, str) and _is_name(label) for label in given)):
        raise ConfigError('labels must be a list of names of letters, digits, - and _, such as ["ham", "spam"]')
    if len(given) < 2 or len(set(given)) < len(given) or UNSURE in given:
        raise ConfigError("labels must be two or more different names, none of them 'unsure'")
    return tuple(given)


def _is_name(text: str) -> bool:
    return re.fullmatch(r"[\w-]{1,40}", text, re.ASCII) is not None


def _costs(labels: tuple[str, ...], given: Mapping[str, Any]) -> Costs:
    """A mistake without a price costs what a lost ham does if the first label is true, else what a missed spam does."""
    _refuse_unknown(given, (*labels, UNSURE))
    (_, missed), (lost, _) = Costs().matrix
    rows = []

    def usual(said: str, true: str) -> float:
        return 0 if said == true else lost if true == labels[0] else missed

    for said in labels:
        row = _table(given, said)
        _refuse_unknown(row, labels)
        rows.append(tuple(_cost(f"{said} when {true} is true", row.get(true, usual(said, true))) for true in labels))
    return Costs(labels, tuple(rows), _cost(UNSURE, given.get(UNSURE, Costs().unsure)))


def _cost(what: str, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < float("inf"):
        raise ConfigError(f"the cost of {what} must be a number from 0 up, not {given!r}")
    return given


def _spec(switched: Mapping[str, Any], patterns: Mapping[str, Any]) -> Spec:
    _refuse_unknown(switched, KINDS)
    for kind, on in switched.items():
        if not isinstance(on, bool):
            raise ConfigError(f"features: {kind} must be true or false, not {on!r}")
    for name, pattern in patterns.items():
        if not _is_name(name):
            raise ConfigError(f"patterns: {name!r} is no name; use letters, digits, - and _")
        if not isinstance(pattern, str):
            raise ConfigError(f"patterns: {name} must be a regular expression in quotes, not {pattern!r}")
    try:
        compiled(patterns)
    except PatternError as error:
        raise ConfigError(str(error)) from None
    kinds = {kind for kind in KINDS if switched.get(kind, kind in Spec().kinds)}
    return Spec(kinds=frozenset(kinds), patterns=dict(patterns))


def _table(given: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = given.get(key, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{key} must be a table, not {table!r}")
    return table


def _refuse_unknown(given: Mapping[str, Any], known: Iterable[str], where: str = "") -> None:
    known = list(known)
    for key in given:
        if key not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - only where it is needed

            near = get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise ConfigError(f"{where}unknown key {key!r}; {hint}")
