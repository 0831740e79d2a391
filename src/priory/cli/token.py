"""`priory token`: who may use the daemon's API."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from priory.cli.options import HOME, Home, Json, Problem, require
from priory.server import tokens
from priory.verdict import printable

_Scope = StrEnum("_Scope", tokens.SCOPES)  # type: ignore[misc]  # typer shows its members


def token(  # noqa: PLR0913, PLR0917 - all that can be asked for
    scope: Annotated[
        _Scope | None, typer.Option(help="What a new one is for: to ask, also to teach and forget, or everything.")
    ] = None,
    name: Annotated[str, typer.Option(help="Whose it is, or for what; you will see it in the list.")] = "",
    show: Annotated[bool, typer.Option("--list", help="List the tokens there are.")] = False,
    revoke: Annotated[str | None, typer.Option(metavar="ID", help="Have this one open nothing any more.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Make a token for the daemon's API, list those there are, or revoke one.

    A new token is printed once: the home keeps only its digest. A running daemon knows at once of what is made and what
    is revoked. Who has logged in to the page with a token has a session, which is listed, too, and ends with the token.

    **Examples**

    `priory token --scope check --name "web mail" > ~/.priory-token`

    `priory token --list`

    `priory token --revoke 3f9a01c2`
    """
    if [scope is not None, show, revoke is not None].count(True) != 1:
        raise Problem("token takes one of --scope SCOPE, which makes a token, --list, and --revoke ID")
    if name and scope is None:
        raise Problem("--name is for a new token: give its --scope, too")
    place = require(home)
    with _problems():
        if scope is not None:
            _issue(place, scope.value, name, as_json)
        elif revoke is not None:
            _revoke(place, revoke, as_json)
        else:
            _list(place, as_json)


@contextmanager
def _problems() -> Iterator[None]:
    try:
        yield
    except tokens.TokenError as error:
        raise Problem(str(error)) from None


def _issue(home: Path, scope: str, name: str, as_json: bool) -> None:
    secret = tokens.issue(home, scope, name)
    print(json.dumps({"token": secret, "scope": scope, "name": name}) if as_json else secret)  # noqa: T201


def _revoke(home: Path, id_: str, as_json: bool) -> None:
    if not tokens.revoke(home, id_):
        raise Problem(f"there is no token {id_}; priory token --list shows those there are")
    print(json.dumps({"revoked": id_}) if as_json else f"revoked {id_}")  # noqa: T201


def _list(home: Path, as_json: bool) -> None:
    for each in tokens.listed(home):
        if as_json:
            about = {"id": each.id, "scope": each.scope, "name": each.name, "use": each.use}
            times = {"created": _time(each.created), "until": None if each.until is None else _time(each.until)}
            print(json.dumps(about | times, ensure_ascii=False))  # noqa: T201
        else:
            until = "" if each.until is None else f" ({each.use} until {_time(each.until)})"
            print(f"{each.id}  {each.scope:5}  {_time(each.created)}  {printable(each.name)}{until}".rstrip())  # noqa: T201


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
