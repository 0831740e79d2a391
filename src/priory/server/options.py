"""Settings of the daemon, and two constants that all its processes share."""

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from typing import Final

#: The signal by which the master tells a process to accept no new connections and to exit after its last one.
RETIRE: Final = signal.SIGUSR1
DRAIN_S: Final = 5.0  #: seconds for clients to finish sending their requests after the daemon gets the signal to stop


class Action(StrEnum):
    """What a milter does with a message."""

    MARK = "mark"
    QUARANTINE = "quarantine"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Policy:
    """What a milter may do with unwanted mail besides marking it, and what that costs for each true label."""

    reject: Mapping[str, float] | None = None
    quarantine: Mapping[str, float] | None = None
    checks_authenticated: bool = False  #: also check mail that users send after logging in


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Addresses besides the home's own socket, the number of processes, and limits for clients."""

    spamd: tuple[str, ...] = ()  #: addresses: paths, or host:port
    milter: tuple[str, ...] = ()
    policy: Policy = field(default_factory=Policy)
    workers: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    max_connections: int = 256
    max_bytes: int = 10 * 1024 * 1024
    timeout: int = 30  #: seconds for a client to send its request, and again to read the answer
    http: tuple[str, ...] = ()  #: addresses that only this machine can reach, unless url is set
    url: str = ""  #: https://…, the public address of the page, behind a proxy with TLS
    rate: int = 100  #: requests per second over HTTP for each token

    @property
    def connections_per_worker(self) -> int:
        """The number of clients that a worker has at most at a time."""
        return max(1, self.max_connections // self.workers)


def host_and_port(address: str) -> tuple[str, int] | None:
    """Return the parts of an address such as 127.0.0.1:783 or [::1]:783; None for a path.

    >>> host_and_port("127.0.0.1:783"), host_and_port("[::1]:783"), host_and_port("/run/priory/socket")
    (('127.0.0.1', 783), ('::1', 783), None)
    """
    host, _, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        return None
    if not host or "/" in host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        return None
    return host, int(port)


def is_local(address: str) -> bool:
    """Tell whether only this machine can reach an address.

    >>> is_local("/run/priory/http"), is_local("[::1]:80"), is_local("localhost:80"), is_local("0.0.0.0:80")
    (True, True, True, False)
    """
    tcp = host_and_port(address)
    return tcp is None or is_this_machine(tcp[0])


def is_this_machine(host: str) -> bool:
    """Tell whether a host name or address always means the local machine.

    >>> is_this_machine("LocalHost"), is_this_machine("127.0.0.1"), is_this_machine("mx.example")
    (True, True, False)
    """
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
