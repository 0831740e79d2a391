"""The command line: parse, call, print. Each command says what the library's method of the same name does."""

import io
import os
import sys
from typing import Annotated

import typer

from priory import __version__
from priory.cli import ask, lab, pipe, show_demo, teach
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
app.add_typer(lab.app)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"priory {__version__}")
        raise typer.Exit


@app.callback()
def about(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """A mail filter that says how probable spam is, why, and what it would cost to be wrong."""


def main() -> None:
    """Run a command; what is wrong with input or store is one line on standard error, never a traceback."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here uses
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # mail is in all languages, terminals may not be
    try:
        app()
    except Problem as problem:
        sys.stderr.write(f"priory: {problem}\n")
        sys.exit(1)
    except OSError as error:  # standard output is full or gone
        sys.stderr.write(f"priory: the output cannot be written: {error.strerror}\n")
        sys.exit(1)
