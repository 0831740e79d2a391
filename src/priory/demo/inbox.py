"""Draws an inbox: first the label of a message, then each of its parts given the label.

    y ~ P(y),   x_1 ~ P(x_1 | y),   x_2 ~ P(x_2 | y), ...

where x is the language, the topic or campaign, the sender, the words, the form, the charset, the encoding and the
route. The tables are in `phrases` and `people`. The model is known, and so is the best that any filter can do. That
best is not perfect, because some letters are drawn from tables that the two labels almost share.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from math import log
from random import Random

from priory.demo.campaigns import Campaigns, disguise_draft, innocent_words, salad
from priory.demo.draft import Draft, Plan, bodies, draft, files, paragraphs
from priory.demo.grammar import between, fill, odds, pick, sentence
from priory.demo.letter import Letter, compose
from priory.demo.people import (
    ENTRY,
    FIRMS,
    HOME,
    LISTS,
    MAILER,
    Person,
    acquaintances,
    entry,
    fixed_address,
    message_id,
    person,
    received_lines,
    stranger,
)
from priory.demo.phrases import ENGLISH_HAM, HAM, LANGUAGE
from priory.demo.phrases.ambiguous import SENTENCE, SHORT, SUBJECT
from priory.demo.threads import Threads, answer
from priory.demo.topic import COMMON, Topic

START = datetime(2025, 1, 6, 6, tzinfo=UTC)
MEAN_GAP_SECONDS = 90.0
AMBIGUOUS_SHARE = 0.03
NAMED_SHARE = {"ham": 0.8, "spam": 0.4}  # of messages that call the reader by name in To
SCHEME = {"ham": odds(("https", 92), ("http", 8)), "spam": odds(("https", 60), ("http", 40))}
ROLES = ("orders", "news", "hello", "noreply", "service", "info")
BORROWED = innocent_words(ENGLISH_HAM)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A message and the label it was drawn from."""

    raw: bytes
    label: str


