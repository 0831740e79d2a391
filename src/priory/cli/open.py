"""`priory open`: the page in a browser, logged in."""

import os
import socket
import sys
import time
from dataclasses import replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from priory.cli.noted import noted, noted_address
from priory.cli.options import HOME, Config, Home, Problem, config_path, place_of, problems
from priory.cli.serve import served

if TYPE_CHECKING:
    from priory.server.options import Serving

_PATIENCE_S: Final = 60.0  # with a daemon that starts


def open_page(
    home: Home = HOME,
    config: Config = None,
    no_browser: Annotated[
        bool, typer.Option("--print", help="Print the link instead; it is good for one minute, and once.")
    ] = False,
) -> None:
    """Open the page in your browser, logged in; start the daemon first if it is not running.

    A daemon that this starts runs in the foreground and ends with Ctrl-C. If `[http]` in `priory.toml` names no
    address, it takes 127.0.0.1:7358, or any free port if that is taken.

    **Examples**

    `priory open`

    `priory open --print --home /var/lib/priory`
    """
    from priory.config import load_serving  # noqa: PLC0415
    from priory.server.listeners import answers  # noqa: PLC0415

    place, path = place_of(home).absolute(), config_path(home, config)
    with problems():
        serving = load_serving(path)
    if answers(str(place / "socket")):
        _open_running(place, path, serving, in_browser=not no_browser)
    else:
        raise typer.Exit(_start_and_open(place, path, serving, in_browser=not no_browser))


def _open_running(home: Path, config: Path, serving: "Serving", *, in_browser: bool) -> None:
    from priory.config.serving import USUAL  # noqa: PLC0415

    if not serving.http and (address := noted_address(home)):
        serving = replace(serving, http=(address,))
    if not serving.http:
        raise Problem(
            f'the daemon shows no page: write [http] and listen = "{USUAL["http"]}" into {config}, and have it read '
            "that: systemctl reload priory, or send it SIGHUP"
        )
    there = _there(serving)
    if not _is_healthy(there):
        raise Problem(
            f"the daemon does not answer on {there[0]}:{there[1]}: does it know of [http] yet? Send it SIGHUP"
        )
    _open(home, _url(serving, there), in_browser=in_browser)


def _start_and_open(home: Path, config: Path, serving: "Serving", *, in_browser: bool) -> int:
    from priory.config import load_serving  # noqa: PLC0415
    from priory.forking import forked  # noqa: PLC0415
    from priory.server.http import missing  # noqa: PLC0415

    if lacking := missing():
        raise Problem(
            f"the page needs packages that are not installed ({', '.join(lacking)}): pip install 'priory[server]'"
        )
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Problem(f"{home} cannot be made: {error.strerror}; name another --home") from None
    usual = serving.http or (_free_address(),)
    there = _there(replace(serving, http=usual))

    def configured() -> "Serving":
        now = load_serving(config)
        return now if now.http else replace(now, http=usual)

    daemon = os.getpid()

    def open_when_ready() -> None:
        end = time.monotonic() + _PATIENCE_S
        while not _is_healthy(there):
            if time.monotonic() > end or not _is_there(daemon):
                return
            time.sleep(0.1)
        try:
            _open(home, _url(serving, there), in_browser=in_browser)
        except Problem as problem:
            sys.stderr.write(f"priory: {problem}\n")
        sys.stderr.write("priory: the daemon runs as long as this does; Ctrl-C stops both\n")

    def leave() -> None:
        forked(open_when_ready)

    os.waitpid(forked(leave), 0)  # the daemon has no children but its own
    with noted(home, usual[0]):
        return served(home, config, configured)


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _free_address() -> str:
    """Where the page usually is, or any port if somebody else is there."""
    from priory.config.serving import USUAL  # noqa: PLC0415
    from priory.server.options import host_and_port  # noqa: PLC0415

    host, port = host_and_port(USUAL["http"]) or ("127.0.0.1", 0)
    for each in (port, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, each))
            except OSError:
                continue
            return f"{host}:{probe.getsockname()[1]}"
    raise Problem(f"no port of {host} is free: name an address in [http] listen")


def _there(serving: "Serving") -> tuple[str, int]:
    """Return the first address that a browser of this machine can ask."""
    from priory.server.options import host_and_port  # noqa: PLC0415

    for address in serving.http:
        found = host_and_port(address)
        if found and found[1]:
            host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(found[0], found[0])  # noqa: S104 - not bound here
            return host, found[1]
    raise Problem(
        f"[http] listen = {', '.join(serving.http)} is nothing that a browser can be told: name a host and a port"
    )


def _url(serving: "Serving", there: tuple[str, int]) -> str:
    host, port = there
    return serving.url or f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _is_healthy(there: tuple[str, int]) -> bool:
    """Tell whether a daemon answers there; one that is not well shows the page, too."""
    connection = HTTPConnection(*there, timeout=5)
    try:
        connection.request("GET", "/healthz", headers={"Host": "localhost"})
        return b'"healthy"' in connection.getresponse().read()
    except (OSError, HTTPException):  # nobody, or somebody who speaks otherwise
        return False
    finally:
        connection.close()


def _open(home: Path, url: str, *, in_browser: bool) -> None:
    import webbrowser  # noqa: PLC0415

    from priory.server.tokens import TokenError, issue_entry  # noqa: PLC0415

    try:
        link = f"{url}/enter?key={issue_entry(home)}"
    except TokenError as error:
        raise Problem(str(error)) from None
    has_screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if in_browser and has_screen and webbrowser.open(link):
        print(f"opened {url}", flush=True)  # noqa: T201
    else:
        print(link, flush=True)  # noqa: T201
        sys.stderr.write("priory: open this link within a minute; it works once\n")
