"""`priory open`: open the daemon's page in a browser, logged in.

If no daemon runs, this command starts one. The address that it chooses is written to `page.lock` in the home, under a
lock that is held as long as the daemon runs. An address in a file without the lock is out of date, however the daemon
ended.
"""

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from priory.cli.options import HOME, CommandError, Config, Home, command_errors, config_path, home_path
from priory.cli.serve import run_daemon

if TYPE_CHECKING:
    from priory.server.options import ServeOptions

_START_S: Final = 60.0  # for a daemon to start
_ADDRESS_FILE: Final = "page.lock"


def open_page(
    home: Home = HOME,
    config: Config = None,
    no_browser: Annotated[
        bool, typer.Option("--print", help="Print the link instead; it works once, within one minute.")
    ] = False,
) -> None:
    """Open the page in your browser, logged in; start the daemon first if it is not running.

    A daemon started by this command runs in the foreground and ends with Ctrl-C. If `[http]` in `priory.toml` names no
    address, it listens on 127.0.0.1:7358, or on any free port if 7358 is taken.

    **Examples**

    `priory open`

    `priory open --print --home /var/lib/priory`
    """
    from priory.config import load_serving  # noqa: PLC0415
    from priory.server.daemon.listeners import is_listening  # noqa: PLC0415

    folder, path = home_path(home).absolute(), config_path(home, config)
    with command_errors():
        serving = load_serving(path)
    if is_listening(str(folder / "socket")):
        _open_running(folder, path, serving, in_browser=not no_browser)
    else:
        raise typer.Exit(_start_and_open(folder, path, serving, in_browser=not no_browser))


def _open_running(home: Path, config: Path, serving: "ServeOptions", *, in_browser: bool) -> None:
    from priory.config.settings import ADDRESSES  # noqa: PLC0415

    if not serving.http and (address := read_address(home)):
        serving = replace(serving, http=(address,))
    if not serving.http:
        raise CommandError(
            f'the daemon serves no page: write [http] and listen = "{ADDRESSES["http"]}" into {config}, then reload it '
            "with systemctl reload priory, or SIGHUP"
        )
    host, port = _browser_address(serving)
    if not _is_healthy(host, port):
        raise CommandError(
            f"the daemon does not answer on {host}:{port}: if [http] was added after it started, reload it with SIGHUP"
        )
    _open(home, _url(serving, host, port), in_browser=in_browser)


def _start_and_open(home: Path, config: Path, serving: "ServeOptions", *, in_browser: bool) -> int:
    from priory.config import load_serving  # noqa: PLC0415
    from priory.processes.fork import fork_child  # noqa: PLC0415
    from priory.server.http import missing  # noqa: PLC0415

    if packages := missing():
        raise CommandError(
            f"the page needs packages that are not installed ({', '.join(packages)}): "
            "pip install '.[server]' in Priory's source folder"
        )
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"{home} cannot be created: {error.strerror}; name another --home") from None
    addresses = serving.http or (_free_address(),)
    host, port = _browser_address(replace(serving, http=addresses))

    def load_with_address() -> "ServeOptions":
        loaded = load_serving(config)
        return loaded if loaded.http else replace(loaded, http=addresses)

    daemon = os.getpid()

    def open_when_ready() -> None:
        end = time.monotonic() + _START_S
        while not _is_healthy(host, port):
            if time.monotonic() > end or not _is_running(daemon):
                return
            time.sleep(0.1)
        try:
            _open(home, _url(serving, host, port), in_browser=in_browser)
        except CommandError as error:
            sys.stderr.write(f"priory: {error}\n")
        sys.stderr.write("priory: the daemon runs until this command ends; Ctrl-C stops both\n")

    def leave() -> None:
        fork_child(open_when_ready)

    # A second fork: the daemon must have no children but its own workers.
    os.waitpid(fork_child(leave), 0)
    with publish_address(home, addresses[0]):
        return run_daemon(home, config, load_with_address)


@contextmanager
def publish_address(home: Path, address: str) -> Iterator[None]:
    """Keep the page's address in the home, under a lock; in a home that is not writable, do nothing."""
    with ExitStack() as stack:
        with suppress(OSError):
            file = stack.enter_context((home / _ADDRESS_FILE).open("a", encoding="utf-8"))
            flock(file, LOCK_EX | LOCK_NB)
            file.truncate(0)
            file.write(address)
            file.flush()
        yield


def read_address(home: Path) -> str:
    """Return the address that a running daemon has published in a home; empty if there is none."""
    try:
        with (home / _ADDRESS_FILE).open(encoding="utf-8") as file:
            try:
                flock(file, LOCK_SH | LOCK_NB)
            except BlockingIOError:  # the daemon holds the lock, so the address is current
                return file.read()
    except OSError:
        pass
    return ""


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _free_address() -> str:
    """Return the default address of the page, or one with any free port if its port is taken."""
    from priory.config.settings import ADDRESSES  # noqa: PLC0415
    from priory.server.options import host_and_port  # noqa: PLC0415

    host, default_port = host_and_port(ADDRESSES["http"]) or ("127.0.0.1", 0)
    for port in (default_port, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return f"{host}:{probe.getsockname()[1]}"
    raise CommandError(f"no port of {host} is free: name an address in [http] listen")


def _browser_address(serving: "ServeOptions") -> tuple[str, int]:
    """Return host and port of the first address that a browser on this machine can reach."""
    from priory.server.options import host_and_port  # noqa: PLC0415

    for address in serving.http:
        parts = host_and_port(address)
        if parts and parts[1]:
            host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(parts[0], parts[0])  # noqa: S104 - not bound here
            return host, parts[1]
    raise CommandError(
        f"a browser cannot open [http] listen = {', '.join(serving.http)}: add an address with a host and a port"
    )


def _url(serving: "ServeOptions", host: str, port: int) -> str:
    return serving.url or f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _is_healthy(host: str, port: int) -> bool:
    """Tell whether a daemon answers there; an unhealthy one shows the page, too."""
    connection = HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", "/healthz", headers={"Host": "localhost"})
        return b'"healthy"' in connection.getresponse().read()
    except (OSError, HTTPException):  # nothing listens there, or it is another program
        return False
    finally:
        connection.close()


def _open(home: Path, url: str, *, in_browser: bool) -> None:
    import webbrowser  # noqa: PLC0415

    from priory.server.tokens import TokenError, issue_entry  # noqa: PLC0415

    try:
        link = f"{url}/enter?key={issue_entry(home)}"
    except TokenError as error:
        raise CommandError(str(error)) from None
    has_screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if in_browser and has_screen and webbrowser.open(link):
        print(f"opened {url}", flush=True)  # noqa: T201
    else:
        print(link, flush=True)  # noqa: T201
        sys.stderr.write("priory: open this link within a minute; it works once\n")
