"""Options that commands share, and how a command opens the filter."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from priory.filter import Filter
    from priory.options import Options

HOME = Path("~/.priory")

Home = Annotated[
    Path,
    typer.Option(
        "--home",
        envvar="PRIORY_HOME",
        help="The folder of the filter: its journal and its priory.toml.",
        readable=False,  # typer would end the program where it cannot be read; `filter` must pass the message on
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        envvar="PRIORY_CONFIG",
        help="Another file than priory.toml in the home; the variable holds for all commands.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def user_named(text: str | None) -> str | None:
    """Return the name of a user that can be written down: bytes that are no text are named as the daemon names them."""
    return None if text is None else os.fsencode(text).decode("utf-8", "backslashreplace")


User = Annotated[str, typer.Option(help="Whose lesson it is; a message is learned once per user.", callback=user_named)]
ForUser = Annotated[
    str, typer.Option("--user", help="Whose mail it is: what they have taught counts, too.", callback=user_named)
]
Jobs = Annotated[int, typer.Option(min=1, help="How many processes read mail; the result is the same.")]
InCluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Work on a Dask cluster: tcp://HOST:8786, or local:N for N processes here; the result is the same.",
        show_default=False,
    ),
]
Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH…",
        help="Messages: files, mboxes, Maildirs, folders of these, tar archives; - is standard input; imap:FOLDER.",
        show_default=False,
    ),
]


class Problem(Exception):  # noqa: N818 - it is for people
    """Something is wrong with the input, the configuration or the store; the text says what and the remedy."""


def shown(paths: list[str]) -> str:
    """Return what somebody has named, as it is said to them."""
    return " ".join("standard input" if path == "-" else path for path in paths)


@contextmanager
def problems() -> Iterator[None]:
    """Turn the errors that people can act on into problems; all others are ours and keep their traceback."""
    from priory.config import ConfigError  # noqa: PLC0415 - a quick start for --help
    from priory.corpus import CorpusError  # noqa: PLC0415
    from priory.journal import JournalError, SelectionError  # noqa: PLC0415
    from priory.workers import WorkerError  # noqa: PLC0415

    try:
        yield
    except (ConfigError, CorpusError, JournalError, SelectionError, WorkerError) as error:
        raise Problem(str(error)) from None


def expanded(path: Path, option: str = "") -> Path:
    """Return a path with `~` or `~ann` written out."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise Problem(f"it is not known where {path} is: write the whole path, from / on{option}") from None


def place_of(home: Path) -> Path:
    """Return where a home is, or would be; refuse what cannot be one."""
    place = expanded(home, ", with --home or PRIORY_HOME")
    with suppress(PermissionError):  # who reads it says so
        if place.exists() and not place.is_dir():
            raise Problem(f"{home} is no folder: name another --home")
    return place


def config_path(home: Path, named: Path | None = None) -> Path:
    """Return the file that configures a home; one that somebody has named must be there."""
    named = named or (Path(os.environ["PRIORY_CONFIG"]) if os.environ.get("PRIORY_CONFIG") else None)
    if named is None:
        return place_of(home).absolute() / "priory.toml"
    path = expanded(named)
    with suppress(PermissionError):  # who reads it says so
        if not path.exists():
            raise Problem(f"there is no file {named}: name another with --config or PRIORY_CONFIG, or none")
    return path.absolute()


def read_options(home: Path) -> "Options":
    """Return the options of a home."""
    from priory.config import load  # noqa: PLC0415

    return load(config_path(home))


def require(home: Path) -> Path:
    """Return where a home is; refuse one that is not there."""
    place = place_of(home)
    try:
        is_there = place.is_dir()
    except PermissionError:
        raise Problem(f"this account may not enter {home}: name another --home, or run this as its owner") from None
    if not is_there:
        raise Problem(f"there is no folder {home}: name another --home, or teach a filter there with: priory learn")
    return place


def journal_in(place: Path) -> Path:
    """Return the journal of another home, or itself if that is what was named; it must be there."""
    path = place / "journal.sqlite" if place.is_dir() else place
    if not path.is_file():
        raise Problem(f"{place} is no home of a filter: there is no journal.sqlite")
    return path


@contextmanager
def opened(home: Path, *, make: bool = False) -> "Iterator[Filter]":
    """Open the filter of a home with its configuration; only who teaches it makes the folder."""
    from priory.filter import Filter  # noqa: PLC0415

    place = place_of(home) if make else require(home)
    with problems(), Filter.open(place, read_options(home)) as filter_:
        yield filter_
