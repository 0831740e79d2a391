"""The workbench as the commands use it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from priory.cli.options import Problem, place_of
from priory.cli.progress import bar
from priory.lab.bench import Bench
from priory.lab.hands import Hands


@contextmanager
def bench_of(home: Path, jobs: int, cluster: str | None = None, *, fresh: bool, quiet: bool) -> Iterator[Bench]:
    """The workbench of a home, with progress bars where a person looks on."""
    with _hands(jobs, cluster) as hands:
        yield Bench(place_of(home) / "lab", hands, fresh, lambda what, total: bar(what, lambda: total, quiet=quiet))


@contextmanager
def _hands(jobs: int, cluster: str | None) -> Iterator[Hands]:
    if cluster is None:
        yield jobs
        return
    if jobs > 1:
        raise Problem("name either --jobs or --cluster, not both: local:2 is a cluster of two processes")
    from priory.cluster import opened  # noqa: PLC0415 - it takes a while to load

    with opened(cluster) as reached:
        yield reached
