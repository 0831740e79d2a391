"""Measures the cost of one message, one lesson and one node: the constants of docs/scaling.md.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/constants.py [--learned 20000]

Figures go to the terminal and to build/constants.json, from which `provider.py` draws. Processor times, but for what
waits for a disk.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import clients
import daemons
from load import family
from mail import Mail, trec07p
from peers import PRIORY, Priory
from priory.filter.filter import Filter
from report import ROOT

JSON = ROOT / "build" / "constants.json"
CHECKED, TAUGHT, CLIENTS = 4_000, 2_000, 4
KEPT = 1_000  #: stored samples of a time


def raws(mail: Mail) -> list[bytes]:
    """Return the bytes of messages."""
    return [(mail.folder / name).read_bytes() for _, name in mail.entries]


def processor_s(process: int) -> float:
    """Return the processor time of a process and its children, including those that have ended."""
    return sum(_processor_s(each) for each in family(process))


def _processor_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def served(home: Path, mail: Mail) -> dict[str, float]:
    """Return the daemon's processor time per message by verb, from its socket to the end of its answer.

    CHECK returns the verdict; PROCESS returns the message with the verdict and its reasons in headers.
    """
    taken = {}
    with daemons.running([PRIORY, "serve", "--home", str(home)], home / "socket") as process:
        for verb in ("CHECK", "PROCESS"):
            requests = [clients.request(verb, raw) for raw in raws(mail)]
            clients.ask_all(home / "socket", requests[: len(requests) // 4], CLIENTS)  # for warming up
            before = processor_s(process.pid)
            answers = clients.ask_all(home / "socket", requests, CLIENTS)
            taken[verb] = (processor_s(process.pid) - before) / len(requests)
            if not all(answer.is_whole for answer in answers):
                raise AssertionError(f"the daemon did not answer every {verb}")
    return taken


def checks(filter_: Filter, mail: Mail) -> list[float]:
    """Return the processor time of each check, from bytes."""
    return [_seconds(lambda raw=raw: filter_.check(raw), time.thread_time) for raw in raws(mail)]


def lessons(filter_: Filter, mail: Mail) -> list[float]:
    """Return the seconds of each lesson, from bytes until it is durable."""
    labels = [label for label, _ in mail.entries]
    return [
        _seconds(lambda raw=raw, label=label: filter_.learn(raw, label))
        for raw, label in zip(raws(mail), labels, strict=True)
    ]


def _seconds(act: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    act()
    return clock() - start


def applied(filter_: Filter, n: int) -> float:
    """Return the processor time of applying a lesson that another node has learned."""
    start = time.process_time()
    filter_.rebuild()
    return (time.process_time() - start) / n


def samples(seconds: Sequence[float]) -> list[float]:
    """Return a thousand representative values in order."""
    return np.quantile(seconds, (np.arange(KEPT) + 0.5) / KEPT).tolist()


def keep(**figures: object) -> None:
    """Add figures to the JSON file."""
    before = json.loads(JSON.read_text()) if JSON.is_file() else {}
    JSON.parent.mkdir(exist_ok=True)
    JSON.write_text(json.dumps(before | figures) + "\n")


def show(name: str, value: float, unit: str) -> None:
    print(f"{name:55}{value:12,.1f} {unit}", flush=True)


def show_times(name: str, seconds: Sequence[float]) -> None:
    p50, p99 = 1e3 * np.quantile(seconds, [0.5, 0.99])
    print(f"{name:55}{1e3 * np.mean(seconds):12.3f} ms, p50 {p50:.3f}, p99 {p99:.3f}, most {1e3 * max(seconds):.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learned", type=int, default=20_000)
    n = parser.parse_args().learned
    mail = trec07p()
    unseen, more = mail[n : n + CHECKED], mail[n + CHECKED : n + CHECKED + TAUGHT]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        Priory().learn(mail[:n], home)
        show("journal in SQLite, learned in bulk", Priory().store_bytes(home) / n, "bytes a lesson")
        by_verb = served(home, unseen)
        for verb, taken in by_verb.items():
            show(f"the daemon, {verb}, messages/s per core", 1 / taken, "")
        with Filter.open(home) as filter_:
            checked = checks(filter_, unseen)
            show_times("check, from bytes", checked)
            taught = lessons(filter_, more)
            show_times("one lesson, durable in SQLite", taught)
            show("lessons/s of the one writer", 1 / np.mean(taught), "")
            applied_s = applied(filter_, n + TAUGHT)
            show("a lesson taken in by another node, processor time", 1e6 * applied_s, "µs")
        show("journal in SQLite, with those", Priory().store_bytes(home) / (n + TAUGHT), "bytes a lesson")
    keep(served_s=by_verb["PROCESS"], check_s=samples(checked), lesson_s=samples(taught), applied_s=applied_s)


if __name__ == "__main__":
    main()
