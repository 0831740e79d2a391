"""`priory lessons`: list the lessons in the journal; with the options that select lessons, which `forget` shares."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from priory.cli.options import HOME, CommandError, Home, Json, decode_user, open_filter

if TYPE_CHECKING:
    from priory.filter.filter import Filter
    from priory.filter.lessons import LessonPage, ListedLesson
    from priory.journal import Selection

MOST: Final = 25  #: lessons that are shown by default
_DIGITS: Final = 8  # of a digest; `--digest` accepts a prefix
_GAP: Final = 2  # characters between columns
_LEAST: Final = 8  # characters of a column, however narrow the terminal is
_PAGE: Final = 20_000  # lessons per query; each query reads the whole journal

Label = Annotated[str | None, typer.Option(metavar="LABEL", help="Lessons with this label.", show_default=False)]
Whose = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="NAME",
        help="Lessons of this user; '' selects lessons without a user.",
        callback=decode_user,
        show_default=False,
    ),
]
Source = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Lessons whose source begins with this text.", show_default=False)
]
Sender = Annotated[str | None, typer.Option(metavar="DOMAIN", help="Mail from this domain.", show_default=False)]
Subject = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Lessons whose stored subject contains this text.", show_default=False),
]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Learned at this time or later: 2026-11-01, or 2026-11-01T14:30.", show_default=False
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Learned before this time; a date stands for the beginning of the day.", show_default=False
    ),
]
Automatic = Annotated[
    bool | None,
    typer.Option("--auto/--people", help="Learned automatically, or taught by people.", show_default=False),
]
Digest = Annotated[
    str | None,
    typer.Option(metavar="DIGITS", help="Messages whose digest begins with these digits.", show_default=False),
]

Below = Annotated[
    float | None,
    typer.Option(
        "--certainty-below",
        metavar="P",
        help="Lessons whose label had a lower probability before.",
        show_default=False,
    ),
]
Above = Annotated[
    float | None,
    typer.Option(
        "--certainty-above",
        metavar="P",
        help="Lessons whose label had a higher probability before.",
        show_default=False,
    ),
]


def lessons(  # noqa: PLR0913, PLR0917 - typer makes options of them
    label: Label = None,
    user: Whose = None,
    source: Source = None,
    sender: Sender = None,
    subject: Subject = None,
    since: Since = None,
    until: Until = None,
    auto: Automatic = None,
    digest: Digest = None,
    certainty_below: Below = None,
    certainty_above: Above = None,
    most: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"Number of lessons to show; by default {MOST}, with --json all.",
            show_default=False,
        ),
    ] = None,
    after: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Continue where the previous page ended.", show_default=False)
    ] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """List who taught which message, and when, the latest lesson first.

    The column 'before' has the probability that the filter gave to this label just before the lesson, computed from the
    stored score with today's calibration. A value near 0 was a surprise. Lessons without a score have no value. Times
    are local.

    **Examples**

    `priory lessons --label ham --since 2026-11-01`

    `priory lessons --auto --sender mail.example`

    `priory lessons --people --certainty-below 0.05`
    """
    from priory.journal import require_label  # noqa: PLC0415

    selection = make_selection(
        label, user, source, sender, subject, since, until, auto, digest, certainty_below, certainty_above
    )
    with open_filter(home) as filter_:
        if label is not None:
            require_label(label, filter_.options.labels)
        if as_json:
            for page in _pages(filter_, selection, most, after):
                for lesson in page.lessons:
                    print(json.dumps(lesson.as_dict(), ensure_ascii=False))  # noqa: T201
        else:
            _show(filter_, selection, most or MOST, after, home)


def make_selection(  # noqa: PLR0913, PLR0917 - one for each option
    label: str | None,
    user: str | None,
    source: str | None,
    sender: str | None,
    subject: str | None,
    since: str | None,
    until: str | None,
    automatic: bool | None,
    digest: str | None,
    below: float | None,
    above: float | None,
) -> "Selection":
    """Return the selection that the options describe."""
    from priory.corpus.part import as_text  # noqa: PLC0415 - not needed for --help
    from priory.journal import SelectionError, read_selection  # noqa: PLC0415

    texts = {"label": label, "user": user, "source": source, "sender": sender, "subject": subject}
    texts |= {"since": since, "until": until}
    try:
        return read_selection(
            {
                **{name: None if text is None else as_text(text) for name, text in texts.items()},
                "automatic": automatic,
                "digest": digest,
                "certainty_below": below,
                "certainty_above": above,
            }
        )
    except SelectionError as error:
        if error.field:  # the text begins with the field
            raise CommandError(f"--{error.field} {texts[error.field]}{str(error).removeprefix(error.field)}") from None
        raise CommandError(str(error)) from None


def _pages(filter_: "Filter", selection: "Selection", most: int | None, after: str | None) -> "Iterator[LessonPage]":
    """Yield pages until the end, or until they hold `most` lessons."""
    remaining = most or sys.maxsize
    while remaining:
        page = filter_.lessons.page(selection, min(_PAGE, remaining), after)
        yield page
        remaining, after = remaining - len(page.lessons) if page.after else 0, page.after


def _show(filter_: "Filter", selection: "Selection", most: int, after: str | None, home: Path) -> None:
    page, n = filter_.lessons.page(selection, most, after), filter_.lessons.n_of(selection)
    if page.lessons:
        show_lessons(page.lessons)
    noun = "lessons" if selection.is_everything else "lessons selected"
    print(f"{len(page.lessons):,} of {n:,} {noun} in {home}")  # noqa: T201
    if page.after is not None:
        print(f"next page: the same command with --after {page.after}")  # noqa: T201


def show_lessons(lessons: "Sequence[ListedLesson]") -> None:
    """Print lessons as a table, one line each; empty columns are left out."""
    from rich.console import Console  # noqa: PLC0415 - only for people
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from priory.filter.verdict import digits  # noqa: PLC0415
    from priory.html.numbers import clock  # noqa: PLC0415
    from priory.html.text import printable  # noqa: PLC0415

    console = Console(highlight=False)
    columns = {
        "local time": [clock(lesson.time) for lesson in lessons],
        "label": [printable(lesson.label) for lesson in lessons],
        "before": ["" if lesson.certainty is None else digits(lesson.certainty)[:6] for lesson in lessons],
        "digest": [lesson.digest[:_DIGITS] for lesson in lessons],
        "by": ["automatic" if lesson.automatic else printable(lesson.user) for lesson in lessons],
        "sender": [printable(lesson.sender) for lesson in lessons],
        "subject": [printable(lesson.subject) for lesson in lessons],
        "source": [printable(lesson.source) for lesson in lessons],
    }
    columns = {title: cells for title, cells in columns.items() if any(cells)}
    widths = {title: max(map(len, (title, *cells))) for title, cells in columns.items()}
    long = [title for title in ("by", "sender", "subject", "source") if title in columns]
    width = console.width - sum(widths[title] + _GAP for title in columns if title not in long)
    widths |= zip(long, _divide(width - _GAP * (len(long) - 1), [widths[title] for title in long]), strict=True)
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
    for title in columns:
        table.add_column(title, no_wrap=True, min_width=widths[title])
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(Text(_shorten(title, text, widths[title])) for title, text in zip(columns, row, strict=True)))
    console.print(table)


def _divide(width: int, wanted: list[int]) -> list[int]:
    """Divide the width among columns; a column that needs less than an equal share leaves the rest to the others.

    >>> _divide(40, [5, 60, 30]), _divide(40, [5, 60, 10])
    ([5, 18, 17], [5, 25, 10])
    """
    widths = list(wanted)
    by_size = sorted(range(len(wanted)), key=wanted.__getitem__)
    for n_left, i in zip(range(len(wanted), 0, -1), by_size, strict=True):
        widths[i] = min(wanted[i], max(width // n_left, _LEAST))
        width -= widths[i]
    return widths


def _shorten(title: str, text: str, width: int) -> str:
    """Shorten a text to the width: keep the end of domains and paths, and the beginning of user names and subjects.

    >>> _shorten("source", "/home/ann/Maildir/.Junk/cur/7.eml", 17), _shorten("by", "ann@mail.example", 7)
    ('…/.Junk/cur/7.eml', 'ann@ma…')
    """
    if len(text) <= width:
        return text
    return f"{text[: width - 1]}…" if title in {"by", "subject"} else f"…{text[1 - width :]}"
