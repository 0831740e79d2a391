"""Options that several commands share, and how a command finds and opens its filter."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from priory.filter.filter import Filter
    from priory.filter.options import Options

HOME = Path("~/.priory")

Home = Annotated[
    Path,
    typer.Option(
        "--home",
        metavar="FOLDER",
        envvar="PRIORY_HOME",
        help="The folder of the filter, with its journal and priory.toml.",
        readable=False,  # typer would exit if the folder is unreadable, but `filter` must pass the message on
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        envvar="PRIORY_CONFIG",
        help="Use this file instead of priory.toml in the home; the variable works for all commands.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def decode_user(text: str | None) -> str | None:
    """Return a user name that can be stored; undecodable bytes are escaped as the daemon escapes them."""
    return None if text is None else os.fsencode(text).decode("utf-8", "backslashreplace")


def decode_new_user(text: str | None) -> str | None:
    """Return a user name for new lessons; refuse control characters, as the HTTP API does."""
    user = decode_user(text)
    if user and any(character < " " or character == "\x7f" for character in user):
        raise CommandError(f"{user!r} has control characters: give --user a name without them")
    return user


User = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="The user who teaches; a message is learned once per user.", callback=decode_new_user
    ),
]
ForUser = Annotated[
    str,
    typer.Option(
        "--user",
        metavar="NAME",
        help="The recipient of the mail: includes the evidence that this user has taught.",
        callback=decode_user,
    ),
]
Jobs = Annotated[
    int, typer.Option(min=1, metavar="N", help="Number of processes that read mail; the result is the same.")
]
InCluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Use a Dask cluster: tcp://HOST:8786, or local:N for N processes here; the result is the same.",
        show_default=False,
    ),
]
Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH…",
        help="Messages: files, mboxes, Maildirs, folders of these, tar archives, imap:FOLDER; - reads standard input.",
    ),
]


class CommandError(Exception):
    """An error in input, configuration or store; the text names the cause and the remedy."""


def describe_paths(paths: list[str]) -> str:
    """Return the paths as an error message names them."""
    return " ".join("standard input" if path == "-" else path for path in paths)


@contextmanager
def command_errors() -> Iterator[None]:
    """Turn errors that the user can correct into CommandError; all other errors keep their traceback."""
    from priory.config import ConfigError  # noqa: PLC0415 - not needed for --help
    from priory.corpus import CorpusError  # noqa: PLC0415
    from priory.journal import JournalError, ReservedUserError, RuleError, SelectionError  # noqa: PLC0415
    from priory.processes.workers import WorkerError  # noqa: PLC0415

    try:
        yield
    except (ConfigError, CorpusError, JournalError, ReservedUserError, RuleError, SelectionError, WorkerError) as error:
        raise CommandError(str(error)) from None


def expand_user(path: Path, option: str = "") -> Path:
    """Return a path with `~` or `~ann` expanded."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise CommandError(f"cannot resolve {path}: use an absolute path{option}") from None


def home_path(home: Path) -> Path:
    """Return the expanded path of a home, which need not exist; refuse a file."""
    path = expand_user(home, " with --home or PRIORY_HOME")
    with suppress(PermissionError):  # reported by whatever reads the home
        if path.exists() and not path.is_dir():
            raise CommandError(f"{home} is not a folder: name another --home")
    return path


def config_path(home: Path, named: Path | None = None) -> Path:
    """Return the configuration file of a home; a file named by option or variable must exist."""
    named = named or (Path(os.environ["PRIORY_CONFIG"]) if os.environ.get("PRIORY_CONFIG") else None)
    if named is None:
        return home_path(home).absolute() / "priory.toml"
    path = expand_user(named)
    with suppress(PermissionError):  # reported by whatever reads the file
        if not path.exists():
            raise CommandError(f"there is no file {named}: name another with --config or PRIORY_CONFIG, or none")
    return path.absolute()


def read_options(home: Path) -> "Options":
    """Return the options of the filter of a home."""
    from priory.config import load  # noqa: PLC0415

    return load(config_path(home))


def require_home(home: Path) -> Path:
    """Return the expanded path of a home, which must exist."""
    path = home_path(home)
    try:
        exists = path.is_dir()
    except PermissionError:
        raise CommandError(
            f"this account may not enter {home}: name another --home, or run the command as its owner"
        ) from None
    if not exists:
        raise CommandError(
            f"there is no folder {home}: name another --home, or create a filter there with: priory learn"
        )
    return path


def journal_file(path: Path) -> Path:
    """Return the journal of a home; `path` may also name the journal itself."""
    file = path / "journal.sqlite" if path.is_dir() else path
    if not file.is_file():
        raise CommandError(f"{path} is not the home of a filter: it has no journal.sqlite")
    return file


@contextmanager
def open_filter(home: Path, *, make: bool = False) -> "Iterator[Filter]":
    """Open the filter of a home with its configuration; with `make`, create a missing home."""
    from priory.filter.filter import Filter  # noqa: PLC0415

    path = home_path(home) if make else require_home(home)
    with command_errors(), Filter.open(path, read_options(home)) as filter_:
        yield filter_
