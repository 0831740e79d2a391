"""`priory config`: show the values in effect, all errors, and warnings."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from priory.cli.options import HOME, Config, Home, Json, command_errors, config_path, home_path

if TYPE_CHECKING:
    from collections.abc import Iterable


def config(
    home: Home = HOME,
    file: Config = None,
    check: Annotated[
        bool, typer.Option("--check", help="Also test the configuration on this machine and print warnings.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the values in effect: the settings in `priory.toml`, and the defaults of the rest.

    Prints all errors in the file with their lines; then the exit status is 1. With `--check`, prints warnings, too:
    about costs that are probably mistakes, addresses on which the daemon could not listen, labels that differ from
    the labels of the lessons. After warnings the exit status is 0. Nothing is changed.

    **Examples**

    `priory config`

    `priory config --check --home /var/lib/priory`

    `priory config --check --config new.toml && mv new.toml ~/.priory/priory.toml`
    """
    from priory.config import add_location, line_of, read  # noqa: PLC0415
    from priory.config.parse import parse_all, refuse_variable  # noqa: PLC0415
    from priory.config.reference import values_in_effect  # noqa: PLC0415
    from priory.config.warnings import find_warnings  # noqa: PLC0415

    folder = home_path(home).absolute()
    path = config_path(home, file)
    with command_errors():
        refuse_variable()
        text = read(path)
    options, serving, mailbox, reporters, found_errors = parse_all(text)
    errors = [add_location(error, path, text) for error in found_errors]
    output: dict[str, Any] = {"file": str(path), "errors": _by_line((str(e), e.key, e.line) for e in errors)}
    if options is not None and serving is not None and not errors:
        output["in_force"] = values_in_effect(options, serving, mailbox, reporters, folder)
        if check:
            warnings = [(warning, line_of(warning.key, text)) for warning in find_warnings(options, serving, folder)]
            output["warnings"] = _by_line(
                (f"{path}:{line}: {warning.text}" if line else warning.text, warning.key, line)
                for warning, line in warnings
            )
    if as_json:
        print(json.dumps(output, ensure_ascii=False))  # noqa: T201
    else:
        _show(output, exists=bool(text))
    if errors:
        raise typer.Exit(1)


def _by_line(messages: "Iterable[tuple[str, tuple[str, ...], int | None]]") -> list[dict[str, Any]]:
    """Return messages about a file as JSON objects in the order of their lines."""
    entries: list[dict[str, Any]] = [{"line": line, "key": ".".join(key), "text": text} for text, key, line in messages]
    return sorted(entries, key=lambda entry: entry["line"] or 0)


def _show(output: dict[str, Any], *, exists: bool) -> None:
    for error in output["errors"]:
        typer.echo(f"priory: {error['text']}", err=True)
    if "in_force" in output:
        print(f"{output['file']} is valid:" if exists else f"nothing is set in {output['file']}; the defaults:")  # noqa: T201
        for name, words in _in_words(output["in_force"]).items():
            print(f"  {name:<11} {words}")  # noqa: T201
    for warning in output.get("warnings", []):
        print(f"warning: {warning['text']}")  # noqa: T201


def _days(n: int) -> str:
    return f"{n} day{'s' if n != 1 else ''}"


