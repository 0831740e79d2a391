"""The workbench's commands: judge classifiers and filters honestly, and look at the result."""

import signal
import sys

import typer

from priory.cli.lab.errors import errors
from priory.cli.lab.judge import compare, evaluate, seal
from priory.cli.lab.replay import replay
from priory.cli.lab.report import report
from priory.cli.lab.trust import trust

app = typer.Typer(
    name="lab",
    help="The workbench: judge the filter, or any classifier, honestly, and look at the result.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)


@app.callback()
def lab() -> None:
    """The workbench: judge the filter, or any classifier, honestly, and look at the result."""
    # Who is asked to stop leaves nothing behind: SystemExit passes through everything that cleans up.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))


for command in (evaluate, replay, compare, trust, errors, seal, report):
    app.command()(command)
