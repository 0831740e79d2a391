"""The user's own regular expressions, each a feature by its name.

They run on RE2, whose time is linear in the text whatever the expression: a bound on time that needs no clock, so the
same message gives the same features on a slow day too. RE2 knows no look-around and no back-references; a pattern that
needs them is refused when the configuration is read.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from priory.features.hashing import Keys
from priory.features.sections import Sections


class PatternError(ValueError):
    """A pattern that cannot be used; the text says which and why."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"pattern {name!r}: {reason}. Patterns are RE2 expressions: no look-around, no back-references."
        )
        self.name = name


@lru_cache(maxsize=32)
def _compiled(patterns: tuple[tuple[str, str], ...]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, _compile(name, pattern)) for name, pattern in patterns)


def _compile(name: str, pattern: str) -> Any:
    import re2  # noqa: PLC0415 - only people with patterns pay for it

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise PatternError(name, reason) from None


def compiled(patterns: Mapping[str, str]) -> tuple[tuple[str, Any], ...]:
    """Return the patterns ready to run; raise PatternError for one that is none.

    >>> compiled({"greedy": "(?=offer)"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    priory.features.patterns.PatternError: pattern 'greedy': invalid perl operator: (?=. Patterns are RE2 ...
    """
    return _compiled(tuple(patterns.items()))


def pattern_matches(sections: Sections, keys: Keys, patterns: Mapping[str, str]) -> None:
    """Find which patterns match the headers or the text, and where first."""
    for section in (sections.headers, sections.text):
        for name, pattern in compiled(patterns):
            match = pattern.search(section.shown)
            if match:
                keys.value(name.encode(), *match.span())
        if keys.located:
            keys.close(section)
