"""`priory filter`: a message in on standard input, the same message with a verdict out.

Whatever happens inside, the message comes out: a filter that loses mail is worse than none.
"""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.options import HOME, Home, opened

if TYPE_CHECKING:
    from priory.verdict import Verdict

TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits.h: the mail server keeps the message and tries again later
_OURS = re.compile(rb"^X-Priory-[^\n]*\n?(?:[ \t][^\n]*\n?)*", re.MULTILINE | re.IGNORECASE)


def filter_message(
    strict: Annotated[
        bool, typer.Option("--strict", help="On an internal error exit with 75, so that the server tries again.")
    ] = False,
    home: Home = HOME,
) -> None:
    """Pass a message from standard input to standard output, with `X-Priory-*` headers.

    For procmail, maildrop, Sieve pipes and anything else that runs a program on a message. Headers of this name that
    came with the message are removed. On an internal error the message passes unchanged.

    **Examples**

    `priory filter < message.eml`

    In a procmailrc: `:0fw` and `| priory filter`, then `:0:`, `* ^X-Priory-Verdict: spam` and `Junk/`
    """
    raw = sys.stdin.buffer.read() if sys.stdin else b""
    status = 0
    try:
        out = marked(raw, _verdict(raw, home))
    except Exception as error:  # noqa: BLE001 - mail flows, whatever is wrong with us
        sys.stderr.write(f"priory: message passed unchecked: {error}\n")
        out, status = raw, TRY_AGAIN if strict else 0
    try:
        sys.stdout.buffer.write(out)
        sys.stdout.buffer.flush()
    except OSError as error:
        sys.stderr.write(f"priory: the message cannot be passed on: {error.strerror}\n")
        status = TRY_AGAIN
    if status:
        raise typer.Exit(status)


def _verdict(raw: bytes, home: Path) -> "Verdict":
    with opened(home) as filter_:
        return filter_.check(raw)


def marked(raw: bytes, verdict: "Verdict") -> bytes:
    """Return the message with this verdict's headers, and no others of ours."""
    from priory.message import envelope_end  # noqa: PLC0415
    from priory.message.mime import header_end  # noqa: PLC0415

    start = envelope_end(raw)
    end, _ = header_end(raw, start, len(raw))
    line_end = b"\r\n" if raw[start:end].endswith(b"\r\n") else b"\n"
    fold = b";" + line_end + b"\t"
    ours = b"".join(
        f"{name}: {value}".encode("ascii").replace(b"; ", fold if name.endswith("Evidence") else b"; ") + line_end
        for name, value in verdict.headers()
    )
    return raw[:start] + ours + _OURS.sub(b"", raw[start:end]) + raw[end:]
