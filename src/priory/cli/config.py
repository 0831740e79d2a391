"""`priory config`: what is in force, and whether it can be meant."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from priory.cli.options import HOME, Config, Home, Json, config_path, place_of, problems

if TYPE_CHECKING:
    from collections.abc import Iterable

    from priory.imap.options import Account
    from priory.options import Options
    from priory.server.options import Serving


def config(
    home: Home = HOME,
    file: Config = None,
    check: Annotated[
        bool, typer.Option("--check", help="Also try what it says on this machine, and warn of what looks wrong.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what is in force: all that `priory.toml` says, and the defaults of the rest.

    All errors in the file are named, each with its line; then the status is 1. With `--check` there are warnings, too:
    about costs that can hardly be meant, addresses where the daemon could not listen, labels that do not fit what was
    learned. Warnings leave the status 0. Nothing is changed.

    **Examples**

    `priory config`

    `priory config --check --home /var/lib/priory`

    `priory config --check --config new.toml && mv new.toml ~/.priory/priory.toml`
    """
    from priory.config import line_of, located, read  # noqa: PLC0415
    from priory.config.checking import checked  # noqa: PLC0415
    from priory.config.doubts import doubts  # noqa: PLC0415
    from priory.config.storing import refuse_variable  # noqa: PLC0415

    place = place_of(home).absolute()
    path = config_path(home, file)
    with problems():
        refuse_variable()
        text = read(path)
    said = checked(text)
    errors = [located(error, path, text) for error in said.errors]
    found: dict[str, Any] = {"file": str(path), "errors": _listed((str(e), e.key, e.line) for e in errors)}
    if said.options is not None and said.serving is not None and not errors:
        options = said.options
        found["in_force"] = in_force(options, said.serving, place) | _in_force(said.mailbox, said.reporters)
        if check:
            every = [(doubt, line_of(doubt.key, text)) for doubt in doubts(options, said.serving, place)]
            found["warnings"] = _listed(
                (f"{path}:{line}: {doubt.text}" if line else doubt.text, doubt.key, line) for doubt, line in every
            )
    if as_json:
        print(json.dumps(found, ensure_ascii=False))  # noqa: T201
    else:
        _show(found, is_there=bool(text))
    if errors:
        raise typer.Exit(1)


def in_force(options: "Options", serving: "Serving", home: Path) -> dict[str, Any]:
    """Return the settings of the filter and the daemon by the names that they have in the file."""
    from priory.config.serving import MOST  # noqa: PLC0415
    from priory.decision import thresholds  # noqa: PLC0415
    from priory.features import KINDS  # noqa: PLC0415
    from priory.points import unwanted_labels  # noqa: PLC0415
    from priory.server.actions import begins  # noqa: PLC0415

    costs, policy, automatic = options.costs, serving.policy, options.autolearn
    return {
        "store": {"url": options.store.name, "node": options.store.node} if options.store else None,
        "labels": options.labels,
        "unwanted": unwanted_labels(options.labels, options.unwanted),
        "costs": costs.as_configured(),
        "thresholds": thresholds(costs),
        "features": {kind: kind in options.spec.kinds for kind in KINDS},
        "patterns": options.spec.patterns,
        "table": {"bits": options.spec.bits, "personal_bits": options.personal_bits},
        "autolearn": {"on": False}
        if automatic is None
        else {"on": True, "certainty": automatic.certainty, "per_day": automatic.per_day},
        "limits": asdict(options.limits),
        "serve": {key: getattr(serving, key) for key in MOST},
        "spamd": {"listen": [str(home / "socket"), *serving.spamd]},
        "milter": {
            "listen": serving.milter,
            "reject": policy.reject,
            "quarantine": policy.quarantine,
            "thresholds": begins(policy, costs, options.unwanted),
            "check_authenticated": policy.checks_authenticated,
        },
        "http": {"listen": serving.http, "rate": serving.rate, "url": serving.url},
    }


def _in_force(mailbox: "Account | None", reporters: "frozenset[str] | None") -> dict[str, Any]:
    """The settings about people's mail, but for the command that tells a password, as it may have secrets in it."""
    report = {"report": {"senders": sorted(reporters or ())}}
    if mailbox is None:
        return {**report, "imap": None}
    every = asdict(mailbox) | {"port": mailbox.port_or_usual}
    shown = {key: str(value) if isinstance(value, Path) else value for key, value in every.items()}
    return {**report, "imap": shown | {"password_command": "(set)" if mailbox.password_command else ""}}


