"""Progress bars for people at a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(title: str, total: Callable[[], int | None], *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error; yield a function to call with each number of finished items.

    `total` is called only if standard error is a terminal, because counting may take a while. It returns None if the
    total is unknown.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - takes long to load
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn  # noqa: PLC0415

    columns = (title, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total())
        yield lambda n: progress.advance(task, n)
