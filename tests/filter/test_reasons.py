"""Reasons name what a person can see, with the lessons that had it; the sentence is short and true."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from priory.decision import Costs
from priory.demo import draw
from priory.features import Spec
from priory.features.kinds import find
from priory.filter.facts import plain_fact
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.sentence import MOST
from priory.message import parse

LETTER = b"""From: Marta <marta@rankwell.example>
Subject: Proposal
Reply-To: office@elsewhere.example
Date: Mon, 02 Nov 2026 09:14:00 +0000

%b
"""
OFFER = LETTER % b"One hundred backlinks for you. See https://rb.example/go now."
LUNCH = b"From: ann@mail.example\nSubject: Lunch\nReceived: from mx3.mail.example by home\n\nLunch in the garden?"
THREE = Costs(("ham", "spam", "newsletter"), ((0, 10, 3), (100, 0, 50), (20, 5, 0)))


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filter]:
    with Filter.open(tmp_path_factory.mktemp("reasons")) as filter_:
        for drawn in draw(60, seed=3):
            filter_.learn(drawn.raw, drawn.label)
        for i in range(14):
            filter_.learn(OFFER + b"%d" % i, "spam")
            filter_.learn(LUNCH + b"%d" % i, "ham")
        yield filter_


def test_the_sentence_names_what_lessons_had_and_how_many(taught: Filter) -> None:
    spam = taught.check(OFFER)
    assert re.match(r"Almost certainly spam \((over )?[\d.]+ %\): ", spam.sentence)
    assert "14 spam and no ham" in spam.sentence or "14 spam, no ham" in spam.sentence
    ham = taught.check(LUNCH)
    assert re.match(r"(Almost certainly|Probably) wanted mail \((over )?[\d.]+ %\): ", ham.sentence)
    assert "14 ham" in ham.sentence
    assert spam.summary.named
    shown = " ".join(OFFER.decode().split())
    assert all(text in shown or text.startswith(("the ", "it ", "its ")) for text in spam.summary.named)


def test_counts_are_those_of_the_lessons(taught: Filter) -> None:
    reasons = {reason.group: reason for reason in taught.explain(OFFER).reasons if reason.share > 0}
    (backlinks,) = [item for item in reasons["text"].items if "backlinks" in item.text]
    assert backlinks.counts == (0, 14)
    (link,) = reasons["links"].items
    assert (link.text, link.counts, link.known) == ("rb.example/go", (0, 14), "rb.example")
    facts = {item.text: item.counts for item in reasons["fact"].items}
    assert facts["the reply address differs from the sender"][1] >= 14
    subject = reasons["subject"].items[0]
    assert (subject.text, subject.known) == ("Subject: Proposal", "Proposal")


def test_a_verdict_can_be_explained_after_later_lessons_and_after_closing(tmp_path: Path) -> None:
    with Filter.open(tmp_path) as filter_:
        for i in range(3):
            filter_.learn(OFFER + b"%d" % i, "spam")
            filter_.learn(LUNCH + b"%d" % i, "ham")
        before, after = filter_.check(OFFER), filter_.check(OFFER, located=True)
        assert before.to_json() == after.to_json()
        filter_.forget(OFFER + b"0")
        filter_.rebuild()
        late = filter_.check(OFFER, located=True)
        shares = [reason.share for reason in after.reasons]
        assert late.to_json() != ""
    assert [reason.share for reason in after.reasons] == shares
    assert "backlinks" in late.to_json()


def test_places_can_be_found_by_word_phrase_sender_and_header(taught: Filter) -> None:
    claim = taught.explain(OFFER).verdict.claims["spam"]
    found = claim.attribution.find("One Hundred backlinks")
    assert [placed.text for placed in found] == ["One", "hundred", "backlinks"]
    assert claim.attribution.find("rankwell.example")[0].text.startswith("From:")
    (subject,) = claim.attribution.find("subject: proposal")
    (reason,) = [reason for reason in claim.reasons if reason.group == "subject"]
    assert subject.share == pytest.approx(reason.share)
    assert claim.attribution.find("nothing of this") == claim.attribution.find("") == []


def test_an_unsure_verdict_says_so_first(tmp_path: Path) -> None:
    with Filter.open(tmp_path) as filter_:
        assert filter_.check(OFFER).sentence == "Unsure: no ham and no spam has been learned yet."
        filter_.learn(OFFER, "spam")
        filter_.learn(LUNCH, "ham")
        assert filter_.check(b"Subject: other\n\nnothing").sentence.startswith("Unsure (")


def test_with_three_labels_the_sentence_is_about_the_label_that_is_said(tmp_path: Path) -> None:
    with Filter.open(tmp_path, Options(THREE)) as filter_:
        for i, drawn in enumerate(draw(90, seed=9)):
            filter_.learn(drawn.raw, "newsletter" if i % 3 == 0 else drawn.label)
        for drawn in draw(30, seed=8):
            verdict = filter_.check(drawn.raw)
            name = {"ham": "wanted mail", "unsure": "Unsure"}.get(verdict.label, verdict.label)
            assert name in verdict.sentence.partition("(")[0]


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.text(max_size=300), st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=80))
def test_a_sentence_is_short_printable_and_grammatical_whatever_the_mail_says(
    taught: Filter, text: str, subject: str
) -> None:
    head = b"Subject: " + subject.encode() + b"\nContent-Type: text/plain; charset=utf-8\n\n"
    sentence = taught.check(head + text.encode("utf-8", "replace") + b" backlinks").sentence
    assert sentence.isprintable()
    assert len(sentence) <= MOST + 100
    assert re.match(r"(Almost certainly|Probably|Perhaps|Unsure) ", sentence)
    assert sentence.endswith(".")
    assert "  " not in re.sub("“[^”]*”", "", sentence)


def test_every_fact_has_plain_words() -> None:
    raws = [drawn.raw for drawn in draw(40, seed=2)] + [
        b"", b"\n\n\0", b"Subject: RE: X\nReply-To: a@b.example\nFrom: c@d.example\n\n", "Subject: É\n\n".encode(),
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\n", b"Content-Type: a/b/c\n\n", b"Date: x +0200\n\n",
    ]  # fmt: skip
    for raw in raws:
        features = find(parse(raw), Spec(frozenset({"fact"})).kinds, {}, 22, located=True)
        for _, (_, buckets, _, _, value) in features.found():
            for i in range(len(buckets)):
                assert re.match(r"(it|its|the|a) ", plain_fact(value(i))), value(i)
