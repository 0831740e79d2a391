"""A journal on a server: which lesson counts, which snapshot a machine starts from, and what errors say."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import real_postgres
from journals import CountsOf, Journals, Open, Start, only
from priory.demo import Drawn
from priory.features import VERSION, Spec
from priory.filter.filter import Filter
from priory.filter.learn import NewLesson, read_lessons
from priory.filter.options import Options
from priory.filter.prepare import NO_EXTRAS
from priory.journal import JournalAwayError, JournalError, Lesson, Rank, StoreAddress
from priory.journal.postgres import schema
from priory.journal.postgres.connection import not_connected, translated_error
from priory.journal.shared.store import open_store, prepare_store
from priory.message import parse
from real_daemon import wait_until

pytestmark = only("postgres")


@pytest.fixture
def nodes(tmp_path: Path, journals: Journals) -> Iterator[list[Filter]]:
    """Two machines with homes of their own, and one journal."""
    store = journals.store(tmp_path)
    assert store is not None
    options = [Options(spec=Spec(bits=12), store=StoreAddress(store.url, name)) for name in ("mx1", "mx2")]
    filters = [Filter.open(tmp_path / each.store.node, each) for each in options if each.store]
    yield filters
    for filter_ in filters:
        filter_.close()


def taught(filter_: Filter, drawn: Drawn, label: str, when: float) -> NewLesson:
    lessons = [(drawn.raw, label, "")]
    (lesson,) = read_lessons(lessons, filter_.spec, filter_.options.labels, filter_.journal.now, NO_EXTRAS)
    return lesson._replace(time=when)


def counted(filter_: Filter, counts_of: CountsOf) -> list[bytes]:
    return [bytes(part) for part in counts_of(filter_).parts]


def rank(filter_: Filter, drawn: Drawn) -> Rank | None:
    return filter_.journal.rank_of(parse(drawn.raw).digest, "")


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (1, 0, 2)])
def test_whatever_arrives_first_the_later_lesson_counts_then_the_greater_node(
    nodes: list[Filter], mail: list[Drawn], counts_of: CountsOf, order: tuple[int, ...]
) -> None:
    said = [(0, "ham", 5.0), (0, "spam", 7.0), (1, "ham", 7.0)]
    for which in order:
        node, label, when = said[which]
        nodes[node]._trainer.learn([taught(nodes[node], mail[0], label, when)], "", late=True)
    assert rank(nodes[0], mail[0]) == (7.0, "mx2", "ham")
    assert counted(nodes[0], counts_of) == counted(nodes[1], counts_of)
    assert sum(nodes[0].stats().lessons.values()) == 1


def test_a_lesson_taught_again_outranks_a_late_one(nodes: list[Filter], mail: list[Drawn]) -> None:
    one, two = nodes
    one._trainer.learn([taught(one, mail[0], "ham", 1.0)], "", late=True)
    assert two._trainer.learn([taught(two, mail[0], "ham", 3.0)], "", late=True)[0].outcome == "known"
    done = one._trainer.learn([taught(one, mail[0], "spam", 2.0)], "", late=True)
    assert (done[0].outcome, done[0].was) == ("known", "ham")
    assert rank(one, mail[0]) == (3.0, "mx2", "ham")


def test_a_machine_is_believed_what_it_is_told_now_whatever_its_clock_says(
    nodes: list[Filter], mail: list[Drawn]
) -> None:
    one = nodes[0]
    one._trainer.learn([taught(one, mail[0], "ham", 9e9)], "")
    assert one.learn(mail[0].raw, "spam").outcome == "relearned"


def test_a_forgotten_lesson_stays_away_unless_a_newer_one_arrives(nodes: list[Filter], mail: list[Drawn]) -> None:
    one, two = nodes
    digest = parse(mail[0].raw).digest
    two._forgetter.forget(digest, "", late=5.0)  # before the lesson that it is about has arrived
    assert one._trainer.learn([taught(one, mail[0], "ham", 4.0)], "", late=True)[0].outcome == "known"
    assert one.journal.label_of(digest) is None
    assert one._trainer.learn([taught(one, mail[0], "ham", 6.0)], "", late=True)[0].outcome == "learned"
    assert two._forgetter.forget(digest, "", late=5.5).was is None
    assert one.journal.label_of(digest) == "ham"
    assert two._forgetter.forget(digest, "", late=7.0).was == "ham"
    assert one.learn(mail[0].raw, "spam").outcome == "learned"


def test_a_new_machine_starts_from_the_shared_snapshot_and_one_that_slept_too(
    nodes: list[Filter],
    mail: list[Drawn],
    counts_of: CountsOf,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, two = nodes
    list(one.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:60]))
    counts_of(two)
    for drawn in mail[:20]:
        one.forget(drawn.raw)
    monkeypatch.setattr("priory.filter.counts.SNAPSHOT_EVERY_IN_BULK", 10)
    one._counts.save()
    assert one.journal.position()[:2] == (80, 80)
    assert one.journal._db.rows("SELECT (SELECT count(*) FROM forgotten), (SELECT count(*) FROM stamps)") == [(0, 1)]
    one.learn(mail[70].raw, mail[70].label)
    one.forget(mail[30].raw)
    expected = counted(one, counts_of)
    assert counted(two, counts_of) == expected
    with Filter.open(tmp_path / "mx3", one.options) as new:
        assert counted(new, counts_of) == expected
        assert new._counts._saved_change == 80
        new.rebuild()
        assert counted(new, counts_of) == expected


def test_a_server_that_has_lost_the_last_changes_gives_their_numbers_again_and_nobody_is_misled(
    tmp_path: Path, journals: Journals, postgres: real_postgres.Postgres, mail: list[Drawn], counts_of: CountsOf
) -> None:
    """The tally and the number of the change are the same; only the stamps tell."""
    store = journals.store(tmp_path)
    assert store is not None
    options = Options(spec=Spec(bits=12), store=store)
    ham, spam = ([drawn.raw for drawn in mail if drawn.label == label] for label in ("ham", "spam"))
    with Filter.open(tmp_path / "home", options) as filter_:
        filter_.learn(ham[0], "ham")
        filter_.learn(spam[0], "spam")
    with postgres.database(store.url.rpartition("/")[2]) as behind:
        with Filter.open(tmp_path / "home", options) as filter_:
            filter_.learn(ham[1], "ham")
            filter_.learn(spam[1], "spam")
            filter_._counts.save()
        failed_over = Options(spec=Spec(bits=12), store=StoreAddress(postgres.url(behind), "mx1"))
        with Filter.open(tmp_path / "other", failed_over) as other:
            other.learn(ham[2], "ham")
            other.learn(spam[2], "spam")
        with Filter.open(tmp_path / "home", failed_over) as filter_:
            seen = counted(filter_, counts_of)
            filter_.rebuild()
            assert counted(filter_, counts_of) == seen


def test_a_text_with_a_zero_comes_back_as_it_was(nodes: list[Filter], mail: list[Drawn]) -> None:
    list(nodes[0].learn_many([(mail[0].raw, "ham", "a\0b")], "ann\0"))
    (lesson,) = nodes[1].journal.lessons()
    assert (lesson.source, lesson.user, lesson.node) == ("a\0b", "ann\0", "mx1")


def test_a_machine_that_stops_while_it_writes_does_not_keep_others_from_it(
    nodes: list[Filter], mail: list[Drawn], tmp_path: Path, start: Start
) -> None:
    reading, writing = os.pipe()

    def stop() -> None:
        with Filter.open(tmp_path / "stuck", nodes[0].options) as stuck, stuck.journal.writing():
            os.write(writing, b"x")
            signal.pause()

    pid = start(stop)
    os.read(reading, 1)
    os.kill(pid, signal.SIGSTOP)
    assert nodes[1].learn(mail[0].raw, "ham").outcome == "learned"  # after five seconds


def test_a_machine_that_is_cut_off_silently_is_given_up_by_the_server(nodes: list[Filter]) -> None:
    names = ("statement_timeout", "tcp_user_timeout", "tcp_keepalives_idle", "tcp_keepalives_interval")
    ((*found,),) = nodes[0].journal._db.rows(f"SELECT {', '.join(f'current_setting({name!r})' for name in names)}")
    assert found == ["1min", "10000", "5", "2"]


def test_a_writer_is_told_when_the_server_is_gone_and_goes_on_when_it_is_back(
    postgres: real_postgres.Postgres, nodes: list[Filter], mail: list[Drawn], counts_of: CountsOf
) -> None:
    one, two = nodes
    one.learn(mail[0].raw, "ham")
    postgres.crash()
    try:
        with pytest.raises(JournalAwayError, match="cannot be reached: ") as caught, one.journal.writing():
            pass
        assert real_postgres.PASSWORD not in str(caught.value)
    finally:
        postgres.start()
    assert two.learn(mail[1].raw, "spam").outcome == "learned"
    assert one.learn(mail[2].raw, "spam").outcome == "learned"
    assert counted(one, counts_of) == counted(two, counts_of)


WRONG = {
    "no password": ("priory@", "{db}", "no password supplied. Give a password, in the address, in PGPASSWORD or in"),
    "at in password": (
        "priory:wr@ng@",
        "{db}",
        "is not the address of a database. Write postgresql://account@host/data",
    ),
    "slash in password": (
        "priory:wr/ng@",
        "{db}",
        "is not the address of a database. Write postgresql://account@host/data",
    ),
    "percent in password": (
        "priory:wr%ng@",
        "{db}",
        "is not the address of a database. Write postgresql://account@host/data",
    ),
    "certificate": ("priory:wrong@", "{db}?sslmode=verify-full", "Check sslmode in the address and the certificates."),
    "password": ("priory:wrong@", "{db}", "does not let us in: password authentication failed for user"),
    "database": (
        "priory:{secret}@",
        "nowhere",
        'does not let us in: database "nowhere" does not exist. Create it',
    ),
    "tables": ("priory:{secret}@", "template1", "has no Priory tables: create them with priory store prepare."),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_errors_at_the_start_name_the_remedy(
    wrong: str, postgres: real_postgres.Postgres, tmp_path: Path, opened: Open
) -> None:
    opened(tmp_path).close()
    who, database, said = WRONG[wrong]
    secret = real_postgres.PASSWORD.replace(" ", "%20")
    url = f"postgresql://{who.format(secret=secret)}127.0.0.1:{postgres.port}/{database.format(db='postgres')}"
    with pytest.raises(JournalError) as caught:
        open_store(StoreAddress(url), VERSION)
    assert said in str(caught.value)
    assert not isinstance(caught.value, JournalAwayError)
    assert real_postgres.PASSWORD not in str(caught.value)
    assert not any(part in str(caught.value) for part in ("wrong@", "wr@", "wr/", "wr%", "ng@"))


@pytest.mark.parametrize(
    "said",
    [
        "the database system is shutting down",
        "the database system is starting up",
        "the database system is in recovery mode",
        'too many connections for role "priory"',
        'too many connections for database "priory"',
        "sorry, too many clients already",
        "SSL connection has been closed unexpectedly",
        "SSL SYSCALL error: EOF detected",
    ],
)
def test_a_server_that_will_let_us_in_later_is_away(said: str) -> None:
    error = not_connected(psycopg.OperationalError(f"connection failed: FATAL:  {said}"), "db")
    assert isinstance(error, JournalAwayError)


def test_a_database_that_is_full_is_away(postgres: real_postgres.Postgres, database: str) -> None:
    name = database.rpartition("/")[2]
    prepare_store(StoreAddress(database), VERSION, 12, 12)
    postgres.run(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
    with pytest.raises(JournalAwayError, match="is not currently accepting connections"):
        open_store(StoreAddress(database), VERSION)


def test_a_client_idle_in_a_transaction_is_cut_off_and_may_reconnect() -> None:
    error = translated_error(psycopg.errors.IdleInTransactionSessionTimeout("terminating connection"), "db")
    assert isinstance(error, JournalAwayError)


@pytest.mark.parametrize(
    "said", ["server does not support SSL, but SSL was required", "SSL error: certificate verify failed"]
)
def test_a_server_that_is_not_to_be_trusted_does_not_come_back_by_itself(said: str) -> None:
    error = not_connected(psycopg.OperationalError(said), "the journal")
    assert str(error).startswith(f"the journal does not let us in: {said}. Check sslmode in the address")
    assert not isinstance(error, JournalAwayError)


def test_much_that_is_written_at_once_is_not_held_back(
    postgres: real_postgres.Postgres, tmp_path: Path, journals: Journals
) -> None:
    journal = journals.open(tmp_path)
    database = journals.name(tmp_path).rpartition("/")[2]
    with closing(journal), journal.writing():
        journal.learn_many(Lesson(n.to_bytes(32), "ham", bytes(100)) for n in range(10_000))
        ((size,),) = postgres.run("SELECT pg_relation_size('priory.lessons')", database)
        assert size > 1_000_000


def test_a_machine_that_cannot_write_a_snapshot_learns_nevertheless(
    nodes: list[Filter], mail: list[Drawn], tmp_path: Path, journals: Journals
) -> None:
    (nodes[0].home / f"{journals.counts}.lock").mkdir()
    nodes[0].learn(mail[0].raw, "ham")
    nodes[0]._counts.save_if_due(1)
    with pytest.raises(JournalError, match="cannot be written: Is a directory"):
        nodes[0]._counts.save()


def test_of_several_processes_of_a_machine_one_writes_the_snapshot(
    nodes: list[Filter], mail: list[Drawn], journals: Journals
) -> None:
    one = nodes[0]
    with Filter.open(one.home, one.options) as other:
        list(one.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:8]))
        one._counts.save_if_due(4)
        other.refresh()
        path = one.home / journals.counts
        written = path.stat().st_ino
        other._counts.save_if_due(4)
        assert path.stat().st_ino == written
        list(one.learn_many((drawn.raw, drawn.label, "") for drawn in mail[8:16]))
        other.refresh()
        other._counts.save_if_due(4)
        assert path.stat().st_ino != written


def test_an_unreachable_server_is_away() -> None:
    with pytest.raises(JournalAwayError, match=r"postgresql://ann@127.0.0.1:1/mail cannot be reached: .*refused"):
        open_store(StoreAddress("postgresql://ann:secret@127.0.0.1:1/mail"), VERSION)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            "INSERT INTO priory.steps VALUES (99)",
            f"has format 99, this Priory knows up to {schema.FORMAT}: use a newer Priory.",
        ),
        ("DELETE FROM priory.steps", f"has format 0 of an older Priory, this one needs {schema.FORMAT}: bring it up"),
    ],
)
def test_tables_of_another_format_are_refused(database: str, step: str, said: str) -> None:
    prepare_store(StoreAddress(database), VERSION, 12, 12)
    with psycopg.connect(database) as connection:
        connection.execute(step)  # type: ignore[call-overload]
    with pytest.raises(JournalError) as caught:
        open_store(StoreAddress(database), VERSION)
    assert said in str(caught.value)


def test_to_prepare_twice_changes_nothing(database: str) -> None:
    store = StoreAddress(database)
    assert prepare_store(store, VERSION, 12, 12) == schema.FORMAT
    journal = open_store(store, VERSION)
    assert prepare_store(store, VERSION, 14, 14) == schema.FORMAT
    again = open_store(store, VERSION)
    assert (again.id, again.bits) == (journal.id, 12)
    journal.close()
    again.close()


def test_features_of_another_version_are_refused(database: str) -> None:
    prepare_store(StoreAddress(database), VERSION, 12, 12)
    with pytest.raises(JournalError, match=f"holds features of version {VERSION}, this Priory makes version"):
        open_store(StoreAddress(database), VERSION + 1)


def test_an_account_without_rights_is_told_so(database: str, mail: list[Drawn], tmp_path: Path) -> None:
    prepare_store(StoreAddress(database), VERSION, 12, 12)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
        connection.execute("GRANT USAGE ON SCHEMA priory TO guest")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA priory TO guest")
    guest = StoreAddress(f"postgresql://guest:guest@{database.rpartition('@')[2]}")
    with Filter.open(tmp_path, Options(spec=Spec(bits=12), store=guest)) as filter_:
        assert filter_.check(mail[0].raw).reason
        with pytest.raises(JournalError, match=r"denied for table journal\. Let the owner of the tables GRANT"):
            filter_.learn(mail[0].raw, "ham")


def test_a_replica_can_be_asked_but_not_taught(
    tmp_path: Path, journals: Journals, postgres: real_postgres.Postgres, mail: list[Drawn]
) -> None:
    store = journals.store(tmp_path)
    assert store is not None
    with Filter.open(tmp_path / "home", Options(spec=Spec(bits=12), store=store)) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:40]))
        with postgres.standby() as standby:
            wait_until(lambda: postgres.has_replayed(standby))
            there = Options(spec=Spec(bits=12), store=StoreAddress(standby.url(store.url.rpartition("/")[2])))
            with Filter.open(tmp_path / "there", there) as replica:
                assert replica.check(mail[50].raw) == filter_.check(mail[50].raw)
                with pytest.raises(JournalError, match="is a replica that can only be read: mail is checked, but to"):
                    replica.learn(mail[50].raw, "ham")


def test_without_psycopg_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from priory.filter.filter import Filter\n"
        "from priory.filter.options import Options\n"
        "from priory.journal import StoreAddress\n"
        f"Filter.open({str(tmp_path)!r}, Options(store=StoreAddress('postgresql://127.0.0.1/x')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith("needs psycopg: pip install '.[postgres]' in Priory's source folder.")
