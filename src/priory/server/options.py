"""What can be set about the daemon."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address


@dataclass(frozen=True, slots=True)
class Policy:
    """What may be done with unwanted mail beside marking it, and what that costs for each label that may be true."""

    reject: Mapping[str, float] | None = None
    quarantine: Mapping[str, float] | None = None
    checks_authenticated: bool = False  #: also mail of users who have logged in to send it


@dataclass(frozen=True, slots=True)
class Serving:
    """Where the daemon listens beside its home's socket, with how many processes, and what it takes from clients."""

    spamd: tuple[str, ...] = ()  #: addresses, each a path or host:port
    milter: tuple[str, ...] = ()
    policy: Policy = field(default_factory=Policy)
    workers: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    max_connections: int = 256
    max_bytes: int = 10 * 1024 * 1024
    timeout: int = 30  #: seconds for a client to send its request, and for it to take the answer
    http: tuple[str, ...] = ()  #: addresses of this machine alone, unless there is a url
    url: str = ""  #: https://…, by which a proxy with TLS leads people to the page
    rate: int = 100  #: requests over HTTP that each token is good for in a second

    @property
    def connections_each(self) -> int:
        """How many clients a worker has at a time."""
        return max(1, self.max_connections // self.workers)


def host_and_port(address: str) -> tuple[str, int] | None:
    """Return the parts of an address such as 127.0.0.1:783 or [::1]:783, None if it is none.

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
    there = host_and_port(address)
    return there is None or is_this_machine(there[0])


def is_this_machine(host: str) -> bool:
    """Tell whether a host is the one that asks, whoever that is; any other name may stand for anything.

    >>> is_this_machine("LocalHost"), is_this_machine("127.0.0.1"), is_this_machine("mx.example")
    (True, True, False)
    """
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
