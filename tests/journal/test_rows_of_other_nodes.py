"""Rows that a damaged or malicious node writes: other nodes judge mail as before, and lose nothing else."""

import math
import random
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import real_postgres
from priory.demo import Drawn
from priory.features import VERSION
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import JournalError, Rule, RuleEffect, RuleThing, StoreAddress
from priory.journal.shared.store import prepare_store
from priory.journal.silence import StoredSilence

DAMAGES = 120
VALUES: dict[str, tuple[Any, ...]] = {
    "bigint": (0, -1, 1, 7, 1 << 40, (1 << 63) - 1, -(1 << 63)),
    "integer": (0, -1, 1, 29, 200, (1 << 31) - 1, -(1 << 31)),
    "double precision": (0.0, -1.0, 1e12, 1e308, -1e308, math.inf, -math.inf, math.nan),
    "boolean": (True, False),
    "text": ("", "x", "12", "\n", "ham", "ham\n\n\n\n", "\tauto", "ä" * 40, "y" * 100_000, "junk", "(a*)*b"),
    "bytea": (b"", b"\0", b"\xff", bytes(5), bytes(32), b"\xff" * 40, bytes(100_000), None),
}
COLUMNS = """
SELECT table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema = 'priory' AND table_name <> 'steps' ORDER BY 1, 2
"""


class Cluster:
    """The database of a journal, and the homes of two nodes that share it; each test damages a copy."""

    def __init__(self, server: real_postgres.Postgres, folder: Path) -> None:
        self.server = server
        self._folder = folder
        self.database = ""

    def options(self, database: str, node: str) -> Options:
        return Options(store=StoreAddress(self.server.url(database), node), keeps_subjects=True)

    def teach(self, database: str, mail: list[Drawn]) -> None:
        self.database = database
        prepare_store(StoreAddress(self.server.url(database)), VERSION, 12, 12)
        with Filter.open(self._folder / "mx1", self.options(database, "mx1")) as node:
            for drawn in mail[:40]:
                node.learn(drawn.raw, drawn.label)
            node.rules.set(Rule("ann", RuleThing.SENDER, "bob@mail.example", RuleEffect.ALLOW))
            node.rules.set(Rule("", RuleThing.PHRASE, "lunch time", RuleEffect.BLOCK))
            node._counts.save()
            for drawn in mail[40:45]:
                node.learn(drawn.raw, drawn.label, user="ann")
            for drawn in mail[3:6]:
                node.forget(drawn.raw)
            with node.journal.writing():
                node.journal.silence.store(StoredSilence("ham,spam", b"", b""))

    def home(self, database: str, *, is_new: bool) -> Path:
        """Return the home of a node, or of one that has not seen this journal."""
        home = self._folder / database
        if not is_new:
            shutil.copytree(self._folder / "mx1", home)
            identity = home / "shared-journal.json"  # it has the address of the database that was copied
            identity.write_text(identity.read_text().replace(f'/{self.database}"', f'/{database}"'))
        return home


