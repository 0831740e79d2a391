"""`priory imap`: learns from what is moved in a mailbox on another server."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.mail import mailbox, mailbox_problems
from priory.cli.options import HOME, Home, Problem, problems, read_options, require

if TYPE_CHECKING:
    from priory.options import Options


class _Stopped(BaseException):
    """Someone wants this to end. It may strike anywhere: so may a power cut."""


def imap(
    once: Annotated[bool, typer.Option("--once", help="Look once, do what follows, and end: for cron.")] = False,
    teach_existing: Annotated[
        bool,
        typer.Option(
            "--teach-existing",
            help="Teach as spam what was in Junk before the first look, and so for the folders of other labels.",
        ),
    ] = False,
    home: Home = HOME,
) -> None:
    """Learn from what you move in a mailbox on another server, and move new spam to Junk if you want that.

    What you move to Junk is learned as spam; what you move from there to the inbox, as ham; what you throw away teaches
    nothing. Other labels can have folders, too. `[imap]` in `priory.toml` names the mailbox. Runs in the foreground;
    logs to standard error. SIGTERM and Ctrl-C end it.

    **Examples**

    `priory imap`

    `priory imap --once --teach-existing`
    """
    place = require(home)
    account = mailbox(home)
    with mailbox_problems(), problems():
        from priory.imap.password import password_of  # noqa: PLC0415
        from priory.imap.trouble import TROUBLE, described  # noqa: PLC0415
        from priory.imap.watch import Watcher  # noqa: PLC0415
        from priory.server.log import log  # noqa: PLC0415

        options = read_options(home)
        if account.move:
            _tell_untaught(place, options)
        watcher = Watcher(place, options, account, password_of(account))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _stop)
        try:
            (watcher.once if once else watcher.run)(teach_existing=teach_existing)
        except _Stopped:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)  # once is enough
            log("stopped")
        except TROUBLE as error:
            raise Problem(
                f"{account.address}: {described(error)}; nothing is lost, the next time goes on from here"
            ) from None
        finally:
            watcher.close()


def _tell_untaught(home: Path, options: "Options") -> None:
    """Say so if the filter knows too little to call anything spam."""
    from priory.filter import Filter  # noqa: PLC0415

    with Filter.open(home, options) as filter_:
        if reason := filter_.check(b"").reason:
            sys.stderr.write(f"priory: {reason} in {home}, so nothing is moved; see priory learn LABEL imap:FOLDER\n")


def _stop(_number: int, _frame: object) -> None:
    raise _Stopped
