"""Lessons as a table for the terminal."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from priory.verdict import digits, printable

if TYPE_CHECKING:
    from priory.listed import Listed

_DIGITS: Final = 8  # of a digest: `--digest` takes them
_GAP: Final = 2
_LEAST: Final = 8  # characters of a column, however narrow the terminal is


def show_lessons(lessons: "Sequence[Listed]", console: Console | None = None) -> None:
    """Print lessons, one to a line; a column in which nothing stands is left out."""
    console = console or Console(highlight=False)
    columns = {
        "local time": [f"{datetime.fromtimestamp(each.time):%Y-%m-%d %H:%M}" for each in lessons],
        "label": [printable(each.label) for each in lessons],
        "before": ["" if each.certainty is None else digits(each.certainty)[:6] for each in lessons],
        "digest": [each.digest[:_DIGITS] for each in lessons],
        "by": ["automatic" if each.automatic else printable(each.user) for each in lessons],
        "sender": [printable(each.sender) for each in lessons],
        "source": [printable(each.source) for each in lessons],
    }
    columns = {title: cells for title, cells in columns.items() if any(cells)}
    widths = {title: max(map(len, (title, *cells))) for title, cells in columns.items()}
    long = [title for title in ("by", "sender", "source") if title in columns]
    room = console.width - sum(widths[title] + _GAP for title in columns if title not in long)
    widths |= zip(long, _shared(room - _GAP * (len(long) - 1), [widths[title] for title in long]), strict=True)
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
    for title in columns:
        table.add_column(title, no_wrap=True, min_width=widths[title])
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(_cell(title, text, widths[title]) for title, text in zip(columns, row, strict=True)))
    console.print(table)


def _shared(room: int, wanted: list[int]) -> list[int]:
    """Share the room among columns: who wants less than an equal part leaves the rest to the others.

    >>> _shared(40, [5, 60, 30]), _shared(40, [5, 60, 10])
    ([5, 18, 17], [5, 25, 10])
    """
    widths = list(wanted)
    by_size = sorted(range(len(wanted)), key=wanted.__getitem__)
    for n_left, i in zip(range(len(wanted), 0, -1), by_size, strict=True):
        widths[i] = min(wanted[i], max(room // n_left, _LEAST))
        room -= widths[i]
    return widths


def _cell(title: str, text: str, room: int) -> Text:
    """Shorten a text to the room there is: domains and paths tell most at their end, names of people at the beginning.

    >>> _cell("source", "/home/ann/Maildir/.Junk/cur/7.eml", 17).plain, _cell("by", "ann@mail.example", 7).plain
    ('…/.Junk/cur/7.eml', 'ann@ma…')
    """
    if len(text) > room:
        text = f"{text[: room - 1]}…" if title == "by" else f"…{text[1 - room :]}"
    return Text(text)
