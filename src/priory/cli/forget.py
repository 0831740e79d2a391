"""`priory forget`: take lessons back, message by message, or all that are selected."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.options import HOME, Home, Json, Problem, opened
from priory.cli.progress import bar
from priory.cli.selecting import (
    Above,
    Automatic,
    Below,
    Digest,
    Label,
    Sender,
    Since,
    Source,
    Until,
    Whose,
    refuse_label,
    selected,
)

if TYPE_CHECKING:
    from priory.journal import Selection


def forget(  # noqa: PLR0913, PLR0917 - typer makes options of them
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH|DIGEST…", help="Messages, or digests as `check --json` prints them."),
    ] = None,
    label: Label = None,
    user: Whose = None,
    source: Source = None,
    sender: Sender = None,
    since: Since = None,
    until: Until = None,
    auto: Automatic = None,
    digest: Digest = None,
    certainty_below: Below = None,
    certainty_above: Above = None,
    yes: Annotated[bool, typer.Option("--yes", help="Forget what is selected; without it, only say how many.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Take lessons back: what they added to counts, corrections and calibration is gone, bit for bit.

    Either messages are named, or options select lessons, the same as `priory lessons` takes, which shows them.

    **Examples**

    `priory forget mistaken.eml`

    `priory forget 2f9c1e…(64 digits)`

    `priory forget --user ann --since 2026-11-01 --yes`

    `priory forget --auto --yes`
    """
    if what:
        selection = selected(label, None, source, sender, since, until, auto, digest, certainty_below, certainty_above)
        if not selection.is_everything:
            raise Problem("forget takes either messages or options that select lessons; with messages, only --user")
        _forget_messages(what, user or "", home, as_json)
        return
    selection = selected(label, user, source, sender, since, until, auto, digest, certainty_below, certainty_above)
    if selection.is_everything:
        raise Problem(
            "forget needs a message, a digest, or options that select lessons, for example: priory forget mistaken.eml"
        )
    _forget_selected(selection, home, yes=yes, as_json=as_json)


def _forget_messages(what: list[str], user: str, home: Path, as_json: bool) -> None:
    from priory.keeping import KEPT  # noqa: PLC0415

    done = Counter({"forgotten": 0, "unknown": 0})
    others: set[str] = set()
    with opened(home) as filter_:
        for message in _messages_or_digests(what, home):
            was = filter_.forget(message, user)
            done["unknown" if was is None else "kept" if was == KEPT else "forgotten"] += 1
            others.update(filter_.taught_by(message) if was is None else [])
    if as_json:
        print(json.dumps(dict(done)))  # noqa: T201
    else:
        kept = f", kept {done['kept']:,} until the journal can be reached" if done["kept"] else ""
        print(f"forgot {done['forgotten']:,}, never learned {done['unknown']:,}{kept}")  # noqa: T201
        for each in sorted(others):
            option = f"with --user {each}" if each else "without --user"
            print(f"some of these were taught {option}: name them that way")  # noqa: T201
    if not (done["forgotten"] or done["kept"]):
        raise typer.Exit(1)


def _messages_or_digests(what: list[str], home: Path) -> Iterator[bytes]:
    from priory.cli.mail import read_mail  # noqa: PLC0415

    for each in what:
        if len(each) == 64 and not Path(each).exists() and all(c in "0123456789abcdef" for c in each.lower()):
            yield bytes.fromhex(each)
        else:
            yield from (message.raw for message in read_mail([each], "", home))


def _forget_selected(selection: "Selection", home: Path, *, yes: bool, as_json: bool) -> None:
    """Forget what is selected, if that is meant; what was forgotten before an interruption stays forgotten."""
    forgotten = 0
    with opened(home) as filter_:
        refuse_label(selection.label, filter_)
        n = filter_.lessons.n_of(selection)
        if yes:
            with bar("forgetting", lambda: n, quiet=as_json) as progressed:
                for gone in filter_.forget_many(selection):
                    forgotten += gone
                    progressed(gone)
    if as_json:
        print(json.dumps({"selected": n, "forgotten": forgotten}))  # noqa: T201
    elif yes or not n:
        print(f"forgot {forgotten:,}")  # noqa: T201
    else:
        print(f"{n:,} lessons selected, none forgotten: --yes forgets them, priory lessons shows them")  # noqa: T201
    if not forgotten:
        raise typer.Exit(1)
