"""Tests at random, for as long as you like, that nodes agree and lose nothing whatever fails.

    python benchmarks/failing_nodes.py --minutes 10 --seed 1

Four processes learn, relearn and forget at random in one journal on a PostgreSQL server. Meanwhile they are killed and
started again, also while they are cut off; their networks are cut, fall silent and heal; the server crashes and comes
back. In the end all must have the counts of a rebuild from the journal, and each message must have the label that
was acknowledged last.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def fail(nodes: list, postgres: object, chance: random.Random) -> str:
    """Make something fail or recover; return a description."""
    node = chance.choice(nodes)
    what = chance.choice(("kill", "cut", "stall", "heal", "heal", "heal", "crash"))
    if what == "kill":
        node.kill()
        node.start()
        node.wait_until_ready()
    elif what == "crash":
        postgres.crash()
        time.sleep(chance.uniform(0.0, 3.0))
        postgres.start()
        return what
    else:
        getattr(node.network, what)()
    return f"{what} {node.name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    from node_program import BITS, counted
    from priory.features import VERSION, Spec
    from priory.filter.filter import Filter
    from priory.filter.options import Options
    from priory.journal import StoreAddress
    from priory.journal.shared.store import prepare_store
    from real_nodes import finished, lost, nodes
    from real_postgres import postgres

    chance, failures = random.Random(asked.seed), 0  # noqa: S311
    with postgres() as server, server.database() as name, tempfile.TemporaryDirectory() as folder:
        prepare_store(StoreAddress(server.url(name)), VERSION, BITS)
        with nodes(server, name, Path(folder)) as running:
            end = time.monotonic() + 60 * asked.minutes
            while time.monotonic() < end:
                time.sleep(chance.uniform(0.0, 2.0))
                print(fail(running, server, chance), flush=True)
                failures += 1
            for node in running:
                node.network.heal()
            all_counted = finished(running, server, name)
            acts = [act for node in running for act in node.acts()]
        options = Options(store=StoreAddress(server.url(name), "fresh"), spec=Spec(bits=BITS))
        with Filter.open(Path(folder) / "fresh", options) as fresh:
            fresh.rebuild()
            rebuilt = counted(fresh)
            lessons = {(lesson.digest.hex(), lesson.user): lesson.label for lesson in fresh.journal.lessons()}
    gone = lost(acts, lessons)
    acknowledged = sum(act.ended is not None for act in acts)
    print(f"{failures} failures, {acknowledged:,} acts acknowledged, {len(lessons):,} lessons")
    print(f"counts that differ from a rebuild: {len(all_counted - {rebuilt})}; acknowledged, but lost: {len(gone)}")
    if all_counted != {rebuilt} or gone:
        sys.exit(1)


if __name__ == "__main__":
    main()
