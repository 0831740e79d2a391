"""Options that the workbench's commands share, and how its errors reach a person."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from priory.cli.options import Problem, problems

What = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="LABEL=PATH…",
        help="Mail to judge by, such as ham=~/Maildir spam=~/Maildir/.Junk; without any, what the filter was taught.",
        show_default=False,
    ),
]
Index = Annotated[
    Path | None,
    typer.Option(
        help="Mail to judge by, from an index: lines of `label path`, relative to the file.", show_default=False
    ),
]
Model = Annotated[str, typer.Option(help="The filter, another model by name, or yours as module:name.")]
Jobs = Annotated[int, typer.Option(min=1, help="How many processes work side by side.")]
Seed = Annotated[int, typer.Option(min=0, help="Another seed shuffles and draws otherwise.")]
Html = Annotated[Path | None, typer.Option(help="Write the report as a page to this file.", show_default=False)]
Fresh = Annotated[bool, typer.Option("--fresh", help="Do everything anew, also what was done before and kept.")]


class By(StrEnum):
    """How mail is split; the names of `priory.lab.mail_folds`."""

    stratified = "stratified"
    k_fold = "k-fold"
    random = "random"
    time = "time"
    sender = "sender"
    thread = "thread"
    leave_one_out = "leave-one-out"


SplitBy = Annotated[
    By, typer.Option("--by", help="How to split. By time, what came before is learned and what follows is judged.")
]
NFolds = Annotated[int, typer.Option("--folds", min=1, help="Into how many parts.")]
Apart = Annotated[
    bool, typer.Option("--copies-apart", help="Let near-copies fall on both sides of a split: the figures flatter.")
]
SealFile = Annotated[
    Path | None,
    typer.Option(
        "--seal", help="A sealed test set (`priory lab seal`): its messages are left out.", show_default=False
    ),
]


@contextmanager
def lab_problems() -> Iterator[None]:
    """Turn what cannot be judged into a problem for a person, and so the other errors that people can act on."""
    from priory.lab.error import LabError  # noqa: PLC0415 - a quick start for --help

    try:
        with problems():
            yield
    except LabError as error:
        raise Problem(str(error)) from None
    except KeyboardInterrupt:
        sys.stderr.write("priory: interrupted; the same command goes on from here\n")
        raise typer.Exit(130) from None
