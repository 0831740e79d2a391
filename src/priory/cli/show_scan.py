"""What a scan has found, for the terminal."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from priory.cli.scanned import OTHERWISE, OUT_OF_JUNK, TO_JUNK, Folder
from priory.decision import UNSURE
from priory.verdict import digits, printable

_WORDS: Final = {
    TO_JUNK: "would go to Junk",
    OUT_OF_JUNK: "would not be in Junk",
    OTHERWISE: "would be marked otherwise",
}
#: How much of the room that is left on a line they may take at most; the rest is for the subject.
_SENDER, _REASON = 0.3, 0.35


def show_scan(folders: Mapping[str, Folder], most: int, labels: Sequence[str]) -> None:
    """Print a line for each folder, and the messages that would change."""
    console = Console(highlight=False)
    order = [labels[0], UNSURE, *labels[1:]]
    for name, folder in folders.items():
        n = folder.said.total()
        console.print(Text.assemble((printable(name), "bold"), f"  {n:,}: {_counted(folder.said, order)}"))
        if not folder.changes:
            console.print("  nothing would change")
        for change, words in _WORDS.items():
            if found := folder.of(change):
                said = Counter(message["label"] for message in found)
                about = f": {_counted(said, order)}" if change == OUT_OF_JUNK else ""
                console.print(Text(f"  {len(found):,} of {n:,} {words}{about}"))
                if most:
                    _list(console, found[:most])
                if len(found) > most:
                    console.print(f"    … and {len(found) - most:,} more; --most lists more")


def _counted(said: Mapping[str, int], order: Sequence[str]) -> str:
    return ", ".join(f"{said[label]:,} {label}" for label in order if said.get(label))


def _list(console: Console, messages: list[dict[str, Any]]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    rows = [_row(each) for each in messages]
    *known, sender, reason, subject = (max(map(len, column), default=0) for column in zip(*rows, strict=True))
    room = max(console.width - sum(known) - 4 - 2 * 6, 20)  # beside the indent and the gaps between columns
    sender, reason = min(sender, int(_SENDER * room)), min(reason, int(_REASON * room))
    table.add_column(width=2)
    for width in (*known, sender, reason, min(subject, room - sender - reason)):
        table.add_column(width=width, no_wrap=True, overflow="ellipsis")
    for row in rows:
        table.add_row("", *map(Text, row))
    console.print(table)


def _row(message: dict[str, Any]) -> list[str]:
    said = message["label"]
    if message["was"] not in ("", said):
        said = f"{message['was']} → {said}"
    cells = (message["date"] or "no date", said, digits(message["probability"]), message["sender"], message["reason"])
    return [printable(cell) for cell in (*cells, message["subject"])]
