"""Nodes that are killed, cut off and left without a server end with the same counts, and lose nothing."""

import time
from pathlib import Path

from acting_node import BITS, counted
from priory.features import VERSION
from priory.filter import Filter
from priory.journal import Store
from priory.journal.store import prepare_store
from priory.options import Options
from real_nodes import finished, lost, nodes
from real_postgres import Postgres


def test_whatever_fails_nodes_end_with_the_same_counts_and_lose_nothing(
    postgres: Postgres, database_name: str, tmp_path: Path
):
    prepare_store(Store(postgres.url(database_name)), VERSION, BITS)
    with nodes(postgres, database_name, tmp_path) as running:
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
        all_counted = finished(running, postgres, database_name)
        acts = [act for node in running for act in node.acts()]
    store = Store(postgres.url(database_name), "fresh")
    with Filter.open(tmp_path / "fresh", Options(store=store)) as fresh:
        fresh.rebuild()
        rebuilt = counted(fresh)
        lessons = {(lesson.digest.hex(), lesson.user): lesson.label for lesson in fresh.journal.lessons()}
    assert all_counted == {rebuilt}
    assert lost(acts, lessons) == []
    assert sum(act.ended is not None for act in acts) > 200
