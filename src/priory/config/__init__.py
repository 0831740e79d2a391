"""The configuration file: TOML in, options out, read once and passed down as values.

A home may hold a `priory.toml`:

    labels = ["ham", "spam"]
    unwanted = ["spam"]

    [store]                    # a journal that several machines share
    url = "postgresql://priory@db.example/priory"

    [costs]                    # what a mistake costs: what is said = { what is true = cost }
    spam = { ham = 100 }
    ham = { spam = 10 }
    unsure = 4

    [features]                 # kinds of features to switch on or off
    triple = true

    [patterns]                 # your own regular expressions (RE2), each a feature
    my-name = '(?i)dear ada'

    [table]                    # the size of the table of counts, when the journal is made: 2^bits buckets
    bits = 24
    personal_bits = 24         # and of that for single users

    [autolearn]                # learning without people
    on = true
    certainty = 0.9999

    [limits]                   # how much is remembered, and for how long
    age = "2 years"

    [report]                   # who may teach by forwarding mail to spam@ or ham@
    senders = ["ann@mail.example", "@home.example"]

    [serve]                    # the daemon, `priory serve`
    workers = 4

    [spamd]                    # where it speaks as SpamAssassin's does
    listen = "127.0.0.1:783"

    [milter]                   # where it speaks to Postfix and Sendmail
    listen = "127.0.0.1:7357"
    reject = { ham = 1000, spam = -1 }

    [http]                     # where it shows how it is, and what it has counted
    listen = "127.0.0.1:7358"

    [imap]                     # a mailbox on another server, `priory imap`
    host = "mail.example"
    user = "ann"
    password_command = "pass show mail"
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from priory.config.filtering import parse
from priory.config.storing import refuse_variable
from priory.config.tables import ConfigError
from priory.options import Options

if TYPE_CHECKING:
    from priory.imap.options import Account
    from priory.server.options import Serving

__all__ = [
    "ConfigError",
    "line_of",
    "load",
    "load_mailbox",
    "load_reporters",
    "load_serving",
    "located",
    "parse",
    "read",
]

Thing = TypeVar("Thing")


def load(path: Path) -> Options:
    """Return the options in a file, or the defaults; the environment may say where the journal is."""
    refuse_variable()
    return _loaded(path, parse)


def load_serving(path: Path) -> "Serving":
    """Return what a file says about the daemon; without a file, the defaults."""
    from priory.config.serving import parse_serving  # noqa: PLC0415 - a quick start for all but the daemon

    return _loaded(path, parse_serving)


def load_mailbox(path: Path) -> "Account | None":
    """Return what a file says about a mailbox on another server; None if it says nothing."""
    from priory.config.mailbox import parse_mailbox  # noqa: PLC0415

    return _loaded(path, parse_mailbox)


def load_reporters(path: Path) -> frozenset[str]:
    """Return who may report mail; without a file, nobody."""
    from priory.config.reporting import parse_reporters  # noqa: PLC0415 - a quick start for all but `priory report`

    return _loaded(path, parse_reporters)


def _loaded(path: Path, parse: Callable[[str], Thing]) -> Thing:
    text = read(path)
    try:
        return parse(text)
    except ConfigError as error:
        raise located(error, path, text) from None


def read(path: Path) -> str:
    """Return what stands in a file; without a file, nothing."""
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors put a mark before the text
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}. Check that this account may enter its folder and read it."
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} cannot be read: it is not in UTF-8. Save it as that.") from None


def located(error: ConfigError, path: Path, text: str) -> ConfigError:
    """Return an error with the file, and with the line of what it is about."""
    line = error.line or line_of(error.key, text)
    return ConfigError(f"{path}:{line}: {error}" if line else f"{path}: {error}", *error.key, line=line)


def line_of(key: tuple[str, ...], text: str) -> int | None:
    """Return where a key stands in a configuration, or else what it belongs to; None if neither is in it."""
    from priory.config.places import lines_of  # noqa: PLC0415 - only where something is wrong

    lines = lines_of(text) if key else {}
    return next((lines[key[:n]] for n in range(len(key), 0, -1) if key[:n] in lines), None)
