"""The addresses on which the daemon listens: bound once, by the master, and inherited by all workers."""

import errno
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from priory.server.options import host_and_port
from priory.server.write_lock import write_lock

BACKLOG: Final = 1024  #: connections that may wait for a worker
MAX_PATH_BYTES: Final = 107  #: of a socket on Linux
_NO_SOCKET: Final = "cannot listen on {}: it exists and is not a socket; move it away"


class ListenError(Exception):
    """The daemon cannot listen on an address; the text says which, why, and what to do."""


class Listener:
    """An address, its protocol, and its sockets: a host name may resolve to several addresses."""

    def __init__(self, address: str, protocol: str, *, private: bool = False) -> None:
        self.address = address
        self.protocol = protocol
        try:
            tcp = host_and_port(address)
            self.sockets = [_bind_path(address, private=private)] if tcp is None else _bind_port(*tcp, listen=True)
        except (OSError, UnicodeError) as error:
            raise ListenError(_message(address, error)) from None
        self.names = [address if tcp is None else _name(bound) for bound in self.sockets]
        self._inode = os.stat(address).st_ino if tcp is None else None  # noqa: PTH116

    def hide(self) -> None:
        """Remove the path of a Unix socket, so that no further client connects; a port stays until it is closed."""
        if self._inode is not None:
            with suppress(OSError):
                if os.stat(self.address).st_ino == self._inode:  # noqa: PTH116 - or another daemon has bound it
                    Path(self.address).unlink()

    def close(self) -> None:
        """Close the sockets of this process; other processes keep theirs."""
        for bound in self.sockets:
            bound.close()


def is_listening(path: str) -> bool:
    """Tell whether a process listens on a Unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def listen_problem(address: str, *, is_running: bool) -> str:
    """Return why the daemon could not listen on an address, without listening; empty if it could.

    While the daemon runs, an address in use is assumed to be used by it.
    """
    tcp = host_and_port(address)
    try:
        if tcp is None:
            _check_path(address)
        else:
            for bound in _bind_port(*tcp, listen=False):
                bound.close()
    except (OSError, UnicodeError) as error:
        is_ours = is_running and isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        return "" if is_ours else _message(address, error)
    except ListenError as error:
        return str(error)
    return ""


def _check_path(path: str) -> None:
    _check_length(path)
    folder = Path(path).parent
    if not os.access(folder, os.F_OK):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if os.access(path, os.F_OK) and not stat.S_ISSOCK(os.stat(path).st_mode):  # noqa: PTH116
        raise ListenError(_NO_SOCKET.format(path))


def _check_length(path: str) -> None:
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise ListenError(
            f"cannot listen on {path}: the path of a socket has at most {MAX_PATH_BYTES} bytes; use a shorter one"
        )


def _message(address: str, error: OSError | UnicodeError) -> str:
    if isinstance(error, UnicodeError):
        return f"cannot listen on {address}: this cannot be the name of a host; check it"
    return f"cannot listen on {address}: {error.strerror}; {_remedy(error)}"


def _bind_path(path: str, *, private: bool) -> socket.socket:
    _check_length(path)
    # Between bind and listen a socket refuses connections, so another daemon would take it for stale and remove it.
    with write_lock(Path(path).parent):
        _remove_stale(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177) if private else None  # bind creates the file: there is no moment with more rights
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
    """Remove a socket on which no process listens. Raises ListenError if one does, or if the path is not a socket."""
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
            pass  # a process listens, but its backlog is full
    raise ListenError(f"cannot listen on {path}: another daemon listens there; stop it first")


def _bind_port(host: str, port: int, *, listen: bool) -> list[socket.socket]:
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    bound: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(addresses):
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
        return "use a port from 1024 up or a folder that this account may write to, or start with more rights"
    if isinstance(error, socket.gaierror):
        return "check the host name"
    if isinstance(error, FileNotFoundError):
        return "create its folder first"
    return "check the address, and that neither another program nor another section of the configuration uses it"
