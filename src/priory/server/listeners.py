"""Where the daemon can be reached: bound once, by the master, and inherited by all workers."""

import errno
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from priory.server.options import host_and_port
from priory.server.turn import turn

BACKLOG: Final = 1024  #: connections that wait for a worker
LONGEST_PATH: Final = 107  #: bytes of a socket's path, says the system
_NO_SOCKET: Final = "cannot listen on {}: there is something that is no socket; move it away"


class ListenError(Exception):
    """A place where the daemon cannot listen; the text says which, why, and what to do."""


class Listener:
    """One address, what is spoken there, and its sockets: a name may stand for several."""

    def __init__(self, address: str, protocol: str, *, private: bool = False) -> None:
        self.address = address
        self.protocol = protocol
        try:
            there = host_and_port(address)
            self.sockets = [_at_path(address, private=private)] if there is None else _at_port(*there, listen=True)
        except (OSError, UnicodeError) as error:
            raise ListenError(_why_not(address, error)) from None
        self.names = [address if there is None else _name(each) for each in self.sockets]
        self._inode = os.stat(address).st_ino if there is None else None  # noqa: PTH116

    def hide(self) -> None:
        """Let nobody come who has not come yet, as far as that can be: a path is removed, a port is not."""
        if self._inode is not None:
            with suppress(OSError):
                if os.stat(self.address).st_ino == self._inode:  # noqa: PTH116 - another daemon may have taken it over
                    Path(self.address).unlink()

    def close(self) -> None:
        """Let go of the sockets."""
        for each in self.sockets:
            each.close()


def answers(path: str) -> bool:
    """Tell whether somebody listens on a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def obstacle(address: str, *, is_running: bool) -> str:
    """Return why nobody can listen there, without listening; nothing if all looks well.

    While the daemon is running, what is in use is taken to be used by it.
    """
    there = host_and_port(address)
    try:
        if there is None:
            _look_at(address)
        else:
            for bound in _at_port(*there, listen=False):
                bound.close()
    except (OSError, UnicodeError) as error:
        is_ours = is_running and isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        return "" if is_ours else _why_not(address, error)
    except ListenError as error:
        return str(error)
    return ""


def _look_at(path: str) -> None:
    _refuse_long(path)
    folder = Path(path).parent
    if not os.access(folder, os.F_OK):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if os.access(path, os.F_OK) and not stat.S_ISSOCK(os.stat(path).st_mode):  # noqa: PTH116
        raise ListenError(_NO_SOCKET.format(path))


def _refuse_long(path: str) -> None:
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise ListenError(f"cannot listen on {path}: a socket's path has at most {LONGEST_PATH} bytes; shorten it")


def _why_not(address: str, error: OSError | UnicodeError) -> str:
    if isinstance(error, UnicodeError):
        return f"cannot listen on {address}: no host has such a name; check it"
    return f"cannot listen on {address}: {error.strerror}; {_remedy(error)}"


def _at_path(path: str, *, private: bool) -> socket.socket:
    _refuse_long(path)
    with turn(Path(path).parent):  # who has bound a path and does not listen yet would look stale
        _remove_stale(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177) if private else None
        try:
            listener.bind(path)
            _listen(listener)
        except OSError:
            listener.close()
            raise
        finally:
            if before is not None:
                os.umask(before)
    return listener


def _remove_stale(path: str) -> None:
    """Remove a socket that nobody listens on; refuse one that somebody does, and whatever is no socket."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ListenError(_NO_SOCKET.format(path))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            Path(path).unlink()
            return
        except (BlockingIOError, TimeoutError):
            pass  # somebody listens, but is busy
    raise ListenError(f"cannot listen on {path}: another daemon does; stop it first")


def _at_port(host: str, port: int, *, listen: bool) -> list[socket.socket]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    bound: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            listener = socket.socket(family, kind, protocol)
            bound.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(address)
            if listen:
                _listen(listener)
    except OSError:
        for listener in bound:
            listener.close()
        raise
    return bound


def _listen(listener: socket.socket) -> None:
    listener.setblocking(False)
    listener.listen(BACKLOG)


def _name(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _remedy(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "choose a port from 1024 up or a folder that this account may write, or start with more rights"
    if isinstance(error, socket.gaierror):
        return "check the name of the host"
    if isinstance(error, FileNotFoundError):
        return "make its folder first"
    return "check the address, and that nothing else listens there, nor another section of the configuration"
