"""The view *Log in*."""

from typing import Final

from priory.html.builder import Html, element
from priory.server.page.layout import Visit, document

_NOBODY: Final = Visit(None, "")


def login_view(target: str, error: str = "") -> Html:
    """Return the page with a field for a token; after the login it leads to the target."""
    field = element(
        "input",
        type="password",
        id="token",
        name="token",
        required=True,
        autofocus=True,
        autocomplete="current-password",
        spellcheck="false",
        aria_describedby="how",
        aria_invalid="true" if error else None,
    )
    how = element(
        "p",
        "Make one with ",
        element("code", "priory token --scope admin"),
        "; or let ",
        element("code", "priory open"),
        " log you in.",
        id="how",
        class_="quiet",
    )
    form = element(
        "form",
        *([element("p", error, class_="notice wrong", role="alert")] if error else []),
        element("label", "Token", for_="token"),
        field,
        how,
        element("input", type="hidden", name="next", value=target),
        element("button", "Log in", class_="button primary"),
        method="post",
        action="/login",
        class_="panel login",
    )
    return document(_NOBODY, "/login", "Log in", form)
