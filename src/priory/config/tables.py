"""A configuration as TOML gives it, and what is wrong with it in plain words."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from priory.decision import UNSURE


class ConfigError(Exception):
    """A configuration that cannot be used; the text says which file, what is wrong, and what to do."""


SECTIONS: Final = ("labels", "costs", "features", "patterns", "autolearn", "report", "serve", "spamd", "milter")


def given(text: str) -> Mapping[str, Any]:
    """Return what stands in a configuration."""
    if not text:
        return {}
    from tomllib import TOMLDecodeError, loads  # noqa: PLC0415 - a quick start where there is no file

    try:
        found = loads(text)
    except TOMLDecodeError as error:
        raise ConfigError(str(error)) from None
    refuse_unknown(found, SECTIONS)
    return found


def labels_of(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels of a configuration."""
    named = given.get("labels", ["ham", "spam"])
    if not (isinstance(named, list) and all(isinstance(label, str) and is_name(label) for label in named)):
        raise ConfigError('labels must be a list of names of letters, digits, - and _, such as ["ham", "spam"]')
    if len(named) < 2 or len(set(named)) < len(named) or UNSURE in named:
        raise ConfigError("labels must be two or more different names, none of them 'unsure'")
    return tuple(named)


def is_name(text: str) -> bool:
    """Tell whether a text can be a name."""
    return re.fullmatch(r"[\w-]{1,40}", text, re.ASCII) is not None


def is_number(given: Any) -> bool:
    """Tell whether something is a finite number."""
    return isinstance(given, int | float) and not isinstance(given, bool) and abs(given) < float("inf")


def table(given: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a section; nothing if it is not there."""
    found = given.get(key, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{key} must be a table, not {found!r}")
    return found


def refuse_unknown(given: Mapping[str, Any], known: Iterable[str], where: str = "") -> None:
    """Raise if there is a key that nobody knows, and say which one may be meant."""
    known = list(known)
    for key in given:
        if key not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - only where it is needed

            near = get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise ConfigError(f"{where}unknown key {key!r}; {hint}")
