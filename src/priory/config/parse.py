"""From TOML to options: tables are checked against the settings and become the options of filter, daemon and mailbox.

Each `…_in` function reads only its own sections, so that a mistake in a section about IMAP does not stop a check.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from priory.config.settings import ADDRESSES, SECTIONS, Setting, settings
from priory.config.values import STORE_EXAMPLE, ConfigError, is_name, is_number, is_store_url
from priory.decision import UNSURE, Costs
from priory.features import KINDS, Spec
from priory.features.patterns import PatternError, compile_patterns
from priory.filter.options import Limits, Options, SilenceRules, SpoolLimits
from priory.journal import StoreAddress

if TYPE_CHECKING:
    from priory.imap.account import Account
    from priory.server.options import Policy, ServeOptions

STORE_VARIABLE: Final = "PRIORY_STORE"  #: overrides [store] url
_REPLACED: Final = {"autolearn": "remove this section; [silence] has replaced it"}
#: Keys that are checked against another key. If the other key is wrong, they cannot be checked.
_DEPENDENT: Final[dict[tuple[str, ...], tuple[tuple[str, ...], ...]]] = {
    ("labels",): (("unwanted",), ("costs",), ("milter", "reject"), ("milter", "quarantine"), ("imap", "folders"))
}
Parsed = TypeVar("Parsed")


def parse(text: str) -> Options:
    """Return the options of the filter in a configuration.

    >>> parse('[costs]\\nunsure = 2').costs.unsure
    2
    >>> parse('[cost]')
    Traceback (most recent call last):
    priory.config.values.ConfigError: unknown key 'cost'; did you mean 'costs'?
    """
    return options_in(load_toml(text))


class ParsedConfig(NamedTuple):
    """The valid parts of a configuration, and all errors in it; a part with an error may be None."""

    options: Options | None
    serving: "ServeOptions | None"
    mailbox: "Account | None"
    reporters: frozenset[str] | None
    errors: list[ConfigError]


def parse_all(text: str) -> ParsedConfig:
    """Return everything in a configuration, with all errors instead of only the first.

    >>> [str(error) for error in parse_all("[costs]\\nunsure = -1\\n[serve]\\nworkers = 0").errors]
    ['the cost of unsure must be a number from 0 up, not -1', '[serve] workers must be ... from 1 to 1024, not 0']
    """
    errors: list[ConfigError] = []
    try:
        tables = dict(load_toml(text))
    except ConfigError as error:
        return ParsedConfig(None, None, None, None, [error])
    options, serving = _parse_part(tables, options_in, errors), _parse_part(tables, serving_in, errors)
    mailbox, reporters = _parse_part(tables, mailbox_in, errors), _parse_part(tables, reporters_in, errors)
    return ParsedConfig(options, serving, mailbox, reporters, errors)


def _parse_part(
    tables: dict[str, Any], parse: Callable[[dict[str, Any]], Parsed], errors: list[ConfigError]
) -> Parsed | None:
    """Parse; after each error, remove the wrong key and parse again."""
    while True:
        try:
            return parse(tables)
        except ConfigError as error:
            errors.append(error)
            if not _remove(tables, error.key):
                return None
            for key in _DEPENDENT.get(error.key, ()):
                _remove(tables, key)


def _remove(tables: dict[str, Any], key: tuple[str, ...]) -> bool:
    """Remove a key; return whether it existed."""
    if not key or not isinstance(tables, dict) or key[0] not in tables:
        return False
    if len(key) > 1:
        return _remove(tables[key[0]], key[1:])
    del tables[key[0]]
    return True


def load_toml(text: str) -> Mapping[str, Any]:
    """Return the tables of a configuration."""
    if not text:
        return {}
    from tomllib import TOMLDecodeError, loads  # noqa: PLC0415 - needed only for a file

    try:
        return loads(text)
    except TOMLDecodeError as error:
        reason, _, place = str(error).partition(" (at ")
        match = re.match(r"line (\d+), column (\d+)", place)  # otherwise the place is the end of the document
        line = int(match[1]) if match else text.count("\n") + (not text.endswith("\n"))
        column = f"in column {match[2]}" if match else "at the end"
        raise ConfigError(f"this is not TOML: {reason}, {column}", line=line) from None
    except RecursionError:
        raise ConfigError("this cannot be read: tables or lists are nested too deeply; flatten them") from None
    except ValueError:  # Python reads no whole number of more than 4300 digits
        raise ConfigError("this cannot be read: a number has thousands of digits; write a smaller one") from None


def _section(tables: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the values that are set in a section, checked and converted."""
    values, known = _table(tables, name), settings(name)
    _refuse_unknown(values, [setting.key for setting in known], name)
    return {setting.key: _value(setting, values[setting.key]) for setting in known if setting.key in values}


