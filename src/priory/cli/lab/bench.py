"""The workbench as the commands use it."""

from pathlib import Path

from priory.cli.progress import bar
from priory.lab.bench import Bench


def bench_of(home: Path, jobs: int, *, fresh: bool, quiet: bool) -> Bench:
    """The workbench of a home, with progress bars where a person looks on."""
    return Bench(home.expanduser() / "lab", jobs, fresh, lambda what, total: bar(what, lambda: total, quiet=quiet))