def _in_words(values: dict[str, Any]) -> dict[str, str]:
    """Return a line of text for each section."""
    from priory.bayes.counts import Counts, CountsShape  # noqa: PLC0415
    from priory.filter.options import Limits  # noqa: PLC0415
    from priory.filter.promise import one_in  # noqa: PLC0415
    from priory.filter.verdict import steps  # noqa: PLC0415

    ham_lost = values["promise"]["ham_lost"]
    bits, labels, unwanted = values["table"]["bits"], values["labels"], values["unwanted"]
    costs, silence, serve, http = values["costs"], values["silence"], values["serve"], values["http"]
    empty_bytes = Counts.size_bytes(CountsShape(bits, len(labels)), with_personal=False)
    mistakes = [f"{true} judged {verdict} {cost:g}" for verdict in labels for true, cost in costs[verdict].items()]
    off = [kind for kind, is_on in values["features"].items() if not is_on]
    return {
        **({"store": f"{values['store']['url']}, here as {values['store']['node']}"} if values["store"] else {}),
        "labels": ", ".join(labels) + (f"; unwanted: {', '.join(unwanted)}" if len(labels) > 2 else ""),
        "costs": ", ".join([*mistakes, f"unsure {costs['unsure']:g}"]),
        "verdicts": steps(values["thresholds"]) or "by lowest expected cost",
        "features": f"all but {', '.join(off)}" if off else "all",
        "patterns": ", ".join(values["patterns"]) or "none",
        "table": f"2^{bits} buckets, {empty_bytes / 1e6:,.0f} MB; "
        f"for single users 2^{values['table']['personal_bits']}",
        "promise": f"at most {one_in(ham_lost)} of your ham is called spam" if ham_lost else "none",
        "silence": f"counts after {_days(silence['days'])}{'; a sample is learned' if silence['learn'] else ''}",
        "journal": "lessons have the subjects of their messages"
        if values["journal"]["subjects"]
        else "no text of mail",
        "limits": str(Limits(**values["limits"])),
        "ask": _spool_in_words(values["ask"]) if values["ask"]["spool"] else "off",
        "report": f"from {', '.join(values['report']['senders'])}" if values["report"]["senders"] else "off",
        "serve": f"{serve['workers']} workers, {serve['max_connections']} connections, messages up to "
        f"{serve['max_bytes']:,} bytes, timeout {serve['timeout']} s",
        "spamd": f"on {', '.join(values['spamd']['listen'])}",
        "milter": _milter_in_words(values["milter"], unwanted) if values["milter"]["listen"] else "off",
        "http": f"on {', '.join(http['listen'])}; {http['rate']} requests per second for each token"
        + (f"; public address {http['url']}" if http["url"] else "")
        if http["listen"]
        else "off",
        "imap": _mailbox_in_words(values["imap"]) if values["imap"] else "off",
    }


def _spool_in_words(spool: dict[str, Any]) -> str:
    from priory.filter.options import SpoolLimits  # noqa: PLC0415

    return f"mail is stored in {spool['folder']}: {SpoolLimits(spool['spool'], spool['age'])}"


def _milter_in_words(milter: dict[str, Any], unwanted: tuple[str, ...]) -> str:
    actions = [
        f"{word} {_when(action, milter['thresholds'])} "
        f"({', '.join(f'{label} {cost:g}' for label, cost in milter[action].items())})"
        for action, word in (("quarantine", "quarantined"), ("reject", "rejected"))
        if milter[action] is not None
    ]
    mail = "all mail" if milter["check_authenticated"] else "all mail but that of users who have logged in"
    return f"on {', '.join(milter['listen'])}; {mail}; {' and '.join(unwanted)} is {', or '.join(['marked', *actions])}"


def _when(action: str, thresholds: dict[str, float] | None) -> str:
    """Return when an action is taken: beyond a probability, if one probability decides it."""
    from priory.filter.verdict import digits  # noqa: PLC0415

    if thresholds is None:
        return "if that has the lowest cost"
    return f"from {digits(thresholds[action])}" if action in thresholds else "never"


def _mailbox_in_words(mailbox: dict[str, Any]) -> str:
    of_labels = [f"{folder} for {label}" for label, folder in mailbox["folders"].items()]
    junk = mailbox["junk"] or "the server's Junk folder"
    unsure = [f"{mailbox['unsure']} for unsure mail"] if mailbox["unsure"] else []
    folders = ", ".join([mailbox["inbox"], junk, *of_labels, *unsure, *mailbox["watch"]])
    moves = "moves new mail to these folders" if of_labels or unsure else "moves new spam"
    moves = moves if mailbox["move"] else "moves nothing"
    return f"{mailbox['user']} at {mailbox['host']}:{mailbox['port']}, tls {mailbox['tls']}; watches {folders}; {moves}"
