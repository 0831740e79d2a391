"""The options by which lessons are selected, the same for who looks at them and for who forgets them."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.options import Problem, problems, user_named

if TYPE_CHECKING:
    from priory.filter import Filter
    from priory.journal import Selection

Label = Annotated[str | None, typer.Option(help="Lessons that say this.", show_default=False)]
Whose = Annotated[
    str | None,
    typer.Option(
        "--user",
        help="Lessons of this user; '' is nobody in particular.",
        callback=user_named,
        show_default=False,
    ),
]
Source = Annotated[str | None, typer.Option(help="Messages that lay there: how the source begins.", show_default=False)]
Sender = Annotated[str | None, typer.Option(help="Messages from this domain.", show_default=False)]
Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Learned then or later: 2026-11-01, or 2026-11-01T14:30.", show_default=False),
]
Until = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Learned before: a date alone is where the day begins.", show_default=False),
]
Automatic = Annotated[
    bool | None,
    typer.Option("--auto/--people", help="Learned automatically, or taught by people.", show_default=False),
]
Digest = Annotated[
    str | None, typer.Option(metavar="DIGITS", help="Messages whose digest begins so.", show_default=False)
]

Below = Annotated[
    float | None,
    typer.Option(
        "--certainty-below",
        metavar="P",
        help="Lessons whose label had a probability below this before.",
        show_default=False,
    ),
]
Above = Annotated[
    float | None,
    typer.Option("--certainty-above", metavar="P", help="Lessons whose label had one above this.", show_default=False),
]


def selected(  # noqa: PLR0913, PLR0917 - as many as there are options
    label: str | None,
    user: str | None,
    source: str | None,
    sender: str | None,
    since: str | None,
    until: str | None,
    automatic: bool | None,
    digest: str | None,
    below: float | None,
    above: float | None,
) -> "Selection":
    """Return the selection that options make."""
    from priory.corpus.part import as_text  # noqa: PLC0415 - a quick start for --help
    from priory.journal import Selection  # noqa: PLC0415

    def text(said: str | None) -> str | None:
        return None if said is None else as_text(said)

    times = _seconds("--since", since), _seconds("--until", until)
    with problems():
        return Selection(text(label), text(user), text(source), text(sender), *times, automatic, digest, below, above)


def refuse_label(label: str | None, filter_: "Filter") -> None:
    """Refuse a label that no lesson can have: probably it is a slip."""
    labels = filter_.options.labels
    if label is not None and label not in labels:
        raise Problem(f"unknown label {label!r}; this filter knows {', '.join(labels)}")


def _seconds(option: str, text: str | None) -> float | None:
    """Return a time as it is stored; without an offset from Greenwich it is a local one.

    >>> _seconds("--since", "1970-01-02T00:00Z")
    86400.0
    """
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise Problem(
            f"{option} {text!r} is no time: write 2026-11-01 or 2026-11-01T14:30, which are local times, "
            "or 2026-11-01T14:30+01:00"
        ) from None
