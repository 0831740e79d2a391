"""The PostgreSQL of the tests does what tests of failures rely on."""

from contextlib import closing

import psycopg
import pytest

from real_daemon import wait_until
from real_postgres import Postgres, proxy


def test_each_database_is_empty(postgres: Postgres):
    for _ in range(2):
        with postgres.database() as name:
            postgres.run("CREATE TABLE letters (n int)", name)
            assert postgres.run("SELECT * FROM letters", name) == []


def test_what_was_acknowledged_survives_a_crash(postgres: Postgres):
    with postgres.database() as name:
        postgres.run("CREATE TABLE letters AS SELECT 1 AS n", name)
        postgres.crash()
        with pytest.raises(psycopg.OperationalError, match="refused"):
            postgres.run("SELECT * FROM letters", name)
        postgres.start()
        assert postgres.run("SELECT * FROM letters", name) == [(1,)]


def test_a_standby_follows_and_cannot_be_written_to(postgres: Postgres):
    with postgres.database() as name, postgres.standby() as standby:
        postgres.run("CREATE TABLE letters AS SELECT 1 AS n", name)
        wait_until(lambda: postgres.has_replayed(standby))
        assert standby.run("SELECT * FROM letters", name) == [(1,)]
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            standby.run("INSERT INTO letters VALUES (2)", name)
        standby.run("SELECT pg_promote()")
        standby.run("INSERT INTO letters VALUES (2)", name)


def test_the_password_is_asked_for(postgres: Postgres):
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(postgres.url(password="guessed"))


def test_a_network_can_be_cut_and_heals(postgres: Postgres):
    with proxy(postgres.port) as network:
        url = postgres.url(port=network.port)
        with psycopg.connect(url, autocommit=True) as connection:
            network.cut()
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)
        network.heal()
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_a_network_can_be_silent(postgres: Postgres):
    with proxy(postgres.port) as network, closing(psycopg.connect(postgres.url(port=network.port))) as connection:
        network.stall()
        connection.pgconn.send_query(b"SELECT 1")
        connection.pgconn.flush()
        with pytest.raises(psycopg.OperationalError, match="timeout"):
            psycopg.connect(postgres.url(port=network.port), connect_timeout=2)
        assert not _has_answered(connection)
        network.heal()
        wait_until(lambda: _has_answered(connection))


def _has_answered(connection: psycopg.Connection) -> bool:
    connection.pgconn.consume_input()
    return not connection.pgconn.is_busy()
