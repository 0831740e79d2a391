"""Draw the words of a letter from its topic, and show them as plain text and as HTML.

The recipe of the generative model, one line each: the subject given the topic, the number of sentences, which
sentences, the words in their slots, greeting, link and closing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from random import Random

from .grammar import Slots, between, fill, odds, pick, sentence, subset
from .topic import Topic, vocabulary

WIDTH = 74  # characters in a line of plain text

PARAGRAPH_SENTENCES = odds((1, 3), (2, 4), (3, 3))


@dataclass(frozen=True, slots=True)
class Link:
    """A link as the reader sees it and where it leads."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Draft:
    """The words of a letter before they are put into a form."""

    subject: str
    paragraphs: tuple[str, ...]
    closing: str = ""
    link: Link | None = None
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


def link(topic: Topic, slots: Slots, url: str, rng: Random) -> Link | None:
    """Draw whether the letter has a link and what is seen of it."""
    if not topic.links or rng.random() >= topic.link_share:
        return None
    return Link(fill(pick(topic.links, rng), slots, rng), url)


def paragraphs(sentences: list[str], rng: Random) -> list[str]:
    """Group the sentences by one to three."""
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


def plain(letter: Draft) -> str:
    """Show the letter as a plain text part."""
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


def marked_up(letter: Draft, dress: str) -> str:
    """Show the letter as an HTML part, in one of the DRESSES."""
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
    """Write the text for HTML, its line breaks included."""
    return escape(text, quote=False).replace("\n", "<br>\n")


# How HTML mail looks: the opening, one paragraph, one link, the closing. Letters and flyers wear each other's.
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
