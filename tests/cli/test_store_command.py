"""The journal on a server: prepare, show, teach, and move it in both directions."""

import json
import os
import re
from pathlib import Path

import pytest

import real_postgres
from command import priory
from priory.features import VERSION
from priory.journal import StoreAddress, open_file_to_read
from priory.journal.shared.store import open_store
from real_daemon import serving


def said(done: object) -> str:
    return (done.stdout + done.stderr).decode()  # type: ignore[attr-defined]


def test_a_store_is_prepared_taught_and_shown(
    database: str, inbox: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = priory("--store", database, "stats", home=tmp_path)
    assert missing.returncode == 1
    assert "has no Priory tables: create them with priory store prepare." in said(missing)
    assert real_postgres.PASSWORD not in said(missing)
    for _ in range(2):
        done = priory("--store", database, "store", "prepare", home=tmp_path)
        assert said(done).endswith(" has the tables of format 5\n")
    monkeypatch.setenv("PRIORY_STORE", database)
    for label in ("ham", "spam"):
        assert priory("learn", label, inbox / "taught" / label, home=tmp_path).returncode == 0
    monkeypatch.delenv("PRIORY_STORE")
    alone = priory("check", inbox / "unseen", home=home)
    monkeypatch.setenv("PRIORY_STORE", database)
    assert priory("check", inbox / "unseen", home=tmp_path).stdout == alone.stdout
    found = json.loads(priory("store", "show", "--json", home=tmp_path).stdout)
    assert sum(found["lessons"].values()) == 200
    assert [each["node"] for each in found["nodes"]] == [os.uname().nodename]
    assert found["store"] == f"postgresql://priory@{database.rpartition('@')[2]}"
    shown = said(priory("store", "show", home=tmp_path))
    assert f"  {os.uname().nodename}: 200 lessons, last " in shown
    assert real_postgres.PASSWORD not in shown
    assert not (tmp_path / "journal.sqlite").exists()
    in_force = said(priory("config", home=tmp_path))
    assert f"store       {found['store']}, here as {os.uname().nodename}" in in_force


def test_stats_and_the_daemon_name_a_journal_outside_the_home(database: str, home: Path, tmp_path: Path) -> None:
    assert priory("--store", database, "store", "prepare", home=tmp_path).returncode == 0
    (tmp_path / "priory.toml").write_text(f'[store]\nurl = "{database}"\nnode = "mx1"\n')
    name = f"postgresql://priory@{database.rpartition('@')[2]}"
    shown, told = said(priory("stats", home=tmp_path)), said(priory("stats", "--json", home=tmp_path))
    assert re.search(rf"^store +{re.escape(name)}, here as mx1 *$", shown, re.MULTILINE)
    assert json.loads(told)["store"] == name
    with serving(tmp_path) as daemon:
        assert f"]: starting home={tmp_path} store={name} workers=" in daemon.log
    assert real_postgres.PASSWORD.replace(" ", "%20") not in shown + told + daemon.log
    assert "store" not in json.loads(priory("stats", "--json", home=home).stdout)
    assert not re.search("^store", said(priory("stats", home=home)), re.MULTILINE)


def test_a_journal_moves_to_a_server_and_back_unchanged(database: str, home: Path, tmp_path: Path) -> None:
    there = priory("move", home, database, home=tmp_path)
    assert said(there).startswith("copied and verified 200 lessons; the counts of both journals have the digest ")
    back = priory("move", database, tmp_path / "back", home=tmp_path)
    assert said(back) == said(there)
    journals = [open_file_to_read(each / "journal.sqlite", VERSION) for each in (home, tmp_path / "back")]
    assert list(journals[0].lessons()) == list(journals[1].lessons())
    for journal in journals:
        journal.close()
    again = priory("move", home, database, home=tmp_path)
    assert again.returncode == 1
    assert "is not empty: copy into a store that has no lessons, or use priory merge." in said(again)


def test_the_tables_have_the_sizes_that_are_set(database: str, tmp_path: Path) -> None:
    (tmp_path / "priory.toml").write_text(f'[table]\nbits = 17\npersonal_bits = 18\n[store]\nurl = "{database}"\n')
    assert priory("store", "prepare", home=tmp_path).returncode == 0
    journal = open_store(StoreAddress(database), VERSION)
    assert (journal.bits, journal.personal_bits) == (17, 18)
    journal.close()


@pytest.mark.parametrize("command", [("store", "prepare"), ("store", "show")])
def test_without_a_store_the_error_tells_how_to_name_one(command: tuple[str, ...], tmp_path: Path) -> None:
    done = priory(*command, home=tmp_path)
    assert done.returncode == 1
    assert said(done) == ("priory: no store is named: use --store, PRIORY_STORE, or url in [store] of priory.toml\n")


def test_what_is_no_address_is_refused(tmp_path: Path) -> None:
    done = priory("--store", "mysql://db.example/x", "stats", home=tmp_path)
    assert done.returncode == 1
    assert "PRIORY_STORE, or --store, must be an address such as postgresql://" in said(done)


@pytest.mark.parametrize(
    ("wrong", "said_about"),
    [
        ('[store]\nurl = ""\n', "priory.toml:2: [store] url must be an address such as postgresql://"),
        ('[store]\nnode = "mx1"\n', "priory.toml:2: [store] node is for a journal on a server: set url"),
    ],
)
def test_an_incomplete_store_is_refused(wrong: str, said_about: str, tmp_path: Path) -> None:
    (tmp_path / "priory.toml").write_text(wrong)
    done = priory("stats", home=tmp_path)
    assert done.returncode == 1
    assert said_about in said(done)


def test_the_name_of_a_node_holds_for_a_store_that_the_environment_names(database: str, tmp_path: Path) -> None:
    (tmp_path / "priory.toml").write_text('[store]\nnode = "mx7"\n')
    assert "here as mx7" in said(priory("--store", database, "config", home=tmp_path))


def test_moving_from_a_folder_without_a_journal_is_refused(tmp_path: Path) -> None:
    done = priory("move", str(tmp_path), str(tmp_path / "copy"), home=tmp_path)
    assert done.returncode == 1
    assert said(done) == f"priory: {tmp_path} is not the home of a filter: it has no journal.sqlite\n"
    assert not (tmp_path / "copy").exists()
