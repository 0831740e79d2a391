"""`priory report`: learn the messages attached to a report that a user has forwarded to spam@ or ham@.

A mail server runs this command for each report and acts on the exit status (sysexits.h). After a temporary error, such
as a locked journal, a full disk or a mistake in the configuration, the server keeps the report and tries again. A
report with a mistake goes back to its sender, but only if that sender may report mail. Nothing is ever sent to other
senders, who are probably forged.
"""

import json
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from priory.cli.client import TRY_AGAIN
from priory.cli.options import HOME, CommandError, Home, Json, command_errors, config_path, open_filter

MOST_BYTES: Final = 32 * 1024 * 1024
MOST_MESSAGES: Final = 100
RETURN: Final = 65  # EX_DATAERR: the mail server returns the report with our error message
DROP: Final = 0  # the mail server considers the report delivered


class _ReportError(Exception):
    """A report that teaches nothing; `status` tells the mail server what to do with it."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def report(
    label: Annotated[str, typer.Argument(help="The label of the attached messages, such as spam or ham.")],
    sender: Annotated[
        str, typer.Option(envvar="SENDER", metavar="ADDRESS", help="The envelope sender of the report.")
    ] = "",
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Learn the messages attached to the report on standard input, if its sender may report mail.

    For addresses such as spam@, to which users forward misjudged mail as attachments. `[report]` in the configuration
    names the users who may do so. The exit status tells the mail server what to do: 0, the report is done, or dropped
    because it came from a stranger; 65, return it to its sender; 75, try again later.

    **Examples**

    `priory report spam --sender ann@mail.example < forwarded.eml`

    In Postfix's master.cf: `flags=qu user=priory argv=/usr/local/bin/priory report ${user} --sender=${sender}`
    """
    try:
        outcomes = _learn(label, sender.lower(), home, _read())
    except _ReportError as error:
        sys.stderr.write(f"priory: {error}\n")
        raise typer.Exit(error.status) from None
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here, the server keeps the report
        sys.stderr.write(f"priory: {error or type(error).__name__}\n")
        raise typer.Exit(TRY_AGAIN) from None
    counts = {outcome: outcomes.count(outcome) for outcome in ("learned", "relearned", "known")}
    n_waiting = outcomes.count("kept")
    if as_json:
        print(json.dumps(counts | ({"kept": n_waiting} if n_waiting else {})))  # noqa: T201
    else:
        learned, relabelled, known = counts.values()
        waiting = f", {n_waiting:,} wait until the journal can be reached" if n_waiting else ""
        print(f"learned {learned:,} as {label}, relabelled {relabelled:,}, already known {known:,}{waiting}")  # noqa: T201


def _read() -> bytes:
    """Read the report to its end, also if it is too large, because mail servers treat a closed pipe as an error."""
    raw = sys.stdin.buffer.read(MOST_BYTES + 1) if sys.stdin else b""
    while sys.stdin and len(raw) > MOST_BYTES and sys.stdin.buffer.read(1 << 20):
        pass
    return raw


def _learn(label: str, sender: str, home: Path, raw: bytes) -> list[str]:
    """Learn all attached messages, or none; return the outcome of each."""
    from priory.journal import require_label  # noqa: PLC0415

    _refuse_stranger(sender, home)
    lessons = [(message, label, "report") for message in _attached_messages(raw)]
    with open_filter(home) as filter_:
        require_label(label, filter_.options.labels)
        (group,) = filter_.learn_many(lessons, sender, group=len(lessons))
    return [learned.outcome for learned in group]


def _refuse_stranger(sender: str, home: Path) -> None:
    from priory.config import load_reporters  # noqa: PLC0415

    with command_errors():
        path = config_path(home)
        reporters = load_reporters(path)
    if not reporters:
        raise CommandError(f"no senders may report mail: name them in [report] of {path}")
    if not sender:
        raise _ReportError(DROP, "dropped a report without a sender: --sender or SENDER must name the envelope sender")
    if not may_report(sender, reporters):
        raise _ReportError(DROP, "dropped a report: [report] does not name its sender")


def may_report(sender: str, reporters: frozenset[str]) -> bool:
    """Tell whether an address may report mail: the configuration names it, or its domain.

    >>> may_report("ann@mail.example", frozenset(["@mail.example"]))
    True
    >>> may_report("ann@sub.mail.example", frozenset(["@mail.example"])), may_report("", frozenset(["@mail.example"]))
    (False, False)
    """
    name, at, domain = sender.lower().rpartition("@")
    return bool(name and domain) and not reporters.isdisjoint((f"{name}@{domain}", at + domain))


def _attached_messages(raw: bytes) -> list[bytes]:
    from priory.corpus.mail_file import is_mail  # noqa: PLC0415
    from priory.message import attached_messages  # noqa: PLC0415

    if len(raw) > MOST_BYTES:
        raise _ReportError(RETURN, f"the report has more than {MOST_BYTES >> 20} MB: forward fewer messages at a time")
    messages = [message for message in (part.lstrip(b"\r\n") for part in attached_messages(raw)) if is_mail(message)]
    if not messages:
        raise _ReportError(
            RETURN,
            "no message is attached: forward it as an attachment, not inline and not as an Outlook file",
        )
    if len(messages) > MOST_MESSAGES:
        raise _ReportError(RETURN, f"more than {MOST_MESSAGES} messages are attached: forward fewer at a time")
    return messages
