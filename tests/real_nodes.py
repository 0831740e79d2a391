"""Nodes as processes that share a journal on a real PostgreSQL, each behind a network of its own that can fail."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple

from real_daemon import PATIENCE_S
from real_postgres import Postgres, Proxy, proxy

_PROGRAM = Path(__file__).with_name("node_program.py")


class Act(NamedTuple):
    """Something that a node did, or began to do."""

    key: tuple[str, str]  #: digest and user
    label: str | None
    began: float
    ended: float | None  #: None if it was not acknowledged: then nobody knows whether it was done


@dataclass
class Node:
    """A node that acts, as a test sees it: killed and started again, it is the same node."""

    name: str
    home: Path
    url: str
    network: Proxy
    n_messages: int
    _seeds: Iterator[int]
    _process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self.home.mkdir(exist_ok=True)
        seed = next(self._seeds)
        command = [sys.executable, _PROGRAM, self.url, self.home, self.name, seed, self.n_messages]
        self._process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def wait_until_ready(self) -> None:
        assert self.hear() == "ready"

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        with self._process:
            pass
        self._process = None

    def say(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def wait(self) -> None:
        assert self._process is not None
        with self._process:
            assert self._process.wait(PATIENCE_S) == 0
        self._process = None

    def close(self) -> None:
        if self._process is not None:
            self.kill()

    def acts(self) -> list[Act]:
        """Return what it has noted; the last line of one that was killed may be cut short."""
        acts: list[Act] = []
        for line in (self.home / "notes").read_text().splitlines():
            try:
                note = json.loads(line)
            except ValueError:
                continue
            if "began" in note:
                acts.append(Act((note["digest"], note["user"]), note["label"], note["began"], None))
            elif "ended" in note:
                acts[-1] = acts[-1]._replace(ended=note["ended"])
        return acts


@contextmanager
def nodes(postgres: Postgres, database: str, folder: Path, n: int = 4, n_messages: int = 80) -> Iterator[list[Node]]:
    """Run nodes that act; end those that are left."""
    with ExitStack() as stack:
        running = []
        for name in "abcdefgh"[:n]:
            network = stack.enter_context(proxy(postgres.port))
            url = postgres.url(database, port=network.port)
            node = Node(name, folder / name, url, network, n_messages, count(1000 * len(running)))
            stack.callback(node.close)
            node.start()
            running.append(node)
        for node in running:
            node.wait_until_ready()
        yield running


def finished(running: Sequence[Node], postgres: Postgres, database: str) -> set[str]:
    """Have all nodes stop acting, deliver what they kept and follow to the end; return what they count."""
    for node in running:
        node.say("stop")
    for node in running:
        assert node.hear() == "delivered"
    [[last]] = postgres.run("SELECT change FROM priory.journal", database)
    for node in running:
        node.say(str(last))
    counted = {node.hear() for node in running for _ in range(2)}
    for node in running:
        node.wait()
    return counted


def lost(acts: Sequence[Act], lessons: dict[tuple[str, str], str]) -> list[tuple[str, str]]:
    """Return the messages and users about which the journal says what was overruled by what was acknowledged later.

    >>> ann = ("00", "ann")
    >>> acts = [Act(ann, "ham", 1.0, 2.0), Act(ann, "spam", 3.0, 4.0)]
    >>> lost(acts, {ann: "spam"}), lost(acts, {ann: "ham"}), lost(acts, {})
    ([], [('00', 'ann')], [('00', 'ann')])
    >>> lost([*acts, Act(ann, "ham", 2.5, None)], {ann: "ham"})
    []
    """
    about: dict[tuple[str, str], list[Act]] = {}
    for act in acts:
        about.setdefault(act.key, []).append(act)
    return [key for key, several in about.items() if lessons.get(key) not in _possible(several)]


def _possible(acts: list[Act]) -> set[str | None]:
    """Return what may be the last word about a message; what nobody acknowledged may have been said at any time."""
    last_began = max((act.began for act in acts if act.ended is not None), default=None)
    if last_began is None:
        return {None, *(act.label for act in acts)}
    return {act.label for act in acts if act.ended is None or act.ended >= last_began}
