"""All commands by name. A command's module is imported when the command runs."""

import os
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from priory import __version__

#: The module of each command, and the function or group in it, in the order of the help.
COMMANDS: Final = {
    "learn": ("learn", "learn"),
    "forget": ("forget", "forget"),
    "age": ("age", "age"),
    "lessons": ("lessons", "lessons"),
    "rule": ("rule", "app"),
    "check": ("check", "check"),
    "explain": ("explain", "explain"),
    "filter": ("filter", "filter_message"),
    "scan": ("scan", "scan"),
    "ask": ("ask", "ask"),
    "report": ("report", "report"),
    "serve": ("serve", "serve"),
    "open": ("open", "open_page"),
    "token": ("token", "token"),
    "user": ("user", "app"),
    "config": ("config", "config"),
    "imap": ("imap", "imap"),
    "stats": ("stats", "stats"),
    "rebuild": ("rebuild", "rebuild"),
    "doctor": ("doctor", "doctor"),
    "merge": ("merge", "merge"),
    "move": ("move", "move"),
    "store": ("store", "app"),
    "demo": ("demo", "demo"),
    "lab": ("lab", "app"),
}


class _Commands(TyperGroup):
    """A group that imports a command only when it is looked up."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]  # help uses only the names

    def get_command(self, _context: Any, cmd_name: str) -> Any:
        return _load(cmd_name) if cmd_name in COMMANDS else None


def _load(name: str) -> Any:
    module, attribute = COMMANDS[name]
    command = getattr(import_module(f"priory.cli.{module}"), attribute)
    if isinstance(command, typer.Typer):
        return typer.main.get_command(command)
    single = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    single.command(name)(command)
    return typer.main.get_command(single)


app = typer.Typer(
    name="priory",
    cls=_Commands,
    help="A mail filter that tells how probable spam is, why, and what a mistake would cost.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _show_version(is_set: bool) -> None:
    if is_set:
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
            help="The journal that several machines share, postgresql://…, instead of the journal in the home.",
            show_default=False,
            show_envvar=True,
        ),
    ] = None,
) -> None:
    """A mail filter that tells how probable spam is, why, and what a mistake would cost."""
    if store:
        os.environ["PRIORY_STORE"] = store
