"""Topics of mail: the distributions from which the parts of a message are drawn, given its topic.

Every ham topic and every spam campaign is one `Topic` in a table of `phrases`. The code that draws contains no words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from priory.demo.grammar import Categorical, entries, odds

GREETINGS = ("Hi {me},", "Hello {me},", "Dear {me},", "{me},", "Hi,", "Hello,", "Good {morning|afternoon|evening},", "")
CLOSINGS = (
    "{Best|Kind|Warm} regards,",
    "{Thanks|Many thanks|Thank you},",
    "{Best|All the best|Cheers},",
    "{See you|Speak to you} soon,",
    "Yours,",
    "",
)
FORMAL = ("Dear {me},", "Dear {customer|reader|member|friend},", "Hello {me},", "Hello,", "")
TEAMS = ("{Your|The} {brand} {team|staff|desk}", "{brand}", "{Kind|Best} regards, {brand}", "")

LETTER = odds(("plain", 62), ("alternative", 30), ("html", 8))
NOTICE = odds(("plain", 25), ("alternative", 50), ("html", 25))
POSTER = odds(("html", 55), ("alternative", 45))
TERSE = odds(("plain", 95), ("alternative", 5))
FLYER = odds(("plain", 30), ("alternative", 30), ("html", 40))

ENGLISH = odds(("us-ascii", 45), ("utf-8", 38), ("iso-8859-1", 9), ("windows-1252", 8))
WESTERN = odds(("utf-8", 44), ("iso-8859-1", 32), ("windows-1252", 24))

BARE = odds(("", 1))

# Slots every topic may use; a topic's own slot of the same name goes first.
COMMON: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        name: entries(line)
        for name, line in {
            "d": "1|2|3|4|5|6|7|8|9",
            "day": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday",
            "month": "January|February|March|April|May|June|July|August|September|October|November|December",
            "time": "{d}:00|{d}:30|{d}:15|1{d}:45|1{d}:30|noon|half past {d}",
            "soon": "today|tomorrow|this week|by {day}|before {day}|as soon as you can|next week|tonight",
            "amount": "${d}{d}0|£{d}{d}|€{d}{d}.{d}0|{d},{d}{d}0 dollars|{d}{d}0 euros|${d},{d}00|EUR {d}{d}.{d}{d}",
            "fortune": "${d}{d}0,000|£{d}{d},000|€{d}.{d} million|{d}{d}0,000 dollars|USD {d},{d}00,000",
            "percent": "{d}%|{d}0%|1{d}%|2{d}%|{d}{d} percent",
            "ref": "{d}{d}{d}{d}{d}|{d}0{d}{d}{d}{d}|A{d}{d}{d}{d}|{d}{d}-{d}{d}{d}{d}|K{d}{d}0{d}{d}",
            "few": "two|three|four|five|six|seven|ten|twelve",
            "please": "please|could you|would you|if you can,|kindly",
            "town": "Aldermouth|Brackenford|Castlewick|Dunmere|Elmhaven|Fairlow|Greyport|Hollinside|Marshgate",
        }.items()
    }
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Topic:
    """The tables from which one kind of mail is drawn. `grammar` explains templates."""

    name: str
    weight: float  # how often, beside the other topics of its label and language
    subjects: tuple[str, ...]
    sentences: tuple[str, ...]  # a letter is some of them, in this order
    slots: Mapping[str, str] = field(default_factory=dict)
    settled: tuple[str, ...] = ()  # slots drawn once a letter, so that it keeps to its subject
    length: tuple[int, int] = (3, 6)  # in sentences
    greetings: tuple[str, ...] = GREETINGS
    closings: tuple[str, ...] = CLOSINGS
    links: tuple[str, ...] = ()  # what a reader sees of the link, if the mail has one
    link_share: float = 0.9  # of the topic's mail that has it
    shapes: Categorical[str] = LETTER
    charsets: Categorical[str] = ENGLISH
    attachments: Categorical[str] = BARE
    circle: str = "work"  # the senders: a circle of acquaintances, a kind of firm, robot, list or stranger
    headers: tuple[tuple[str, str], ...] = ()  # header fields beyond the usual ones
    brands: tuple[str, ...] = ()  # the names a campaign trades under
    debut_hours: float = 0.0  # a campaign appears no earlier than this after the inbox's first hour

    @property
    def is_signed(self) -> bool:
        """Whether a person's name follows the closing; a closing with the brand needs no signature."""
        return any(self.closings) and not any("{brand}" in closing for closing in self.closings)


@cache
def vocabulary(topic: Topic) -> Mapping[str, tuple[str, ...]]:
    """Return all slots of the topic, including the common ones."""
    return {**COMMON, **{name: entries(line) for name, line in topic.slots.items()}}
