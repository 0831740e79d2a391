"""Build HTML elements and tables. All text is escaped: names and features come from mail, so they are hostile input."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
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


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    classes: Sequence[str | None] = (),
    class_: str | None = None,
) -> Html:
    """Return a table whose rows are named by their first cell; `classes` are the columns' CSS classes.

    >>> table(["label", "lessons"], [["ham", "12"]], classes=[None, "n"])
    '<table><thead><tr><th scope="col">label</th><th class="n" scope="col">lessons</th></tr></thead>\
<tbody><tr><th scope="row">ham</th><td class="n">12</td></tr></tbody></table>'
    """
    kinds = list(classes) or [None] * len(head)
    titles = (element("th", title, class_=kind, scope="col") for title, kind in zip(head, kinds, strict=True))
    body = (
        element(
            "tr",
            element("th", first, scope="row"),
            *(element("td", cell, class_=kind) for cell, kind in zip(rest, kinds[1:], strict=True)),
        )
        for first, *rest in rows
    )
    return element(
        "table",
        *([element("caption", caption)] if caption else []),
        element("thead", element("tr", *titles)),
        element("tbody", *body),
        class_=class_,
    )


def scroll_box(table: Html, name: str, *classes: str) -> Html:
    """Return a box around a table, so that the table scrolls and not the page.

    The keyboard can focus it; screen readers announce its name.
    """
    return element("div", table, class_=" ".join(("scroll", *classes)), tabindex="0", role="region", aria_label=name)
