"""A node follows the lessons of others by a thread, also after it was cut off."""

import os
import resource
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from priory.decision import Costs
from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.rule_text import make_rule
from priory.journal import JournalAwayError, JournalError, RuleEffect, RuleThing, StoreAddress
from priory.journal.lesson import SyncPoint
from priory.journal.postgres.feed import Follower
from real_daemon import wait_until
from real_postgres import Postgres, Proxy, proxy

FROM_ANN = b"From: Ann <ann@mail.example>\nSubject: lunch\n\nLunch on Friday?"
MAIL = [(drawn.raw, drawn.label, "") for drawn in draw(60, seed=3)]


def taught(filter_: Filter, lessons: list[tuple[bytes, str, str]]) -> None:
    for _ in filter_.learn_many(lessons):
        pass


def counted(filter_: Filter) -> list[bytes]:
    return [bytes(part) for part in filter_.counts.parts]


def has_followed(follower: Filter, other: Filter) -> bool:
    follower.refresh()
    return follower.change == other.change


def test_lessons_of_others_arrive_without_a_query(postgres: Postgres, journal_database: str, tmp_path: Path):
    url = postgres.url(journal_database)
    with (
        Filter.open(tmp_path / "a", Options(store=StoreAddress(url, "a"))) as learning,
        Filter.open(tmp_path / "b", Options(store=StoreAddress(url, "b"))) as checking,
    ):
        checking.follow()
        assert checking.check(MAIL[0][0]).label == "unsure"
        taught(learning, MAIL)
        wait_until(lambda: has_followed(checking, learning))
        learning.learn(MAIL[0][0], "spam")
        learning.forget(MAIL[1][0])
        wait_until(lambda: has_followed(checking, learning))
        assert counted(checking) == counted(learning)
        assert not checking.check(MAIL[0][0]).reason


def test_rules_of_others_arrive_without_a_query(postgres: Postgres, journal_database: str, tmp_path: Path):
    url = postgres.url(journal_database)
    block = make_rule(RuleEffect.BLOCK, RuleThing.DOMAIN, "mail.example")
    with (
        Filter.open(tmp_path / "a", Options(store=StoreAddress(url, "a"))) as ruling,
        Filter.open(tmp_path / "b", Options(store=StoreAddress(url, "b"))) as checking,
    ):
        checking.follow()
        taught(ruling, MAIL)
        wait_until(lambda: has_followed(checking, ruling))
        before = checking.check(FROM_ANN).as_dict()
        for act, label in ((ruling.rules.set, "spam"), (lambda rule: ruling.rules.remove(rule.key), before["label"])):
            act(block)
            wait_until(lambda: has_followed(checking, ruling))
            assert checking.check(FROM_ANN).label == label
            taught(ruling, MAIL[:1])
            ruling.learn(MAIL[0][0], MAIL[0][1], user=label)
            wait_until(lambda: has_followed(checking, ruling))
            assert checking.check(FROM_ANN).is_ruled == (label == "spam")
            assert counted(checking) == counted(ruling)


THREE = Costs(("ham", "spam", "phishing"), ((0, 9, 9), (9, 0, 9), (9, 9, 0)))


@pytest.mark.parametrize("by_thread", [True, False])
def test_a_label_that_is_not_known_here_keeps_no_mail_from_being_judged(
    postgres: Postgres, journal_database: str, tmp_path: Path, by_thread: bool
):
    url = postgres.url(journal_database)
    with (
        Filter.open(tmp_path / "a", Options(THREE, store=StoreAddress(url, "a"))) as learning,
        Filter.open(tmp_path / "b", Options(store=StoreAddress(url, "b"))) as behind,
    ):
        taught(behind, MAIL)
        behind.rebuild()  # which writes down the counts
        if by_thread:
            behind.follow()
        said, counts = behind.check(MAIL[0][0]).probabilities, counted(behind)
        learning.learn(b"Subject: your mailbox is full", "phishing")
        wait_until(lambda: behind.refresh() or behind.trouble is not None)
        assert "add the label" in str(behind.trouble)
        assert behind.check(MAIL[0][0]).probabilities == said
        assert counted(behind) == counts
        with pytest.raises(JournalError, match="'phishing', which the configuration does not name"):
            behind.learn(MAIL[0][0], "spam")
        assert behind.check(MAIL[0][0]).probabilities == said
        with Filter.open(tmp_path / "b", Options(store=StoreAddress(url, "b"))) as started_anew:
            assert started_anew.check(MAIL[0][0]).probabilities == said
        learning.forget(b"Subject: your mailbox is full")
        wait_until(lambda: has_followed(behind, learning))
        assert behind.trouble is None
        assert behind.learn(MAIL[0][0], "spam").outcome in {"relearned", "known"}


