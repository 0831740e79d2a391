"""`priory token`: create, list and revoke tokens for the daemon's API."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from priory.cli.options import HOME, CommandError, Home, Json, require_home
from priory.html.numbers import utc_text
from priory.html.text import printable
from priory.server import tokens

_Scope = StrEnum("_Scope", tokens.SCOPES)  # type: ignore[misc]  # typer lists its members in the help


def token(  # noqa: PLR0913, PLR0917 - typer makes options of them
    scope: Annotated[
        _Scope | None,
        typer.Option(help="Create a token: check only reads, learn also teaches and forgets, admin does everything."),
    ] = None,
    name: Annotated[str, typer.Option(metavar="TEXT", help="A name for the new token, shown by --list.")] = "",
    show: Annotated[bool, typer.Option("--list", help="List all tokens.")] = False,
    revoke: Annotated[str | None, typer.Option(metavar="ID", help="Revoke the token with this ID.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Create a token for the daemon's API, list all tokens, or revoke one.

    A new token is printed once; the home stores only its digest. A running daemon honours changes at once. A login to
    the page with a token is a session, which is listed, too, and ends when the token is revoked.

    **Examples**

    `priory token --scope check --name "web mail" > ~/.priory-token`

    `priory token --list`

    `priory token --revoke 3f9a01c2`
    """
    if [scope is not None, show, revoke is not None].count(True) != 1:
        raise CommandError("token needs one of --scope SCOPE (create a token), --list and --revoke ID")
    if name and scope is None:
        raise CommandError("--name is for a new token: add --scope")
    folder = require_home(home)
    with _token_errors():
        if scope is not None:
            _issue(folder, scope.value, name, as_json)
        elif revoke is not None:
            _revoke(folder, revoke, as_json)
        else:
            _list(folder, as_json)


@contextmanager
def _token_errors() -> Iterator[None]:
    try:
        yield
    except tokens.TokenError as error:
        raise CommandError(str(error)) from None


def _issue(home: Path, scope: str, name: str, as_json: bool) -> None:
    secret = tokens.issue(home, scope, name)
    print(json.dumps({"token": secret, "scope": scope, "name": name}) if as_json else secret)  # noqa: T201


def _revoke(home: Path, id_: str, as_json: bool) -> None:
    if not tokens.revoke(home, id_):
        raise CommandError(f"there is no token {id_}; list all with: priory token --list")
    print(json.dumps({"revoked": id_}) if as_json else f"revoked {id_}")  # noqa: T201


def _list(home: Path, as_json: bool) -> None:
    for token in tokens.read_tokens(home):
        if as_json:
            about = {"id": token.id, "scope": token.scope, "name": token.name, "use": token.use}
            times = {
                "created": utc_text(token.created),
                "until": None if token.until is None else utc_text(token.until),
            }
            print(json.dumps(about | times, ensure_ascii=False))  # noqa: T201
        else:
            until = "" if token.until is None else f" ({token.use} until {utc_text(token.until)})"
            print(f"{token.id}  {token.scope:5}  {utc_text(token.created)}  {printable(token.name)}{until}".rstrip())  # noqa: T201
