"""What a configuration says about a mailbox on another server."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from priory.config.tables import SECTIONS, ConfigError, given, labels_of, refuse_unknown, table, unwanted_of
from priory.imap.options import PORTS, Account
from priory.points import spam_label
from priory.server.options import is_this_machine

#: What each number of [imap] can be. Servers may hang up on who is idle for 30 minutes.
RANGES: Final = {"port": (1, 65_535), "poll": (1, 1_740), "max_bytes": (1_024, 1 << 30)}
_KEYS: Final = tuple(field.name for field in fields(Account))
_PATHS: Final = ("password_file", "ca_file")


def parse_mailbox(text: str) -> Account | None:
    """Return what a configuration says about a mailbox; None if it says nothing.

    >>> parse_mailbox('[imap]\\nhost = "mail.example"\\nuser = "ann"\\npassword_command = "pass show mail"').junk
    ''
    """
    return mailbox_in(given(text))


def mailbox_in(every: Mapping[str, Any]) -> Account | None:
    """Return what the tables of a configuration say about a mailbox."""
    refuse_unknown(every, SECTIONS)
    found = table(every, "imap")
    if not found:
        return None
    if "password" in found:  # its value is never repeated
        raise ConfigError(
            '[imap] password: no password may stand here; use password_command, such as "pass show mail", or '
            "password_file",
            "imap",
            "password",
        )
    refuse_unknown(found, _KEYS, "imap")
    _require(found)
    account = Account(**{key: _value(key, value) for key, value in found.items()})
    if account.tls == "none" and not is_this_machine(account.host):
        raise ConfigError(
            f'[imap] tls = "none" would send the password to {account.host} for all to read; use "implicit" or '
            '"starttls", or say "insecure" if it is meant',
            "imap",
            "tls",
        )
    named = [account.inbox, *filter(None, [account.junk]), *account.watch, *account.folders.values()]
    if len(set(named)) < len(named):
        raise ConfigError("[imap] inbox, junk and those of watch and folders must be different folders", "imap")
    _refuse_labels(account, every)
    return account


def _refuse_labels(account: Account, every: Mapping[str, Any]) -> None:
    labels = labels_of(every)
    spam = spam_label(labels, unwanted_of(every, labels))
    for label in account.folders:
        if label not in labels:
            raise _wrong("folders", f"by labels; {label!r} is none of {', '.join(labels)}")
        if label == spam:
            raise _wrong("folders", f"of other labels: that of {spam} is junk")


def _require(found: Mapping[str, Any]) -> None:
    for key in ("host", "user"):
        if key not in found:
            raise ConfigError(f"[imap] {key} is missing", "imap")
    if ("password_command" in found) == ("password_file" in found):
        raise ConfigError("[imap] needs either password_command or password_file", "imap")


def _value(key: str, value: Any) -> Any:
    if key in RANGES:
        least, most = RANGES[key]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise _wrong(key, f"a whole number from {least} to {most}, not {value!r}")
        return value
    if key == "move":
        if not isinstance(value, bool):
            raise _wrong(key, f"true or false, not {value!r}")
        return value
    if key == "watch":
        if not (isinstance(value, list) and all(map(_is_text, value))):
            raise _wrong(key, f'a list of folders, such as ["Family"], not {value!r}')
        return tuple(value)
    if key == "folders":
        if not (isinstance(value, dict) and all(map(_is_text, value.values()))):
            raise _wrong(key, f'folders by their labels, such as {{ newsletter = "News" }}, not {value!r}')
        return value
    if not _is_text(value):
        raise _wrong(key, "a text on one line")  # a command may have secrets in it
    if key == "host" and ("/" in value or value.count(":") == 1):  # more colons are an IPv6 address
        raise _wrong(key, f"the name of the server alone, not {value!r}; its port goes into port")
    if key == "tls" and value not in PORTS:
        raise _wrong(key, f"one of {', '.join(PORTS)}, not {value!r}")
    return _expanded(key, value) if key in _PATHS else value


def _expanded(key: str, value: str) -> Path:
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise _wrong(key, f"a whole path, from / on, as it is not known where {value} is") from None


def _wrong(key: str, must_be: str) -> ConfigError:
    return ConfigError(f"[imap] {key} must be {must_be}", "imap", key)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()
