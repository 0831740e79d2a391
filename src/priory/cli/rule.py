"""`priory rule`: allow, block and ignore senders, phrases and other things in mail; list and remove these rules."""

import getpass
import json
import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priory.cli.options import HOME, CommandError, Home, Json, decode_new_user, decode_user, open_filter
from priory.html.text import printable
from priory.journal.rules import DECISIVE_THINGS, IGNORABLE_THINGS, RuleEffect, RuleThing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from priory.journal import Rule

app = typer.Typer(name="rule", add_completion=False, rich_markup_mode="markdown")

# typer lists the members in the help
_DecisiveThing = StrEnum("_DecisiveThing", [(thing.name, thing.value) for thing in DECISIVE_THINGS])  # type: ignore[misc]
_IgnorableThing = StrEnum("_IgnorableThing", [(thing.name, thing.value) for thing in IGNORABLE_THINGS])  # type: ignore[misc]
_Thing = Annotated[_DecisiveThing, typer.Argument(help="What the rule is about.", show_default=False)]
_Ignored = Annotated[_IgnorableThing, typer.Argument(help="What counts nothing.", show_default=False)]
_AnyThing = Annotated[RuleThing, typer.Argument(help="What the rule is about, as `priory rule` lists it.")]
_Text = Annotated[list[str], typer.Argument(metavar="TEXT…", help="The address, domain, List-Id, words or header.")]
_ForUser = Annotated[
    str,
    typer.Option("--user", metavar="NAME", help="The rule is for this user's mail alone.", callback=decode_new_user),
]
_Whose = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="NAME",
        help="List the rules of this user; '' lists those for everyone.",
        callback=decode_user,
        show_default=False,
    ),
]


@app.callback(invoke_without_command=True)
def rule(context: typer.Context, user: _Whose = None, home: Home = HOME, as_json: Json = False) -> None:
    """Say what a sender, a phrase or another thing in mail counts: much for or against it, or nothing.

    Without a command, list all rules. A rule is a strong term in the sum, shown with the other evidence. It counts from
    the next message on, also in a running daemon. Removing it restores all verdicts exactly.

    **Examples**

    `priory rule allow sender ann@mail.example`

    `priory rule block phrase "cheap pills" --user ann`

    `priory rule ignore word backlinks`

    `priory rule --json`
    """
    if context.invoked_subcommand is None:
        _list(home, user, as_json)
        return
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise CommandError(
                f"--{name.removeprefix('as_')} comes after the command: priory rule {context.invoked_subcommand} …"
            )


def _list(home: Path, user: str | None, as_json: bool) -> None:
    with open_filter(home) as filter_:
        rules = filter_.rules.every() if user is None else filter_.rules.of(user)
    if as_json:
        for each in rules:
            print(json.dumps(each.as_dict(), ensure_ascii=False))  # noqa: T201
    elif rules:
        _print_table(rules)
    else:
        print("no rules yet; make one with: priory rule allow, block or ignore")  # noqa: T201


def _print_table(rules: "Sequence[Rule]") -> None:
    from priory.html.numbers import clock  # noqa: PLC0415 - only for people

    rows = [
        (printable(each.user) or "everyone", printable(each.name), clock(each.time), printable(each.author))
        for each in rules
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())  # noqa: T201


@app.command()
def allow(thing: _Thing, text: _Text, user: _ForUser = "", home: Home = HOME, as_json: Json = False) -> None:
    """Count a sender, a domain, a mailing list or a phrase strongly for wanted mail.

    A domain stands for its subdomains, too. Anyone can write any address into From: allow the domain of a bank, and a
    forged message of that bank is allowed, too.

    **Examples**

    `priory rule allow sender ann@mail.example`

    `priory rule allow list daily.list.example --user ann`
    """
    _set(RuleEffect.ALLOW, thing, text, user, "", home, as_json)


