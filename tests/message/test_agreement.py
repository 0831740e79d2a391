"""On real mail the parser agrees with other parsers: `email` of Python on parts, lexbor (selectolax) on HTML."""

import email
import email.policy
import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from priory.features import KINDS, Spec, extract
from priory.message import mime, parse
from priory.message.charset import decode
from priory.message.html_scanner import Scan

WORD = re.compile(r"\w+")
# What a browser draws as a box of its own: words do not run across its edges.
BOXES = WORD.findall(
    """
    address area article aside audio base blockquote body br button canvas caption center col colgroup dd dir div dl dt
    embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html img input legend
    li link listing main map marquee menu meta nav noscript object ol optgroup option p param pre progress section
    select svg table tbody td textarea tfoot th thead title tr ul video xmp
    """
)


def mail(folder: Path, every: int = 1) -> Iterator[bytes]:
    for line in (folder / "index").read_text().splitlines()[::every]:
        yield (folder / line.split(maxsplit=1)[1]).read_bytes()


def parts(raw: bytes) -> list[mime.Part]:
    return mime.structure(raw, raw.find(b"\n") + 1 if raw.startswith(b"From ") else 0).parts


def plain_text(bodies: list[bytes]) -> list[bytes]:
    return [body.replace(b"\r\n", b"\n").rstrip(b"\n") for body in bodies]


@pytest.mark.corpora
@pytest.mark.parametrize("corpus", ["modern", "spamassassin"])
def test_plain_text_agrees_with_the_standard_library(corpora, corpus):
    """The rest are delivery reports: there `email` calls each block of a message/delivery-status a text/plain."""
    agree = differ = 0
    for raw in mail(corpora / corpus):
        message = email.message_from_bytes(raw, policy=email.policy.compat32)
        if any(part.defects for part in message.walk()):
            continue
        leaves = [part for part in message.walk() if not part.is_multipart()]
        theirs = [part.get_payload(decode=True) for part in leaves if part.get_content_type() == "text/plain"]
        ours = [mime.body(raw, part, 1 << 25)[0] for part in parts(raw) if part.content_type == "text/plain"]
        same = plain_text(theirs) == plain_text(ours)
        agree, differ = agree + same, differ + (not same)
    assert agree > 2_400
    assert agree / (agree + differ) > 0.999


def words_of_a_browser(text: str) -> set[str]:
    tree = LexborHTMLParser(text)
    for node in tree.css("script, style, iframe, noframes, noembed"):
        node.decompose()
    pieces: list[str] = []
    waiting = [tree.root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif node.tag == "-text":
            pieces.append(node.text_content or "")
        elif node.tag != "-comment":
            edge = [" "] if node.tag in BOXES else []
            waiting += [*edge, *reversed(list(node.iter(include_text=True))), *edge]
    return set(WORD.findall("".join(pieces)))


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("corpus", "every", "share"), [("modern", 1, 0.998), ("spamassassin", 1, 0.9995), ("trec07p/full", 8, 0.9999)]
)
def test_visible_words_agree_with_a_browsers_parser(corpora, corpus, every, share):
    """Measured: 0.99856, 0.99982 and 0.99999.

    Nearly all that differs is shown by us and not by a browser: what follows a tag or quote that is never closed, what
    stands in a <template>, and what stands beside a <frameset>.
    """
    common = either = 0
    for raw in mail(corpora / corpus, every):
        for part in parts(raw):
            if part.content_type == "text/html":
                text = decode(mime.body(raw, part, 200_000)[0], part.parameters.get("charset"))[0].replace("\0", " ")
                visible = Scan(text.encode("utf-8", "replace"), 0).visible.decode("utf-8", "replace")
                ours, theirs = set(WORD.findall(html.unescape(visible))), words_of_a_browser(text)
                common, either = common + len(ours & theirs), either + len(ours | theirs)
    assert either > 200_000
    assert common / either > share


@pytest.mark.corpora
def test_every_modern_message_gives_features(corpora):
    for raw in mail(corpora / "modern"):
        features = extract(parse(raw), Spec(kinds=frozenset(KINDS)))
        assert len(features) > 100
