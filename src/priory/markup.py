"""Writes HTML in which every text is a text: names and features come out of mail, so they are hostile input."""

import unicodedata
from collections.abc import Iterator
from html import escape
from typing import Final

from priory.verdict import printable

_VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Html(str):
    """Text that is markup already; everything else is escaped where it is put in."""

    __slots__ = ()


def element(tag: str, /, *children: str, **attributes: str | bool | None) -> Html:
    """Return an element with its children; `class_` and `aria_label` stand for `class` and `aria-label`.

    >>> element("p", "Dear <b>you</b>, ", element("em", "win"), class_="note", hidden=False)
    '<p class="note">Dear &lt;b&gt;you&lt;/b&gt;, <em>win</em></p>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if tag in _VOID:
        return Html(f"<{tag}{written}>")
    return Html(f"<{tag}{written}>{together(*children)}</{tag}>")


def together(*parts: str) -> Html:
    """Return parts one after the other, escaped where they are not markup."""
    return Html("".join(part if isinstance(part, Html) else _text(part) for part in parts))


def _attribute(key: str, value: str | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{_text(value)}"'


def _text(text: str) -> str:
    return escape(printable(text))


def exact(text: str) -> Html:
    """Return a text of several lines as markup of which a browser makes the same text again, character by character.

    One that cannot be seen stands alone in an element that can mark it, and isolates what it would do to the order of
    others. NUL and surrogates, which no HTML can hold, become U+FFFD, as browsers have it.

    >>> exact("<b>\\u202e")
    '&lt;b&gt;<bdi title="U+202E RIGHT-TO-LEFT OVERRIDE">\\u202e</bdi>'
    """
    return Html("".join(_pieces(text)))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    for place, character in enumerate(text):
        if not (character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs"):
            yield escape(text[start:place])
            yield _unseen(character)
            start = place + 1
    yield escape(text[start:])


def _unseen(character: str) -> Html:
    name = unicodedata.name(character, unicodedata.category(character))
    code = ord(character)
    kept = "&#13;" if character == "\r" else "\ufffd" if not code or 0xD800 <= code < 0xE000 else character
    return element("bdi", Html(kept), title=f"U+{code:04X} {name}")
