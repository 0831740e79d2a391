"""What hostile code in a process would try. Each attempt is a call of the C library, past all of Python's checks."""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

_libc: Final = ctypes.CDLL(None, use_errno=True)
_AF_UNIX, _AF_INET, _SOCK_STREAM, _SOCK_DGRAM = 1, 2, 1, 2
_PTRACE_SEIZE: Final = 0x4206
_CLONE_NEWUSER: Final = 0x10000000
_ADDRESS: Final = b"\x02\x00\x00\x35\x7f\x00\x00\x01" + bytes(8)  # 127.0.0.1:53


def _open(path: Path, flags: int = os.O_RDONLY) -> int:
    return _libc.open(bytes(path), flags, 0o600)


def _forked() -> int:
    child = _libc.syscall(ctypes.c_long(57 if os.uname().machine == "x86_64" else 220), 17, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    if child > 0:
        os.waitpid(child, 0)
    return child


def _executed() -> int:
    arguments = (ctypes.c_char_p * 2)(b"true", None)
    return _libc.execve(b"/usr/bin/true", arguments, None)


def file_attempts(other_home: Path, victim: int) -> dict[str, Callable[[], int]]:
    """Return attempts to open and change files; Landlock refuses them."""
    return {
        "read the journal of another home": lambda: _open(other_home / "journal.sqlite"),
        "list another home": lambda: _open(other_home, os.O_RDONLY | os.O_DIRECTORY),
        "write into another home": lambda: _open(other_home / "new", os.O_WRONLY | os.O_CREAT),
        "truncate a file of another home": lambda: _libc.truncate(bytes(other_home / "counts"), 0),
        "remove a file of another home": lambda: _libc.unlink(bytes(other_home / "old")),
        "read the accounts": lambda: _open(Path("/etc/passwd")),
        "read the environment of another process": lambda: _open(Path(f"/proc/{victim}/environ")),
        "write into the memory of another process": lambda: _open(Path(f"/proc/{victim}/mem"), os.O_RDWR),
        "write beside the home": lambda: _open(other_home.parent / "new", os.O_WRONLY | os.O_CREAT),
        "change the code of the daemon": lambda: _open(Path(os.__file__), os.O_WRONLY),
    }


def call_attempts(other_home: Path, victim: int) -> dict[str, Callable[[], int]]:
    """Return attempts to make other system calls; seccomp refuses them."""
    pair = (ctypes.c_int * 2)()
    return {
        "execute a program": _executed,
        "fork": _forked,
        "make a TCP socket": lambda: _libc.socket(_AF_INET, _SOCK_STREAM, 0),
        "make a UDP socket": lambda: _libc.socket(_AF_INET, _SOCK_DGRAM, 0),
        "make a local socket": lambda: _libc.socket(_AF_UNIX, _SOCK_STREAM, 0),
        "make a pair that can send to others": lambda: _libc.socketpair(_AF_UNIX, _SOCK_DGRAM, 0, pair),
        "connect": lambda: _libc.connect(0, _ADDRESS, 16),
        "trace another process": lambda: _libc.ptrace(_PTRACE_SEIZE, victim, 0, 0),
        "signal another process": lambda: _libc.kill(victim, 0),
        "change the mode of a file of another home": lambda: _libc.chmod(bytes(other_home / "counts"), 0o777),
        "make a symbolic link": lambda: _libc.symlink(b"/etc/passwd", bytes(other_home / "link")),
        "make a namespace": lambda: _libc.unshare(_CLONE_NEWUSER),
    }


def results(attempts: dict[str, Callable[[], int]]) -> dict[str, int]:
    """Make all attempts; return the error number of each, 0 for those that succeed."""
    errors = {}
    for name, attempt in attempts.items():
        ctypes.set_errno(0)
        errors[name] = ctypes.get_errno() if attempt() == -1 else 0
    return errors