def _value(setting: Setting, value: Any) -> Any:
    try:
        return setting.type.convert(value)
    except ValueError as error:
        name = f"[{setting.section}] {setting.key}"
        rejected = "" if setting.type.is_secret else f", not {value!r}"
        text = f"{name}: {error}" if str(error) else f"{name} must be {setting.type.description}{rejected}"
        raise ConfigError(text, setting.section, setting.key) from None


def _table(tables: Mapping[str, Any], key: str, *within: str) -> Mapping[str, Any]:
    """Return a section, or a table within one; an empty one if it is missing."""
    value = tables.get(key, {})
    if not isinstance(value, dict):
        where = (
            f"[{'.'.join(within)}] {key} must be a table, {key} = {{ … }}"
            if within
            else f"{key} must be a section, [{key}]"
        )
        raise ConfigError(f"{where}, not {value!r}", *within, key)
    return value


def _refuse_unknown(values: Mapping[str, Any], known: Iterable[str], *within: str) -> None:
    """Raise if a key is unknown, and suggest a similar one."""
    known = list(known)
    for key in values:
        if key not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - only for errors

            similar = get_close_matches(key, known, 1)
            hint = f"did you mean {similar[0]!r}?" if similar else f"known are {', '.join(known)}"
            hint = _REPLACED.get(key, hint)
            where = f"[{'.'.join(within)}] " if within else ""
            raise ConfigError(f"{where}unknown key {key!r}; {hint}", *within, key)


def options_in(tables: Mapping[str, Any]) -> Options:
    """Return the options of the filter."""
    _refuse_unknown(tables, SECTIONS)
    labels, sizes, limits = _labels(tables), _section(tables, "table"), _section(tables, "limits")
    silence = _section(tables, "silence")
    optional = {"personal_bits": sizes["personal_bits"]} if "personal_bits" in sizes else {}
    return Options(
        costs=_costs(labels, _table(tables, "costs")),
        spec=_spec(_section(tables, "features"), _table(tables, "patterns"), sizes.get("bits", Spec().bits)),
        silence=SilenceRules(silence.get("days", SilenceRules().days), silence.get("learn", SilenceRules().learns)),
        store=_store(tables),
        keeps_subjects=_section(tables, "journal").get("subjects", False),
        limits=Limits(limits.get("age"), limits.get("lessons"), limits.get("bytes")),
        spool=_spool(_section(tables, "ask")),
        unwanted=_read_unwanted(tables, labels),
        ham_lost=_section(tables, "promise").get("ham_lost"),
        **optional,
    )


def _spool(section: Mapping[str, Any]) -> SpoolLimits | None:
    """Return the limits of the spool; None if no size switches it on."""
    if "spool" not in section:
        return None
    return SpoolLimits(section["spool"], **({"age_s": section["age"]} if "age" in section else {}))


def _labels(tables: Mapping[str, Any]) -> tuple[str, ...]:
    labels = tables.get("labels", ["ham", "spam"])
    if not (isinstance(labels, list) and all(isinstance(label, str) and is_name(label) for label in labels)):
        raise ConfigError(
            'labels must be a list of names of letters, digits, - and _, such as ["ham", "spam"]', "labels"
        )
    if len(labels) < 2 or len(set(labels)) < len(labels) or UNSURE in labels:
        raise ConfigError("labels must be two or more different names, none of them 'unsure'", "labels")
    return tuple(labels)


