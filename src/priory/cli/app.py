"""All commands by name; the module of one is loaded when the command is asked for."""

import os
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from priory import __version__

#: Where each command is: the module, and the function or the group in it; in the order in which help shows them.
COMMANDS: Final = {
    "learn": ("teach", "learn"),
    "forget": ("forget", "forget"),
    "age": ("age", "age"),
    "lessons": ("lessons", "lessons"),
    "check": ("ask", "check"),
    "explain": ("ask", "explain"),
    "filter": ("pipe", "filter_message"),
    "scan": ("scan", "scan"),
    "report": ("report", "report"),
    "serve": ("serve", "serve"),
    "open": ("open", "open_page"),
    "token": ("token", "token"),
    "user": ("user", "app"),
    "config": ("config", "config"),
    "imap": ("imap", "imap"),
    "stats": ("ask", "stats"),
    "rebuild": ("teach", "rebuild"),
    "merge": ("teach", "merge"),
    "move": ("move", "move"),
    "store": ("store", "app"),
    "demo": ("show_demo", "demo"),
    "lab": ("lab", "app"),
}


class _Commands(TyperGroup):
    """A group that knows the names of its commands, and loads a command by its name."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]  # only their names are asked for

    def get_command(self, _context: Any, cmd_name: str) -> Any:
        return _loaded(cmd_name) if cmd_name in COMMANDS else None


def _loaded(name: str) -> Any:
    module, what = COMMANDS[name]
    found = getattr(import_module(f"priory.cli.{module}"), what)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    alone.command(name)(found)
    return typer.main.get_command(alone)


app = typer.Typer(
    name="priory",
    cls=_Commands,
    help="A mail filter that says how probable spam is, why, and what it would cost to be wrong.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"priory {__version__}")
        raise typer.Exit


@app.callback()
def about(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_show_version)
    ] = False,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="PRIORY_STORE",
            help="Where the journal is that several machines share, postgresql://…; the variable does the same.",
            show_default=False,
            show_envvar=True,
        ),
    ] = None,
) -> None:
    """A mail filter that says how probable spam is, why, and what it would cost to be wrong."""
    if store:
        os.environ["PRIORY_STORE"] = store