class Inbox:
    """One reader's inbox while it fills: the reader's acquaintances, the threads and campaigns, and the time."""

    def __init__(self, rng: Random) -> None:
        """Draw the reader and the reader's acquaintances."""
        self.rng = rng
        self.now = START
        self.serial = 0
        self.reader = person("english", HOME, rng)
        self.acquaintances = acquaintances(rng)
        self.campaigns = Campaigns(START)
        self.threads = Threads()

    def message(self, label: str) -> bytes:
        """Draw the next message, given its label."""
        self.now += timedelta(seconds=-MEAN_GAP_SECONDS * log(1.0 - self.rng.random()))
        self.serial += 1
        plan = self.plan(label)
        letter = self.letter(plan)
        if label == "ham" and plan.topic.circle in (*self.acquaintances, "list"):
            self.threads.keep(plan, letter)
        return compose(letter)

    def plan(self, label: str) -> Plan:
        """Draw topic, sender and words, given the label."""
        if self.rng.random() < AMBIGUOUS_SHARE:
            return self.short(label)
        language = LANGUAGE.draw(self.rng)
        return self.ham(language) if label == "ham" else self.spam(language)

    def short(self, label: str) -> Plan:
        """Draw a short letter from a stranger, which is almost the same for both labels."""
        rng, sender = self.rng, stranger("english", self.rng)
        lines = [sentence(SENTENCE[label].draw(rng), COMMON, rng) for _ in range(between(1, 3, rng))]
        words = Draft(fill(SUBJECT[label].draw(rng), COMMON, rng), tuple(paragraphs(lines, rng)), sender.first_name)
        return Plan("ham", "english", SHORT, sender, words)

    def ham(self, language: str) -> Plan:
        """Draw a letter on a ham topic, perhaps an answer to an earlier letter."""
        topic = HAM[language].draw(self.rng)
        sender = self.sender(topic, language)
        earlier = self.threads.draw(topic, sender, self.rng)
        signature = pick((sender.first_name, sender.name), self.rng) if topic.is_signed else ""
        values = self.values(sender.name, sender.domain, "ham") | (dict(earlier.settled) if earlier else {})
        words = draft(topic, values, signature, self.rng)
        plan = Plan("ham", language, topic, sender, words, self.headers(topic, sender))
        return answer(plan, earlier) if earlier else plan

    def spam(self, language: str) -> Plan:
        """Draw the next message of a running wave."""
        wave = self.campaigns.draw(language, self.now, self.rng)
        sender = wave.sender(self.rng)
        signature = pick((sender.name, wave.brand), self.rng) if wave.topic.is_signed else ""
        words = draft(wave.topic, self.values(wave.brand, wave.site, "spam"), signature, self.rng)
        words = disguise_draft(words, wave.trick, self.rng)
        if self.rng.random() < wave.salad_share:
            words = replace(words, tail=salad(BORROWED, self.rng))
        return Plan(wave.manner, language, wave.topic, sender, words)

    def sender(self, topic: Topic, language: str) -> Person:
        """Draw the sender of a letter on a ham topic."""
        rng = self.rng
        if topic.circle in FIRMS:
            name, domain = pick(FIRMS[topic.circle], rng)
            role = "noreply" if topic.circle == "robot" else pick(ROLES, rng)
            return Person(name, f"{role}@{domain}", f"mail.{domain}")
        if topic.circle == "stranger":
            return stranger(language, rng)
        if topic.circle == "list":
            return replace(pick(self.acquaintances["work"], rng), host=pick(LISTS, rng))
        return pick(self.acquaintances[topic.circle], rng)

    def values(self, brand: str, site: str, label: str) -> dict[str, str]:
        """Return the slots that depend on sender and reader."""
        path = f"{pick(('a', 'go', 'view', 'news', 'account', 'o'), self.rng)}/{int(self.rng.random() * 0xFFFFFF):x}"
        url = f"{SCHEME[label].draw(self.rng)}://{pick(('www.', ''), self.rng)}{site}/{path}"
        return {"me": self.reader.first_name, "brand": brand, "site": site, "url": url}

    def headers(self, topic: Topic, sender: Person) -> tuple[tuple[str, str], ...]:
        """Return the header fields that a topic adds."""
        slots = {**COMMON, "site": (sender.domain,)}
        return tuple((name, fill(value, slots, self.rng)) for name, value in topic.headers)

    def letter(self, plan: Plan) -> Letter:
        """Draw the form, route and identifier of the planned message."""
        rng, sender = self.rng, plan.sender
        identifier = message_id(sender.host, self.serial, self.now)
        hop = entry(sender.host, ENTRY[plan.manner].draw(rng), rng)
        mailer = MAILER[plan.manner].draw(rng)
        return Letter(
            message_id=identifier,
            date=self.now.astimezone(timezone(timedelta(minutes=sender.zone_minutes))),
            sender=(sender.name, sender.address),
            recipient=self.recipient(plan),
            subject=plan.words.subject,
            trace=received_lines(hop, f"[{fixed_address(sender.address)}]", self.reader.address, self.serial, self.now),
            bodies=bodies(plan, identifier, self.now, rng),
            attachments=files(plan, rng),
            headers=plan.headers + ((("X-Mailer", mailer),) if mailer else ()),
            word_coding=pick(("B", "Q"), rng),
            boundary=f"{int(rng.random() * 0xFFFFFFFFFF):x}",
        )

    def recipient(self, plan: Plan) -> tuple[str, str]:
        """Draw the name and address in To."""
        if plan.topic.circle == "list":
            return "", f"dev@{LISTS[0]}"
        named = self.rng.random() < NAMED_SHARE[plan.manner]
        return self.reader.name if named else "", self.reader.address


def draw(n: int, seed: int = 0, spam_share: float = 0.5) -> Iterator[Drawn]:
    """Draw the first n messages of the inbox of this seed, lazily and in order of time.

    The same seed draws the same bytes. A longer inbox starts with the shorter one.

    >>> from email import message_from_bytes
    >>> for drawn in draw(3, seed=11):
    ...     print(drawn.label, "|", message_from_bytes(drawn.raw)["Subject"])
    ham | Your booking K23073 is confirmed
    spam | Your loan application 92525
    ham | Notes on the report
    """
    if n < 0 or not 0.0 <= spam_share <= 1.0:
        raise ValueError(f"cannot draw {n} messages with spam share {spam_share}: use n >= 0 and a share from 0 to 1")
    return _draw(n, Random(seed), spam_share)  # noqa: S311 a seeded inbox, not a secret


def _draw(n: int, rng: Random, spam_share: float) -> Iterator[Drawn]:
    """Draw the messages with this random generator."""
    inbox = Inbox(rng)
    for _ in range(n):
        label = "spam" if rng.random() < spam_share else "ham"
        yield Drawn(inbox.message(label), label)
