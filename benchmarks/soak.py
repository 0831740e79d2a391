"""Runs a daemon for hours while everything happens to it at once, and verifies that nothing is lost and nothing grows.

    python benchmarks/soak.py --minutes 120 --seed 1
    python benchmarks/soak.py --minutes 5 --quiet-disk    # without a file system of its own, which only root can mount

Clients check mail by all protocols, and teach and forget mail. Hostile clients send garbage, promise bytes that never
come, and keep connections open. Meanwhile the configuration is read again, workers and the whole daemon are killed, and
the disk is full for a while. Old lessons are forgotten all the time, because the journal has a limit.

In the end each message must have the label that was acknowledged last, or must be older than all lessons that are
left; the counts must be those of a rebuild; and memory, file descriptors, processes and the disk must not have grown.
Each line of the output is a sample.
"""

import argparse
import contextlib
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from http_client import Client
from milter_client import MailServer
from priory.demo import draw
from priory.filter.filter import Filter
from priory.message import parse
from priory.server.tokens import issue
from real_daemon import Daemon, ask, request, starting

LIMIT = 3_000  #: lessons in the journal
MESSAGES = 6_000
TEACHERS = 3
CHECKERS = 3
HOSTILE = 3
DISK_BYTES = 400 * 1024 * 1024
GROWTH = 1.15  #: of the last third against the second, from which on something grows
CONFIG = f"""
[serve]
workers = 2
max_connections = 200
[milter]
listen = "127.0.0.1:0"
[http]
listen = "127.0.0.1:0"
rate = 100000
[ask]
spool = "1 MB"
[limits]
lessons = {LIMIT}
"""


class Act(NamedTuple):
    """What a teacher did to a message; `label` is None if it was forgotten."""

    label: str | None
    began: float
    is_acknowledged: bool = False  #: otherwise nobody knows whether it was done


@dataclass
class Message:
    """A message, and what was done to it, one act after the other."""

    raw: bytes
    label: str
    acts: list[Act] = field(default_factory=list)

    @property
    def possible(self) -> set[str | None]:
        """The labels that it may have: the one acknowledged last, and those that were tried since then."""
        labels: set[str | None] = {None}
        for act in self.acts:
            labels = {act.label} if act.is_acknowledged else labels | {act.label}
        return labels

    @property
    def since(self) -> float:
        """The earliest time of its lesson: to teach the same label again changes nothing."""
        acknowledged = [act for act in self.acts if act.is_acknowledged]
        since = 0.0
        for act in reversed(self.acts):
            if act.is_acknowledged and act.label != acknowledged[-1].label:
                break
            since = act.began
        return since


@dataclass
class Sample:
    """What the processes of the daemon use at a moment."""

    minute: float
    memory_mb: float
    n_descriptors: int
    n_processes: int
    disk_mb: float


