"""A generation: all processes that the master has started with one configuration."""

import socket
from collections import Counter
from dataclasses import dataclass

from priory.filter.options import Options
from priory.server.daemon.listeners import Listener
from priory.server.metrics.names import HTTP, LONG, WORKER
from priory.server.options import ServeOptions


@dataclass(slots=True)
class ChildProcess:
    """A process of a generation, as its master sees it."""

    role: str
    slot: int  #: its slot on the scoreboard
    ready_pipe: int | None  #: it writes a byte here when it is ready; None after the master has read that byte

    @property
    def is_ready(self) -> bool:
        """Whether the process accepts connections."""
        return self.ready_pipe is None


class Generation:
    """The workers of one configuration, and one process for HTTP if the configuration asks for it.

    The process for long messages is started when it is needed, so it is never missing.
    """

    def __init__(self, options: Options, serving: ServeOptions, listeners: list[Listener]) -> None:
        self.options = options
        self.serving = serving
        self.listeners = listeners
        self.children: dict[int, ChildProcess] = {}  #: by process id

    @property
    def missing_roles(self) -> list[str]:
        """The role of each process that is not running."""
        wanted = Counter({WORKER: self.serving.workers, HTTP: 1 if self.serving.http else 0})
        return list((wanted - Counter(child.role for child in self.children.values())).elements())

    @property
    def is_ready(self) -> bool:
        """Whether all workers run, and every process that runs is ready."""
        return WORKER not in self.missing_roles and all(child.is_ready for child in self.children.values())

    @property
    def n_workers_ready(self) -> int:
        """The number of workers that accept connections."""
        return sum(child.role == WORKER and child.is_ready for child in self.children.values())

    def sockets(self, role: str) -> dict[socket.socket, str]:
        """Return the sockets that processes of a role accept connections from, each with its protocol."""
        return {bound: listener.protocol for listener in self.listeners_of(role) for bound in listener.sockets}

    def listeners_of(self, role: str) -> list[Listener]:
        """Return the listeners that processes of a role serve."""
        if role == LONG:
            return []
        return [listener for listener in self.listeners if (listener.protocol == HTTP) == (role == HTTP)]
