"""The processes of one configuration, as their master sees them: workers, and one for HTTP if that is set."""

import socket
from collections import Counter
from dataclasses import dataclass

from priory.options import Options
from priory.server.counted import HTTP, WORKER
from priory.server.listeners import Listener
from priory.server.options import Serving


@dataclass(slots=True)
class Member:
    """A process of a crew."""

    role: str
    pipe: int  #: on which it says that it is ready; -1 if it did
    slot: int  #: of the scoreboard


class Crew:
    """So many processes of each role, all of one configuration."""

    def __init__(self, options: Options, serving: Serving, listeners: list[Listener]) -> None:
        self.options = options
        self.serving = serving
        self.listeners = listeners
        self.members: dict[int, Member] = {}  #: by process

    @property
    def lacking(self) -> list[str]:
        """The roles of the processes that are not there."""
        wanted = Counter({WORKER: self.serving.workers, HTTP: 1 if self.serving.http else 0})
        return list((wanted - Counter(member.role for member in self.members.values())).elements())

    @property
    def is_ready(self) -> bool:
        """Whether no worker is lacking, and all who are there have said that they are ready."""
        return WORKER not in self.lacking and all(member.pipe == -1 for member in self.members.values())

    @property
    def workers_ready(self) -> int:
        """How many workers answer."""
        return sum(member.role == WORKER and member.pipe == -1 for member in self.members.values())

    def sockets(self, role: str) -> dict[socket.socket, str]:
        """All that processes of a role take connections from, and what is spoken there."""
        return {each: listener.protocol for listener in self.listeners_of(role) for each in listener.sockets}

    def listeners_of(self, role: str) -> list[Listener]:
        """Where processes of a role can be reached."""
        return [listener for listener in self.listeners if (listener.protocol == HTTP) == (role == HTTP)]
