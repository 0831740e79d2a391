"""The workbench's commands: judge classifiers and filters honestly, and look at the result."""

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
    rich_markup_mode="markdown",
)
for command in (evaluate, replay, compare, trust, errors, seal, report):
    app.command()(command)
