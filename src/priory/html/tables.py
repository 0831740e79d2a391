"""Tables in HTML, in a box that scrolls by itself where there is no room for them."""

from collections.abc import Iterable, Sequence

from priory.html.builder import Html, element


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
