"""The user's own regular expressions; each that matches is a feature.

They run on RE2, which takes linear time for every expression. No timeout is needed, so a message gives the same
features on a slow machine. RE2 has no look-around and no back-references: patterns that use them are refused when the
configuration is read.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from priory.features.hashing import Keys
from priory.features.sections import Sections


class PatternError(ValueError):
    """A pattern that RE2 refuses. The text gives its name and the reason."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"pattern {name!r}: {reason}. Patterns are RE2 expressions: no look-around, no back-references."
        )
        self.name = name


@lru_cache(maxsize=32)
def _compile_all(patterns: tuple[tuple[str, str], ...]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, _compile(name, pattern)) for name, pattern in patterns)


def _compile(name: str, pattern: str) -> Any:
    import re2  # noqa: PLC0415 - loaded only if there are patterns

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise PatternError(name, reason) from None


def compile_patterns(patterns: Mapping[str, str]) -> tuple[tuple[str, Any], ...]:
    """Compile the patterns; raise PatternError for an invalid one.

    >>> compile_patterns({"greedy": "(?=offer)"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    priory.features.patterns.PatternError: pattern 'greedy': invalid perl operator: (?=. Patterns are RE2 ...
    """
    return _compile_all(tuple(patterns.items()))


def pattern_matches(sections: Sections, keys: Keys, patterns: Mapping[str, str]) -> None:
    """Add each pattern that matches the headers or the text, at its first match."""
    for section in (sections.headers, sections.text):
        for name, pattern in compile_patterns(patterns):
            match = pattern.search(section.shown)
            if match:
                keys.value(name.encode(), *match.span())
        if keys.located:
            keys.close(section)