@pytest.fixture
def many_files() -> Iterator[None]:
    """A process that has more files open than select() can tell apart."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], min(4096, limits[1])), limits[1]))
    with ExitStack() as stack:
        for _ in range(1100):
            stack.enter_context(open(os.devnull, "rb"))  # noqa: PTH123
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_process_with_many_open_files_follows_as_well(
    postgres: Postgres, journal_database: str, tmp_path: Path, many_files: None
):
    url = postgres.url(journal_database)
    with (
        Filter.open(tmp_path / "a", Options(store=StoreAddress(url, "a"))) as learning,
        Filter.open(tmp_path / "b", Options(store=StoreAddress(url, "b"))) as checking,
    ):
        checking.follow()
        taught(learning, MAIL)
        wait_until(lambda: has_followed(checking, learning))
        assert checking.trouble is None


def test_a_check_asks_no_server(
    postgres: Postgres, journal_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with proxy(postgres.port) as network:
        url = postgres.url(journal_database, port=network.port)
        with Filter.open(tmp_path / "a", Options(store=StoreAddress(url, "a"))) as checking:
            taught(checking, MAIL)
            checking.follow()
            network.stall()
            assert not checking.check(MAIL[0][0]).reason
            network.heal()


def test_a_node_that_follows_and_learns_counts_nothing_twice(postgres: Postgres, journal_database: str, tmp_path: Path):
    url = postgres.url(journal_database)
    with (
        Filter.open(tmp_path / "a", Options(store=StoreAddress(url, "a"))) as one,
        Filter.open(tmp_path / "b", Options(store=StoreAddress(url, "b"))) as other,
    ):
        one.follow()
        other.follow()
        for i, (raw, label, _) in enumerate(MAIL):
            (one, other)[i % 2].learn(raw, label)
        wait_until(lambda: has_followed(one, other) and has_followed(other, one))
        assert counted(one) == counted(other)
        assert sum(one.counts.totals) == len(MAIL)


def test_a_node_that_was_cut_off_goes_on_and_catches_up(postgres: Postgres, journal_database: str, tmp_path: Path):
    with (
        proxy(postgres.port) as network,
        Filter.open(tmp_path / "a", Options(store=StoreAddress(postgres.url(journal_database), "a"))) as learning,
        Filter.open(
            tmp_path / "b", Options(store=StoreAddress(postgres.url(journal_database, port=network.port), "b"))
        ) as checking,
    ):
        taught(learning, MAIL[:30])
        checking.follow()
        before = counted(checking)
        network.cut()
        taught(learning, MAIL[30:])
        wait_until(lambda: checking.check(MAIL[0][0]) and checking.trouble)
        assert "cut off" in str(checking.trouble) or "cannot be reached" in str(checking.trouble)
        assert counted(checking) == before
        network.heal()
        wait_until(lambda: has_followed(checking, learning))
        assert counted(checking) == counted(learning)
        assert checking.trouble is None


def test_a_node_that_starts_without_its_server_knows_the_rules(
    postgres: Postgres, journal_database: str, tmp_path: Path
):
    block = make_rule(RuleEffect.BLOCK, RuleThing.DOMAIN, "mail.example")
    with proxy(postgres.port) as network:
        options = Options(store=StoreAddress(postgres.url(journal_database, port=network.port), "a"))
        with Filter.open(tmp_path / "a", options) as filter_:
            taught(filter_, MAIL)
            filter_.rules.set(block)
        network.cut()
        with Filter.open(tmp_path / "a", options) as filter_:
            assert filter_.check(FROM_ANN).label == "spam"
            with pytest.raises(JournalAwayError):
                filter_.rules.remove(block.key)
            assert filter_.check(FROM_ANN).label == "spam"
        network.heal()
        with Filter.open(tmp_path / "a", options) as filter_:
            assert filter_.rules.remove(block.key)
        network.cut()
        with Filter.open(tmp_path / "a", options) as filter_:
            assert not filter_.check(FROM_ANN).is_ruled


def test_a_lost_follower_notices_that_the_server_is_back(postgres: Postgres, journal_database: str, network: Proxy):
    store = StoreAddress(postgres.url(journal_database, port=network.port), "a")
    with closing(Follower(store, SyncPoint(99, "unknown"))) as follower:
        wait_until(lambda: follower.is_lost)
        network.cut()
        wait_until(lambda: follower.trouble is not None)
        network.heal()
        wait_until(lambda: follower.trouble is None)
        assert follower.is_lost


def test_a_node_that_is_far_behind_catches_up_batch_by_batch(
    postgres: Postgres, journal_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("priory.journal.postgres.feed.PAGE", 7)
    url = postgres.url(journal_database)
    with (
        Filter.open(tmp_path / "a", Options(store=StoreAddress(url, "a"))) as learning,
        Filter.open(tmp_path / "b", Options(store=StoreAddress(url, "b"))) as checking,
    ):
        checking.follow()
        taught(learning, MAIL)
        for raw, label, _ in MAIL[::3]:
            learning.learn(raw, "ham" if label == "spam" else "spam")
        for raw, _, _ in MAIL[::4]:
            learning.forget(raw)
        wait_until(lambda: has_followed(checking, learning))
        assert counted(checking) == counted(learning)


def test_counts_older_than_the_journal_remembers_start_afresh(
    postgres: Postgres, journal_database: str, tmp_path: Path
):
    with (
        proxy(postgres.port) as network,
        Filter.open(tmp_path / "a", Options(store=StoreAddress(postgres.url(journal_database), "a"))) as learning,
        Filter.open(
            tmp_path / "b", Options(store=StoreAddress(postgres.url(journal_database, port=network.port), "b"))
        ) as checking,
    ):
        taught(learning, MAIL[:30])
        checking.follow()
        network.cut()
        wait_until(lambda: checking.check(MAIL[0][0]) and checking.trouble)
        taught(learning, MAIL[30:])
        learning.forget(MAIL[0][0])
        shared = learning.journal.shared
        assert shared is not None
        position = learning.journal.position()
        assert shared.save(position.change, position.stamp, learning.options.labels, learning.counts)
        network.heal()
        wait_until(lambda: has_followed(checking, learning))
        assert counted(checking) == counted(learning)


def test_a_server_that_takes_the_place_of_another_may_have_lost_changes(
    postgres: Postgres, journal_database: str, tmp_path: Path
):
    """Its numbers are used again for other lessons: a node that has counted the lost ones starts afresh."""
    with postgres.standby() as standby, proxy(postgres.port) as network:
        url = postgres.url(journal_database, port=network.port)
        with (
            Filter.open(tmp_path / "a", Options(store=StoreAddress(postgres.url(journal_database), "a"))) as learning,
            Filter.open(tmp_path / "b", Options(store=StoreAddress(url, "b"))) as checking,
        ):
            taught(learning, MAIL[:30])
            wait_until(lambda: postgres.has_replayed(standby))
            standby.run("SELECT pg_promote()")
            checking.follow()
            taught(learning, MAIL[30:40])
            wait_until(lambda: has_followed(checking, learning))
            with Filter.open(tmp_path / "c", Options(store=StoreAddress(standby.url(journal_database), "c"))) as other:
                taught(other, MAIL[40:])
                network.lead_to(standby.port)
                wait_until(lambda: has_followed(checking, other))
                assert counted(checking) == counted(other)
