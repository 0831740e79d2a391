"""What a configuration says about how much may be learned, and for how long."""

import re
from collections.abc import Mapping
from typing import Any, Final

from priory.ageing import BYTES, SECONDS, Limits
from priory.config.tables import ConfigError, refuse_unknown, table

_MOST: Final = 1 << 53


def limits_of(every: Mapping[str, Any]) -> Limits:
    """Return the limits of a configuration.

    >>> limits_of({"limits": {"age": "2 years", "lessons": 100_000, "bytes": "300 MB"}})
    Limits(age_s=63072000, lessons=100000, n_bytes=300000000, kept=200)
    """
    section = table(every, "limits")
    refuse_unknown(section, ("age", "lessons", "bytes"), "limits")
    lessons = section.get("lessons")
    if lessons is not None and not (type(lessons) is int and 1 <= lessons <= _MOST):
        raise _wrong("lessons", f"a whole number from 1 up, not {lessons!r}")
    return Limits(_measured(section, "age", SECONDS, "2 years"), lessons, _measured(section, "bytes", BYTES, "300 MB"))


def in_words(limits: Limits) -> str:
    """Return limits as a person would say them.

    >>> in_words(Limits(age_s=63072000, lessons=100_000)), in_words(Limits())
    ('2 years, 100,000 lessons', 'none')
    """
    return ", ".join(limits.words.values()) or "none"


def _measured(section: Mapping[str, Any], key: str, units: Mapping[str, int], example: str) -> int | None:
    given = section.get(key)
    if given is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,8}) ?([A-Za-z]+)", given) if isinstance(given, str) else None
    unit = units.get(found[2]) or units.get(found[2].removesuffix("s")) if found else None
    if found is None or unit is None:
        raise _wrong(key, f'a number and one of {", ".join(units)}, such as "{example}", not {given!r}')
    return int(found[1]) * unit


def _wrong(key: str, must_be: str) -> ConfigError:
    return ConfigError(f"[limits] {key} must be {must_be}", "limits", key)
