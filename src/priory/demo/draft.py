"""Draws the words of a letter from its topic, and the form they take: text or HTML, charset, encoding, attachments.

The generative model draws, in this order: the number of sentences given the topic, which sentences, the words in their
slots, greeting, closing, subject and link; then shape, charset and transfer encoding.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from html import escape
from random import Random

from priory.demo.grammar import Categorical, Slots, between, entries, fill, odds, pick, sentence, subset
from priory.demo.letter import AttachedFile, Body, attachment, calendar, fitting_charset
from priory.demo.people import FIRMS, Person
from priory.demo.topic import Topic, vocabulary

WIDTH = 74  # characters in a line of plain text

PARAGRAPH_SENTENCES = odds((1, 3), (2, 4), (3, 3))


@dataclass(frozen=True, slots=True)
class DraftLink:
    """The visible text of a link and its target."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Draft:
    """The words of a letter before it takes a form."""

    subject: str
    paragraphs: tuple[str, ...]
    closing: str = ""
    link: DraftLink | None = None
    quoted: str = ""  # the earlier letter a reply quotes, with the line that introduces it
    tail: str = ""  # text meant for filters, not for readers
    settled: Mapping[str, str] = field(default_factory=dict)  # what the topic's settled slots were filled with


def draft(topic: Topic, values: Mapping[str, str], signature: str, rng: Random) -> Draft:
    """Draw a letter on the topic; values fill the slots that depend on sender and reader (me, brand, site, url)."""
    slots = {**vocabulary(topic), **{name: (value,) for name, value in values.items()}}
    for name in topic.settled:
        if name not in values:
            slots[name] = (fill(pick(slots[name], rng), slots, rng),)
    chosen = subset(topic.sentences, between(*topic.length, rng), rng)
    body = paragraphs([sentence(template, slots, rng) for template in chosen], rng)
    greeting = fill(pick(topic.greetings, rng), slots, rng)
    closing = fill(pick(topic.closings, rng), slots, rng)
    return Draft(
        subject=sentence(pick(topic.subjects, rng), slots, rng),
        paragraphs=(greeting, *body) if greeting else tuple(body),
        closing="\n".join(line for line in (closing, signature) if line),
        link=link(topic, slots, values["url"], rng),
        settled={name: slots[name][0] for name in topic.settled},
    )


def link(topic: Topic, slots: Slots, url: str, rng: Random) -> DraftLink | None:
    """Draw whether the letter has a link, and its visible text."""
    if not topic.links or rng.random() >= topic.link_share:
        return None
    return DraftLink(fill(pick(topic.links, rng), slots, rng), url)


def paragraphs(sentences: list[str], rng: Random) -> list[str]:
    """Group the sentences into paragraphs of one to three."""
    groups = []
    while sentences:
        size = PARAGRAPH_SENTENCES.draw(rng)
        groups.append(" ".join(sentences[:size]))
        sentences = sentences[size:]
    return groups


def wrap(paragraph: str) -> str:
    """Break the paragraph into lines of at most WIDTH characters, as far as its spaces allow."""
    lines: list[str] = []
    line = ""
    for word in paragraph.split(" "):
        if line and len(line) + len(word) >= WIDTH:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "\n".join((*lines, line))


def plain_text(letter: Draft) -> str:
    """Write the letter as plain text."""
    parts = [wrap(part) for part in letter.paragraphs]
    if letter.link:
        parts.append(f"{letter.link.text}:\n{letter.link.url}")
    if letter.closing:
        parts.append(letter.closing)
    if letter.quoted:
        introduction, *earlier = letter.quoted.split("\n")
        parts.append("\n".join((introduction, *(f"> {line}" for line in earlier))))
    if letter.tail:
        parts.append(wrap(letter.tail))
    return "\n\n".join(parts) + "\n"


def html_text(letter: Draft, dress: str) -> str:
    """Write the letter as HTML, in one of the DRESSES."""
    opening, paragraph, anchor, closing = DRESSES[dress]
    parts = [paragraph % lines(part) for part in letter.paragraphs]
    if letter.link:
        parts.append(anchor % (escape(letter.link.url), lines(letter.link.text)))
    if letter.closing:
        parts.append(paragraph % lines(letter.closing))
    if letter.quoted:
        introduction, _, earlier = letter.quoted.partition("\n")
        parts.append(f"<div>{lines(introduction)}</div>\n<blockquote>{lines(earlier)}</blockquote>")
    if letter.tail:
        parts.append(f'<div style="font-size:1px;color:#fefefe">{lines(letter.tail)}</div>')
    return "\n".join((opening, *parts, closing)) + "\n"


