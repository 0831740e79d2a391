"""The markup of an explanation shows the exact text of any message, and sums that add up."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from priory.decision import Costs
from priory.demo import draw
from priory.filter.explanation import ColouredPiece, ColouredSection, Explanation, round_to_sum
from priory.filter.explanation_page import MOST_SPANS, explained, page
from priory.filter.explanation_sums import scale
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.verdict import digits
from priory.html.builder import exact

HOSTILE = st.sampled_from(
    "<>&\"'\0\r\n\t\x1b\x7f\x80\x9f\u00ad\u00a0\u200b\u200d\u202e\u2066\u2069\ufeff\ufffe\U000e0001аe"
)
UNHOLDABLE = dict.fromkeys([0, *range(0xD800, 0xE000)], "\ufffd")


def text_of(html: str, selector: str) -> str:
    """Return the textContent that a browser gives an element: lexbor parses by the HTML standard."""
    (found,) = LexborHTMLParser(html).css(selector)
    return found.text(deep=True)


@settings(max_examples=300)
@given(st.text(HOSTILE | st.characters(), max_size=60))
def test_a_parser_finds_the_text_that_was_written(text: str):
    written = f"<!doctype html><meta charset=utf-8><pre>\n{exact(text)}</pre>"
    assert text_of(written, "pre") == text.translate(UNHOLDABLE)
    tree = LexborHTMLParser(written)
    assert {each.tag for each in tree.css("pre *")} <= {"bdi"}


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=12))
def test_what_is_shown_adds_up_and_is_off_by_less_than_a_digit(values: list[float]):
    total = float(np.sum(values))
    prior, *others = values
    shown = round_to_sum(prior, others, total)
    assert shown[0] == f"{prior:+.3f}".replace("-0.000", "+0.000")
    assert sum(map(Decimal, shown)) == Decimal(f"{total:.3f}")
    assert all(abs(float(each) - value) <= 0.001 for each, value in zip(shown, values, strict=True))


def explanation_of(folder: Path, raw: bytes, costs: Costs | None = None) -> Explanation:
    with Filter.open(folder, Options(costs or Costs())) as filter_:
        for drawn in draw(40, seed=9):
            filter_.learn(drawn.raw, drawn.label)
        return filter_.explain(raw)


def test_the_whole_message_is_there_however_many_colours_it_would_take(tmp_path: Path):
    explanation = explanation_of(tmp_path, b"Subject: <b>x\n\nlunch")
    n = MOST_SPANS + 10
    section = ColouredSection("text", (ColouredPiece("a", 1e-3), ColouredPiece("b", -1e-3)) * n)
    html = "".join(explained(replace(explanation, sections=(section,))))
    assert text_of(html, "pre") == section.text
    (pre,) = LexborHTMLParser(html).css("pre")
    assert len(pre.css("span")) == MOST_SPANS
    assert f"Only the first {MOST_SPANS:,} pieces are coloured" in html


@pytest.fixture(scope="module")
def taught(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filter]:
    with Filter.open(shutil.copytree(lessons, tmp_path_factory.mktemp("explained") / "home")) as filter_:
        yield filter_


@settings(max_examples=60, deadline=None)
@given(body=st.text(HOSTILE | st.characters(codec="utf-8"), max_size=80))
def test_every_section_of_a_page_is_the_text_that_the_filter_reads(taught: Filter, body: str):
    raw = b"From: <svg onload=x>@x.example\nContent-Type: text/html; charset=utf-8\n\n<p>" + body.encode()
    explanation = taught.explain(raw)
    html = page(explanation)
    for section in explanation.sections:
        if section.text.strip():
            shown = text_of(html, f'section[data-section="{section.name}"] pre')
            assert shown == section.text.translate(UNHOLDABLE)


def test_the_scale_says_in_words_where_a_probability_stands(tmp_path: Path):
    verdict = explanation_of(tmp_path, b"Subject: lunch\n\n").verdict
    svg = LexborHTMLParser(scale(verdict, before=0.5)).css_first("svg")
    assert svg.attributes["aria-label"] == (
        f"Probability of spam: {digits(verdict.probability)}; before, it was 0.5000. "
        "Verdicts: ham from 0.00, unsure from 0.40, spam from 0.96."
    )
    assert [each.attributes["data-marker"] for each in svg.css("svg[data-marker]")] == ["before", "now"]
    assert svg.css_first('[data-marker="before"]').attributes["x"] == "50.00%"


def test_with_three_labels_the_scale_is_of_the_one_it_is_about(tmp_path: Path):
    three = Costs(("ham", "spam", "news"), ((0, 10, 3), (100, 0, 50), (20, 5, 0)))
    explanation = explanation_of(tmp_path, b"Subject: lunch\n\n", three)
    assert f"Probability of {explanation.verdict.about}" in scale(explanation.verdict, None)
    assert "log-odds" in page(explanation)


def test_words_of_the_message_are_emphasised_where_the_sentence_quotes_them(tmp_path: Path):
    with Filter.open(tmp_path) as filter_:
        for i in range(20):
            filter_.learn(b"Subject: %d\n\nspam\n" % i, "spam")
            filter_.learn(b"Subject: %d\n\nlunch\n" % i, "ham")
        explanation = filter_.explain(b"Subject: 30\n\nspam\n")
    assert re.search(r" spam[) ].*: .*“spam”", explanation.verdict.sentence)
    sentence = LexborHTMLParser(page(explanation)).css_first(".sentence")
    assert sentence.text() == explanation.verdict.sentence
    assert "it says “<b>spam</b>”" in sentence.html
    assert sentence.html.count("<b>spam</b>") == 1
