"""Spam campaigns and their tricks against filters.

Spam comes in waves: a campaign starts, sends from its own hosts in its own disguise, and stops. A few waves run at any
time. When one ends, another starts, with new hosts and a topic that has made its debut and is not running. A filter
that only remembers hosts and names therefore has to learn again. Disguises are digits for letters, spaced words,
invisible characters and borrowed words.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import log
from random import Random

from priory.demo.draft import Draft
from priory.demo.grammar import between, odds, pick
from priory.demo.people import Person, invented_domain, stranger
from priory.demo.phrases import SPAM
from priory.demo.topic import Topic

LOOKALIKE = str.maketrans({"o": "0", "i": "1", "e": "3", "a": "@", "s": "5", "l": "1"})
CYRILLIC = str.maketrans({"a": "а", "e": "е", "o": "о", "c": "с", "p": "р"})
ZERO_WIDTH = ("\u200b", "\u200c", "\u2060")
WORD = re.compile(r"[A-Za-z]{5,}")
TOUCHED_SHARE = 0.35  # share of the long words that a disguise changes


def leet(word: str, rng: Random) -> str:
    """Replace letters by digits and signs that look alike: loans, l0@n5."""
    place = between(1, len(word) - 1, rng)
    return word[:place] + word[place:].translate(LOOKALIKE)


def space_out(word: str, rng: Random) -> str:
    """Put a sign between the letters: l-o-a-n-s."""
    return pick((" ", ".", "-", "_"), rng).join(word)


def zero_width(word: str, rng: Random) -> str:
    """Put an invisible character inside the word."""
    place = between(1, len(word) - 1, rng)
    return word[:place] + pick(ZERO_WIDTH, rng) + word[place:]


def homoglyph(word: str, rng: Random) -> str:
    """Replace some Latin letters by Cyrillic ones of the same shape."""
    place = between(0, len(word) - 1, rng)
    return word[:place] + word[place:].translate(CYRILLIC)


TRICKS: dict[str, Callable[[str, Random], str]] = {
    "leet": leet,
    "spaced": space_out,
    "zero_width": zero_width,
    "homoglyph": homoglyph,
}
TRICK = odds(("", 62), ("leet", 14), ("zero_width", 10), ("spaced", 7), ("homoglyph", 7))


def disguise(text: str, trick: str, rng: Random) -> str:
    """Apply the trick to some of the long words.

    >>> disguise("Personal loans without questions", "leet", Random(39))
    'Per50n@1 lo@n5 without questions'
    """
    play = TRICKS[trick]

    def touch(word: re.Match[str]) -> str:
        return play(word[0], rng) if rng.random() < TOUCHED_SHARE else word[0]

    return WORD.sub(touch, text)


def disguise_draft(letter: Draft, trick: str, rng: Random) -> Draft:
    """Apply the trick to subject and body, but not to a link, which has to work."""
    if not trick:
        return letter
    return replace(
        letter,
        subject=disguise(letter.subject, trick, rng),
        paragraphs=tuple(disguise(part, trick, rng) for part in letter.paragraphs),
    )


def innocent_words(topics: Sequence[Topic]) -> tuple[str, ...]:
    """Return the distinct words of the topics' sentences in alphabetical order, as ingredients of a salad."""
    words = {word.lower() for topic in topics for template in topic.sentences for word in WORD.findall(template)}
    return tuple(sorted(words))


def salad(words: Sequence[str], rng: Random) -> str:
    """Mix innocent words, and add a number that makes each copy differ (a hash buster)."""
    mixed = (pick(words, rng) for _ in range(between(12, 50, rng)))
    return f"{' '.join(mixed)} {int(rng.random() * 0xFFFFFFFF):x}"


MEAN_HOURS = 9.0
RUNNING = {language: 5 if language == "english" else 1 for language in SPAM}  # waves at the same time

FREEMAIL_SHARE = odds((0.0, 40), (0.15, 35), (0.9, 25))
SALAD_SHARE = odds((0.0, 55), (0.3, 25), (0.9, 20))
ROLES = ("info", "office", "news", "sales", "noreply", "support", "mail", "admin", "contact")
ZONES = (-480, -300, 0, 0, 60, 120, 180, 330, 480)


@dataclass(frozen=True, slots=True)
class Wave:
    """One run of a campaign, with its hosts and its disguise."""

    topic: Topic
    language: str
    ends: datetime
    brand: str
    site: str  # where its links lead
    hosts: tuple[str, ...]
    trick: str
    salad_share: float
    freemail_share: float

    @property
    def manner(self) -> str:
        """The label whose habits the wave follows: a wave from free mail hosts looks like ham."""
        return "ham" if self.freemail_share > 0.5 else "spam"

    def sender(self, rng: Random) -> Person:
        """Draw the sender that the next message of the wave claims."""
        person = stranger(self.language, rng)
        if rng.random() < self.freemail_share:
            return person
        host = pick(self.hosts, rng)
        local = pick((*ROLES, person.address.split("@")[0]), rng)
        name = pick((self.brand, self.brand, person.name, ""), rng)
        return Person(name, f"{local}@{host}", f"{pick(('mail', 'mx', 'a', 'srv'), rng)}.{host}", pick(ZONES, rng))


def wave(topic: Topic, language: str, now: datetime, rng: Random) -> Wave:
    """Start a wave of the campaign."""
    hours = -MEAN_HOURS * log(1.0 - rng.random())
    return Wave(
        topic=topic,
        language=language,
        ends=now + timedelta(hours=hours),
        brand=pick(topic.brands, rng),
        site=invented_domain(rng),
        hosts=tuple(invented_domain(rng) for _ in range(between(2, 12, rng))),
        trick=TRICK.draw(rng) if language == "english" else "",
        salad_share=SALAD_SHARE.draw(rng) if language == "english" else 0.0,
        freemail_share=FREEMAIL_SHARE.draw(rng),
    )


class Campaigns:
    """The waves that are running."""

    def __init__(self, start: datetime) -> None:
        """Start without waves; the first message starts one."""
        self.start = start
        self.running: dict[tuple[str, int], Wave] = {}

    def draw(self, language: str, now: datetime, rng: Random) -> Wave:
        """Draw the wave of the next spam message in this language."""
        place = language, between(1, RUNNING[language], rng)
        running = self.running.get(place)
        if running is None or running.ends <= now:
            self.running.pop(place, None)
            running = self.running[place] = wave(self.next_topic(language, now, rng), language, now, rng)
        return running

    def next_topic(self, language: str, now: datetime, rng: Random) -> Topic:
        """Draw a campaign that has made its debut and is not running, or any if all are running."""
        hours = (now - self.start) / timedelta(hours=1)
        busy = {running.topic for running in self.running.values()}
        ready = [topic for topic in SPAM[language] if topic.debut_hours <= hours]
        idle = [topic for topic in ready if topic not in busy] or ready
        return odds(*((topic, topic.weight) for topic in idle)).draw(rng)
