"""A configuration as TOML gives it, and what is wrong with it in plain words."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from priory.decision import LARGEST, UNSURE


class ConfigError(Exception):
    """A configuration that cannot be used; the text says what is wrong, and what to do.

    `key` is what it is about, from the section on, if it is about one; `line` is where it stands, once that is known.
    """

    def __init__(self, text: str, *key: str, line: int | None = None) -> None:
        super().__init__(text)
        self.key = key
        self.line = line


SECTIONS: Final = (
    "store",
    "labels",
    "unwanted",
    "costs",
    "features",
    "patterns",
    "table",
    "autolearn",
    "limits",
    "report",
    "serve",
    "spamd",
    "milter",
    "http",
    "imap",
)


def given(text: str) -> Mapping[str, Any]:
    """Return what stands in a configuration."""
    if not text:
        return {}
    from tomllib import TOMLDecodeError, loads  # noqa: PLC0415 - a quick start where there is no file

    try:
        return loads(text)
    except TOMLDecodeError as error:
        what, _, where = str(error).partition(" (at ")
        found = re.match(r"line (\d+), column (\d+)", where)  # else it is the end of the document
        line = int(found[1]) if found else text.count("\n") + (not text.endswith("\n"))
        column = f"in column {found[2]}" if found else "at the end"
        raise ConfigError(f"this is not TOML: {what}, {column}", line=line) from None
    except RecursionError:
        raise ConfigError(
            "this cannot be read: tables or lists lie too deep within each other; write it flatter"
        ) from None
    except ValueError:  # of Python, which reads no whole number of more than 4300 digits
        raise ConfigError("this cannot be read: a number has thousands of digits; write a smaller one") from None


def labels_of(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels of a configuration."""
    named = given.get("labels", ["ham", "spam"])
    if not (isinstance(named, list) and all(isinstance(label, str) and is_name(label) for label in named)):
        raise ConfigError(
            'labels must be a list of names of letters, digits, - and _, such as ["ham", "spam"]', "labels"
        )
    if len(named) < 2 or len(set(named)) < len(named) or UNSURE in named:
        raise ConfigError("labels must be two or more different names, none of them 'unsure'", "labels")
    return tuple(named)


def unwanted_of(given: Mapping[str, Any], labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels of mail that nobody wants, in the order of all; none if a configuration does not say."""
    named = given.get("unwanted", [])
    if not (isinstance(named, list) and all(isinstance(label, str) and label in labels for label in named)):
        raise ConfigError(
            f'unwanted must be a list of labels, such as ["spam"]; known are {", ".join(labels)}', "unwanted"
        )
    if not set(labels) - set(named) or ("unwanted" in given and not named):
        raise ConfigError("unwanted must name at least one label, and leave out one that is wanted", "unwanted")
    return tuple(label for label in labels if label in named)


def is_name(text: str) -> bool:
    """Tell whether a text can be a name."""
    return re.fullmatch(r"[\w-]{1,40}", text, re.ASCII) is not None


def is_number(given: Any) -> bool:
    """Tell whether something is a number that can be reckoned with."""
    return isinstance(given, int | float) and not isinstance(given, bool) and abs(given) <= LARGEST


def table(given: Mapping[str, Any], key: str, *within: str) -> Mapping[str, Any]:
    """Return a section, or a table within one; nothing if it is not there."""
    found = given.get(key, {})
    if not isinstance(found, dict):
        what = (
            f"[{'.'.join(within)}] {key} must be a table, {key} = {{ … }}"
            if within
            else f"{key} must be a section, [{key}]"
        )
        raise ConfigError(f"{what}, not {found!r}", *within, key)
    return found


def refuse_unknown(given: Mapping[str, Any], known: Iterable[str], *within: str) -> None:
    """Raise if there is a key that nobody knows, and say which one may be meant."""
    known = list(known)
    for key in given:
        if key not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - only where it is needed

            near = get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            where = f"[{'.'.join(within)}] " if within else ""
            raise ConfigError(f"{where}unknown key {key!r}; {hint}", *within, key)
