"""By which names the daemon is asked over HTTP, and from where: only by its own, and only from its own page.

A web page whose name was made to mean this machine would have a browser ask here, and any web page can have it send
something here. A browser always says for whom it asks, and from where what it sends comes.
"""

import re
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from priory.server.http.problems import refused
from priory.server.options import is_this_machine

_NOT_US: Final = (
    "This is asked for by no name but localhost, 127.0.0.1 or [::1], or the one in url of [http]; a proxy must set the "
    "field Host to one of them."
)


class ByOurName:
    """Refuses who asks for another machine; no browser reaches a socket in a folder."""

    def __init__(self, app: ASGIApp, url: str) -> None:
        self._app = app
        self._names = {url.removeprefix("https://")} - {""}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse to."""
        is_by_path = scope["server"] is None or scope["server"][1] is None  # as older and newer uvicorns say it
        host = Headers(scope=scope).get("host", "localhost")
        is_ours = is_by_path or is_this_machine(_without_port(host)) or host.lower() in self._names
        answer = self._app if is_ours else refused(scope, 421, _NOT_US)
        await answer(scope, receive, send)


def is_from_our_page(headers: Headers, url: str) -> bool:
    """Tell whether a browser sends this from a page that came from here.

    >>> here = {"host": "localhost:7358", "origin": "http://localhost:7358"}
    >>> is_from_our_page(Headers(here), ""), is_from_our_page(Headers(here | {"origin": "https://evil.example"}), "")
    (True, False)
    >>> there = {"host": "priory.example", "origin": "http://priory.example"}  # whoever is between could have sent it
    >>> is_from_our_page(Headers(there), "https://priory.example")
    False
    """
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return origin in {f"http://{headers.get('host', '')}", url} - {"", url.replace("https:", "http:", 1)}


def cookie_name(headers: Headers, url: str) -> str:
    """Return the name of the cookie: two daemons on one machine have one each, as browsers tell no ports apart.

    >>> cookie_name(Headers({"host": "[::1]:7358"}), ""), cookie_name(Headers({}), "https://priory.example")
    ('priory_7358', '__Host-priory')
    >>> cookie_name(Headers({"host": "localhost"}), "")
    'priory_80'
    """
    port = re.search(r":(\d+)$", headers.get("host", ""), re.ASCII)
    return "__Host-priory" if url else f"priory_{port[1] if port else 80}"


def _without_port(host: str) -> str:
    return re.sub(r":\d*$", "", host).strip("[]")