class Soak:
    """The daemon, and everything that happens to it."""

    def __init__(self, folder: Path, seed: int, *, is_small_disk: bool) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.is_small_disk = is_small_disk
        self.messages = [Message(drawn.raw, drawn.label) for drawn in draw(MESSAGES, seed=seed)]
        self.chance = random.Random(seed)  # noqa: S311 - chance, not secrets
        self.done = threading.Event()
        self.happened: Counter[str] = Counter()
        self.errors: list[str] = []
        self.samples: list[Sample] = []
        self._context = contextlib.ExitStack()
        self._began = time.monotonic()
        self.daemon = self._started()
        self.token = issue(self.home, "admin")

    def _started(self) -> Daemon:
        daemon = self._context.enter_context(starting(self.home, CONFIG))
        daemon.wait_until(lambda: daemon.n_logged("ready") or daemon.process.poll() is not None)
        return daemon

    def ports(self) -> tuple[int, int]:
        """Return the ports of the milter and of HTTP."""
        lines = [line for line in self.daemon.log.splitlines() if "listening on=127.0.0.1:" in line]
        of = {
            ("http" if "http" in line else "milter"): int(line.partition("127.0.0.1:")[2].split()[0]) for line in lines
        }
        return of["milter"], of["http"]

    def run(self, minutes: float) -> None:
        """Let everything happen for so long."""
        actors: list[Callable[[random.Random], None]] = [
            *(lambda chance, part=part: self.teach(self.messages[part::TEACHERS], chance) for part in range(TEACHERS)),
            *[self.check] * CHECKERS,
            *[self.disturb] * HOSTILE,
        ]
        chances = [random.Random(self.chance.random()) for _ in actors]  # noqa: S311 - chance, not secrets
        threads = [
            threading.Thread(target=self._repeat, args=args, daemon=True) for args in zip(actors, chances, strict=True)
        ]
        for thread in threads:
            thread.start()
        self._fail_now_and_then(60 * minutes)
        self.done.set()
        for thread in threads:
            thread.join()

    def _repeat(self, actor: Callable[[random.Random], None], chance: random.Random) -> None:
        while not self.done.is_set():
            try:
                actor(chance)
            except (OSError, AssertionError, KeyError):  # the daemon is away, or has ended a connection
                self.happened["connections lost"] += 1
                time.sleep(0.2)
            except Exception as error:
                self.errors.append(f"{actor}: {error!r}")
                raise

    def teach(self, messages: Sequence[Message], chance: random.Random) -> None:
        """Teach or forget one of these messages, by a protocol at random."""
        message = chance.choice(messages)
        label = None if chance.random() < 0.15 else message.label if chance.random() < 0.9 else "spam"
        message.acts.append(Act(label, time.time()))
        is_done = (
            self._teach_by_spamd(message.raw, label)
            if chance.random() < 0.6
            else self._teach_by_http(message.raw, label)
        )
        if is_done:
            message.acts[-1] = message.acts[-1]._replace(is_acknowledged=True)
            self.happened["lessons acknowledged"] += 1

    def _teach_by_spamd(self, raw: bytes, label: str | None) -> bool:
        fields = ["Remove: local"] if label is None else [f"Message-class: {label}", "Set: local"]
        answer = ask(self.daemon.socket, request("TELL", raw, *fields))
        return answer.startswith(b"SPAMD/1.1 0 ")

    def _teach_by_http(self, raw: bytes, label: str | None) -> bool:
        client = Client(self.ports()[1], self.token)
        answer = client.post("/v1/forget" if label is None else f"/v1/learn?label={label}", raw)
        return answer.status == 200 or (label is None and answer.status == 404)

    def check(self, chance: random.Random) -> None:
        """Check a message, by a protocol at random."""
        raw = chance.choice(self.messages).raw
        milter, http = self.ports()
        match chance.randrange(4):
            case 0:
                verb = chance.choice(("CHECK", "SYMBOLS", "REPORT", "PROCESS", "HEADERS"))
                is_done = ask(self.daemon.socket, request(verb, raw)).startswith(b"SPAMD/1.1 0 ")
            case 1:
                client = MailServer(("127.0.0.1", milter))
                with contextlib.closing(client):
                    is_done = bool(client.deliver(raw))
            case 2:
                is_done = Client(http, self.token).post("/v1/check", raw).status == 200
            case _:
                is_done = Client(http, self.token).post("/v1/explain", raw).status == 200
        self.happened["checks" if is_done else "checks refused"] += 1

    def disturb(self, chance: random.Random) -> None:
        """Be a hostile client once."""
        milter, http = self.ports()
        where = chance.choice((self.daemon.socket, ("127.0.0.1", milter), ("127.0.0.1", http)))
        with socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET) as client:
            client.settimeout(5)
            client.connect(where)
            match chance.randrange(4):
                case 0:
                    client.sendall(chance.randbytes(chance.randrange(1, 100_000)))
                case 1:
                    client.sendall(b"CHECK SPAMC/1.5\r\nContent-length: 1000000000000\r\n\r\n")
                case 2:
                    client.sendall(b"PROCESS SPAMC/1.5\r\nContent-length: 100000\r\n\r\nSubject: half")
                    self.done.wait(chance.uniform(0, 20))
                case _:
                    for byte in b"POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n":
                        client.sendall(bytes([byte]))
                        self.done.wait(0.05)
        self.happened["hostile clients"] += 1

    def _fail_now_and_then(self, seconds: float) -> None:
        """Sample the daemon every ten seconds, and let something fail now and then."""
        end = time.monotonic() + seconds
        failures = (self._reload, self._reload, self._kill_worker, self._kill_all, self._fill_disk)
        while time.monotonic() < end:
            time.sleep(10)
            self._sample()
            if self.chance.random() < 0.4:
                self.chance.choice(failures)()

    def _reload(self) -> None:
        self.daemon.send(signal.SIGHUP)
        self.happened["reloads"] += 1

    def _kill_worker(self) -> None:
        workers = self.daemon.workers
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.chance.choice(workers), signal.SIGKILL)
            self.happened["processes killed"] += 1

    def _kill_all(self) -> None:
        processes = [*self.daemon.workers, self.daemon.process.pid]
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.daemon.process.wait()
        self._note_tracebacks()  # the next daemon begins the log again
        time.sleep(self.chance.uniform(0, 3))
        self.daemon = self._started()
        self.happened["daemons killed"] += 1

    def _note_tracebacks(self) -> None:
        log = self.daemon.log_path.read_text(errors="replace")
        if "Traceback" in log:
            self.errors.append(f"the log has a traceback: {log[log.index('Traceback') :][:2000]}")

    def _fill_disk(self) -> None:
        if not self.is_small_disk:
            return
        filler = self.home.parent / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(1024 * 1024)):
                pass
        time.sleep(self.chance.uniform(1, 8))
        filler.unlink()
        self.happened["full disks"] += 1

    def _sample(self) -> None:
        processes = [self.daemon.process.pid, *self.daemon.workers]
        memory, descriptors = 0.0, 0
        for process in processes:
            with contextlib.suppress(OSError):
                memory += _private_mb(process)
                descriptors += sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())
        disk = sum(path.stat().st_size for path in _files(self.home) if path.name != "serve.log") / 1e6
        sample = Sample((time.monotonic() - self._began) / 60, memory, descriptors, len(processes), disk)
        self.samples.append(sample)
        counts = ", ".join(f"{n:,} {name}" for name, n in sorted(self.happened.items()))
        print(
            f"{sample.minute:6.1f} min  {memory:6.1f} MB  {descriptors} descriptors  {len(processes)} processes  "
            f"{disk:6.1f} MB on disk  {counts}",
            flush=True,
        )

    def close(self) -> None:
        """End the daemon."""
        self._context.close()
        self._note_tracebacks()

    def lost(self) -> list[str]:
        """Return what is wrong with the journal: messages without the label that was acknowledged last."""
        with Filter.open(self.home) as filter_:
            lessons = {lesson.digest: lesson for lesson in filter_.journal.lessons()}
            oldest = min((lesson.time for lesson in lessons.values()), default=0.0)
            is_full = len(lessons) >= LIMIT
            wrong = []
            for message in self.messages:
                lesson = lessons.get(parse(message.raw).digest)
                label = lesson.label if lesson else None
                is_aged = label is None and is_full and message.since <= oldest
                if label not in message.possible and not is_aged:
                    wrong.append(f"{parse(message.raw).digest.hex()}: {label}, acts {message.acts[-3:]}")
            before = filter_.stats()
            verdicts = [filter_.check(message.raw).log_odds for message in self.messages[:500]]
            filter_.rebuild()
            if filter_.stats().lessons != before.lessons:
                wrong.append(f"a rebuild has {filter_.stats().lessons} instead of {before.lessons} lessons")
            if [filter_.check(message.raw).log_odds for message in self.messages[:500]] != verdicts:
                wrong.append("a rebuild gives other verdicts")
        return wrong

    def grown(self) -> list[str]:
        """Return what grew from the second third of the time to the last."""
        n = len(self.samples) // 3
        grown = []
        for name in ("memory_mb", "n_descriptors", "n_processes", "disk_mb"):
            second, last = (
                statistics.median(getattr(sample, name) for sample in part)
                for part in (self.samples[n : 2 * n], self.samples[2 * n :])
            )
            print(f"{name}: {second:.1f} in the second third, {last:.1f} in the last")
            if last > GROWTH * second:
                grown.append(f"{name} grew from {second:.1f} to {last:.1f}")
        return grown


def _private_mb(process: int) -> float:
    """Return the memory that a process shares with no other."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file():
                yield path


@contextlib.contextmanager
def disk(*, is_small: bool) -> Iterator[Path]:
    """Return a folder on a file system of its own, which can be filled."""
    with tempfile.TemporaryDirectory() as folder:
        if is_small:
            size = f"size={DISK_BYTES}"
            subprocess.run(["mount", "-t", "tmpfs", "-o", size, "soak", folder], check=True)
        try:
            yield Path(folder)
        finally:
            if is_small:
                subprocess.run(["umount", "-l", folder], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quiet-disk", action="store_true", help="do not fill the disk, for which root is needed")
    asked = parser.parse_args()
    with disk(is_small=not asked.quiet_disk) as folder:
        soak = Soak(folder, asked.seed, is_small_disk=not asked.quiet_disk)
        try:
            soak.run(asked.minutes)
        finally:
            soak.close()
        problems = [*soak.errors, *soak.lost(), *soak.grown()]
    print(f"{sum(len(message.acts) for message in soak.messages):,} acts; {len(problems)} problems")
    for problem in problems[:20]:
        print(problem)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
