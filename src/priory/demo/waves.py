"""Spam comes in waves: a campaign starts, sends from its own hosts in its own disguise, and stops.

A few waves run at any time. When one ends another takes its place, drawn from the campaigns that have made their debut
and are not running, with invented hosts. A filter that only remembers hosts and names therefore has to learn again.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import log
from random import Random

from .disguise import TRICK
from .grammar import between, odds, pick
from .people import Person, invented_domain, stranger
from .phrases import SPAM
from .topic import Topic

MEAN_HOURS = 9.0
RUNNING = {language: 5 if language == "english" else 1 for language in SPAM}  # waves at the same time

FREEMAIL_SHARE = odds((0.0, 40), (0.15, 35), (0.9, 25))
SALAD_SHARE = odds((0.0, 55), (0.3, 25), (0.9, 20))
ROLES = ("info", "office", "news", "sales", "noreply", "support", "mail", "admin", "contact")
ZONES = (-480, -300, 0, 0, 60, 120, 180, 330, 480)


@dataclass(frozen=True, slots=True)
class Wave:
    """One run of a campaign."""

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
        """Whose habits the wave has: one that leaves by free mail hosts looks like anybody's letters."""
        return "ham" if self.freemail_share > 0.5 else "spam"

    def sender(self, rng: Random) -> Person:
        """Draw who the next message of the wave says it is from."""
        somebody = stranger(self.language, rng)
        if rng.random() < self.freemail_share:
            return somebody
        host = pick(self.hosts, rng)
        local = pick((*ROLES, somebody.address.split("@")[0]), rng)
        name = pick((self.brand, self.brand, somebody.name, ""), rng)
        return Person(name, f"{local}@{host}", f"{pick(('mail', 'mx', 'a', 'srv'), rng)}.{host}", pick(ZONES, rng))


def wave(topic: Topic, language: str, now: datetime, rng: Random) -> Wave:
    """Start a run of the campaign."""
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
    """The waves that run, and when."""

    def __init__(self, start: datetime) -> None:
        """No wave runs before the first message is drawn."""
        self.start = start
        self.running: dict[tuple[str, int], Wave] = {}

    def draw(self, language: str, now: datetime, rng: Random) -> Wave:
        """Draw the wave the next spam message in that language belongs to."""
        place = language, between(1, RUNNING[language], rng)
        running = self.running.get(place)
        if running is None or running.ends <= now:
            self.running.pop(place, None)
            running = self.running[place] = wave(self.next_topic(language, now, rng), language, now, rng)
        return running

    def next_topic(self, language: str, now: datetime, rng: Random) -> Topic:
        """Draw a campaign that has made its debut and does not run already, unless all of them do."""
        hours = (now - self.start) / timedelta(hours=1)
        busy = {running.topic for running in self.running.values()}
        ready = [topic for topic in SPAM[language] if topic.debut_hours <= hours]
        idle = [topic for topic in ready if topic not in busy] or ready
        return odds(*((topic, topic.weight) for topic in idle)).draw(rng)
