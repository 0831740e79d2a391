"""Nodes that are killed, cut off and left without a server end with the same counts, and lose nothing."""

import hashlib
import time
from pathlib import Path

from priory.filter import Filter, Options
from priory.journal import Store
from real_nodes import finished, lost, nodes
from real_postgres import Postgres


def test_whatever_fails_nodes_end_with_the_same_counts_and_lose_nothing(
    postgres: Postgres, journal_database: str, tmp_path: Path
):
    with nodes(postgres, journal_database, tmp_path) as running:
        a, b, c, d = running
        time.sleep(1)
        a.kill()
        b.network.cut()
        c.network.stall()
        a.start()
        time.sleep(1)
        b.network.heal()
        c.network.heal()
        a.wait_until_ready()
        d.network.cut()
        d.kill()
        d.start()
        d.wait_until_ready()
        time.sleep(1)
        d.network.heal()
        postgres.crash()
        time.sleep(0.5)
        postgres.start()
        time.sleep(2)
        counted = finished(running, postgres, journal_database)
        acts = [act for node in running for act in node.acts()]
    store = Store(postgres.url(journal_database), "fresh")
    with Filter.open(tmp_path / "fresh", Options(store=store)) as fresh:
        fresh.rebuild()
        rebuilt = hashlib.sha256(b"".join(bytes(part) for part in fresh.counts.parts)).hexdigest()
        lessons = {(lesson.digest.hex(), lesson.user): lesson.label for lesson in fresh.journal.lessons()}
    assert counted == {rebuilt}
    assert lost(acts, lessons) == []
    assert sum(act.ended is not None for act in acts) > 200
