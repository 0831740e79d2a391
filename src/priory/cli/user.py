"""`priory user`: who has taught the filter, what of it is theirs, and how all of that goes."""

import json
import os
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from priory.cli.options import HOME, Home, Json, Problem, opened, user_named
from priory.cli.progress import bar
from priory.verdict import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from priory.filter import Filter

app = typer.Typer(name="user", no_args_is_help=True, add_completion=False, rich_markup_mode="markdown")


@app.callback()
def user() -> None:
    """Who has taught the filter under a name: list them, export what they taught, delete all of it.

    **Examples**

    `priory user list`

    `priory user export ann --to ann.jsonl`

    `priory user delete ann --yes`
    """


_Name = Annotated[
    str, typer.Argument(metavar="USER", help="Under which name the lessons were taught.", callback=user_named)
]


@app.command("list")
def list_users(home: Home = HOME, as_json: Json = False) -> None:
    """List who has taught under a name, how much of each label, and how much of it counts for that user alone.

    **Example**

    `priory user list`
    """
    with opened(home) as filter_:
        every = filter_.users.every()
        labels = filter_.options.labels
    if as_json:
        for user in every:
            print(json.dumps(user._asdict(), ensure_ascii=False))  # noqa: T201
        return
    for user in every:
        n = ", ".join(f"{user.lessons[label]:,} {label}" for label in labels if user.lessons.get(label))
        alone = f"; {user.unshared:,} for this user alone" if user.unshared else ""
        print(f"{printable(user.name)}: {n}{alone}")  # noqa: T201
    if not every:
        print("nobody has taught under a name; who does says so with --user")  # noqa: T201


@app.command()
def export(
    user: _Name,
    to: Annotated[Path | None, typer.Option(help="Write to this file instead of standard output.")] = None,
    home: Home = HOME,
) -> None:
    """Write down all lessons of a user, one JSON object per line: everything that the journal has of them.

    No word of the mail can be read in `features`, which are packed numbers in base64; nor does the journal have one.
    A new file is for its owner alone.

    **Example**

    `priory user export ann --to ann.jsonl`
    """
    with opened(home) as filter_:
        lessons = iter(filter_.users.exported(user))
        first = next(lessons, None)
        if first is None:
            raise Problem(f"{printable(user)} has no lessons in {home}; priory user list says who has")
        every = chain([first], lessons)
        if to is None:
            _write(sys.stdout, every)
            return
        try:
            with open(to, "w", encoding="utf-8", opener=_for_its_owner) as file:
                n = _write(file, every)
        except OSError as error:
            raise Problem(f"{to} cannot be written: {error.strerror}") from None
    print(f"{n:,} lessons of {printable(user)} written to {to}")  # noqa: T201


def _for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _write(file: TextIO, lessons: "Iterable[dict[str, Any]]") -> int:
    return sum(1 for each in lessons if file.write(json.dumps(each, ensure_ascii=False) + "\n"))


@app.command()
def delete(
    user: _Name,
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it, only say how many lessons.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Delete all that the filter has of a user, exactly: lessons, confirmations, and what was forgotten before.

    The counts are those of a filter that this user has never taught.

    **Example**

    `priory user delete ann --yes`
    """
    deleted = 0
    with opened(home) as filter_:
        n = _n_of(filter_, user)
        if yes:
            with bar("deleting", lambda: n, quiet=as_json) as progressed:
                for gone in filter_.users.delete(user):
                    deleted += gone
                    progressed(gone)
    if as_json:
        print(json.dumps({"lessons": n, "deleted": deleted}))  # noqa: T201
    elif yes:
        print(f"deleted {deleted:,} lessons of {printable(user)}")  # noqa: T201
    else:
        print(f"{n:,} lessons of {printable(user)}, none deleted: --yes deletes them, export shows them")  # noqa: T201


def _n_of(filter_: "Filter", user: str) -> int:
    from priory.journal import Selection, is_person  # noqa: PLC0415

    if not is_person(user):
        raise Problem("name the user to delete; lessons under no name are taken back with: priory forget")
    return filter_.lessons.n_of(Selection(user=user))
