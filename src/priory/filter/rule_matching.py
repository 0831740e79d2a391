"""Finds the rules that a message matches.

Senders, domains, lists and headers are looked up, however many rules there are. A phrase is looked for only where the
message has the features of all its words, and then by its first word. Without rules, nothing of this is loaded.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from priory.features import KINDS, Numbers, Spec
from priory.features.hashing import Keys, Tokens, kind_seed
from priory.features.sections import Sections
from priory.filter.prepare import Prepared
from priory.filter.rule_text import ascii_domain, folded_value, list_id, sender_address, words_of
from priory.journal import Rule, RuleEffect, RuleThing, is_person
from priory.journal.rules import RuleSet
from priory.message import Message

_WORD: Final = KINDS.index("word")
_HEADER: Final = KINDS.index("header")


class Matches(NamedTuple):
    """The rules that a message matches."""

    decisive: tuple[Rule, ...] = ()  #: those for or against labels
    ignored: tuple[Rule, ...] = ()  #: those whose places count nothing


class RuleBook:
    """The rules of a journal, ready to be matched."""

    def __init__(self, rules: RuleSet, spec: Spec) -> None:
        self.revision = rules.revision
        self._spec = spec
        self._rules: dict[str, list[Rule]] = defaultdict(list)
        for rule in rules.rules:
            self._rules[rule.user].append(rule)
        self._indexes: dict[str, _Index] = {}
        self._everyone = self._index("")

    def match(self, message: Prepared, user: str) -> Matches:
        """Return the rules of a user, and those for everyone, that a message matches.

        A user's rule counts instead of everyone's about the same thing. Of the decisive rules about the sender, only
        the nearest counts: that about the address, or else about its domain, or else about the next parent domain.
        """
        if message.features.extracted_from is None:
            return _NOTHING
        mail = _Mail(message)
        found = self._everyone.match(mail)
        if user in self._rules and is_person(user):
            found += self._index(user).match(mail)
        return _matches(found) if found else _NOTHING

    def _index(self, user: str) -> "_Index":
        index = self._indexes.get(user)
        if index is None:
            index = self._indexes[user] = _Index(self._rules[user], self._spec)
        return index


_NOTHING: Final = Matches()


def _matches(found: Sequence[Rule]) -> Matches:
    """Return the rules that count: the last about each thing, and of those about the sender the nearest."""
    by_thing = {(rule.thing, rule.text): rule for rule in found}
    decisive = [rule for rule in by_thing.values() if rule.effect is not RuleEffect.IGNORE]
    ignored = [rule for rule in by_thing.values() if rule.effect is RuleEffect.IGNORE]
    return Matches(tuple(sorted(_nearest(decisive))), tuple(sorted(ignored)))


def _nearest(rules: Sequence[Rule]) -> Iterator[Rule]:
    """Yield the rules, but of those about the sender only the nearest: a longer text is nearer."""
    of_sender = [rule for rule in rules if rule.thing in {RuleThing.SENDER, RuleThing.DOMAIN}]
    yield from (rule for rule in rules if rule not in of_sender)
    if of_sender:
        yield max(of_sender, key=lambda rule: (rule.thing is RuleThing.SENDER, len(rule.text)))


class _Mail:
    """What rules look up in a message, each read on first use."""

    def __init__(self, message: Prepared) -> None:
        self._prepared = message
        self._message: Message = message.message
        self.domain = ascii_domain(message.sender)

    @cached_property
    def address(self) -> str:
        return sender_address(self._message.header("From"))

    @cached_property
    def mailing_list(self) -> str:
        return list_id(self._message.header("List-Id"))

    @cached_property
    def subject(self) -> list[bytes]:
        return words_of(folded_value(self._message.header("Subject")).encode())

    @cached_property
    def text(self) -> list[bytes]:
        return words_of(Sections(self._message).text.folded)

    @cached_property
    def words(self) -> Numbers:
        return self._of_kind(_WORD)

    @cached_property
    def headers(self) -> Numbers:
        return self._of_kind(_HEADER)

    def _of_kind(self, kind: int) -> Numbers:
        buckets, offsets = self._prepared.features.buckets, self._prepared.features.offsets
        return buckets[offsets[kind] : offsets[kind + 1]]

    def values(self, name: str) -> list[str]:
        """Return the values of the headers of a name, folded as rules are."""
        return [folded_value(header.value) for header in self._message.headers if header.name.lower() == name]


class _Index:
    """The rules of one user, or those for everyone, by what is looked up."""

    def __init__(self, rules: Iterable[Rule], spec: Spec) -> None:
        by_thing: dict[RuleThing, dict[str, Rule]] = {thing: {} for thing in RuleThing}
        for rule in rules:
            by_thing[rule.thing][rule.text] = rule
        self._senders = by_thing[RuleThing.SENDER]
        self._sender_domains = {address.rpartition("@")[2] for address in self._senders}
        self._domains = by_thing[RuleThing.DOMAIN]
        self._lists = by_thing[RuleThing.LIST]
        phrases = [*by_thing[RuleThing.PHRASE].values(), *by_thing[RuleThing.WORD].values()]
        self._phrases = _Phrases(phrases, spec) if phrases else None
        headers = by_thing[RuleThing.HEADER].values()
        self._headers = [(rule, *_header_parts(rule)) for rule in headers]
        self._header_buckets = {_header_bucket(name, spec.bits) for _, name, _ in self._headers}
        self._sees_headers = "header" in spec.kinds

    def match(self, mail: _Mail) -> list[Rule]:
        """Return the rules that a message matches; a rule may come twice."""
        found = []
        if mail.domain in self._sender_domains and (rule := self._senders.get(mail.address)):
            found.append(rule)
        if self._domains:
            found += [self._domains[domain] for domain in _with_parents(mail.domain) if domain in self._domains]
        if self._lists and (rule := self._lists.get(mail.mailing_list)):
            found.append(rule)
        if self._phrases:
            found += self._phrases.match(mail)
        if self._headers and not (self._sees_headers and self._header_buckets.isdisjoint(mail.headers)):
            found += [rule for rule, name, value in self._headers if any(value in text for text in mail.values(name))]
        return found


def _with_parents(domain: str) -> Iterator[str]:
    """Yield a domain and its parents.

    >>> list(_with_parents("news.mail.example"))
    ['news.mail.example', 'mail.example', 'example']
    """
    while domain:
        yield domain
        domain = domain.partition(".")[2]


class _Phrases:
    """Rules about words and phrases."""

    def __init__(self, rules: Sequence[Rule], spec: Spec) -> None:
        self._rules: dict[tuple[bytes, ...], list[Rule]] = defaultdict(list)
        for rule in rules:
            if words := tuple(words_of(rule.text.encode())):  # none only in a row that is damaged
                self._rules[words].append(rule)
        lengths: dict[bytes, set[int]] = defaultdict(set)
        self._first_buckets: set[int] = set()
        self._buckets: list[frozenset[int]] = []
        for words in self._rules:
            lengths[words[0]].add(len(words))
            buckets = [_buckets(Tokens(word, False), _WORD, spec.bits) for word in words]
            self._first_buckets |= buckets[0]
            self._buckets.append(frozenset().union(*buckets))
        self._lengths = {word: tuple(sorted(of_word)) for word, of_word in lengths.items()}
        self._sees_words = "word" in spec.kinds

    def match(self, mail: _Mail) -> Iterator[Rule]:
        """Yield the rules whose words are in a row in the subject or in the text."""
        yield from self._found_in(mail.subject)
        if self._sees_words:
            if self._first_buckets.isdisjoint(mail.words):
                return
            words = frozenset(mail.words)
            if not any(buckets <= words for buckets in self._buckets):
                return
        yield from self._found_in(mail.text)

    def _found_in(self, words: list[bytes]) -> Iterator[Rule]:
        for i, word in enumerate(words):
            for length in self._lengths.get(word, ()):
                yield from self._rules.get(tuple(words[i : i + length]), ())


def _header_parts(rule: Rule) -> tuple[str, str]:
    """Return the name and the text of a rule about a header."""
    name, _, value = rule.text.partition(": ")
    return name, value


def _header_bucket(name: str, bits: int) -> int:
    """Return the bucket that the name of a header has."""
    (bucket,) = _buckets(Tokens(f"{name}:".encode(), True), _HEADER, bits)
    return bucket


def _buckets(tokens: Tokens, kind: int, bits: int) -> frozenset[int]:
    """Return the buckets that features of a kind have for words."""
    keys = Keys(bits)
    keys.begin(kind, kind_seed(KINDS[kind].encode()))
    keys.runs(tokens, 1)
    return frozenset(keys.distinct(len(KINDS))[0])