def _read_unwanted(tables: Mapping[str, Any], labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels of unwanted mail in the order of `labels`; none if they are not set."""
    unwanted = tables.get("unwanted", [])
    if not (isinstance(unwanted, list) and all(isinstance(label, str) and label in labels for label in unwanted)):
        raise ConfigError(
            f'unwanted must be a list of labels, such as ["spam"]; known are {", ".join(labels)}', "unwanted"
        )
    if not set(labels) - set(unwanted) or ("unwanted" in tables and not unwanted):
        raise ConfigError("unwanted must name at least one label, and leave out at least one", "unwanted")
    return tuple(label for label in labels if label in unwanted)


def _costs(labels: tuple[str, ...], section: Mapping[str, Any]) -> Costs:
    """Return the costs; a mistake without a cost has that of a lost ham if the first label is true, else of a spam."""
    _refuse_unknown(section, (*labels, UNSURE), "costs")
    (_, missed), (lost, _) = Costs().matrix
    rows = []

    def default(verdict: str, true: str) -> float:
        return 0 if verdict == true else lost if true == labels[0] else missed

    for verdict in labels:
        row = _table(section, verdict, "costs")
        _refuse_unknown(row, labels, "costs", verdict)
        rows.append(tuple(_cost(row.get(true, default(verdict, true)), verdict, true) for true in labels))
    return Costs(labels, tuple(rows), _cost(section.get(UNSURE, Costs().unsure), UNSURE))


def _cost(value: Any, *key: str) -> float:
    if not is_number(value) or value < 0:
        name = f"{key[0]} when {key[1]} is true" if len(key) > 1 else key[0]
        raise ConfigError(f"the cost of {name} must be a number from 0 up, not {value!r}", "costs", *key)
    cost: float = value
    return cost


def _spec(switches: Mapping[str, bool], patterns: Mapping[str, Any], bits: int) -> Spec:
    for name, pattern in patterns.items():
        if not is_name(name):
            raise ConfigError(f"[patterns] {name!r} is not a name; use letters, digits, - and _", "patterns", name)
        if not isinstance(pattern, str):
            raise ConfigError(
                f"[patterns] {name} must be a regular expression in quotes, not {pattern!r}", "patterns", name
            )
    try:
        compile_patterns(patterns)
    except PatternError as error:
        raise ConfigError(str(error), "patterns", error.name) from None
    kinds = {kind for kind in KINDS if switches.get(kind, kind in Spec().kinds)}
    return Spec(kinds=frozenset(kinds), patterns=dict(patterns), bits=bits)


def _store(tables: Mapping[str, Any]) -> StoreAddress | None:
    """Return the address of the journal, from the environment or the configuration; None if it is in the home."""
    section, variable = _section(tables, "store"), os.environ.get(STORE_VARIABLE, "")
    url, node = variable or section.get("url"), section.get("node", "")
    if node and not url:
        raise ConfigError(
            f"[store] node is for a journal on a server: set url, such as {STORE_EXAMPLE}", "store", "node"
        )
    return StoreAddress(url, node or os.uname().nodename) if url else None


def refuse_variable() -> None:
    """Refuse an environment variable that is not the address of a store; the configuration is not to blame."""
    url = os.environ.get(STORE_VARIABLE)
    if url and not is_store_url(url):
        raise ConfigError(f"{STORE_VARIABLE}, or --store, must be an address such as {STORE_EXAMPLE}")


def serving_in(tables: Mapping[str, Any]) -> "ServeOptions":
    """Return the options of the daemon."""
    from priory.server.options import ServeOptions  # noqa: PLC0415 - only for the daemon

    _refuse_unknown(tables, SECTIONS)
    serve, spamd, milter, http = (_section(tables, name) for name in ("serve", "spamd", "milter", "http"))
    _refuse_public_http(http.get("listen", ()), http.get("url", ""))
    return ServeOptions(
        spamd=spamd.get("listen", ()),
        milter=milter.get("listen", ()),
        http=http.pop("listen", ()),
        policy=_policy(milter, _labels(tables)),
        **serve,
        **http,
    )


def _policy(milter: Mapping[str, Any], labels: tuple[str, ...]) -> "Policy":
    from priory.server.options import Policy  # noqa: PLC0415

    actions = {key: _action_costs(key, milter[key], labels) for key in ("reject", "quarantine") if key in milter}
    return Policy(**actions, checks_authenticated=milter.get("check_authenticated", False))


def _action_costs(action: str, value: Any, labels: tuple[str, ...]) -> dict[str, float]:
    """Return the cost of an action by true label; a negative cost is a benefit."""
    if not (isinstance(value, dict) and set(value) == set(labels) and all(map(is_number, value.values()))):
        example = ", ".join(f"{label} = {1000 if label == labels[0] else -1}" for label in labels)
        raise ConfigError(
            f"[milter] {action} must be a table with a cost for each label, such as {{ {example} }}, not {value!r}",
            "milter",
            action,
        )
    return value


def _refuse_public_http(addresses: tuple[str, ...], url: str) -> None:
    """Refuse addresses that other machines reach without TLS, and all addresses if packages are missing."""
    from priory.server.http import missing  # noqa: PLC0415
    from priory.server.options import is_local  # noqa: PLC0415

    for address in addresses:
        if not (url or is_local(address)):
            raise ConfigError(
                f"[http] listen: other machines could reach {address} without TLS; use "
                f'"{ADDRESSES["http"]}" or the full path of a socket, or set up a proxy with TLS and set url to its '
                'address: url = "https://…"',
                "http",
                "listen",
            )
    if addresses and (packages := missing()):
        raise ConfigError(
            f"[http] needs packages that are not installed ({', '.join(packages)}); "
            "pip install '.[server]' in Priory's source folder",
            "http",
            "listen",
        )


def mailbox_in(tables: Mapping[str, Any]) -> "Account | None":
    """Return the mailbox on an IMAP server; None if there is no such section."""
    from priory.imap.account import Account  # noqa: PLC0415 - only for IMAP
    from priory.server.options import is_this_machine  # noqa: PLC0415

    _refuse_unknown(tables, SECTIONS)
    section = _table(tables, "imap")
    if not section:
        return None
    if "password" in section:  # the error must not repeat its value
        raise ConfigError(
            '[imap] password: a password must not be written here; use password_command, such as "pass show mail", or '
            "password_file",
            "imap",
            "password",
        )
    _refuse_unknown(section, [setting.key for setting in settings("imap")], "imap")
    for key in ("host", "user"):
        if key not in section:
            raise ConfigError(f"[imap] {key} is missing", "imap")
    if ("password_command" in section) == ("password_file" in section):
        raise ConfigError("[imap] needs either password_command or password_file", "imap")
    account = Account(**_section(tables, "imap"))
    if account.tls == "none" and not is_this_machine(account.host):
        raise ConfigError(
            f'[imap] tls = "none" would send the password unencrypted to {account.host}; use "implicit" or "starttls", '
            'or "insecure" to send it nevertheless',
            "imap",
            "tls",
        )
    named = filter(None, [account.junk, account.unsure])
    folders = [account.inbox, *named, *account.watch, *account.folders.values()]
    if len(set(folders)) < len(folders):
        raise ConfigError("[imap] inbox, junk, unsure, watch and folders must name different folders", "imap")
    _refuse_folder_labels(account, tables)
    return account


def _refuse_folder_labels(account: "Account", tables: Mapping[str, Any]) -> None:
    from priory.filter.spamassassin import spam_label  # noqa: PLC0415

    labels = _labels(tables)
    spam = spam_label(labels, _read_unwanted(tables, labels))
    for label in account.folders:
        if label not in labels:
            raise ConfigError(
                f"[imap] folders must be by labels; {label!r} is none of {', '.join(labels)}", "imap", "folders"
            )
        if label == spam:
            raise ConfigError(
                f"[imap] folders must be of other labels; the folder of {spam} is junk", "imap", "folders"
            )


def reporters_in(tables: Mapping[str, Any]) -> frozenset[str]:
    """Return the senders that may report mail, in lower case: addresses, and domains as `@mail.example`."""
    senders: frozenset[str] = _section(tables, "report").get("senders", frozenset())
    return senders
