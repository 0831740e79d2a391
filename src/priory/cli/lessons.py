"""`priory lessons`: who taught what, and when."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from priory.cli.options import HOME, Home, Json, opened
from priory.cli.selecting import (
    Above,
    Automatic,
    Below,
    Digest,
    Label,
    Sender,
    Since,
    Source,
    Until,
    Whose,
    refuse_label,
    selected,
)

if TYPE_CHECKING:
    from priory.filter import Filter
    from priory.journal import Selection
    from priory.listed import Page

MOST: Final = 25  #: that a person is shown at once
_PAGE: Final = 20_000  # lessons that are read together: each time all are looked through


def lessons(  # noqa: PLR0913, PLR0917 - typer makes options of them
    label: Label = None,
    user: Whose = None,
    source: Source = None,
    sender: Sender = None,
    since: Since = None,
    until: Until = None,
    auto: Automatic = None,
    digest: Digest = None,
    certainty_below: Below = None,
    certainty_above: Above = None,
    most: Annotated[
        int | None, typer.Option(min=1, help=f"How many; default {MOST}, with --json all.", show_default=False)
    ] = None,
    after: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Go on where a page ended.", show_default=False)
    ] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show who taught what, and when: the latest lesson first.

    `before` is the probability that the filter gave the label just before it was told, as the score that was kept is
    read today: what is near 0 came as a surprise. A lesson that was not scored has none. Times are local ones.

    **Examples**

    `priory lessons --label ham --since 2026-11-01`

    `priory lessons --auto --sender mail.example`

    `priory lessons --people --certainty-below 0.05`
    """
    selection = selected(label, user, source, sender, since, until, auto, digest, certainty_below, certainty_above)
    with opened(home) as filter_:
        refuse_label(label, filter_)
        if as_json:
            for page in _pages(filter_, selection, most, after):
                for lesson in page.lessons:
                    print(json.dumps(lesson.as_dict(), ensure_ascii=False))  # noqa: T201
        else:
            _show(filter_, selection, most or MOST, after, home)


def _pages(filter_: "Filter", selection: "Selection", most: int | None, after: str | None) -> "Iterator[Page]":
    """Yield pages until there are none, or `most` lessons in them."""
    left = most or sys.maxsize
    while left:
        page = filter_.lessons.page(selection, min(_PAGE, left), after)
        yield page
        left, after = left - len(page.lessons) if page.after else 0, page.after


def _show(filter_: "Filter", selection: "Selection", most: int, after: str | None, home: Path) -> None:
    from priory.cli.show_lessons import show_lessons  # noqa: PLC0415

    page, n = filter_.lessons.page(selection, most, after), filter_.lessons.n_of(selection)
    if page.lessons:
        show_lessons(page.lessons)
    meant = "lessons" if selection.is_everything else "lessons selected"
    print(f"{len(page.lessons):,} of {n:,} {meant} in {home}")  # noqa: T201
    if page.after is not None:
        print(f"the next: the same with --after {page.after}")  # noqa: T201
