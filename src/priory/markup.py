"""Writes HTML in which every text is a text: names and features come out of mail, so they are hostile input."""

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
