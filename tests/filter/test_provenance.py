"""Ham and spam of different places are noticed; those of one mailbox are not, whatever their dates."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from collected_mail import COLLECTION, INBOX, JUNK, RECENT, collected, months
from priory.corpus import Labelled, read_index
from priory.decision import Costs
from priory.demo import draw
from priory.features import Spec, extract
from priory.filter.filter import Filter
from priory.filter.header_vocabulary import month_buckets, ordinary_buckets
from priory.filter.options import Options
from priory.filter.prepare import prepare
from priory.filter.provenance import FEWEST, LessonTrace, OriginGap, header_buckets, origin_gap
from priory.journal import Selection
from priory.message import parse

SPEC = Spec()
THREE = Options(Costs(("ham", "spam", "newsletter"), ((0, 10, 3), (100, 0, 50), (20, 5, 0))))


def teach(filter_: Filter, *mail: Iterable[Labelled]) -> None:
    for some in mail:
        for _ in filter_.learn_many((message.raw, message.label, message.source) for message in some):
            pass


def gap_of(*mail: Iterable[Labelled]) -> OriginGap | None:
    traces = []
    for message in (message for some in mail for message in some):
        prepared = prepare(message.raw, SPEC)
        traces.append(
            LessonTrace(message.label, prepared.sender, message.source, header_buckets(prepared.features, SPEC.bits))
        )
    return origin_gap(traces, SPEC.bits)


def test_a_collection_beside_an_inbox_is_noticed_with_its_dates_and_folders(tmp_path: Path):
    with Filter.open(tmp_path) as filter_:
        teach(filter_, INBOX, COLLECTION)
        gap = filter_.stats().origins
    assert gap is not None
    assert gap.finding == (
        "ham comes from another place than spam: headers alone, without dates, tell 100 % of it apart. "
        "ham: received 2025-10 to 2026-11, from /mail/mx.home.example/ham; "
        "spam: received 2007-04 to 2007-06, from /mail/trap.archive.example/spam."
    )
    assert "priory forget --source FOLDER" in gap.advice
    assert gap.as_dict()["origins"][1]["folder"] == "/mail/trap.archive.example/spam"


def test_a_warning_ends_when_the_collection_is_forgotten_and_own_spam_is_taught(tmp_path: Path):
    with Filter.open(tmp_path) as filter_:
        teach(filter_, INBOX, COLLECTION)
        assert filter_.provenance.gap()
        forgotten = sum(filter_.forget_many(Selection(source="/mail/trap.archive.example/spam")))
        assert forgotten == len(COLLECTION)
        assert filter_.provenance.gap() is None
        teach(filter_, JUNK)
        assert filter_.provenance.gap() is None


def test_some_spam_of_the_own_mailbox_is_enough_to_end_a_warning():
    assert gap_of(INBOX, COLLECTION) is not None
    assert gap_of(INBOX, COLLECTION, JUNK[:10]) is None


@pytest.mark.parametrize(
    ("ham", "spam"),
    [
        (("2025-10", "2026-11"), ("2026-11", "2026-11")),
        (("2023-12", "2026-11"), ("2026-11", "2026-11")),
        (("2026-10", "2026-10"), ("2026-11", "2026-11")),
        (("2020-01", "2022-12"), ("2026-11", "2026-11")),
    ],
)
def test_dates_of_one_mailbox_make_no_difference(ham: tuple[str, str], spam: tuple[str, str]):
    one = collected("ham", 300, "mx.home.example", months(*ham))
    other = collected("spam", 300, "mx.home.example", months(*spam))
    assert gap_of(one, other) is None


def test_the_same_dates_do_not_hide_different_places():
    gap = gap_of(INBOX, collected("spam", 80, "trap.archive.example", RECENT))
    assert gap is not None
    assert gap.one.since == gap.other.since == "2025-10"


def test_an_invented_inbox_is_normal(tmp_path: Path):
    with Filter.open(tmp_path) as filter_:
        teach(filter_, [Labelled(drawn.raw, drawn.label, "inbox") for drawn in draw(800, seed=6)])
        assert filter_.stats().origins is None
        assert filter_.stats().as_dict()["origins"] is None


def test_mailing_lists_and_spam_of_one_mailbox_are_normal():
    lists = [
        message._replace(raw=b"List-Id: <choir.lists.example>\nPrecedence: list\nX-List: choir\n" + message.raw)
        for message in collected("ham", 300, "mx.home.example", RECENT)
    ]
    assert gap_of(lists, collected("spam", 300, "mx.home.example", RECENT)) is None


def test_two_accounts_from_which_both_labels_come_are_normal():
    two = [
        collected(label, 150, server, RECENT)
        for label in ("ham", "spam")
        for server in ("mx.home.example", "mx.work.example")
    ]
    assert gap_of(*two) is None


def test_texts_without_headers_are_normal():
    texts = {"ham": [b"\nhello %d" % i for i in range(100)], "spam": [b"\nbuy %d" % i for i in range(100)]}
    assert gap_of(*([Labelled(raw, label, "") for raw in raws] for label, raws in texts.items())) is None


def test_few_lessons_and_few_senders_are_not_judged():
    assert gap_of(INBOX[:FEWEST], COLLECTION[:FEWEST]) is not None
    assert gap_of(INBOX[: FEWEST - 1], COLLECTION) is None
    assert gap_of(INBOX, COLLECTION[: FEWEST - 1]) is None
    assert gap_of(collected("ham", 80, "mx.home.example", RECENT, n_senders=5), COLLECTION) is None
    assert gap_of(INBOX) is None


def test_of_three_labels_the_one_from_elsewhere_is_named(tmp_path: Path):
    with Filter.open(tmp_path, THREE) as filter_:
        teach(filter_, INBOX, JUNK, collected("newsletter", 80, "lists.archive.example", RECENT))
        gap = filter_.stats().origins
    assert gap is not None
    assert gap.one.labels == ("newsletter",)
    assert gap.other.labels == ("ham", "spam")
    assert gap.finding.startswith("newsletter comes from another place than ham and spam: ")


def test_the_words_of_the_vocabulary_have_the_buckets_that_lessons_have():
    raw = (
        b"Received: by with ESMTPS id\nReceived: Mon, 16 Nov 2026\nDate: Fri, 13 Nov 2026\nMIME-Version: 1.0\n"
        b"DKIM-Signature: rsa-sha256 relaxed\n\n"
    )
    buckets = header_buckets(extract(parse(raw), SPEC), SPEC.bits)
    assert set(buckets) <= ordinary_buckets(SPEC.bits)
    assert [{months[b] for b in buckets if b in months} for months in month_buckets(SPEC.bits)] == 2 * [{"2026-11"}]


REAL = {"trec07p": "trec07p/full/index", "SpamAssassin": "spamassassin/index", "modern": "modern/index"}


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("ham", "spam", "differ"),
    [
        ("trec07p", "trec07p", False),
        ("SpamAssassin", "SpamAssassin", False),
        ("modern", "modern", True),
        ("trec07p", "modern", True),
        ("modern", "trec07p", True),
        ("SpamAssassin", "modern", True),
        ("modern", "SpamAssassin", True),
    ],
)
def test_real_mail_of_different_places_is_noticed(corpora: Path, ham: str, spam: str, differ: bool):
    def some(name: str, label: str) -> list[Labelled]:
        mail = [message for message in read_index(corpora / REAL[name]) if message.label == label]
        return mail[:: len(mail) // 300][:300]

    assert (gap_of(some(ham, "ham"), some(spam, "spam")) is not None) == differ
