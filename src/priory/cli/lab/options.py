"""Options that the workbench's commands share, and the translation of its errors."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from priory.cli.options import CommandError, command_errors
from priory.lab.error import LabError

What = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="LABEL=PATH…",
        help="Labelled mail, such as ham=~/Maildir spam=~/Maildir/.Junk. Default: the lessons of the filter.",
        show_default=False,
    ),
]
Index = Annotated[
    Path | None,
    typer.Option(
        help="Labelled mail from an index: lines of 'LABEL PATH'; paths are relative to the index.", show_default=False
    ),
]
Model = Annotated[str, typer.Option(help="The filter, another model by name, or yours as module:name.")]
Jobs = Annotated[int, typer.Option(min=1, help="Number of processes.")]
Seed = Annotated[int, typer.Option(min=0, help="The seed for shuffling and drawing.")]
Html = Annotated[Path | None, typer.Option(help="Write the report as a page to this file.", show_default=False)]
Fresh = Annotated[bool, typer.Option("--fresh", help="Ignore stored results of earlier runs.")]


class By(StrEnum):
    """Ways to split mail, as in `priory.lab.mail`."""

    stratified = "stratified"
    k_fold = "k-fold"
    random = "random"
    time = "time"
    sender = "sender"
    thread = "thread"
    leave_one_out = "leave-one-out"


SplitBy = Annotated[
    By, typer.Option("--by", help="How to split. By time, the past is learned and what follows is judged.")
]
NFolds = Annotated[int, typer.Option("--folds", min=1, help="Number of parts.")]
Apart = Annotated[
    bool,
    typer.Option("--copies-apart", help="Allow near-copies on both sides of a split; the figures are then too good."),
]
SealFile = Annotated[
    Path | None,
    typer.Option(
        "--seal", help="A sealed test set (`priory lab seal`): its messages are left out.", show_default=False
    ),
]


@contextmanager
def lab_errors() -> Iterator[None]:
    """Turn errors that the user can act on into a `CommandError`."""
    try:
        with command_errors():
            yield
    except LabError as error:
        raise CommandError(str(error)) from None
    except KeyboardInterrupt:
        sys.stderr.write("priory: interrupted; run the same command again to resume\n")
        raise typer.Exit(130) from None
