"""`priory imap`: learn from the messages that a user moves in an IMAP mailbox."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.mail import mailbox_errors, read_account
from priory.cli.options import HOME, CommandError, Home, command_errors, read_options, require_home

if TYPE_CHECKING:
    from priory.filter.options import Options


class _StopRequest(BaseException):
    """Raised by SIGTERM and SIGINT at any point of the program. As after a power cut, nothing is lost."""


def imap(
    once: Annotated[bool, typer.Option("--once", help="Process the mailbox once and exit, for cron.")] = False,
    teach_existing: Annotated[
        bool,
        typer.Option(
            "--teach-existing",
            help="Also teach the mail that was in Junk, and in the folders of other labels, before the first run.",
        ),
    ] = False,
    home: Home = HOME,
) -> None:
    """Learn from the messages you move in an IMAP mailbox, and move new spam to Junk if configured.

    Messages that you move to Junk are learned as spam, messages that you move from Junk to the inbox as ham. Deleted
    messages teach nothing. Unsure mail and other labels can have folders, too. `[imap]` in `priory.toml` names the
    mailbox. Runs in the foreground and logs to standard error. SIGTERM and Ctrl-C end it.

    **Examples**

    `priory imap`

    `priory imap --once --teach-existing`
    """
    folder = require_home(home)
    account = read_account(home)
    with mailbox_errors(), command_errors():
        from priory.imap.account import password_of  # noqa: PLC0415
        from priory.imap.session import TEMPORARY_ERRORS, describe  # noqa: PLC0415
        from priory.imap.watch import Watcher  # noqa: PLC0415
        from priory.processes.log import log  # noqa: PLC0415

        options = read_options(home)
        if account.move:
            _warn_if_untaught(folder, options)
        watcher = Watcher(folder, options, account, password_of(account))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _stop)
        try:
            (watcher.once if once else watcher.run)(teach_existing=teach_existing)
        except _StopRequest:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)  # a second signal must not interrupt the cleanup
            log("stopped")
        except TEMPORARY_ERRORS as error:
            raise CommandError(
                f"{account.address}: {describe(error)}; nothing is lost, the next run continues from here"
            ) from None
        finally:
            watcher.close()


def _warn_if_untaught(home: Path, options: "Options") -> None:
    """Print a warning if the filter has learned too little to classify mail."""
    from priory.filter.filter import Filter  # noqa: PLC0415

    with Filter.open(home, options) as filter_:
        if reason := filter_.check(b"").reason:
            sys.stderr.write(
                f"priory: {reason} in {home}, so nothing is moved; teach it with: priory learn LABEL imap:FOLDER\n"
            )


def _stop(_number: int, _frame: object) -> None:
    raise _StopRequest
