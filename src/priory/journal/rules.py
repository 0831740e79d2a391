"""The rules of people: tables beside the lessons.

A rule says what a thing in mail (a sender, a phrase …) counts: nothing, or much for or against a label. It belongs to
one user or to everyone. There is one rule about a thing for each of these; a later one replaces it.

`rule_revision` holds a random text that differs after each change of the rules, so that a process that follows the
journal reads them again only when they have changed.
"""

import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

from priory.journal.database import REPAIR, Database, Row, require_texts, require_time, stored_user
from priory.processes.log import log

_COLUMNS: Final = '"user", thing, text, effect, label, time, author'
_PUT: Final = (
    f"INSERT INTO rules ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) "  # noqa: S608
    'ON CONFLICT ("user", thing, text) DO UPDATE SET effect = excluded.effect, label = excluded.label, '
    "time = excluded.time, author = excluded.author"
)


class RuleError(ValueError):
    """A rule cannot be made; the text says which, why, and what to do."""


class RuleThing(StrEnum):
    """What a rule is about."""

    SENDER = "sender"  #: the address in From
    DOMAIN = "domain"  #: the domain of that address, or a parent of it
    LIST = "list"  #: the List-Id of a mailing list
    PHRASE = "phrase"  #: words in a row in the visible text or the subject
    WORD = "word"  #: the same for a single word
    HEADER = "header"  #: header lines of a name, or those of them that contain a text


IGNORABLE_THINGS: Final = (RuleThing.WORD, RuleThing.PHRASE, RuleThing.SENDER, RuleThing.DOMAIN, RuleThing.HEADER)
DECISIVE_THINGS: Final = (RuleThing.SENDER, RuleThing.DOMAIN, RuleThing.LIST, RuleThing.PHRASE)


class RuleEffect(StrEnum):
    """What a rule does to mail in which its thing occurs."""

    IGNORE = "ignore"  #: the places of the thing count nothing
    ALLOW = "allow"  #: counts for the labels of wanted mail
    BLOCK = "block"  #: counts for the labels of unwanted mail
    TOWARDS = "towards"  #: counts for one label


class RuleKey(NamedTuple):
    """What identifies a rule."""

    user: str  #: empty for everyone
    thing: RuleThing
    text: str  #: normalised


class Rule(NamedTuple):
    """What a person says about a thing in mail."""

    user: str  #: empty for everyone
    thing: RuleThing
    text: str  #: normalised
    effect: RuleEffect
    label: str = ""  #: of the effect *towards*
    time: float = 0.0  #: when it was made
    author: str = ""  #: who made it: an account, or a token of the API

    @property
    def key(self) -> RuleKey:
        """What identifies it."""
        return RuleKey(self.user, self.thing, self.text)

    @property
    def name(self) -> str:
        """The rule as it is written in a command.

        >>> Rule("", RuleThing.SENDER, "ann@mail.example", RuleEffect.ALLOW).name
        'allow sender ann@mail.example'
        >>> Rule("ann", RuleThing.LIST, "daily.list.example", RuleEffect.TOWARDS, "news").name
        'towards news list daily.list.example'
        """
        return " ".join(part for part in (self.effect, self.label, self.thing, self.text) if part)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the time in ISO 8601, UTC."""
        return {
            "rule": self.name,
            "effect": self.effect.value,
            "label": self.label,
            "thing": self.thing.value,
            "text": self.text,
            "user": self.user,
            "time": datetime.fromtimestamp(self.time, UTC).isoformat(timespec="milliseconds"),
            "author": self.author,
        }

    def says_the_same(self, other: "Rule | None") -> bool:
        """Tell whether both do the same to the same mail."""
        return other is not None and (*self.key, self.effect, self.label) == (*other.key, other.effect, other.label)

    @property
    def rank(self) -> tuple[float, str, str, str]:
        """What decides between two rules of different journals about one thing: the later counts."""
        return self.time, self.effect, self.label, self.author


class RuleSet(NamedTuple):
    """All rules of a journal, and the revision that they are of."""

    revision: str
    rules: tuple[Rule, ...]


NO_RULES: Final = RuleSet("", ())


class RuleTable:
    """The tables of rules. Write inside `writing`, and call `Journal.mark_change`, so that other processes notice."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def load(self, known: RuleSet = NO_RULES) -> RuleSet:
        """Return all rules, in a fixed order; `known` itself if it has their revision."""
        rows = self._db.rows("SELECT revision FROM rule_revision")
        revision = str(rows[0][0]) if rows else ""
        return known if revision == known.revision else RuleSet(revision, tuple(self.every()))

    def every(self) -> list[Rule]:
        """Return all rules by user, thing and text."""
        rows = self._db.rows(f"SELECT {_COLUMNS} FROM rules")  # noqa: S608
        return sorted(self._readable(rows))

    def of(self, user: str) -> list[Rule]:
        """Return the rules of one user, or those for everyone, by thing and text."""
        rows = self._db.rows(f'SELECT {_COLUMNS} FROM rules WHERE "user" = ?', stored_user(user))  # noqa: S608
        return sorted(self._readable(rows))

    def find(self, key: RuleKey) -> Rule | None:
        """Return the rule about a thing, if there is one."""
        sql = f'SELECT {_COLUMNS} FROM rules WHERE "user" = ? AND thing = ? AND text = ?'  # noqa: S608
        rows = self._db.rows(sql, stored_user(key.user), key.thing.value, key.text)
        return next(self._readable(rows), None)

    def _readable(self, rows: Iterable[Row]) -> Iterator[Rule]:
        """Yield rules; those that are damaged are logged and left out."""
        for row in rows:
            try:
                yield _loaded(row)
            except ValueError as error:
                log(f"a rule in {self._db.name} is left out ({error}): {REPAIR}")

    def put(self, rule: Rule) -> None:
        """Store a rule in place of an earlier one about the same thing."""
        effect, label, time, author = rule[3:]
        user = stored_user(rule.user)
        self._db.rows(_PUT, user, rule.thing.value, rule.text, effect.value, label, time, author)
        self._revise()

    def remove(self, key: RuleKey) -> None:
        """Delete the rule about a thing."""
        self._db.rows(
            'DELETE FROM rules WHERE "user" = ? AND thing = ? AND text = ?', key.user, key.thing.value, key.text
        )
        self._revise()

    def erase(self, user: str) -> bool:
        """Delete the rules of a user; tell whether there were any."""
        if not self.of(user):
            return False
        self._db.rows('DELETE FROM rules WHERE "user" = ?', stored_user(user))
        self._revise()
        return True

    def _revise(self) -> None:
        self._db.rows("DELETE FROM rule_revision")
        self._db.rows("INSERT INTO rule_revision (revision) VALUES (?)", uuid.uuid4().hex)


def _loaded(row: Row) -> Rule:
    user, thing, text, effect, label, time, author = row
    require_texts(user=user, thing=thing, text=text, effect=effect, label=label, author=author)
    require_time(time)
    return Rule(user, RuleThing(thing), text, RuleEffect(effect), label, time, author)
