"""What all views have around them: head, navigation, and where messages to the person appear."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from fastapi.responses import HTMLResponse

from priory import __version__
from priory.markup import Html, element
from priory.server.tokens import Token

VIEWS: Final = (("/", "Check"), ("/journal", "Journal"), ("/costs", "Costs"), ("/health", "Health"), ("/lab", "Lab"))
_WIDTH: Final = "width=device-width, initial-scale=1"


@dataclass(frozen=True, slots=True)
class Visit:
    """Who looks at the page."""

    token: Token | None  #: what the session may do; None: there is no session
    csrf: str  #: the word that what they send must have

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> Self:
        """Return who asks, as the guard has found out."""
        return cls(scope.get("priory.token"), scope.get("priory.csrf", ""))

    def may(self, scope: str) -> bool:
        """Tell whether this person may do what takes a scope."""
        return self.token is not None and self.token.allows(scope)

    def why_not(self, scope: str) -> str:
        """Return why this person may not do what takes a scope; nothing if they may."""
        return "" if self.token is None or self.may(scope) else self.token.refusal(scope)

    @property
    def csrf_field(self) -> Html:
        """What every form has that sends something."""
        return element("input", type="hidden", name="csrf", value=self.csrf)


def document(  # noqa: PLR0913 - what a page is made of
    visit: Visit,
    view: str,
    title: str,
    *parts: str,
    assets: Sequence[str] = (),
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """Return a page: the address of its view in the navigation, its title, what it shows, its scripts and styles."""
    body = element(
        "body",
        element("a", "Skip to content", href="#main", class_="skip"),
        _header(visit, view),
        element("main", element("h1", title), *parts, id="main", tabindex="-1"),
        _footer(visit),
        element("p", id="spoken", class_="spoken", role="status"),
        element("div", id="toasts", aria_hidden="true"),
    )
    page = element("html", _head(visit, title, assets), body, lang="en")
    return HTMLResponse(f"<!doctype html>\n{page}\n", status, dict(headers or {}))


def error_page(
    visit: Visit, status: int, title: str, detail: str, headers: Mapping[str, str] | None = None
) -> HTMLResponse:
    """Return a page that says what went wrong, and from which people can go on."""
    back = element("p", element("a", "Back to the first page", href="/", class_="button"))
    said = element("p", detail, class_="notice wrong", role="alert")
    return document(visit, "", f"{title} ({status})", said, back, status=status, headers=headers)


def _head(visit: Visit, title: str, assets: Sequence[str]) -> Html:
    styles = ["palette.css", "style.css", *(name for name in assets if name.endswith(".css"))]
    scripts = ["shell.js", *(name for name in assets if name.endswith(".js"))]
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content=_WIDTH),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="csrf", content=visit.csrf),
        element("title", f"{title} · Priory"),
        element("link", rel="icon", href="/assets/icon.svg", type="image/svg+xml"),
        *(element("link", rel="stylesheet", href=f"/assets/{name}") for name in styles),
        *(element("script", type="module", src=f"/assets/{name}") for name in scripts),
    )


def _header(visit: Visit, view: str) -> Html:
    name = element("a", "Priory", href="/", class_="name")
    links = (
        element("a", title, href=address, aria_current="page" if address == view else None) for address, title in VIEWS
    )
    navigation = element("nav", *links, aria_label="Views") if visit.token is not None else Html()
    return element("header", element("div", name, navigation, class_="bar"))


def _footer(visit: Visit) -> Html:
    version = element("span", f"Priory {__version__}")
    if visit.token is None:
        return element("footer", version)
    called = f" ({visit.token.name})" if visit.token.name else ""
    who = element("span", f"Logged in with scope {visit.token.scope}{called}")
    button = element("button", "Log out", class_="link")
    out = element("form", visit.csrf_field, button, method="post", action="/logout")
    return element("footer", version, element("span", who, out))