@app.command()
def block(thing: _Thing, text: _Text, user: _ForUser = "", home: Home = HOME, as_json: Json = False) -> None:
    """Count a sender, a domain, a mailing list or a phrase strongly for unwanted mail.

    **Examples**

    `priory rule block domain pills.example`

    `priory rule block phrase "search engine ranking"`
    """
    _set(RuleEffect.BLOCK, thing, text, user, "", home, as_json)


@app.command()
def towards(  # noqa: PLR0913, PLR0917 - typer makes options of them
    label: Annotated[str, typer.Argument(metavar="LABEL", help="A label of this filter.")],
    thing: _Thing,
    text: _Text,
    user: _ForUser = "",
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Count a sender, a domain, a mailing list or a phrase strongly for one label.

    **Example**

    `priory rule towards newsletter list daily.list.example`
    """
    _set(RuleEffect.TOWARDS, thing, text, user, label, home, as_json)


@app.command()
def ignore(thing: _Ignored, text: _Text, user: _ForUser = "", home: Home = HOME, as_json: Json = False) -> None:
    """Let the places of a word, a phrase, a sender or a header count nothing.

    Words and phrases are ignored in text and subject. A sender is an address or a domain; its line From is ignored. A
    header is a name, or a name and a text that its line contains.

    **Examples**

    `priory rule ignore word backlinks`

    `priory rule ignore sender mail.example`

    `priory rule ignore header "X-Mailer: Letterbird"`
    """
    _set(RuleEffect.IGNORE, thing, text, user, "", home, as_json)


def _set(  # noqa: PLR0913, PLR0917 - what all commands take
    effect: RuleEffect, thing: StrEnum, text: list[str], user: str, label: str, home: Path, as_json: bool
) -> None:
    from priory.filter.rule_text import make_rule  # noqa: PLC0415
    from priory.filter.rules import RuleOutcome  # noqa: PLC0415

    with open_filter(home, make=True) as filter_:
        labels = filter_.options.labels
        new = make_rule(
            effect, RuleThing(thing.value), " ".join(text), user=user, label=label, author=_account(), labels=labels
        )
        outcome = filter_.rules.set(new)
    if as_json:
        print(json.dumps({"outcome": outcome, "rule": new.name, "user": user}, ensure_ascii=False))  # noqa: T201
        return
    words = {
        RuleOutcome.SET: "set",
        RuleOutcome.REPLACED: "set, in place of an earlier rule",
        RuleOutcome.KNOWN: "known already",
    }
    print(f"{words[outcome]}: {_in_words(new)}")  # noqa: T201


@app.command()
def remove(thing: _AnyThing, text: _Text, user: _ForUser = "", home: Home = HOME, as_json: Json = False) -> None:
    """Remove the rule about a thing; all verdicts are then as if it had never been.

    **Example**

    `priory rule remove sender ann@mail.example`
    """
    from priory.filter.rule_text import rule_key  # noqa: PLC0415

    with open_filter(home) as filter_:
        key = rule_key(thing, " ".join(text), user)
        removed = filter_.rules.remove(key)
        others = sorted({each.user for each in filter_.rules.every() if each.key[1:] == key[1:]})
    if removed is None:
        hint = "list all rules with: priory rule"
        if others:
            hint = (
                f"there is one {f'with --user {printable(others[0])}' if others[0] else 'for everyone, without --user'}"
            )
        whose = printable(user) or "everyone"
        raise CommandError(f"{whose} has no rule about {thing} {printable(key.text)}; {hint}")
    if as_json:
        print(json.dumps({"removed": removed.name, "user": user}, ensure_ascii=False))  # noqa: T201
    else:
        print(f"removed: {_in_words(removed)}")  # noqa: T201


def _in_words(rule: "Rule") -> str:
    return f"{printable(rule.name)}, for {printable(rule.user) or 'everyone'}"


def _account() -> str:
    """Return the name of the account that runs the command."""
    try:
        return decode_user(getpass.getuser()) or ""
    except (KeyError, OSError):  # an account without a name
        return str(os.getuid())
