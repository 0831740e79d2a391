"""Without its server a node checks mail, stores requests in its outbox, and delivers them later."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from checked_mail import learn_from_silence
from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import JournalAwayError, JournalError, Selection, StoreAddress
from priory.journal.shared.outbox import Outbox, OutboxEntry
from priory.message import parse
from real_daemon import wait_until
from real_postgres import Postgres, Proxy

MAIL = [(drawn.raw, drawn.label, "") for drawn in draw(40, seed=3)]
NEW = b"From: eve@mail.example\nSubject: You won\n\nDear lucky winner"


@pytest.fixture
def options(postgres: Postgres, network: Proxy, journal_database: str) -> Options:
    """Of a node whose server can be cut off."""
    return Options(store=StoreAddress(postgres.url(journal_database, port=network.port), "a"))


@pytest.fixture
def other(postgres: Postgres, journal_database: str, tmp_path: Path) -> Iterator[Filter]:
    """Another node, which is not cut off."""
    store = StoreAddress(postgres.url(journal_database), "b")
    with Filter.open(tmp_path / "b", Options(store=store)) as filter_:
        for _ in filter_.learn_many(MAIL):
            pass
        yield filter_


@pytest.fixture
def node(options: Options, other: Filter, tmp_path: Path) -> Iterator[Filter]:
    """A node that has seen what the other was taught, and left a snapshot of it."""
    with Filter.open(tmp_path / "a", options) as filter_:
        filter_.rebuild()
        yield filter_


def handed_over(filter_: Filter) -> int:
    """Hand over what was kept, once the server can be reached again."""
    n = 0

    def try_again() -> bool:
        nonlocal n
        try:
            n = filter_.deliver()
        except JournalAwayError:
            return False
        return True

    wait_until(try_again)
    return n


def test_requests_are_stored_and_delivered(node: Filter, other: Filter, network: Proxy, tmp_path: Path):
    before = node.check(NEW).probability
    network.cut()
    assert node.learn(NEW, "spam", user="ann").outcome == "kept"
    assert node.forget(MAIL[0][0]).outcome == "kept"
    assert node.check(NEW).probability == before  # it counts once it is handed over
    assert Outbox(tmp_path / "a", node.journal.id).n_entries() == 2
    network.heal()
    assert handed_over(node) == 2
    assert handed_over(node) == 0
    other.refresh()
    assert other.journal.label_of(parse(NEW).digest, "ann") == "spam"
    assert other.journal.label_of(parse(MAIL[0][0]).digest) is None


def test_a_lesson_that_waits_keeps_its_subject(options: Options, other: Filter, network: Proxy, tmp_path: Path):
    with Filter.open(tmp_path / "a", replace(options, keeps_subjects=True)) as node:
        network.cut()
        assert node.learn(NEW, "spam", user="ann").outcome == "kept"
        network.heal()
        handed_over(node)
    assert [lesson.subject for lesson in other.journal.lessons_of("ann")] == ["You won"]


def test_the_next_lesson_delivers_the_outbox(node: Filter, network: Proxy):
    network.cut()
    node.learn(NEW, "spam")
    network.heal()
    wait_until(lambda: node.learn(MAIL[0][0], "spam").outcome != "kept")
    assert node.journal.label_of(parse(NEW).digest) == "spam"


def test_a_later_lesson_of_another_node_counts(node: Filter, other: Filter, network: Proxy):
    network.cut()
    first, second, third, *_ = [raw for raw, label, _ in MAIL if label == "ham"]
    assert node.learn(first, "spam").outcome == "kept"
    assert node.forget(second).outcome == "kept"
    assert node.learn(third, "spam").outcome == "kept"
    assert other.learn(first, "ham").outcome == "known"  # but later than what was kept
    assert other.learn(second, "spam").outcome == "relearned"
    assert other.forget(third).was == "ham"
    network.heal()
    handed_over(node)
    labels = [other.journal.label_of(parse(raw).digest) for raw in (first, second, third)]
    assert labels == ["ham", "spam", None]


def test_requests_that_cannot_wait_are_refused(node: Filter, network: Proxy):
    network.cut()
    digest = parse(MAIL[0][0]).digest
    for act in (
        lambda: node.forget_digest(digest),
        lambda: node.relearn(digest, "spam"),
        lambda: list(node.forget_many(Selection(label="spam"))),
        node.rebuild,
        node.stats,
    ):
        with pytest.raises(
            JournalAwayError, match=r"cannot be reached: .* Check the server and the network|was cut off"
        ):
            act()


def test_a_node_starts_without_its_server_from_its_snapshot(
    node: Filter, other: Filter, options: Options, network: Proxy, tmp_path: Path
):
    verdicts = [node.check(raw).probability for raw, _, _ in MAIL]
    network.cut()
    with Filter.open(tmp_path / "a", options) as again:
        again.follow()
        assert [again.check(raw).probability for raw, _, _ in MAIL] == verdicts
        assert again.trouble is not None
        assert again.learn(NEW, "spam").outcome == "kept"
        network.heal()
        handed_over(again)
        wait_until(lambda: again.check(NEW) and again.trouble is None)
        assert again.change == other.journal.position().change


def test_a_node_that_started_without_its_server_hears_later_what_silence_says(
    other: Filter, options: Options, network: Proxy, tmp_path: Path
):
    coming = list(draw(400, seed=5))
    assert learn_from_silence(other, coming)
    with Filter.open(tmp_path / "a", options) as node:
        node.rebuild()  # writes the snapshot
    network.cut()
    with Filter.open(tmp_path / "a", options) as again:
        again.follow()
        assert again.check(NEW).log_odds != other.check(NEW).log_odds
        network.heal()
        wait_until(lambda: again.check(NEW).log_odds == other.check(NEW).log_odds)


def test_without_a_snapshot_it_says_why_it_cannot_tell(options: Options, other: Filter, network: Proxy, tmp_path: Path):
    network.cut()
    with Filter.open(tmp_path / "a", options) as filter_:
        filter_.follow()
        verdict = filter_.check(NEW)
        assert verdict.label == "unsure"
        assert verdict.reason == "the journal cannot be reached, and this machine has too few counts of its own"
        with pytest.raises(JournalAwayError):
            filter_.learn(NEW, "spam")
        network.heal()
        wait_until(lambda: not filter_.check(NEW).reason)
        assert filter_.learn(NEW, "spam").outcome == "learned"


def test_a_deleted_user_is_deleted_from_the_outbox(node: Filter, other: Filter, network: Proxy, tmp_path: Path):
    network.cut()
    assert node.learn(NEW, "spam", user="bob@home.example").outcome == "kept"
    network.heal()
    other.learn(NEW, "ham", user="bob@home.example")
    with Filter.open(tmp_path / "a", node.options) as again:
        assert sum(again.users.delete("bob@home.example")) == 1
        assert handed_over(again) == 0
    assert b"bob@home.example" not in (tmp_path / "a" / "outbox.sqlite").read_bytes()
    assert other.taught_by(NEW) == []


def test_a_deleted_user_is_deleted_from_what_waits_for_an_earlier_journal(node: Filter, tmp_path: Path):
    earlier = Outbox(tmp_path / "a", "an earlier journal")
    earlier.keep([OutboxEntry(b"", bytes(32), None, b"", user, "", "", 1.0) for user in ("ann", "bob")])
    list(node.users.delete("bob"))
    assert [entry.user for entry in earlier.first(10)[0]] == ["ann"]


def test_a_label_that_was_removed_holds_up_the_outbox(node: Filter, network: Proxy, tmp_path: Path):
    network.cut()
    node.learn(NEW, "spam")
    outbox = Outbox(tmp_path / "a", node.journal.id)
    (act,), last = outbox.first(1)
    outbox.drop(last)
    outbox.keep([act._replace(label="advertisement")])
    network.heal()
    with pytest.raises(JournalError, match=r"does not name the label \(it has ham, spam\): add it"):
        handed_over(node)
    assert outbox.n_entries() == 1