@pytest.fixture(scope="module")
def taught(
    postgres: real_postgres.Postgres, mail: list[Drawn], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Two nodes, one of which has taught mail."""
    cluster = Cluster(postgres, tmp_path_factory.mktemp("cluster"))
    with pytest.MonkeyPatch.context() as patch, postgres.database() as name:
        patch.setattr("priory.filter.counts.SNAPSHOT_EVERY_IN_BULK", 10)
        cluster.teach(name, mail)
        yield cluster


def damage(connection: psycopg.Connection[Any], chance: random.Random) -> str:
    """Overwrite a column of a row by a value that its type allows; return which."""
    columns = connection.execute(COLUMNS).fetchall()
    tables = sorted({table for table, _, _ in columns})
    table = chance.choice([*tables, "lessons", "lessons", "snapshots"])
    _, column, kind = chance.choice([row for row in columns if row[0] == table])
    ((n,),) = connection.execute(f"SELECT count(*) FROM priory.{table}".encode()).fetchall()
    where = f"ctid IN (SELECT ctid FROM priory.{table} ORDER BY ctid LIMIT 1 OFFSET {chance.randrange(max(n, 1))})"
    value = chance.choice(VALUES[kind])
    if kind == "bytea" and chance.random() < 0.6:
        rows = connection.execute(f'SELECT "{column}" FROM priory.{table} WHERE {where}'.encode()).fetchall()
        value = flipped(rows[0][0], chance, is_packed=table == "snapshots") if rows and rows[0][0] else value
    try:
        connection.execute(f'UPDATE priory.{table} SET "{column}" = %s WHERE {where}'.encode(), [value])
    except psycopg.Error:
        return ""  # the schema refuses it
    return f"{table}.{column}"


def flipped(value: bytes, chance: random.Random, *, is_packed: bool) -> bytes:
    """Return some bytes with others in between; a malicious node would give them the right checksum."""
    data = bytearray(zlib.decompress(value) if is_packed else value)
    for _ in range(chance.choice((1, 5, 100))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return zlib.compress(bytes(data), 1) if is_packed else bytes(data)


def n_readable(node: Filter, _mail: list[Drawn]) -> int:
    return len(list(node.journal.lessons()))


def check(node: Filter, mail: list[Drawn]) -> float:
    return node.check(mail[50].raw).probability


def learn(node: Filter, mail: list[Drawn]) -> None:
    node.learn(mail[53].raw, mail[53].label)


def forget(node: Filter, mail: list[Drawn]) -> None:
    node.forget(mail[7].raw)


def show(node: Filter, _mail: list[Drawn]) -> None:
    node.stats().as_dict()
    node.lessons.page(most=500)


def rebuild(node: Filter, _mail: list[Drawn]) -> None:
    node._counts.save()
    node.rebuild()


def outcome(act: Callable[[Filter], object], home: Path, options: Options) -> Any:
    """Return what is done with a filter as commands do it; None for a clear error, and all other errors."""
    try:
        with Filter.open(home, options) as node:
            return act(node)
    except JournalError as error:
        return None if options.store and options.store.name in str(error) else error
    except Exception as error:  # noqa: BLE001
        return error


@pytest.mark.slow
def test_a_damaged_row_stops_no_other_node(taught: Cluster, mail: list[Drawn]) -> None:
    cluster = taught
    for seed in range(DAMAGES):
        chance = random.Random(seed)
        with cluster.server.database(cluster.database) as name:
            with psycopg.connect(cluster.server.url(name), autocommit=True) as connection:
                where = damage(connection, chance)
            home, options = cluster.home(name, is_new=seed % 2 == 0), cluster.options(name, "mx2")
            acts = (n_readable, check, learn, forget, show, rebuild)
            outcomes = [outcome(lambda node, act=act: act(node, mail), home, options) for act in acts]
            assert not [str(error) for error in outcomes if isinstance(error, Exception)], (seed, where)
            if not where.startswith("journal."):
                assert outcomes[0] >= 42 - where.startswith("lessons."), (seed, where)
                assert 0 <= outcomes[1] <= 1, (seed, where)
            shutil.rmtree(home)


def test_mail_is_judged_by_older_counts_while_the_tally_is_damaged(
    taught: Cluster, mail: list[Drawn], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("priory.filter.sync.DAMAGED_RETRY_S", 0.0)
    with taught.server.database(taught.database) as name:
        home = taught.home(name, is_new=False)
        with Filter.open(home, taught.options(name, "mx2")) as node:
            node._counts.save()
            before = node.check(mail[50].raw)
            taught.server.run("UPDATE priory.tally SET n = n + 7", name)
            taught.server.run("UPDATE priory.journal SET stamp = 'other'", name)
            assert [node.check(mail[50].raw).log_odds for _ in range(3)] == [before.log_odds] * 3
            with pytest.raises(JournalError, match="its tally and its lessons differ"):
                node.learn(mail[51].raw, mail[51].label)
            taught.server.run("UPDATE priory.tally SET n = n - 7", name)
            node.learn(mail[51].raw, mail[51].label)
            assert node._sync.trouble is None
    assert capsys.readouterr().err.count("its tally and its lessons differ") == 1


@pytest.mark.parametrize("is_complete", [False, True])
def test_a_shared_snapshot_that_is_damaged_is_not_used(
    is_complete: bool, taught: Cluster, mail: list[Drawn], capsys: pytest.CaptureFixture[str]
) -> None:
    with taught.server.database(taught.database) as name:
        with Filter.open(taught.home(name, is_new=False), taught.options(name, "mx2")) as node:
            expected = node.check(mail[50].raw).log_odds
        part = zlib.compress(bytes(1 << 23)) if is_complete else b"lunch"
        taught.server.run(f"UPDATE priory.snapshots SET bytes = '\\x{part.hex()}' WHERE part = 1", name)
        with Filter.open(taught.home(f"{name}_new", is_new=True), taught.options(name, "mx3")) as node:
            assert node.check(mail[50].raw).log_odds == expected
    assert (
        capsys.readouterr().err.count(f"the shared snapshot in {taught.options(name, '').store.name} is damaged") == 1
    )
