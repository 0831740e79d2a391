"""A builder of HTML that escapes all text: names and features come from mail, so they are hostile input."""

import unicodedata
from collections.abc import Iterator
from html import escape
from typing import Final

from priory.html.text import printable

_VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Html(str):
    """Text that is markup already; all other text is escaped when it is inserted."""

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
    """Join parts; escape those that are not markup."""
    return Html("".join(part if isinstance(part, Html) else _text(part) for part in parts))


def _attribute(key: str, value: str | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{_text(value)}"'


def _text(text: str) -> str:
    return escape(printable(text))


def exact(text: str) -> Html:
    """Return markup that a browser shows as exactly this text, character by character.

    An invisible character stands alone in an element, which can mark it and which isolates its effect on the order of
    others. NUL and surrogates, which HTML cannot hold, become U+FFFD, as in browsers.

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
    visible = "&#13;" if character == "\r" else "\ufffd" if not code or 0xD800 <= code < 0xE000 else character
    return element("bdi", Html(visible), title=f"U+{code:04X} {name}")
