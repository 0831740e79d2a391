"""The rules that a person may want to make while looking at a message: one click instead of a command."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from priory.filter.rule_text import list_id, rule_key, sender_address
from priory.journal import RuleError, RuleThing
from priory.message import Message

if TYPE_CHECKING:
    from priory.filter.attribution import Attribution
    from priory.filter.reasons import Item


class RuleTarget(NamedTuple):
    """What a rule can be about."""

    thing: RuleThing
    text: str  #: normalised


def decisive_targets(message: Message) -> list[RuleTarget]:
    """Return what can be allowed or blocked about a message: its sender, the sender's domain, its mailing list.

    >>> from priory.message import parse
    >>> [text for _, text in decisive_targets(parse(b"From: Ann <ann@mail.example>\\n\\nLunch?"))]
    ['ann@mail.example', 'mail.example']
    """
    candidates = (
        (RuleThing.SENDER, sender_address(message.header("From"))),
        (RuleThing.DOMAIN, message.sender_domain),
        (RuleThing.LIST, list_id(message.header("List-Id"))),
    )
    return [target for thing, text in candidates for target in _checked(thing, text)]


def ignorable_target(group: str, item: "Item", attribution: "Attribution") -> RuleTarget | None:
    """Return what can be ignored so that an item of a reason counts nothing: its words, its header, or the sender."""
    first = attribution.first_text_of(item)
    if first is None:
        return None
    text = first.text
    if first.section == "text":
        return next(_checked(RuleThing.PHRASE if len(text.split()) > 1 else RuleThing.WORD, text), None)
    if first.section != "headers" or ":" not in text:
        return None
    name, _, value = text.partition(":")
    if group == "sender" and name.lower() == "from":
        return next(_checked(RuleThing.SENDER, sender_address(value)), None)
    return next(_checked(RuleThing.HEADER, name), None)


def _checked(thing: RuleThing, text: str) -> Iterator[RuleTarget]:
    """Yield a target; nothing if no rule can be about it."""
    if text:
        try:
            yield RuleTarget(thing, rule_key(thing, text).text)
        except RuleError:
            return
