"""`priory scan`: a dry run over folders of mail that shows what would change."""

import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from priory.cli.mail import count_messages, is_on_server, junk_on_server, read_mail, warn_of_skipped_files
from priory.cli.options import (
    HOME,
    CommandError,
    ForUser,
    Home,
    Jobs,
    Json,
    Paths,
    command_errors,
    describe_paths,
    read_options,
    require_home,
)
from priory.cli.progress import bar
from priory.corpus.folder import folder_of, lies_in_junk
from priory.decision import UNSURE
from priory.filter.headers import label_in_headers
from priory.filter.spamassassin import is_unwanted, unwanted_log_odds
from priory.filter.verdict import digits, probability, remedy
from priory.html.text import printable
from priory.message import Message, parse

if TYPE_CHECKING:
    from rich.console import Console

    from priory.corpus import Labelled
    from priory.filter.verdict import Verdict


class FolderChange(StrEnum):
    """What a scan would do to a message; the values appear in the JSON output."""

    NONE = ""
    TO_JUNK = "to junk"
    OUT_OF_JUNK = "out of junk"
    OTHERWISE = "otherwise"  #: it stays in its folder, but its headers have a different earlier verdict


_CHANGES: Final = {
    FolderChange.TO_JUNK: "would go to Junk",
    FolderChange.OUT_OF_JUNK: "would not be in Junk",
    FolderChange.OTHERWISE: "would be marked otherwise",
}
_SENDER, _REASON = 0.3, 0.35  # the largest shares of the rest of a line; the subject takes what remains


