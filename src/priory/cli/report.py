"""`priory report`: a message that somebody has forwarded as an attachment to spam@ or ham@ teaches what is attached.

A mail server runs this for each such message, and does with it what the exit status says (sysexits.h). Whatever may be
mended, a journal that is locked, a full disk, a mistake in the configuration, is a status upon which the server keeps
the message and tries again. What the sender has to mend comes back to the sender, who is one of those who may report.
Nothing is ever sent to anybody else: the sender of what a stranger has sent is probably forged.
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from priory.cli.options import HOME, Home, Json, Problem, config_path, opened, problems
from priory.cli.thin import TRY_AGAIN

if TYPE_CHECKING:
    from priory.filter import Filter

MOST_BYTES: Final = 32 * 1024 * 1024
MOST_MESSAGES: Final = 100
RETURN: Final = 65  # EX_DATAERR: the mail server returns the message, with what we say
DROP: Final = 0


class _Answered(Exception):  # noqa: N818 - it is for people
    """A report that teaches nothing, and what becomes of it."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def report(
    label: Annotated[str, typer.Argument(help="What the attached messages are: spam, ham.")],
    sender: Annotated[
        str, typer.Option(envvar="SENDER", help="Who has sent the report: the sender of the envelope.")
    ] = "",
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Learn the messages attached to the one on standard input, if its sender may report mail.

    For the addresses to which people forward, as attachments, what was judged wrongly. Who may do so is named in the
    configuration, under `[report]`. Mail servers do with the report what the exit status says: 0, it is done, or
    nobody's concern; 65, there is something wrong with it, so it goes back to its sender; 75, try again later.

    **Examples**

    `priory report spam --sender ann@mail.example < forwarded.eml`

    In Postfix's master.cf: `flags=qu user=priory argv=/usr/local/bin/priory report ${user} --sender=${sender}`
    """
    try:
        done = _learned(label, sender.lower(), home, _read())
    except _Answered as answered:
        sys.stderr.write(f"priory: {answered}\n")
        raise typer.Exit(answered.status) from None
    except Exception as error:  # noqa: BLE001 - whatever is wrong with us, the report is kept
        sys.stderr.write(f"priory: {error or type(error).__name__}\n")
        raise typer.Exit(TRY_AGAIN) from None
    counts = {outcome: done.count(outcome) for outcome in ("learned", "relearned", "known")}
    n_kept = done.count("kept")
    if as_json:
        print(json.dumps(counts | ({"kept": n_kept} if n_kept else {})))  # noqa: T201
    else:
        learned, turned, known = counts.values()
        kept = f", kept {n_kept:,} until the journal can be reached" if n_kept else ""
        print(f"learned {learned:,} as {label}, turned round {turned:,}, known already {known:,}{kept}")  # noqa: T201


def _read() -> bytes:
    """Read all of the report, also if it is too large: a mail server may take it amiss if nobody listens."""
    raw = sys.stdin.buffer.read(MOST_BYTES + 1) if sys.stdin else b""
    while sys.stdin and len(raw) > MOST_BYTES and sys.stdin.buffer.read(1 << 20):
        pass
    return raw


def _learned(label: str, sender: str, home: Path, raw: bytes) -> list[str]:
    """Learn what is attached, all of it or nothing; return what that came to, message by message."""
    _refuse_stranger(sender, home)
    lessons = [(message, label, "report") for message in _attached(raw)]
    with opened(home) as filter_:
        _refuse_label(label, filter_)
        (done,) = filter_.learn_many(lessons, sender, group=len(lessons))
    return [learned.outcome for learned in done]


def _refuse_stranger(sender: str, home: Path) -> None:
    from priory.config import load_reporters  # noqa: PLC0415
    from priory.config.reporting import may_report  # noqa: PLC0415

    with problems():
        path = config_path(home)
        reporters = load_reporters(path)
    if not reporters:
        raise Problem(f"nobody may report mail: name senders under [report] in {path}")
    if not sender:
        raise _Answered(DROP, "dropped a report of nobody: --sender or SENDER must name the sender of the envelope")
    if not may_report(sender, reporters):
        raise _Answered(DROP, "dropped a report of somebody who may not report mail: [report] does not name the sender")


def _attached(raw: bytes) -> list[bytes]:
    from priory.corpus.looks import is_mail  # noqa: PLC0415
    from priory.message.enclosed import enclosed  # noqa: PLC0415

    if len(raw) > MOST_BYTES:
        raise _Answered(RETURN, f"the report has more than {MOST_BYTES >> 20} MB: forward fewer messages at a time")
    found = [message for message in (each.lstrip(b"\r\n") for each in enclosed(raw)) if is_mail(message)]
    if not found:
        raise _Answered(
            RETURN,
            "no message is attached: forward it as an attachment, not inline, and not as a file of Outlook's own",
        )
    if len(found) > MOST_MESSAGES:
        raise _Answered(RETURN, f"more than {MOST_MESSAGES} messages are attached: forward fewer at a time")
    return found


def _refuse_label(label: str, filter_: "Filter") -> None:
    labels = filter_.options.labels
    if label not in labels:
        raise Problem(f"unknown label {label!r}; this filter knows {', '.join(labels)}")
