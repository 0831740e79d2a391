"""`priory forget`: take back the lessons of single messages, or all lessons that options select."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from priory.cli.lessons import (
    Above,
    Automatic,
    Below,
    Digest,
    Label,
    Sender,
    Since,
    Source,
    Subject,
    Until,
    Whose,
    make_selection,
)
from priory.cli.options import HOME, CommandError, Home, Json, open_filter
from priory.cli.progress import bar

if TYPE_CHECKING:
    from priory.journal import Selection

_DIGEST_DIGITS: Final = 64


def forget(  # noqa: PLR0913, PLR0917 - typer makes options of them
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH|DIGEST…", help="Messages, or digests as `check --json` prints them."),
    ] = None,
    label: Label = None,
    user: Whose = None,
    source: Source = None,
    sender: Sender = None,
    subject: Subject = None,
    since: Since = None,
    until: Until = None,
    auto: Automatic = None,
    digest: Digest = None,
    certainty_below: Below = None,
    certainty_above: Above = None,
    subjects: Annotated[
        bool, typer.Option("--subjects", help="Delete all stored subjects of messages, and no lesson.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Forget the selected lessons; without it, only print how many.")
    ] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Take lessons back: the filter becomes as if it had learned only the remaining lessons, bit for bit.

    Name messages, or select lessons with the same options as `priory lessons`, which shows them.

    **Examples**

    `priory forget mistaken.eml`

    `priory forget 2f9c1e…(64 digits)`

    `priory forget --user ann --since 2026-11-01 --yes`

    `priory forget --auto --yes`
    """
    if subjects and what:
        raise CommandError("forget takes messages or --subjects, not both")
    if what:
        selection = make_selection(
            label, None, source, sender, subject, since, until, auto, digest, certainty_below, certainty_above
        )
        if not selection.is_everything:
            raise CommandError("forget takes messages or options that select lessons; with messages, only --user")
        _forget_messages(what, user or "", home, as_json)
        return
    selection = make_selection(
        label, user, source, sender, subject, since, until, auto, digest, certainty_below, certainty_above
    )
    if subjects:
        if not selection.is_everything:
            raise CommandError("forget --subjects deletes the subjects of all lessons: select none")
        _delete_subjects(home, yes=yes, as_json=as_json)
        return
    if selection.is_everything:
        raise CommandError(
            "forget needs a message, a digest, or options that select lessons, for example: priory forget mistaken.eml"
        )
    _forget_selection(selection, home, yes=yes, as_json=as_json)


def _forget_messages(what: list[str], user: str, home: Path, as_json: bool) -> None:
    from priory.cli.mail import read_mail  # noqa: PLC0415

    for text in what:
        _refuse_beginning_of_digest(text)
    counts = Counter({"forgotten": 0, "unknown": 0})
    other_users: set[str] = set()
    with open_filter(home) as filter_:
        for text in what:
            if _is_digest(text):
                results = [filter_.forget_digest(bytes.fromhex(text), user)]
            else:
                results = [filter_.forget(message.raw, user) for message in read_mail([text], "", home)]
            for result in results:
                counts[result.outcome] += 1
                if result.outcome == "unknown":
                    other_users.update(filter_.taught_by_digest(bytes.fromhex(result.digest)))
    if as_json:
        print(json.dumps(dict(counts)))  # noqa: T201
    else:
        waiting = f", {counts['kept']:,} wait until the journal can be reached" if counts["kept"] else ""
        print(f"forgot {counts['forgotten']:,}, never learned {counts['unknown']:,}{waiting}")  # noqa: T201
        for name in sorted(other_users):
            option = f"with --user {name}" if name else "without --user"
            print(f"some of these messages were taught {option}: forget them that way")  # noqa: T201
    if not (counts["forgotten"] or counts["kept"]):
        raise typer.Exit(1)


def _is_digest(text: str) -> bool:
    return len(text) == _DIGEST_DIGITS and _is_hex_without_file(text)


def _refuse_beginning_of_digest(text: str) -> None:
    if 0 < len(text) < _DIGEST_DIGITS and _is_hex_without_file(text):
        raise CommandError(
            f"{text} is neither a file nor a whole digest ({_DIGEST_DIGITS} digits); "
            f"to select by the first digits: priory forget --digest {text} --yes"
        )


def _is_hex_without_file(text: str) -> bool:
    return set(text.lower()) <= set("0123456789abcdef") and not Path(text).exists()


def _delete_subjects(home: Path, *, yes: bool, as_json: bool) -> None:
    with open_filter(home) as filter_:
        n, n_deleted = filter_.journal.subjects.n(), filter_.delete_subjects() if yes else 0
    if as_json:
        print(json.dumps({"subjects": n, "deleted": n_deleted}))  # noqa: T201
    elif yes or not n:
        print(f"deleted {n_deleted:,} {'subject' if n_deleted == 1 else 'subjects'}")  # noqa: T201
    else:
        print(f"subjects stored: {n:,}, deleted: none; --yes deletes all, and no lesson")  # noqa: T201


def _forget_selection(selection: "Selection", home: Path, *, yes: bool, as_json: bool) -> None:
    """Forget the selected lessons if `yes`; lessons forgotten before an interruption stay forgotten."""
    from priory.journal import require_label  # noqa: PLC0415

    n_forgotten = 0
    with open_filter(home) as filter_:
        if selection.label is not None:
            require_label(selection.label, filter_.options.labels)
        n = filter_.lessons.n_of(selection)
        if yes:
            with bar("forgetting", lambda: n, quiet=as_json) as advance:
                for n_in_group in filter_.forget_many(selection):
                    n_forgotten += n_in_group
                    advance(n_in_group)
    if as_json:
        print(json.dumps({"selected": n, "forgotten": n_forgotten}))  # noqa: T201
    elif yes or not n:
        print(f"forgot {n_forgotten:,}")  # noqa: T201
    elif n == 1:
        print("1 lesson selected, not forgotten: --yes forgets it, priory lessons shows it")  # noqa: T201
    else:
        print(f"{n:,} lessons selected, none forgotten: --yes forgets them, priory lessons shows them")  # noqa: T201
    if not n_forgotten:
        raise typer.Exit(1)
