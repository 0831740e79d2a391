"""What may be a rule: the texts that people write, checked and normalised.

There is one rule about a thing however it is written, so texts get lower case and single spaces, and domains the ASCII
form of IDNA. What is compared with a rule is read from a message by the same functions.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from priory.features.hashing import Tokens
from priory.features.sections import MOST_HEADER, Sections, section
from priory.journal import Rule, RuleEffect, RuleError, RuleKey, RuleThing
from priory.journal.rules import DECISIVE_THINGS, IGNORABLE_THINGS
from priory.message import parse
from priory.message.headers import is_evidence

MOST_CHARACTERS: Final = 200  #: of a rule's text
MOST_NAME: Final = 200  #: characters of a user's name
_ADDRESS: Final = re.compile(r"(?<=[^\s<>@\"(),;:])@([\w.-]{1,255})")
_LOCAL_PART: Final = re.compile(r"[^\s<>@\"(),;:]+$")
_HOST: Final = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_LIST: Final = re.compile(r"[^\s<>?]+")
_FIELD_NAME: Final = re.compile(r"[!-9;-~]{1,200}")
_IN_BRACKETS: Final = re.compile(r"<([^<>]*)>")
_CONTROL: Final = re.compile("[\0-\x1f\x7f]")


def make_rule(  # noqa: PLR0913 - one for each part of a rule
    effect: RuleEffect,
    thing: RuleThing,
    text: str,
    *,
    user: str = "",
    label: str = "",
    author: str = "",
    labels: Sequence[str] = (),
) -> Rule:
    """Return the rule with normalised text; `labels` are those of the filter. Raise RuleError if it makes no sense.

    >>> make_rule(RuleEffect.BLOCK, RuleThing.DOMAIN, "*.Bücher.example").name
    'block domain xn--bcher-kva.example'
    >>> make_rule(RuleEffect.IGNORE, RuleThing.WORD, "two words")
    Traceback (most recent call last):
    priory.journal.rules.RuleError: 'two words' is not one word: make a rule about the phrase
    """
    if effect is RuleEffect.IGNORE:
        if thing is RuleThing.SENDER and "@" not in text.strip().lstrip("@"):
            thing = RuleThing.DOMAIN
        _require(thing, IGNORABLE_THINGS, "nothing is ignored by its mailing list: name the header List-Id")
    else:
        _require(
            thing, DECISIVE_THINGS, f"a {thing} cannot be allowed or blocked: name a sender, domain, list or phrase"
        )
    if (effect is RuleEffect.TOWARDS) != bool(label):
        raise RuleError(f"name the label: one of {', '.join(labels)}" if not label else f"{effect} takes no label")
    if label and label not in labels:
        raise RuleError(f"{label!r} is not a label of this filter: name one of {', '.join(labels)}")
    return Rule(*rule_key(thing, text, user), effect, label, author=author)


def _require(thing: RuleThing, things: Sequence[RuleThing], otherwise: str) -> None:
    if thing not in things:
        raise RuleError(otherwise)


def rule_key(thing: RuleThing, text: str, user: str = "") -> RuleKey:
    """Return what identifies a rule about a thing; raise RuleError if the text does not name such a thing."""
    if len(user) > MOST_NAME or _CONTROL.search(user):
        raise RuleError(
            f"{user[:MOST_NAME]!r} cannot be the name of a user: use at most {MOST_NAME} printable characters"
        )
    text = unicodedata.normalize("NFC", text.strip().encode("utf-8", "replace").decode())
    if len(text) > MOST_CHARACTERS:
        raise RuleError(f"the {thing} has {len(text):,} characters: a rule has at most {MOST_CHARACTERS}")
    if _CONTROL.search(text):
        raise RuleError(f"{text!r} has control characters: give the {thing} without them")
    normalised = _NORMALISED[thing](text)
    if len(normalised) > MOST_CHARACTERS:
        raise RuleError(f"{normalised!r} has more than {MOST_CHARACTERS} characters: make it shorter")
    return RuleKey(user, thing, normalised)


def sender_address(header: str) -> str:
    """Return the normalised last address of a From header; empty if there is none.

    >>> sender_address('"Ann (ann@old.example)" <Ann.Lee@Mail.Example>')
    'ann.lee@mail.example'
    """
    at = None
    for at in _ADDRESS.finditer(header):  # noqa: B007 - the last one is used after the loop
        pass
    local = at and _LOCAL_PART.search(header[: at.start()])
    return f"{local[0].lower()}@{ascii_domain(at[1])}" if at and local else ""


def ascii_domain(domain: str) -> str:
    """Return a domain in lower case and in the ASCII form of IDNA, if it has one.

    >>> ascii_domain("Mail.Example."), ascii_domain("bücher.example"), ascii_domain("a..ü")
    ('mail.example', 'xn--bcher-kva.example', 'a..ü')
    """
    domain = domain.lower().strip(".")
    if domain.isascii():
        return domain
    try:
        return domain.encode("idna").decode().lower()
    except UnicodeError:  # an empty label, one that is too long, or characters that no domain has
        return domain


def list_id(header: str) -> str:
    """Return the identifier in a List-Id header.

    >>> list_id("Daily news <Daily.List.Example>"), list_id("daily.list.example")
    ('daily.list.example', 'daily.list.example')
    """
    in_brackets = _IN_BRACKETS.findall(header)
    return str(in_brackets[-1] if in_brackets else header).strip().lower()


def words_of(folded: bytes) -> list[bytes]:
    """Return the words of folded text, as features have them."""
    return [folded[start:end] for start, end in Tokens(folded, False).spans()]


def folded_text(text: str) -> bytes:
    """Return a text as the filter reads it in the visible text of a message: in lower case, without invisible signs."""
    mail = b"Content-Type: text/plain; charset=utf-8\n\n" + text.encode("utf-8", "replace")
    return Sections(parse(mail)).text.folded


def folded_value(text: str) -> str:
    """Return the value of a header in lower case with single spaces.

    >>> folded_value(" PHP/8.2\\n  Mailer")
    'php/8.2 mailer'
    """
    return " ".join(
        section("headers", text.encode("utf-8", "replace"), 4 * MOST_HEADER).folded.decode("utf-8", "replace").split()
    )


def _sender(text: str) -> str:
    address = sender_address(text)
    if not address or not _HOST.fullmatch(address.rpartition("@")[2]):
        raise RuleError(f"{text!r} is not an address: write it like ann@mail.example, or name the domain")
    return address


def _domain(text: str) -> str:
    domain = ascii_domain(text.removeprefix("@").removeprefix("*").strip("."))
    if not _HOST.fullmatch(domain):
        raise RuleError(f"{text!r} is not a domain: write it like mail.example")
    return domain


def _list(text: str) -> str:
    identifier = list_id(text)
    if not _LIST.fullmatch(identifier):
        raise RuleError(f"{text!r} is not a mailing list: write its List-Id, like daily.list.example")
    return identifier


def _phrase(text: str) -> str:
    folded = folded_text(text)
    spans = Tokens(folded, False).spans()
    if not spans:
        raise RuleError(f"{text!r} has no word: a word has 2 to 40 letters or digits")
    return " ".join(folded[spans[0][0] : spans[-1][1]].decode("utf-8", "replace").split())


def _word(text: str) -> str:
    word = _phrase(text)
    if " " in word:
        raise RuleError(f"{text!r} is not one word: make a rule about the phrase")
    return word


def _header(text: str) -> str:
    name, colon, value = text.partition(":")
    name = name.rstrip().lower()
    if not _FIELD_NAME.fullmatch(name):
        raise RuleError(f"{text!r} does not begin with the name of a header: write it like X-Mailer or X-Mailer: text")
    if not is_evidence(name):
        raise RuleError(f"the header {name} never counts, so there is nothing to ignore")
    value = folded_value(value) if colon else ""
    return f"{name}: {value}" if value else name


_NORMALISED: Final = {
    RuleThing.SENDER: _sender,
    RuleThing.DOMAIN: _domain,
    RuleThing.LIST: _list,
    RuleThing.PHRASE: _phrase,
    RuleThing.WORD: _word,
    RuleThing.HEADER: _header,
}
