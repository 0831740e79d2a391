"""The command line: parse, call, print. Each command says what the library's method of the same name does."""

import os
import sys

import typer

from priory.cli import ask, pipe, show_demo, teach
from priory.cli.options import Problem

app = typer.Typer(
    name="priory",
    help="A mail filter that says how probable spam is, why, and what it would cost to be wrong.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command()(teach.learn)
app.command()(teach.forget)
app.command()(ask.check)
app.command()(ask.explain)
app.command(name="filter")(pipe.filter_message)
app.command()(ask.stats)
app.command()(teach.rebuild)
app.command()(teach.merge)
app.command(name="demo")(show_demo.demo)


def main() -> None:
    """Run a command; what is wrong with input or store is one line on standard error, never a traceback."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here uses
    try:
        app()
    except Problem as problem:
        sys.stderr.write(f"priory: {problem}\n")
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
