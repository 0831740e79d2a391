"""`priory filter`: pass a message through and add the verdict to its headers.

Whatever goes wrong, the message comes out: a filter that loses mail is worse than none.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from priory.cli.client import TRY_AGAIN, read_standard_input, write_message
from priory.cli.options import HOME, ForUser, Home, open_filter


def filter_message(
    strict: Annotated[
        bool,
        typer.Option("--strict", help="On an internal error, exit with status 75: the mail server tries again."),
    ] = False,
    user: ForUser = "",
    home: Home = HOME,
) -> None:
    """Copy a message from standard input to standard output and add `X-Priory-*` and `X-Spam-*` headers.

    For procmail, maildrop, Sieve pipes and everything else that runs a program on a message. Header fields of the
    message whose names begin with X-Priory- or X-Spam- are removed, those of SpamAssassin included. On an internal
    error the message passes unchanged.

    **Examples**

    `priory filter < message.eml`

    In a procmailrc: `:0fw` and `| priory filter`, then `:0`, `* ^X-Priory-Verdict: spam` and `$HOME/Maildir/.Junk/`
    """
    raw = read_standard_input() if sys.stdin else b""
    if raw is None:
        raise typer.Exit(TRY_AGAIN)
    status, certain_label = 0, ""
    try:
        from priory.filter.headers import mark  # noqa: PLC0415 - a failing import must not stop the mail

        with open_filter(home) as filter_:
            verdict = filter_.check(raw, user)
            certain_label = verdict.label if filter_.would_learn(verdict) else ""
        message = mark(raw, verdict)
    except Exception as error:  # noqa: BLE001 - mail must flow, whatever goes wrong here
        sys.stderr.write(f"priory: message passed unchecked: {error}\n")
        message, status = raw, TRY_AGAIN if strict else 0
    if status := write_message(message) or status:
        raise typer.Exit(status)
    if certain_label:
        _autolearn(raw, certain_label, home)


def _autolearn(raw: bytes, label: str, home: Path) -> None:
    # The message has been passed on, so an error here must not change the exit status.
    try:
        with open_filter(home) as filter_:
            filter_.autolearn(raw, label)
    except Exception as error:  # noqa: BLE001
        sys.stderr.write(f"priory: message not learned automatically: {error}\n")
