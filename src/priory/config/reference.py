"""The settings as documentation, and the values in effect for `priory config`."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from priory.config.settings import SECTIONS, settings
from priory.decision import thresholds
from priory.features import KINDS
from priory.filter.options import Options
from priory.filter.spamassassin import unwanted_labels
from priory.filter.spool import FOLDER
from priory.server.protocols.actions import action_thresholds

if TYPE_CHECKING:
    from priory.imap.account import Account
    from priory.server.options import ServeOptions


def markdown_table(section: str) -> str:
    """Return the table of a section for docs/configuration.md.

    >>> print(markdown_table("report"))
    | `[report]` | default | value | users who may teach by forwarding mail |
    |---|---|---|---|
    | `senders` | none | a list of senders, such as ["ann@mail.example", "@home.example"] | ... |
    """
    return "\n".join(_rows(section))


def _rows(section: str) -> Iterator[str]:
    yield f"| `[{section}]` | default | value | {SECTIONS[section]} |"
    yield "|---|---|---|---|"
    for setting in settings(section):
        default = setting.default.strip('"') or setting.unset
        yield f"| `{setting.key}` | {default} | {setting.type.description} | {setting.help} |"


def values_in_effect(
    options: Options,
    serving: "ServeOptions",
    mailbox: "Account | None",
    reporters: frozenset[str] | None,
    home: Path,
) -> dict[str, Any]:
    """Return all values by the names of the configuration, defaults included, with the thresholds that follow."""
    return {
        "store": {"url": options.store.name, "node": options.store.node} if options.store else None,
        "labels": options.labels,
        "unwanted": unwanted_labels(options.labels, options.unwanted),
        "costs": options.costs.as_configured(),
        "thresholds": thresholds(options.costs),
        "features": {kind: kind in options.spec.kinds for kind in KINDS},
        "patterns": options.spec.patterns,
        "table": {"bits": options.spec.bits, "personal_bits": options.personal_bits},
        "promise": {"ham_lost": options.ham_lost},
        "silence": {"days": options.silence.days, "learn": options.silence.learns},
        "journal": {"subjects": options.keeps_subjects},
        "limits": asdict(options.limits),
        "ask": _ask(options, home),
        "serve": {setting.key: getattr(serving, setting.key) for setting in settings("serve")},
        "spamd": {"listen": [str(home / "socket"), *serving.spamd]},
        "milter": {
            "listen": serving.milter,
            "reject": serving.policy.reject,
            "quarantine": serving.policy.quarantine,
            "thresholds": action_thresholds(serving.policy, options.costs, options.unwanted),
            "check_authenticated": serving.policy.checks_authenticated,
        },
        "http": {"listen": serving.http, "rate": serving.rate, "url": serving.url},
        "report": {"senders": sorted(reporters or ())},
        "imap": None if mailbox is None else _imap(mailbox),
    }


def _ask(options: Options, home: Path) -> dict[str, Any]:
    spool = options.spool
    if spool is None:
        return {"spool": None}
    return {"spool": spool.n_bytes, "age": spool.age_s, "folder": str(home / FOLDER)}


def _imap(mailbox: "Account") -> dict[str, Any]:
    # The command that prints the password is left out: it may contain secrets.
    values = {setting.key: getattr(mailbox, setting.key) for setting in settings("imap")}
    values |= {"port": mailbox.port_or_usual, "password_command": "(set)" if mailbox.password_command else ""}
    return {key: str(value) if isinstance(value, Path) else value for key, value in values.items()}
