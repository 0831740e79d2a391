"""Scan HTML and plain text: tags, links, entities, invisible characters, white space and case."""

from engine import run

from priory.features.folding import squeeze
from priory.features.hashing import Keys, Tokens
from priory.features.sections import section
from priory.message.entities import unescape_entities
from priory.message.html_scanner import Scan
from priory.message.plain_text import plain_links, without_invisible
from priory.message.transfer import base64_bytes


def fuzz_html(data: bytes) -> None:
    """Pass a text through all scanners of text."""
    scan = Scan(data, 200)
    keys = Keys(12)
    for text in (data, scan.visible, scan.skeleton, unescape_entities(data), without_invisible(data)):
        plain_links(text)
        part = section("text", squeeze(text, 500), 400)
        for tagged in (False, True):
            tokens = Tokens(part.folded, tagged)
            keys.runs(tokens, 2)
        keys.grams(part.shown, 300, 6, 2)
        keys.tags(text, 300)
        keys.domains(text, 0, len(text))
    keys.distinct(1)
    base64_bytes(data)


if __name__ == "__main__":
    run(fuzz_html)
