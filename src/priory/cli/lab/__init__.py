"""The commands of the workbench: evaluate the filter or any classifier, and show the result."""

import signal
import sys

import typer

from priory.cli.lab.errors import errors
from priory.cli.lab.evaluate import compare, evaluate, seal
from priory.cli.lab.replay import replay
from priory.cli.lab.report import report
from priory.cli.lab.trust import trust

app = typer.Typer(
    name="lab",
    help="The workbench: evaluate the filter or any classifier on mail it has not learned.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)


@app.callback()
def lab() -> None:
    """The workbench: evaluate the filter or any classifier on mail it has not learned."""
    # SystemExit runs every `finally` and `with`, so that SIGTERM leaves no temporary files behind.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))


for command in (evaluate, replay, compare, trust, errors, seal, report):
    app.command()(command)
