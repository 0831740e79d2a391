"""Tables: where there is no room for one, it scrolls in its own box, which the keyboard reaches, never the page."""

from collections.abc import Sequence

from priory.markup import Html, element


def scrolling(table: Html, name: str, *kinds: str) -> Html:
    """Return a table in its box; who hears the page is told the name."""
    return element("div", table, class_=" ".join(("scroll", *kinds)), tabindex="0", role="region", aria_label=name)


def plain_table(head: Sequence[str], rows: Sequence[Sequence[str]], name: str, *kinds: str) -> Html:
    """Return a table of figures in its box, each row named by its first; of the kind *words*, the last column wraps."""
    titles = element("tr", *(element("th", text, scope="col") for text in head))
    named = (
        element("tr", element("th", row[0], scope="row"), *(element("td", text) for text in row[1:])) for row in rows
    )
    return scrolling(element("table", element("thead", titles), element("tbody", *named)), name, "plain", *kinds)
