"""The line of each key in a configuration, which tomllib does not provide.

The text must be valid TOML, so this scanner only tells keys from values.
"""

import re
from collections.abc import Callable, Iterator
from tomllib import loads
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""
    (?P<space>[ \t\r]+|\#[^\n]*)
    |(?P<newline>\n)
    |(?P<string>\"{3}(?:[^\\]|\\.)*?\"{3,5}|'{3}.*?'{3,5}|"(?:[^"\\]|\\.)*"|'[^']*')
    |(?P<sign>[][{}=,.])
    |(?P<bare>[^][{}=,.\s\#"']+)
    """,
    re.VERBOSE | re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def lines_of(text: str) -> dict[tuple[str, ...], int]:
    """Return the first line of each key, including tables, inline tables and the parts of dotted keys.

    >>> lines_of("labels = ['ham', 'spam']\\n[costs]\\nspam.ham = 100\\nham = { spam = 10 }")  # doctest: +ELLIPSIS
    {('labels',): 1, ('costs',): 2, ('costs', 'spam'): 3, ('costs', 'spam', 'ham'): 3, ('costs', 'ham'): 4, ...: 4}
    """
    scanner = _Scanner(list(_tokens(text)))
    scanner.document()
    return scanner.lines


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "space":
            yield _Token(str(match.lastgroup), match[0], line)
        line += match[0].count("\n")


class _Scanner:
    """A recursive descent over the tokens."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self.lines: dict[tuple[str, ...], int] = {}

    def document(self) -> None:
        table: tuple[str, ...] = ()
        while self._at < len(self._tokens):
            if self._is("\n"):
                self._at += 1
            elif self._is("["):
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> tuple[str, ...]:
        while self._is("["):
            self._at += 1
        name = self._key(())
        while self._is("]"):
            self._at += 1
        return name

    def _pair(self, table: tuple[str, ...]) -> None:
        key = self._key(table)
        self._at += 1  # the equals sign
        self._value(key)

    def _key(self, table: tuple[str, ...]) -> tuple[str, ...]:
        """Read a key, which may be dotted, and record its line."""
        key = table
        while True:
            token = self._tokens[self._at]
            key = (*key, loads(f"k = {token.text}")["k"] if token.kind == "string" else token.text)
            self.lines.setdefault(key, token.line)
            self._at += 1
            if not self._is("."):
                return key
            self._at += 1

    def _value(self, key: tuple[str, ...]) -> None:
        """Skip a value, but record the keys of inline tables, also within arrays."""
        if self._is("{"):
            self._within("}", lambda: self._pair(key))
        elif self._is("["):
            self._within("]", lambda: self._value(key))
        else:
            while self._at < len(self._tokens) and not any(map(self._is, ("\n", ",", "]", "}"))):
                self._at += 1

    def _within(self, end: str, read_item: Callable[[], None]) -> None:
        self._at += 1
        while not self._is(end):
            if self._is(",") or self._is("\n"):
                self._at += 1
            else:
                read_item()
        self._at += 1

    def _is(self, text: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at][:2] in {("sign", text), ("newline", text)}