def scan(  # noqa: PLR0913, PLR0917 - typer makes options of them
    paths: Paths,
    most: Annotated[
        int, typer.Option(min=0, metavar="N", help="Number of messages to list per folder and kind of change.")
    ] = 20,
    user: ForUser = "",
    jobs: Jobs = 1,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Judge the mail in folders again and show what would change; nothing is written, moved or learned.

    Mail in a folder called Junk or Spam counts as classified as spam, all other mail as not spam. If a message has
    the headers of an earlier verdict, the scan also reports where the verdict differs. Subfolders of a Maildir are
    scanned, too, except Sent, Drafts and Trash. `imap:` stands for all folders that `priory imap` watches. With
    `--json`, prints one object per message.

    **Examples**

    `priory scan ~/Maildir --jobs 4`

    `priory scan imap:INBOX imap:Junk`

    `priory scan ~/Maildir --json | jq -r 'select(.change == "to junk") | .source'`
    """
    from priory.bulk.local import checked  # noqa: PLC0415
    from priory.corpus.folder import with_subfolders  # noqa: PLC0415

    home_folder = require_home(home)
    folders: dict[str, ScannedFolder] = {}
    with command_errors():
        options = read_options(home)
        if options.store is None:
            _require_lessons(home_folder)
        to_text = partial(json_line, junk_on_server(home) if any(map(is_on_server, paths)) else "")
        corpus = read_mail([folder for path in paths for folder in with_subfolders(path)], "", home)
        with (
            checked(corpus, home_folder, options, to_text, jobs, user) as results,
            bar("scanning", lambda: count_messages(corpus), quiet=as_json) as advance,
        ):
            for result in results:
                if result.n_messages and result.reason:
                    raise CommandError(f"{result.reason} in {home}; {remedy(result.reason)}")
                for line in result.text.splitlines(keepends=True):
                    if as_json:
                        sys.stdout.write(line)
                    message = json.loads(line)
                    folders.setdefault(message["folder"], ScannedFolder()).add(message)
                advance(result.n_messages)
    warn_of_skipped_files(corpus)
    if not folders:
        raise CommandError(f"no messages in {describe_paths(paths)}")
    if not as_json:
        show_scan(combine_single_messages(folders), most, options.labels)


def _require_lessons(home: Path) -> None:
    # Opening a filter creates a missing journal, which a scan must not do.
    if not (home / "journal.sqlite").exists():
        raise CommandError(f"nothing has been learned yet in {home}; teach it with: priory learn LABEL PATH…")


@dataclass(slots=True)
class ScannedFolder:
    """The verdicts in one folder, and the messages that would change."""

    verdicts: Counter[str] = field(default_factory=Counter)
    changes: list[dict[str, Any]] = field(default_factory=list)
    last_source: str = ""  #: of the message that was added last

    def add(self, message: dict[str, Any]) -> None:
        """Add a message, decoded from `json_line`."""
        self.verdicts[message["label"]] += 1
        self.last_source = message["source"]
        if message["change"] != FolderChange.NONE:
            self.changes.append(message)

    def messages(self, change: FolderChange) -> list[dict[str, Any]]:
        """Return the messages with this change, the most certain first."""
        messages = [message for message in self.changes if message["change"] == change]
        return sorted(messages, key=lambda message: message["probability"], reverse=change != FolderChange.OUT_OF_JUNK)


def combine_single_messages(folders: Mapping[str, ScannedFolder]) -> dict[str, ScannedFolder]:
    """Treat neighbouring mboxes of one message each as one folder."""
    single = {
        name for name, folder in folders.items() if folder.verdicts.total() == 1 and folder.last_source == f"{name}:1"
    }
    n_in_parent = Counter(os.path.dirname(name) for name in single)  # noqa: PTH120
    result: dict[str, ScannedFolder] = {}
    for name, folder in folders.items():
        parent = os.path.dirname(name)  # noqa: PTH120
        is_combined = name in single and n_in_parent[parent] > 1
        total = result.setdefault(parent or "." if is_combined else name, ScannedFolder())
        total.verdicts += folder.verdicts
        total.changes += folder.changes
    return result


def json_line(junk: str, verdict: "Verdict", message: "Labelled") -> str:
    """Return the result for one message as a line of JSON; `junk` is an additional folder for spam."""
    parsed = parse(message.raw)
    folder, was = folder_of(message.source), label_in_headers(message.raw)
    change = _change(verdict, was, in_junk=folder == junk or lies_in_junk(message.source))
    result = {
        "source": message.source,
        "folder": folder,
        "label": verdict.label,
        "probability": probability(unwanted_log_odds(verdict)),
        "was": was,
        "change": change,
        "date": _date(parsed),
        "sender": parsed.sender_domain,
        "subject": " ".join(parsed.header("Subject").split()),
        "reason": _main_reason(verdict) if change else "",
    }
    return json.dumps(result, ensure_ascii=False) + "\n"


def _change(verdict: "Verdict", was: str, *, in_junk: bool) -> FolderChange:
    is_spam = is_unwanted(verdict)
    if is_spam and not in_junk:
        return FolderChange.TO_JUNK
    if in_junk and not is_spam:
        return FolderChange.OUT_OF_JUNK
    return FolderChange.OTHERWISE if was not in ("", verdict.label) else FolderChange.NONE


def _date(message: Message) -> str:
    try:
        return parsedate_to_datetime(message.header("Date")).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):  # the header may hold any text
        return ""


def _main_reason(verdict: "Verdict") -> str:
    """Return the strongest readable evidence for the verdict."""
    claim = verdict.claims[verdict.about]
    sign = 1 if claim.log_odds > 0 else -1
    for evidence in claim.readable(50):
        if evidence.term * sign > 0:
            return f"{evidence.feature} {evidence.term:+.3f}"
    return ""


def show_scan(folders: Mapping[str, ScannedFolder], most: int, labels: Sequence[str]) -> None:
    """Print one line per folder, and the messages that would change."""
    from rich.console import Console  # noqa: PLC0415 - only for people
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False)
    order = [labels[0], UNSURE, *labels[1:]]
    for name, folder in folders.items():
        n = folder.verdicts.total()
        console.print(Text.assemble((printable(name), "bold"), f"  {n:,}: {_count_words(folder.verdicts, order)}"))
        if not folder.changes:
            console.print("  nothing would change")
        for change, words in _CHANGES.items():
            if messages := folder.messages(change):
                verdicts = Counter(message["label"] for message in messages)
                about = f": {_count_words(verdicts, order)}" if change == FolderChange.OUT_OF_JUNK else ""
                console.print(Text(f"  {len(messages):,} of {n:,} {words}{about}"))
                if most:
                    _list_messages(console, messages[:most])
                if len(messages) > most:
                    console.print(f"    … and {len(messages) - most:,} more; --most lists more")


def _count_words(counts: Mapping[str, int], order: Sequence[str]) -> str:
    return ", ".join(f"{counts[label]:,} {label}" for label in order if counts.get(label))


def _list_messages(console: "Console", messages: list[dict[str, Any]]) -> None:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    rows = [_scan_row(message) for message in messages]
    *known, sender, reason, subject = (max(map(len, column), default=0) for column in zip(*rows, strict=True))
    room = max(console.width - sum(known) - 4 - 2 * 6, 20)  # without the indent and the gaps between columns
    sender, reason = min(sender, int(_SENDER * room)), min(reason, int(_REASON * room))
    table.add_column(width=2)
    for width in (*known, sender, reason, min(subject, room - sender - reason)):
        table.add_column(width=width, no_wrap=True, overflow="ellipsis")
    for row in rows:
        table.add_row("", *map(Text, row))
    console.print(table)


def _scan_row(message: dict[str, Any]) -> list[str]:
    verdict = message["label"]
    if message["was"] not in ("", verdict):
        verdict = f"{message['was']} → {verdict}"
    cells = (
        message["date"] or "no date",
        verdict,
        digits(message["probability"]),
        message["sender"],
        message["reason"],
    )
    return [printable(cell) for cell in (*cells, message["subject"])]
