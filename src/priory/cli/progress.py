"""Progress bars: where a person looks on, and nowhere else."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(what: str, total: Callable[[], int | None], *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show how far something is; yields what to call with each number of things that are done.

    `total` is asked only where someone looks on, for counting may take a while; None if it cannot be known.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - a quick start where nobody looks on
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn  # noqa: PLC0415

    columns = (what, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total())
        yield lambda n: progress.advance(task, n)
