"""`priory filter`: pass a message through and add the verdict to its headers.

Whatever goes wrong, the message comes out: a filter that loses mail is worse than none.
"""

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.client import TRY_AGAIN, read_standard_input, write_message
from priory.cli.options import HOME, ForUser, Home, open_filter

if TYPE_CHECKING:
    from priory.filter.filter import Filter
    from priory.filter.prepare import Prepared
    from priory.filter.verdict import Verdict


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
    status, checked = 0, None
    with ExitStack() as stack:
        try:
            from priory.filter.headers import mark  # noqa: PLC0415 - a failing import must not stop the mail

            filter_ = stack.enter_context(open_filter(home))
            prepared = filter_.prepare(raw, located=True)
            verdict = filter_.check(prepared, user)
            message, checked = mark(raw, verdict), (prepared, verdict)
        except Exception as error:  # noqa: BLE001 - mail must flow, whatever goes wrong here
            sys.stderr.write(f"priory: message passed unchecked: {error}\n")
            message, status = raw, TRY_AGAIN if strict else 0
        status = write_message(message) or status
        if checked and not status:
            _spool(filter_, raw, verdict)
            _record(stack, filter_, *checked)
    if status:
        raise typer.Exit(status)


def _record(stack: ExitStack, filter_: "Filter", message: "Prepared", verdict: "Verdict") -> None:
    """Record the message, conclude what silence says, and close the filter; in a home that is not writable, only close.

    The message has been passed on, so an error here must not change the exit status.
    """
    try:
        from priory.journal import may_write  # noqa: PLC0415 - after the message was passed on

        with stack:
            if may_write(filter_.home):
                filter_.silence.record(message, verdict)
                for error in filter_.silence.conclude_due().errors:
                    sys.stderr.write(f"priory: {error}\n")
    except Exception as error:  # noqa: BLE001
        sys.stderr.write(f"priory: message not recorded: {error}\n")


def _spool(filter_: "Filter", raw: bytes, verdict: "Verdict") -> None:
    """Store the message if the spool is on and a person should be asked about it; as above, errors change nothing."""
    if filter_.options.spool is None:
        return
    try:
        from priory.filter.questions import is_worth_asking  # noqa: PLC0415 - a quick start without a spool

        if is_worth_asking(verdict):
            filter_.spool.keep(raw, verdict.expected_cost)
    except Exception as error:  # noqa: BLE001
        why = error.strerror if isinstance(error, OSError) else error
        sys.stderr.write(f"priory: message not stored in the spool: {why}\n")
