"""Nodes that are killed, cut off and left without a server end with the same counts, and lose nothing."""

from collections.abc import Sequence
from pathlib import Path

from node_program import BITS, counted
from priory.features import VERSION
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import StoreAddress
from priory.journal.shared.store import prepare_store
from real_daemon import wait_until
from real_nodes import Node, finished, lost, nodes
from real_postgres import Postgres


def n_acknowledged(node: Node) -> int:
    return sum(act.ended is not None for act in node.acts()) if (node.home / "notes").exists() else 0


def wait_for_acts(running: Sequence[Node], n: int) -> None:
    """Wait until each node has acknowledged `n` more acts."""
    goals = [(node, n_acknowledged(node) + n) for node in running]
    for node, goal in goals:
        wait_until(lambda node=node, goal=goal: n_acknowledged(node) >= goal)


def test_whatever_fails_nodes_end_with_the_same_counts_and_lose_nothing(
    postgres: Postgres, database_name: str, tmp_path: Path
):
    prepare_store(StoreAddress(postgres.url(database_name)), VERSION, BITS)
    with nodes(postgres, database_name, tmp_path) as running:
        a, b, c, d = running
        wait_for_acts(running, 15)
        a.kill()
        b.network.cut()
        c.network.stall()
        a.start()
        wait_for_acts([b, d], 15)
        b.network.heal()
        c.network.heal()
        a.wait_until_ready()
        d.network.cut()
        d.kill()
        d.start()
        d.wait_until_ready()
        wait_for_acts([d], 15)
        d.network.heal()
        postgres.crash()
        wait_for_acts(running, 5)
        postgres.start()
        wait_for_acts(running, 15)
        all_counted = finished(running, postgres, database_name)
        acts = [act for node in running for act in node.acts()]
    store = StoreAddress(postgres.url(database_name), "fresh")
    with Filter.open(tmp_path / "fresh", Options(store=store)) as fresh:
        fresh.rebuild()
        rebuilt = counted(fresh)
        lessons = {(lesson.digest.hex(), lesson.user): lesson.label for lesson in fresh.journal.lessons()}
    assert all_counted == {rebuilt}
    assert lost(acts, lessons) == []
    assert sum(act.ended is not None for act in acts) > 200
