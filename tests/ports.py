"""Ports for the servers that tests start."""

import socket


def reserved_port() -> int:
    """Return a port that no other process of the machine is given until the tests end.

    A socket that is bound to the port, but never listens, reserves it: clients are refused, and a server that sets
    SO_REUSEADDR, as all servers of the tests do, can listen there.
    """
    placeholder = socket.socket()
    placeholder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    placeholder.bind(("127.0.0.1", 0))
    port = int(placeholder.getsockname()[1])
    placeholder.detach()  # it stays open as long as this process
    return port
