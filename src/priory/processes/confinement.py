"""Take rights from this process that it does not need, so that hostile code in it can do little; they never come back.

Two parts of Linux do this. Landlock limits which files can be opened, which TCP ports can be connected to, and which
processes get signals. A seccomp filter, a small program that the kernel runs before each system call, refuses those
that no reader of mail needs: starting programs, looking into other processes, making sockets, mounting. Where a kernel
has one of them only, that one is used; `missing_protections` names the other.

The filter names what is refused, not what is allowed: Python, SQLite and the C library may use any other call, in any
version. System calls that are newer than the list do not exist here, which every library has to expect.

References: landlock(7), seccomp(2), and the kernel's `include/uapi/linux/landlock.h`, `seccomp.h` and `bpf_common.h`.
"""

import ctypes
import errno
import os
import platform
import resource
import socket
import struct
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

# The numbers of system calls on x86_64 and aarch64; None where a call does not exist.
_DENIED: Final[dict[str, tuple[int | None, int | None]]] = {
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, None), "vfork": (58, None), "uselib": (134, None),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "kill": (62, 129), "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "listen": (50, 201),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "mount_setattr": (442, 442), "move_mount": (429, 429), "open_tree": (428, 428),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "mknod": (133, None), "mknodat": (259, 33),
    "symlink": (88, None), "symlinkat": (266, 36), "chmod": (90, None), "fchmodat": (268, 53),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171), "sethostname": (170, 161),
    "setdomainname": (171, 162), "personality": (135, 92), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "acct": (163, 89), "syslog": (103, 116), "vhangup": (153, 58), "iopl": (172, None), "ioperm": (173, None),
    "modify_ldt": (154, None), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
    "setresuid": (117, 147), "setresgid": (119, 149), "setgroups": (116, 159), "setfsuid": (122, 151),
    "setfsgid": (123, 152), "capset": (126, 91), "shmget": (29, 194), "shmat": (30, 196), "semget": (64, 190),
    "msgget": (68, 186), "mq_open": (240, 180), "fanotify_init": (300, 262), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "setpriority": (141, 140), "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119), "sched_setattr": (314, 274), "ioprio_set": (251, 30),
}  # fmt: skip
_SOCKET, _CONNECT, _BIND, _SOCKETPAIR = (41, 198), (42, 203), (49, 200), (53, 199)
_CLONE, _CLONE3, _TGKILL, _PRLIMIT, _IOCTL, _SECCOMP = (
    (56, 220),
    (435, 435),
    (234, 131),
    (302, 261),
    (16, 29),
    (317, 277),
)
_NEWEST: Final = 451  #: calls after this one do not exist for the process
_CLONE_THREAD: Final = 0x10000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # these put input into a terminal
_AUDIT_ARCH: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_PR_SET_NO_NEW_PRIVS: Final = 38
_FILTER_MODE: Final = 1

# struct sock_filter, and the instructions that are used.
_INSTRUCTION: Final = struct.Struct("=HBBI")
_LOAD, _IS_EQUAL, _IS_AT_LEAST, _HAS_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # where they are in struct seccomp_data

_LANDLOCK: Final = 444  # and the next two numbers, on all architectures
_READ: Final = 1 << 2 | 1 << 3  # files, folders
_EXECUTE, _WRITE, _TRUNCATE, _IOCTL_DEVICE, _REFER = 1, 1 << 1, 1 << 14, 1 << 15, 1 << 13
_CHANGE: Final = _WRITE | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | _REFER | _TRUNCATE  # remove and make files and folders
_OF_A_FILE: Final = _EXECUTE | _WRITE | 1 << 2 | _TRUNCATE | _IOCTL_DEVICE
_NEW_RIGHTS: Final = {1: (1 << 13) - 1, 2: _REFER, 3: _TRUNCATE, 5: _IOCTL_DEVICE}  #: by the version that knows them
_NETWORK_VERSION, _SCOPE_VERSION = 4, 6
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPES: Final = 1 | 2  # abstract sockets, signals

_libc: Final = ctypes.CDLL(None, use_errno=True)


class ConfinementError(Exception):
    """The kernel has refused to confine this process, although it can; the text says at which step."""


def missing_protections() -> list[str]:
    """Return what this kernel, or the container around it, does not offer to confine processes; empty is best."""
    version = _landlock_version()
    missing = []
    if version < 1:
        missing.append("Landlock for files")
    if version < _NETWORK_VERSION:
        missing.append("Landlock for ports")
    if version < _SCOPE_VERSION:
        missing.append("Landlock for signals")
    if not _has_seccomp():
        missing.append("seccomp")
    return missing


