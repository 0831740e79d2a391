"""`priory explain`: show which parts of a message led to its verdict."""

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from priory.cli.options import HOME, CommandError, ForUser, Home, Json, command_errors, open_filter
from priory.cli.progress import bar

if TYPE_CHECKING:
    from priory.filter.background import Background
    from priory.filter.explanation import Explanation
    from priory.filter.filter import Filter

_MANY_LESSONS: Final = 10_000  # fewer are read in a moment


def explain(  # noqa: PLR0913, PLR0917 - typer makes options of them
    path: Annotated[str, typer.Argument(help="One message; - reads standard input.")] = "-",
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the explanation to this file as an HTML page.")
    ] = None,
    lessons: Annotated[
        bool,
        typer.Option(
            "--lessons",
            help="Also show the lessons behind the verdict, and what would have changed it. This reads all lessons.",
        ),
    ] = False,
    user: ForUser = "",
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show why a message gets its verdict: every part of it, coloured by how much it adds.

    The prior and the evidence add up exactly to the log-odds: term by term, by section, and by kind of feature. With
    `--json`, prints all evidence with its positions, the sums by kind, and the message as spans, each with its sum.

    **Examples**

    `priory explain message.eml`

    `priory explain --lessons message.eml`

    `priory explain --html why.html message.eml`

    `priory explain --user ann newsletter.eml`
    """
    raw = _one_message(path, home)
    with open_filter(home) as filter_:
        background = _background(filter_, raw, user) if lessons else None
        explanation = background.explanation if background else filter_.explain(raw, user)
    if as_json:
        print(json.dumps((background or explanation).as_dict(), ensure_ascii=False))  # noqa: T201
    if html is not None:
        _write_page(html, explanation, background)
        if not as_json:
            print(f"written to {html}")  # noqa: T201
    if html is None and not as_json:
        from priory.cli.explanation import show_explanation  # noqa: PLC0415 - loads rich

        show_explanation(explanation, background=background)


def _background(filter_: "Filter", raw: bytes, user: str) -> "Background":
    """Return what is behind the verdict; show the progress of reading many lessons."""
    n = sum(filter_.journal.tally().values())
    with bar("reading lessons", lambda: n, quiet=n < _MANY_LESSONS) as advance:
        return filter_.background(raw, user, advance)


def _write_page(path: Path, explanation: "Explanation", background: "Background | None") -> None:
    from priory.filter.background_cards import background_cards  # noqa: PLC0415 - only for --html
    from priory.filter.explanation_page import page  # noqa: PLC0415

    try:
        path.write_text(page(explanation, background_cards(background) if background else ""), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from None


def _one_message(path: str, home: Path) -> bytes:
    from priory.cli.mail import read_mail  # noqa: PLC0415

    file = _containing_file(path)
    with command_errors():
        mail = read_mail([file], "", home)
        messages = list(islice((message for message in mail if path in (file, message.source)), 2))
    if not messages:
        raise CommandError(f"{path} holds no message" if file == path else f"{file} has no message {path}")
    if len(messages) > 1:
        raise CommandError(
            f"{path} holds more than one message; name one, such as {messages[0].source}, or pipe one in"
        )
    return messages[0].raw


def _containing_file(path: str) -> str:
    """Return the mbox or archive that holds a message named as `check` prints it, such as old.mbox:3."""
    if not Path(path).exists():
        for colon in (position for position, character in enumerate(path) if character == ":"):
            if Path(path[:colon]).is_file():
                return path[:colon]
    return path
