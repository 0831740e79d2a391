"""The configuration file `priory.toml`: read once, checked, and passed on as options.

`settings` is the table of all settings, `values` has their types, `parse` turns TOML into options, `lines` finds the
line of a key, `warnings` reports doubtful values, `costs` changes costs in a file, and `reference` lists settings and
values.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from priory.config.parse import load_toml, mailbox_in, options_in, parse, refuse_variable, reporters_in, serving_in
from priory.config.values import ConfigError
from priory.filter.options import Options

if TYPE_CHECKING:
    from priory.imap.account import Account
    from priory.server.options import ServeOptions

__all__ = [
    "ConfigError",
    "add_location",
    "line_of",
    "load",
    "load_mailbox",
    "load_reporters",
    "load_serving",
    "parse",
    "read",
]

Loaded = TypeVar("Loaded")


def load(path: Path) -> Options:
    """Return the options of the filter; without a file, the defaults. PRIORY_STORE overrides [store] url."""
    refuse_variable()
    return _load(path, options_in)


def load_serving(path: Path) -> "ServeOptions":
    """Return the options of the daemon; without a file, the defaults."""
    return _load(path, serving_in)


def load_mailbox(path: Path) -> "Account | None":
    """Return the mailbox on an IMAP server; None if the file names none."""
    return _load(path, mailbox_in)


def load_reporters(path: Path) -> frozenset[str]:
    """Return the senders that may report mail; without a file, none."""
    return _load(path, reporters_in)


def _load(path: Path, convert: Callable[[Mapping[str, Any]], Loaded]) -> Loaded:
    text = read(path)
    try:
        return convert(load_toml(text))
    except ConfigError as error:
        raise add_location(error, path, text) from None


def read(path: Path) -> str:
    """Return the text of a file, empty if there is no such file."""
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}. Check that this account may enter its folder and read it."
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} cannot be read: it is not in UTF-8. Save it as UTF-8.") from None


def add_location(error: ConfigError, path: Path, text: str) -> ConfigError:
    """Return an error with the file and line that it is about."""
    line = error.line or line_of(error.key, text)
    return ConfigError(f"{path}:{line}: {error}" if line else f"{path}: {error}", *error.key, line=line)


def line_of(key: tuple[str, ...], text: str) -> int | None:
    """Return the line of a key, or of the nearest table around it; None if neither exists."""
    from priory.config.lines import lines_of  # noqa: PLC0415 - only for errors

    lines = lines_of(text) if key else {}
    return next((lines[key[:n]] for n in range(len(key), 0, -1) if key[:n] in lines), None)
