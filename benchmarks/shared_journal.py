"""Measures a journal in PostgreSQL: bytes, lessons per second, and the start of a new node.

    export PRIORY_CORPORA=~/.cache/priory-corpora
    python benchmarks/shared_journal.py [--learned 21000] [--bits 22] [--writers 1 2 4]

Starts a server of its own, which waits for the disk at every lesson as a real one does. Writers are processes that
teach message by message, all at once. Figures go to the terminal and to build/constants.json, beside those of
`constants.py`.
"""

import argparse
import multiprocessing
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from constants import applied, keep, processor_s, samples, show, show_times
from mail import Mail, trec07p
from priory.features import VERSION, Spec
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.prepare import Prepared, prepare
from priory.journal import StoreAddress
from priory.journal.shared.store import prepare_store
from report import ROOT

sys.path.append(str(ROOT / "tests"))
from real_postgres import Postgres, postgres

SETTINGS = ("max_connections=50",)
SINGLE = 1_000  #: lessons of each number of writers


@dataclass(frozen=True)
class Shared:
    """A journal that several nodes share, and the nodes' homes."""

    url: str
    homes: Path
    spec: Spec


def lessons(mail: Mail, spec: Spec) -> list[tuple[Prepared, str, str]]:
    """Return messages as they are learned."""
    return [(prepare((mail.folder / name).read_bytes(), spec), label, name) for label, name in mail.entries]


def teach(url: str, home: str, mail: Mail, spec: Spec, begins: float) -> tuple[list[float], float]:
    """Teach messages one by one from a given time on; return the seconds of each, and the processor time of all."""
    taught = lessons(mail, spec)
    with Filter.open(home, Options(store=StoreAddress(url, home))) as filter_:
        filter_.stats()
        time.sleep(max(0.0, begins - time.time()))
        seconds, before = [], time.process_time()
        for read, label, source in taught:
            start = time.perf_counter()
            filter_.learn(read, label, source)
            seconds.append(time.perf_counter() - start)
        return seconds, time.process_time() - before


def at_once(server: Postgres, shared: Shared, mail: Mail, writers: int) -> list[float]:
    """Teach with several processes at once; print the figures and return the seconds of each lesson."""
    each, begins, before = len(mail) // writers, time.time() + 10, processor_s(server._process.pid)
    parts = [mail[i * each : (i + 1) * each] for i in range(writers)]
    shares = [(shared.url, str(shared.homes / f"node-{i}"), part, shared.spec, begins) for i, part in enumerate(parts)]
    with multiprocessing.get_context("spawn").Pool(writers) as pool:
        done = pool.starmap(teach, shares)
    n = writers * each
    seconds = [second for own, _ in done for second in own]
    show(f"{writers} writers, lessons/s of all", n / max(sum(own) for own, _ in done), "")
    show_times(f"{writers} writers, one lesson, durable", seconds)
    show("a lesson, processor time of the node", 1e3 * sum(processor for _, processor in done) / n, "ms")
    show("a lesson, processor time of the server", 1e3 * (processor_s(server._process.pid) - before) / n, "ms")
    return seconds


def sizes(server: Postgres, database: str) -> dict[str, int]:
    """Return the size of each table with its indexes and out-of-line storage."""
    server.run("VACUUM ANALYZE", database)
    rows = server.run(
        "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
        "WHERE relnamespace = 'priory'::regnamespace AND relkind = 'r'",
        database,
    )
    return {str(name): int(size) for name, size in rows}


def first_verdict(shared: Shared, mail: Mail) -> float:
    """Return the seconds until a new node has its first verdict."""
    [(read, _, _)] = lessons(mail[:1], shared.spec)
    start = time.perf_counter()
    with Filter.open(shared.homes / "new", Options(store=StoreAddress(shared.url, "new"))) as filter_:
        filter_.check(read)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learned", type=int, default=21_000, help="above 20,000 there is a shared snapshot")
    parser.add_argument("--bits", type=int, default=Spec().bits)
    parser.add_argument("--writers", type=int, nargs="+", default=(1, 2, 4))
    arguments = parser.parse_args()
    n, mail = arguments.learned, trec07p()
    with postgres(SETTINGS) as server, server.database() as database, tempfile.TemporaryDirectory() as folder:
        shared = Shared(server.url(database), Path(folder), Spec(bits=arguments.bits))
        first = StoreAddress(shared.url, "first")
        prepare_store(first, VERSION, arguments.bits)
        taught = lessons(mail[:n], shared.spec)
        start = time.perf_counter()
        with Filter.open(shared.homes / "first", Options(store=first)) as filter_:
            for _ in filter_.learn_many(taught):
                pass
            show("learned in bulk, lessons/s", n / (time.perf_counter() - start), "")
            applied_s = applied(filter_, n)
            show("a lesson taken in by another node, processor time", 1e6 * applied_s, "µs")
        found = sizes(server, database)
        show("a lesson in PostgreSQL, with its indexes", found["lessons"] / n, "bytes")
        show("the shared snapshot", found["snapshots"] / 1e6, "MB")
        show("a new node, until its first verdict", first_verdict(shared, mail[n:]), "s")
        for writers in arguments.writers:
            n += SINGLE
            seconds = at_once(server, shared, mail[n - SINGLE : n], writers)
            if writers == arguments.writers[0]:
                keep(shared_lesson_s=samples(seconds), shared_applied_s=applied_s)


if __name__ == "__main__":
    main()
