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
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from priory.decision import UNSURE, Costs
from priory.features import KINDS, Spec
from priory.features.patterns import PatternError, compiled
from priory.filter import Options


class ConfigError(Exception):
    """A configuration that cannot be used; the text says which file, what is wrong, and what to do."""


def load(path: Path) -> Options:
    """Return the options in a file; without a file, the defaults."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Options()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    from tomllib import TOMLDecodeError  # noqa: PLC0415 - a quick start where there is no file

    try:
        return parse(text)
    except (ConfigError, TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None


def parse(text: str) -> Options:
    """Return the options in a configuration.

    >>> parse('[costs]\\nunsure = 2').costs.unsure
    2
    >>> parse('[cost]')
    Traceback (most recent call last):
    priory.config.ConfigError: unknown key 'cost'; did you mean 'costs'?
    """
    from tomllib import loads  # noqa: PLC0415

    given = loads(text)
    _refuse_unknown(given, ("labels", "costs", "features", "patterns"))
    labels = _labels(given.get("labels", ["ham", "spam"]))
    costs = _costs(labels, _table(given, "costs"))
    return Options(costs=costs, spec=_spec(_table(given, "features"), _table(given, "patterns")))


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


def _refuse_unknown(given: Mapping[str, Any], known: Iterable[str]) -> None:
    known = list(known)
    for key in given:
        if key not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - only where it is needed

            near = get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise ConfigError(f"unknown key {key!r}; {hint}")
