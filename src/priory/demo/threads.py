"""Conversations: drawn letters are kept for a while, and some later letters answer them."""

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import format_datetime
from random import Random

from priory.demo.draft import Plan, plain_text
from priory.demo.grammar import pick
from priory.demo.letter import Letter
from priory.demo.people import Person
from priory.demo.topic import Topic

REPLY_SHARE = 0.35
KEPT_LETTERS = 12  # of each topic
QUOTED_LINES = 14
KEPT_REFERENCES = 8  # identifiers a reply repeats of its thread

INTRODUCTIONS = {
    "english": "On {date}, {name} wrote:",
    "german": "Am {date} schrieb {name}:",
    "french": "Le {date}, {name} a écrit :",
    "spanish": "El {date}, {name} escribió:",
    "russian": "{date}, {name} пишет:",
    "japanese": "{date}、{name}のメール:",
    "chinese": "{date}，{name}写道：",
}


@dataclass(frozen=True, slots=True)
class Earlier:
    """A letter that may be answered."""

    message_id: str
    references: tuple[str, ...]
    subject: str
    text: str
    name: str
    date: str
    settled: Mapping[str, str]


class Threads:
    """The recent letters of acquaintances."""

    def __init__(self) -> None:
        """Start without letters."""
        self.fresh: dict[str, deque[Earlier]] = defaultdict(lambda: deque(maxlen=KEPT_LETTERS))

    def keep(self, plan: Plan, letter: Letter) -> None:
        """Keep a letter, so that a later one may answer it. Calendar invitations are not kept."""
        if letter.bodies[-1].subtype == "calendar":
            return
        earlier = Earlier(
            message_id=letter.message_id,
            references=tuple(dict(letter.headers).get("References", "").split()),
            subject=letter.subject,
            text="\n".join(plain_text(plan.words).rstrip().split("\n")[:QUOTED_LINES]),
            name=plan.sender.name,
            date=format_datetime(letter.date),
            settled=plan.words.settled,
        )
        self.fresh[plan.topic.name].append(earlier)

    def draw(self, topic: Topic, sender: Person, rng: Random) -> Earlier | None:
        """Draw the letter that the sender answers, if any: one on the same topic by another person."""
        others = [earlier for earlier in self.fresh[topic.name] if earlier.name != sender.name]
        return pick(others, rng) if others and rng.random() < REPLY_SHARE else None


def answer(plan: Plan, earlier: Earlier) -> Plan:
    """Turn the plan into an answer: with the earlier subject, the quoted text and the reference headers."""
    introduction = INTRODUCTIONS[plan.language].format(date=earlier.date, name=earlier.name)
    subject = earlier.subject if earlier.subject.startswith("Re: ") else f"Re: {earlier.subject}"
    words = replace(plan.words, subject=subject, quoted=f"{introduction}\n{earlier.text}")
    chain = (*earlier.references[-KEPT_REFERENCES:], earlier.message_id)
    references = (("In-Reply-To", earlier.message_id), ("References", "\n ".join(chain)))
    return replace(plan, words=words, headers=references + plan.headers)