def _listed(found: "Iterable[tuple[str, tuple[str, ...], int | None]]") -> list[dict[str, Any]]:
    """What was found in a file, from its beginning to its end."""
    listed: list[dict[str, Any]] = [{"line": line, "key": ".".join(key), "text": text} for text, key, line in found]
    return sorted(listed, key=lambda each: each["line"] or 0)


def _show(found: dict[str, Any], *, is_there: bool) -> None:
    for error in found["errors"]:
        typer.echo(f"priory: {error['text']}", err=True)
    if "in_force" in found:
        print(f"{found['file']} can be used:" if is_there else f"nothing is set in {found['file']}; the defaults:")  # noqa: T201
        for name, words in _in_words(found["in_force"]).items():
            print(f"  {name:<11} {words}")  # noqa: T201
    for warning in found.get("warnings", []):
        print(f"warning: {warning['text']}")  # noqa: T201


def _in_words(now: dict[str, Any]) -> dict[str, str]:
    from priory.ageing import Limits  # noqa: PLC0415
    from priory.bayes import Counts  # noqa: PLC0415
    from priory.config.limiting import in_words  # noqa: PLC0415
    from priory.verdict import steps  # noqa: PLC0415

    bits = now["table"]["bits"]
    costs, automatic, serve, milter = now["costs"], now["autolearn"], now["serve"], now["milter"]
    mistakes = [f"{true} called {said} {cost:g}" for said in now["labels"] for true, cost in costs[said].items()]
    off = [kind for kind, is_on in now["features"].items() if not is_on]
    actions = [
        f"{done} {_where(key, milter['thresholds'])} "
        f"({', '.join(f'{label} {cost:g}' for label, cost in milter[key].items())})"
        for key, done in (("quarantine", "held"), ("reject", "refused"))
        if milter[key] is not None
    ]
    mail = "mail of all" if milter["check_authenticated"] else "mail of all but who has logged in"
    done = f"{' and '.join(now['unwanted'])} is {', or '.join(['marked', *actions])}"
    return {
        **({"store": f"{now['store']['url']}, here as {now['store']['node']}"} if now["store"] else {}),
        "labels": ", ".join(now["labels"])
        + (f"; unwanted: {', '.join(now['unwanted'])}" if len(now["labels"]) > 2 else ""),
        "costs": ", ".join([*mistakes, f"unsure {costs['unsure']:g}"]),
        "so it says": steps(now["thresholds"]) or "whatever has the least expected cost",
        "features": f"all but {', '.join(off)}" if off else "all",
        "patterns": ", ".join(now["patterns"]) or "none",
        "table": f"2^{bits} buckets, {Counts.size_bytes(bits, len(now['labels'])) / 1e6:,.0f} MB; "
        f"for single users 2^{now['table']['personal_bits']}",
        "autolearn": f"from {automatic['certainty']} on, {automatic['per_day']:,} of a label in a day"
        if automatic["on"]
        else "off",
        "limits": in_words(Limits(**now["limits"])),
        "report": f"taken from {', '.join(now['report']['senders'])}" if now["report"]["senders"] else "off",
        "serve": f"{serve['workers']} workers, {serve['max_connections']} connections, {serve['max_bytes']:,} bytes of "
        f"a message, {serve['timeout']} s for a client",
        "spamd": f"on {', '.join(now['spamd']['listen'])}",
        "milter": f"on {', '.join(milter['listen'])}; {mail}; {done}" if milter["listen"] else "off",
        "http": f"on {', '.join(now['http']['listen'])}; {now['http']['rate']} requests a second for each token"
        + (f"; people find it as {now['http']['url']}" if now["http"]["url"] else "")
        if now["http"]["listen"]
        else "off",
        "imap": _mailbox_in_words(now["imap"]) if now["imap"] else "off",
    }


def _where(action: str, thresholds: dict[str, float] | None) -> str:
    """When unwanted mail is not only marked: beyond a probability, if that is all it depends on."""
    from priory.verdict import digits  # noqa: PLC0415

    if thresholds is None:
        return "where that is cheapest"
    return f"from {digits(thresholds[action])}" if action in thresholds else "never"


def _mailbox_in_words(now: dict[str, Any]) -> str:
    of_labels = [f"{folder} for {label}" for label, folder in now["folders"].items()]
    folders = ", ".join([now["inbox"], now["junk"] or "what the server says is Junk", *of_labels, *now["watch"]])
    moves = "new mail that belongs there is moved" if of_labels else "new spam is moved"
    moves = moves if now["move"] else "nothing is moved"
    return f"{now['user']} at {now['host']}:{now['port']}, tls {now['tls']}; watches {folders}; {moves}"
