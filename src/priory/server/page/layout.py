"""What all views share: head, navigation, footer, error page, and the colours of labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from priory import __version__
from priory.filter.spamassassin import unwanted_labels
from priory.html.builder import Html, element
from priory.server.tokens import Token

VIEWS: Final = (
    ("/", "Check"),
    ("/ask", "Ask"),
    ("/journal", "Journal"),
    ("/costs", "Costs"),
    ("/health", "Health"),
    ("/lab", "Lab"),
)
_VIEWPORT: Final = "width=device-width, initial-scale=1"
_SPAM: Final = "second"
_OTHERS: Final = ("first", "fourth", "fifth", "sixth")  # the third is for unsure


@dataclass(frozen=True, slots=True)
class Visit:
    """A person's visit to the page, and what it may do."""

    token: Token | None  #: None before the login
    csrf: str  #: the CSRF token that every form must send

    def may(self, scope: str) -> bool:
        """Tell whether this visit has a scope."""
        return self.token is not None and self.token.allows(scope)

    def why_not(self, scope: str) -> str:
        """Return why this visit lacks a scope; empty if it has the scope."""
        return "" if self.token is None or self.may(scope) else self.token.refusal(scope)

    @property
    def csrf_field(self) -> Html:
        """The hidden field with the CSRF token."""
        return element("input", type="hidden", name="csrf", value=self.csrf)


def document(visit: Visit, view: str, title: str, *parts: str, assets: Sequence[str] = ()) -> Html:
    """Return a whole page; `view` is its address in the navigation, `assets` are further styles and scripts."""
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
    return Html(f"<!doctype html>\n{page}\n")


def error_page(visit: Visit, status: int, title: str, detail: str) -> Html:
    """Return a page that says what went wrong, with a link to continue."""
    back = element("p", element("a", "Back to the first page", href="/", class_="button"))
    notice = element("p", detail, class_="notice wrong", role="alert")
    return document(visit, "", f"{title} ({status})", notice, back)


def label_colours(labels: Sequence[str], unwanted: Sequence[str] = ()) -> dict[str, str]:
    """Return the colour of each label, a class of the styles.

    The first unwanted label has the colour of spam; beyond five, labels are grey.

    >>> label_colours(["ham", "spam"]), label_colours(["ham", "news", "junk"], ["junk"])
    ({'ham': 'first', 'spam': 'second'}, {'ham': 'first', 'news': 'fourth', 'junk': 'second'})
    """
    spam = next(label for label in labels if label in unwanted_labels(labels, unwanted))
    others = iter(_OTHERS)
    return {label: _SPAM if label == spam else next(others, "other") for label in labels}


def badge_colours(labels: Sequence[str], unwanted: Sequence[str] = ()) -> dict[str, str]:
    """Return the colour of each label on a badge: unwanted labels share that of spam, because a badge names its label.

    >>> badge_colours(["ham", "spam", "news", "phishing"], ["spam", "phishing"])
    {'ham': 'first', 'spam': 'second', 'news': 'fourth', 'phishing': 'second'}
    """
    return label_colours(labels, unwanted) | dict.fromkeys(unwanted_labels(labels, unwanted), _SPAM)


def _head(visit: Visit, title: str, assets: Sequence[str]) -> Html:
    styles = ["palette.css", "style.css", *(name for name in assets if name.endswith(".css"))]
    scripts = ["shell.js", *(name for name in assets if name.endswith(".js"))]
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content=_VIEWPORT),
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
    token_name = f" ({visit.token.name})" if visit.token.name else ""
    session = element("span", f"Logged in with scope {visit.token.scope}{token_name}")
    button = element("button", "Log out", class_="link")
    log_out = element("form", visit.csrf_field, button, method="post", action="/logout")
    return element("footer", version, element("span", session, log_out))