def lines(text: str) -> str:
    """Escape the text for HTML, and turn line ends into line breaks."""
    return escape(text, quote=False).replace("\n", "<br>\n")


# Styles of HTML mail: the opening, one paragraph, one link, the closing. Ham and spam use all of them.
DRESSES: Mapping[str, tuple[str, str, str, str]] = {
    "mailer": ('<div dir="ltr">', "<div>%s</div><div><br></div>", '<div><a href="%s">%s</a></div>', "</div>"),
    "page": ("<html><head><title></title></head><body>", "<p>%s</p>", '<p><a href="%s">%s</a></p>', "</body></html>"),
    "table": (
        '<html><body style="margin:0;background:#f4f4f0"><table width="600" align="center" cellpadding="12">',
        '<tr><td style="font-family:Georgia,serif;font-size:15px">%s</td></tr>',
        '<tr><td align="center"><a href="%s" style="background:#205080;color:#fff;padding:9px">%s</a></td></tr>',
        "</table></body></html>",
    ),
    "shout": (
        '<html><body bgcolor="#ffffff"><center>',
        '<p><font size="4" color="#102040"><b>%s</b></font></p>',
        '<p><font size="5"><a href="%s">%s</a></font></p>',
        "</center></body></html>",
    ),
}
DRESS = {
    "ham": odds(("mailer", 58), ("page", 38), ("table", 3), ("shout", 1)),
    "bulk": odds(("mailer", 4), ("page", 26), ("table", 62), ("shout", 8)),
    "spam": odds(("mailer", 25), ("page", 30), ("table", 20), ("shout", 25)),
}


# Transfer encodings, given the manner and the encoding that the text needs.
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
    """The topic, sender and words of a message before it takes its form."""

    manner: str  # the label whose habits its form and route follow: ham or spam
    language: str
    topic: Topic
    sender: Person
    words: Draft
    headers: tuple[tuple[str, str], ...] = ()


def typographic(text: str) -> str:
    """Use curved apostrophes and long dashes, as word processors do.

    >>> typographic("Grandpa's watch")
    'Grandpa’s watch'
    """
    return text.replace("'", "’").replace(" - ", " – ")


def coding(text: str, charset: str, manner: str, rng: Random) -> str:
    """Draw the transfer encoding of a text part."""
    need = "7bit" if charset == "iso-2022-jp" or text.isascii() else "8bit"
    return CODING[manner, need].draw(rng)


def body(text: str, subtype: str, charset: str, manner: str, rng: Random) -> Body:
    """Make a text part in the charset, or in UTF-8 if the charset cannot encode it."""
    possible = fitting_charset(charset, text)
    return Body(text, subtype, possible, coding(text, possible, manner, rng))


def bodies(plan: Plan, identifier: str, now: datetime, rng: Random) -> tuple[Body, ...]:
    """Write the text of the letter in one form or in alternative forms."""
    shape, charset = plan.topic.shapes.draw(rng), plan.topic.charsets.draw(rng)
    words = plan.words
    if charset == "windows-1252":
        words = replace(words, paragraphs=tuple(typographic(part) for part in words.paragraphs))
    texts = []
    if shape != "html":
        texts.append((plain_text(words), "plain"))
    if shape in ("html", "alternative"):
        dress = "bulk" if plan.topic.circle in FIRMS else plan.manner
        texts.append((html_text(words, DRESS[dress].draw(rng)), "html"))
    if shape == "calendar":
        when = now + timedelta(hours=between(20, 200, rng))
        texts.append((calendar(words.subject, plan.sender.address, identifier, when), "calendar"))
    return tuple(body(text, subtype, charset, plan.manner, rng) for text, subtype in texts)


def files(plan: Plan, rng: Random) -> tuple[AttachedFile, ...]:
    """Make the attachment of the letter, if it has one."""
    kind = plan.topic.attachments.draw(rng)
    if not kind:
        return ()
    stem = f"{pick(STEMS[plan.language], rng)}-{between(100, 9999, rng)}"
    return (attachment(kind, stem, "\n".join(plan.words.paragraphs), rng),)
