"""`priory filter`: a message in on standard input, the same message with a verdict out.

Whatever happens inside, the message comes out: a filter that loses mail is worse than none.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from priory.cli.options import HOME, ForUser, Home, opened
from priory.cli.thin import TRY_AGAIN, passed_on, taken_in


def filter_message(
    strict: Annotated[
        bool, typer.Option("--strict", help="On an internal error exit with 75, so that the server tries again.")
    ] = False,
    user: ForUser = "",
    home: Home = HOME,
) -> None:
    """Pass a message from standard input to standard output, with `X-Priory-*` headers.

    For procmail, maildrop, Sieve pipes and anything else that runs a program on a message. Headers of this name that
    came with the message are removed. On an internal error the message passes unchanged.

    **Examples**

    `priory filter < message.eml`

    In a procmailrc: `:0fw` and `| priory filter`, then `:0`, `* ^X-Priory-Verdict: spam` and `$HOME/Maildir/.Junk/`
    """
    raw = taken_in() if sys.stdin else b""
    if raw is None:
        raise typer.Exit(TRY_AGAIN)
    status, certain = 0, ""
    try:
        from priory.marking import marked  # noqa: PLC0415 - what cannot be loaded must not stop the mail

        with opened(home) as filter_:
            verdict = filter_.check(raw, user)
            certain = verdict.label if filter_.would_learn(verdict) else ""
        out = marked(raw, verdict)
    except Exception as error:  # noqa: BLE001 - mail flows, whatever is wrong with us
        sys.stderr.write(f"priory: message passed unchecked: {error}\n")
        out, status = raw, TRY_AGAIN if strict else 0
    if status := passed_on(out) or status:
        raise typer.Exit(status)
    if certain:
        _autolearn(raw, certain, home)


def _autolearn(raw: bytes, label: str, home: Path) -> None:
    """Learn a message that has been passed on, so whatever is wrong now is no concern of the mail."""
    try:
        with opened(home) as filter_:
            filter_.autolearn(raw, label)
    except Exception as error:  # noqa: BLE001
        sys.stderr.write(f"priory: message not learned automatically: {error}\n")
