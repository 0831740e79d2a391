"""The form a letter takes: text or HTML or both, its charset, its transfer encoding, the files with it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from .attachments import Attachment, attachment, calendar
from .compose import Body, fitting
from .draft import DRESS, Draft, marked_up, plain
from .grammar import Categorical, between, entries, odds, pick
from .people import FIRMS, Person
from .topic import Topic

# Transfer encodings, given the manner and what the text needs.
CODING: Mapping[tuple[str, str], Categorical[str]] = {
    ("ham", "7bit"): odds(("7bit", 80), ("quoted-printable", 14), ("base64", 6)),
    ("spam", "7bit"): odds(("7bit", 70), ("quoted-printable", 16), ("base64", 14)),
    ("ham", "8bit"): odds(("8bit", 25), ("quoted-printable", 50), ("base64", 25)),
    ("spam", "8bit"): odds(("8bit", 25), ("quoted-printable", 35), ("base64", 40)),
}
STEMS = {
    "english": entries("invoice|scan|document|notes|order|report|statement|agenda|photos|contract"),
    "german": entries("Rechnung|Übersicht|Anhang|Entwürfe"),
    "french": entries("facture|pièce-jointe|relevé|résumé"),
    "spanish": entries("factura|informe|reunión|contraseña"),
    "russian": entries("счёт|документ|отчёт"),
    "japanese": entries("請求書|資料|写真"),
    "chinese": entries("发票|合同|报告"),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is drawn of a message before it takes its form."""

    manner: str  # whose habits its form and route follow: those of ham or of spam
    language: str
    topic: Topic
    sender: Person
    words: Draft
    headers: tuple[tuple[str, str], ...] = ()


def typographic(text: str) -> str:
    """Set the text as a word processor does, with curved apostrophes and long dashes.

    >>> typographic("Grandpa's watch")
    'Grandpa’s watch'
    """
    return text.replace("'", "’").replace(" - ", " – ")


def coding(text: str, charset: str, manner: str, rng: Random) -> str:
    """Draw the transfer encoding of a text part."""
    need = "7bit" if charset == "iso-2022-jp" or text.isascii() else "8bit"
    return CODING[manner, need].draw(rng)


def body(text: str, subtype: str, charset: str, manner: str, rng: Random) -> Body:
    """Make a text part in the charset, or in UTF-8 where that cannot hold it."""
    settled = fitting(charset, text)
    return Body(text, subtype, settled, coding(text, settled, manner, rng))


def bodies(plan: Plan, identifier: str, now: datetime, rng: Random) -> tuple[Body, ...]:
    """Write the text of the letter, once or in alternatives."""
    shape, charset = plan.topic.shapes.draw(rng), plan.topic.charsets.draw(rng)
    words = plan.words
    if charset == "windows-1252":
        words = replace(words, paragraphs=tuple(typographic(part) for part in words.paragraphs))
    texts = []
    if shape != "html":
        texts.append((plain(words), "plain"))
    if shape in ("html", "alternative"):
        dress = "bulk" if plan.topic.circle in FIRMS else plan.manner
        texts.append((marked_up(words, DRESS[dress].draw(rng)), "html"))
    if shape == "calendar":
        when = now + timedelta(hours=between(20, 200, rng))
        texts.append((calendar(words.subject, plan.sender.address, identifier, when), "calendar"))
    return tuple(body(text, subtype, charset, plan.manner, rng) for text, subtype in texts)


def files(plan: Plan, rng: Random) -> tuple[Attachment, ...]:
    """Make the attachment of the letter, if it has one."""
    kind = plan.topic.attachments.draw(rng)
    if not kind:
        return ()
    stem = f"{pick(STEMS[plan.language], rng)}-{between(100, 9999, rng)}"
    return (attachment(kind, stem, "\n".join(plan.words.paragraphs), rng),)
