"""`priory user`: list users, export their lessons, and delete all data of a user."""

import json
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from priory.cli.options import HOME, CommandError, Home, Json, decode_user, open_filter
from priory.cli.progress import bar
from priory.html.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from priory.filter.filter import Filter

app = typer.Typer(name="user", no_args_is_help=True, add_completion=False, rich_markup_mode="markdown")


@app.callback()
def user() -> None:
    """List the users who have taught the filter, export their lessons, or delete all of their data.

    **Examples**

    `priory user list`

    `priory user export ann --to ann.jsonl`

    `priory user delete ann --yes`
    """


_Name = Annotated[
    str, typer.Argument(metavar="USER", help="The name under which the lessons were taught.", callback=decode_user)
]


@app.command("list")
def list_users(home: Home = HOME, as_json: Json = False) -> None:
    """List users with their lessons by label, and how many of these count for that user alone.

    **Example**

    `priory user list`
    """
    with open_filter(home) as filter_:
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
        print("no lessons belong to a user yet; teach with --user NAME")  # noqa: T201


@app.command()
def export(
    user: _Name,
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to this file instead of standard output.")
    ] = None,
    home: Home = HOME,
) -> None:
    """Write all lessons and rules of a user with everything that the journal has of them, one JSON object per line.

    The field 'features' holds packed numbers in base64. Neither they nor the journal contain words of the mail. A new
    file is readable by its owner only.

    **Example**

    `priory user export ann --to ann.jsonl`
    """
    from priory.journal.files import private_opener  # noqa: PLC0415

    with open_filter(home) as filter_:
        lessons = iter(filter_.users.exported(user))
        first = next(lessons, None)
        if first is None:
            raise CommandError(_no_lessons(user, home))
        every = chain([first], lessons)
        if to is None:
            _write(sys.stdout, every)
            return
        try:
            with open(to, "w", encoding="utf-8", opener=private_opener) as file:
                n_lessons, n_rules = _write(file, every)
        except OSError as error:
            raise CommandError(f"{to} cannot be written: {error.strerror}") from None
    print(f"{_in_words(n_lessons, n_rules)} of {printable(user)} written to {to}")  # noqa: T201


def _write(file: TextIO, every: "Iterable[dict[str, Any]]") -> tuple[int, int]:
    """Write lessons and rules; return the number of each."""
    n_lessons = n_rules = 0
    for each in every:
        file.write(json.dumps(each, ensure_ascii=False) + "\n")
        n_rules += "rule" in each
        n_lessons += "rule" not in each
    return n_lessons, n_rules


@app.command()
def delete(
    user: _Name,
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it, only print how many lessons.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Delete all data of a user: lessons, rules, confirmations, and records of forgotten lessons.

    Afterwards the counts are exactly as if this user had never taught the filter.

    **Example**

    `priory user delete ann --yes`
    """
    n_deleted = 0
    with open_filter(home) as filter_:
        n, n_rules = _count_lessons(filter_, user), len(filter_.rules.of(user))
        if yes:
            with bar("deleting", lambda: n, quiet=as_json) as advance:
                for n_in_group in filter_.users.delete(user):
                    n_deleted += n_in_group
                    advance(n_in_group)
    if as_json:
        print(json.dumps({"lessons": n, "deleted": n_deleted, "rules": n_rules}))  # noqa: T201
    elif yes:
        print(f"deleted {_in_words(n_deleted, n_rules)} of {printable(user)}")  # noqa: T201
    elif n + n_rules:
        rest = "none deleted: --yes deletes them, export shows them"
        if n + n_rules == 1:
            rest = "not deleted: --yes deletes it, export shows it"
        print(f"{_in_words(n, n_rules)} of {printable(user)}, {rest}")  # noqa: T201
    else:
        raise CommandError(_no_lessons(user, home))


def _in_words(n_lessons: int, n_rules: int) -> str:
    lessons = f"{n_lessons:,} {'lesson' if n_lessons == 1 else 'lessons'}"
    return f"{lessons} and {n_rules:,} {'rule' if n_rules == 1 else 'rules'}" if n_rules else lessons


def _no_lessons(user: str, home: Path) -> str:
    return f"{printable(user)} has no lessons in {home}; list all users with: priory user list"


def _count_lessons(filter_: "Filter", user: str) -> int:
    from priory.journal import Selection, is_person  # noqa: PLC0415

    if not is_person(user):
        raise CommandError("name the user to delete; lessons without a user are taken back with: priory forget")
    return filter_.lessons.n_of(Selection(user=user))