def confine(read: Iterable[Path], write: Iterable[Path], ports: Collection[int] | None = ()) -> None:
    """Take the rights of this process: it has one thread yet, and later threads inherit the limits.

    It can read files below `read`, read and change those below `write`, and connect to TCP ports in `ports`, or to all
    if they are None; with no ports it can make no sockets. Paths that do not exist are left out. Raises
    ConfinementError.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would contain mail
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise _error("no_new_privs")
    if _landlock_version() >= 1:
        _restrict_files(_landlock_version(), read, write, ports)
    if _has_seccomp():
        _filter_calls(needs_sockets=ports is None or bool(ports))


def _error(step: str) -> ConfinementError:
    return ConfinementError(f"{step}: {os.strerror(ctypes.get_errno())}")


@cache
def _landlock_version() -> int:
    """Return the version of Landlock; 0 without it."""
    return max(0, int(_libc.syscall(_LANDLOCK, None, 0, 1)))


def _restrict_files(version: int, read: Iterable[Path], write: Iterable[Path], ports: Collection[int] | None) -> None:
    handled = sum(rights for since, rights in _NEW_RIGHTS.items() if since <= version)
    tcp = 0 if version < _NETWORK_VERSION else _BIND_TCP if ports is None else _BIND_TCP | _CONNECT_TCP
    attributes = struct.pack("=QQQ", handled, tcp, _SCOPES if version >= _SCOPE_VERSION else 0)
    ruleset = _libc.syscall(_LANDLOCK, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        raise _error("Landlock")
    try:
        for rights, paths in ((_READ, read), (_READ | _CHANGE, write)):
            for path in paths:
                _allow(ruleset, path, rights & handled)
        for port in (ports or ()) if tcp else ():
            rule = struct.pack("=QQ", _CONNECT_TCP, port)
            if _libc.syscall(_LANDLOCK + 1, ruleset, 2, rule, 0) != 0:
                raise _error("Landlock for ports")
        if _libc.syscall(_LANDLOCK + 2, ruleset, 0) != 0:
            raise _error("Landlock")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = struct.pack("=Qi", rights if path.is_dir() else rights & _OF_A_FILE, descriptor)
        if _libc.syscall(_LANDLOCK + 1, ruleset, 1, rule, 0) != 0:
            raise _error(f"Landlock for {path}")
    finally:
        os.close(descriptor)


@cache
def _has_seccomp() -> bool:
    """Tell whether filters can be installed, on a processor whose system calls are known here."""
    machine = platform.machine()
    if machine not in _AUDIT_ARCH or struct.calcsize("P") != 8:
        return False
    action = ctypes.c_uint32(_REFUSE)
    return bool(_libc.syscall(_SECCOMP[_column()], 2, 0, ctypes.byref(action)) == 0)  # SECCOMP_GET_ACTION_AVAIL


def _column() -> int:
    return list(_AUDIT_ARCH).index(platform.machine())


def _filter_calls(*, needs_sockets: bool) -> None:
    program = b"".join(_program(_column(), needs_sockets=needs_sockets))
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog has padding between the length and the pointer.
    pointer = struct.pack("@HP", len(program) // _INSTRUCTION.size, ctypes.addressof(code))
    if _libc.syscall(_SECCOMP[_column()], _FILTER_MODE, 0, pointer) != 0:
        raise _error("seccomp")


def _program(column: int, *, needs_sockets: bool) -> Iterator[bytes]:
    """Yield the instructions of the filter: each test that fails skips the return after it."""
    refuse = _step(_RETURN, _REFUSE | errno.EPERM)
    does_not_exist = _step(_RETURN, _REFUSE | errno.ENOSYS)
    allow = _step(_RETURN, _ALLOW)
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_IS_EQUAL, list(_AUDIT_ARCH.values())[column], otherwise=0, then=1)
    yield refuse  # system calls of 32-bit programs have other numbers
    yield _step(_LOAD, _NUMBER)
    yield _step(_IS_AT_LEAST, _NEWEST + 1, otherwise=1)  # includes the x32 calls of x86_64
    yield does_not_exist
    yield _step(_IS_EQUAL, _CLONE3[column], otherwise=1)  # its flags are in memory, which a filter cannot read;
    yield does_not_exist  # the C library then uses clone
    yield from _only_with(_CLONE[column], 0, [_CLONE_THREAD], test=_HAS_BITS)
    yield from _only_with(_TGKILL[column], 0, [os.getpid()])
    yield from _only_with(_PRLIMIT[column], 0, [0])
    flags = (0, socket.SOCK_CLOEXEC, socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    yield from _only_with(_SOCKETPAIR[column], 1, [socket.SOCK_STREAM | flag for flag in flags])
    for request in (_TIOCSTI, _TIOCLINUX):
        yield _step(_IS_EQUAL, _IOCTL[column], otherwise=4)
        yield _step(_LOAD, _ARGUMENTS + 8)
        yield _step(_IS_EQUAL, request, otherwise=1)
        yield refuse
        yield _step(_LOAD, _NUMBER)
    if needs_sockets:
        families = [socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK]  # the last to resolve names
        yield from _only_with(_SOCKET[column], 0, families)
    denied = [*_DENIED.values(), *(() if needs_sockets else (_SOCKET, _CONNECT, _BIND))]
    for numbers in denied:
        number = numbers[column]
        if number is not None:
            yield _step(_IS_EQUAL, number, otherwise=1)
            yield refuse
    yield allow


def _only_with(number: int, argument: int, values: Collection[int], test: int = _IS_EQUAL) -> Iterator[bytes]:
    """Yield the instructions that allow a system call only with some values of an argument's lower half."""
    yield _step(_IS_EQUAL, number, otherwise=2 * len(values) + 2)
    yield _step(_LOAD, _ARGUMENTS + 8 * argument)
    for value in values:
        yield _step(test, value, otherwise=1)
        yield _step(_RETURN, _ALLOW)
    yield _step(_RETURN, _REFUSE | errno.EPERM)


def _step(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    """Return an instruction; a test skips `then` instructions if it holds, and otherwise as many as that says."""
    return _INSTRUCTION.pack(code, then, otherwise, value)
