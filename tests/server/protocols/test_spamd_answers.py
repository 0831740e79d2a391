"""Answers of the spamd protocol, in SpamAssassin's terms."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from priory.decision import Costs
from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.spamassassin import rating_of
from priory.server.protocols.spamd_answers import answer, report, tell
from priory.wire.spamd import Refused, Request

THREE = Costs(("ham", "spam", "newsletter"), ((0, 10, 3), (100, 0, 50), (20, 5, 0)))
RAW = b"Subject: lunch\n\nShall we have lunch?"


@pytest.fixture
def filter_(home: Path) -> Iterator[Filter]:
    with Filter.open(home) as opened:
        yield opened


def test_five_points_are_spam_and_nothing_else(filter_: Filter, mail: list[Drawn]):
    said = set()
    for drawn in mail:
        verdict = filter_.check(drawn.raw)
        rating = rating_of(verdict)
        assert rating.is_spam == (verdict.label == "spam") == (rating.points >= rating.threshold == 5.0)
        assert rating.points == pytest.approx(5 + verdict.log_odds - math.log(0.96 / 0.04), abs=0.11)
        said.add(verdict.label)
    assert said == {"ham", "spam", "unsure"}


def test_whose_mail_it_is_counts_and_the_report_says_how_much(tmp_path: Path, mail: list[Drawn]):
    lists = [b"List-Id: <daily.list.example>\nSubject: Daily %d\n\nhttp://list.example/%d" % (i, i) for i in range(31)]
    with Filter.open(tmp_path) as filter_:
        for drawn in mail[:200]:
            filter_.learn(drawn.raw, drawn.label)
        for raw in lists[1:]:
            tell(Request("TELL", 5, user="ann", message_class="spam", set_local=True, body=raw), filter_)
            tell(Request("TELL", 5, user="bob", message_class="ham", set_local=True, body=raw), filter_)
        said = {user: answer(Request("REPORT", 5, user=user, body=lists[0]), filter_)[0] for user in ("", "ann", "bob")}
        assert b"of which you: +" in said["ann"]
        assert b"of which you: -" in said["bob"]
        assert b"you" not in said[""]
        marked = answer(Request("PROCESS", 5, user="ann", body=lists[0]), filter_)[0]
        verdict = filter_.check(lists[0], "ann")
        own = f"; you={verdict.you:+.3f}; everyone={verdict.everyone:+.3f}"
        assert f"X-Priory-Log-Odds: {verdict.log_odds:+.3f}; prior={verdict.prior:+.3f}{own}\n".encode() in marked


def test_nothing_learned_is_no_spam_and_says_so(tmp_path: Path):
    with Filter.open(tmp_path) as filter_:
        assert b"Spam: False ; 0.0 / 5.0\r\n" in answer(Request("CHECK", 5, body=RAW), filter_)[0]
        assert answer(Request("SYMBOLS", 5, body=RAW), filter_)[0].endswith(b"\r\n\r\nPRIORY_UNSURE,PRIORY_UNTAUGHT")
        assert b"\nX-Priory-Reason: no ham and no spam" in answer(Request("PROCESS", 5, body=RAW), filter_)[0]
        assert b"no ham and no spam has been learned" in answer(Request("REPORT", 5, body=RAW), filter_)[0]


def test_with_three_labels_points_agree_with_what_is_said(tmp_path: Path, mail: list[Drawn]):
    with Filter.open(tmp_path, Options(costs=THREE)) as filter_:
        for i, drawn in enumerate(mail):
            filter_.learn(drawn.raw, "newsletter" if i % 5 == 0 else drawn.label)
        ratings = [(filter_.check(drawn.raw).label, rating_of(filter_.check(drawn.raw))) for drawn in mail]
    assert all((label == "spam") == rating.is_spam == (rating.points >= 5) for label, rating in ratings)
    assert {rating.is_spam for _, rating in ratings} == {True, False}


def test_the_report_adds_up(filter_: Filter, mail: list[Drawn]):
    verdict = filter_.check(mail[0].raw)
    text = report(verdict, rating_of(verdict))
    sums = [float(sum_) for sum_ in re.findall(r"^ *([+-]\d+\.\d{3})  ", text, re.MULTILINE)]
    assert len(sums) == 2 + len(verdict.reasons) + len(verdict.against)
    assert f"\n{verdict.sentence}\n" in text
    assert sum(sums[:-1]) == pytest.approx(sums[-1], abs=0.0005 * len(sums))
    assert sums[-1] == pytest.approx(verdict.log_odds, abs=0.0005)


def test_a_report_if_spam_is_empty_for_all_else(filter_: Filter, mail: list[Drawn]):
    for drawn in mail:
        said, label = answer(Request("REPORT_IFSPAM", 5, body=drawn.raw), filter_)
        assert (b"Spam: Yes ;" in said) == (label == "spam") == (not said.endswith(b"\r\n\r\n"))


def test_headers_are_the_marked_message_up_to_its_body(filter_: Filter):
    for head, body in (
        (b"Subject: a\r\n\r\n", b"b\r\n"),
        (b"From x\nA: b\n\n", b"c\n\n"),
        (b"A: b\n", b""),
        (b"", b""),
    ):
        whole = answer(Request("PROCESS", 5, body=head + body), filter_)[0].partition(b"\r\n\r\n")[2]
        marked_head = answer(Request("HEADERS", 5, body=head + body), filter_)[0].partition(b"\r\n\r\n")[2]
        assert whole == marked_head + body
        assert b"X-Priory-Verdict: " in marked_head


def test_telling_learns_turns_round_and_forgets_for_each_user(filter_: Filter):
    def told(message_class: str, user: str = "", **how: bool) -> str:
        return tell(Request("TELL", 5, user=user, message_class=message_class, body=RAW, **how), filter_)[1]

    assert told("spam", set_local=True) == "learned"
    assert told("spam", set_local=True) == "known"
    assert told("ham", set_local=True) == "relearned"
    assert told("ham", "ann", set_local=True) == "learned"
    assert told("", remove_local=True) == "forgotten"
    assert told("", remove_local=True) == "unknown"
    assert told("", "ann", remove_local=True) == "forgotten"
    assert told("spam") == "nothing"
    with pytest.raises(Refused, match="invalid class"):
        told("junk", set_local=True)


def test_ham_and_spam_mean_labels_of_any_name(tmp_path: Path):
    for labels, meant in (
        (("Good", "junk"), {"spam": "junk", "ham": "Good", "junk": "junk", "good": "Good"}),
        (("spam", "work"), {"spam": "spam", "ham": "work", "work": "work"}),
    ):
        with Filter.open(tmp_path / labels[0], Options(costs=Costs(labels))) as filter_:
            for message_class, label in meant.items():
                tell(Request("TELL", 5, message_class=message_class, set_local=True, body=RAW), filter_)
                assert filter_.forget(RAW).was == label
