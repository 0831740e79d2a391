"""`priory config`: what is in force, all errors, and what can hardly be meant."""

import json
import shutil
import socket
from pathlib import Path

import pytest

from command import priory
from priory.cli.options import Problem, config_path, require
from priory.config import ConfigError, load
from priory.config.doubts import doubts
from priory.filter import Filter
from priory.options import Options
from priory.server.options import Serving
from real_daemon import serving


def warnings(text: str, home: Path) -> list[str]:
    """What is warned of, without the file."""
    (home / "priory.toml").write_text(text)
    done = priory("config", "--check", "--json", home=home)
    assert done.returncode == 0, done.stderr
    return [warning["text"].removeprefix(f"{home}/priory.toml:") for warning in json.loads(done.stdout)["warnings"]]


def test_another_file_can_be_named_for_all_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home, file = tmp_path / "home", tmp_path / "etc.toml"
    home.mkdir()
    file.write_text("labels = ['ham', 'junk']\n[serve]\nworkers = 0\n")
    wrong = f"priory: {file}:3: [serve] workers must be a whole number from 1 to 1024, not 0\n".encode()
    for command in ("serve", "config"):
        assert priory(command, "--config", file, home=home).stderr == wrong
    assert b"spam learned" in priory("stats", home=home).stdout
    monkeypatch.setenv("PRIORY_CONFIG", str(file))
    assert priory("serve", home=home).stderr == wrong
    assert b"junk learned" in priory("stats", home=home).stdout
    file.unlink()
    gone = f"priory: there is no file {file}: name another with --config or PRIORY_CONFIG, or none\n".encode()
    assert [priory(command, home=home).stderr for command in ("serve", "config", "stats")] == [gone] * 3


def test_what_is_in_force_is_shown_in_words_and_for_programs(tmp_path: Path):
    shown = priory("config", home=tmp_path).stdout.decode()
    assert shown.startswith(f"nothing is set in {tmp_path}/priory.toml; the defaults:\n  labels      ham, spam\n")
    (tmp_path / "priory.toml").write_text(
        "[costs]\nunsure = 2\n[milter]\nlisten = '127.0.0.1:0'\nreject = { ham = 1000, spam = -1 }\n"
    )
    shown = priory("config", "--check", home=tmp_path).stdout.decode()
    assert shown.startswith(f"{tmp_path}/priory.toml can be used:\n")
    assert "  so it says  unsure from 0.20, spam from 0.98\n" in shown
    assert "spam is marked, or refused from 0.9989 (ham 1000, spam -1)\n" in shown
    assert "warning" not in shown
    figures = json.loads(priory("config", "--json", home=tmp_path).stdout)["in_force"]
    assert figures["costs"] == {"ham": {"spam": 10}, "spam": {"ham": 100}, "unsure": 2}
    assert figures["milter"]["reject"] == {"ham": 1000, "spam": -1}
    assert figures["milter"]["thresholds"] == {"reject": pytest.approx(900 / 901)}
    assert figures["spamd"]["listen"] == [f"{tmp_path}/socket"]


def test_all_errors_are_named_with_their_lines(tmp_path: Path):
    other = tmp_path / "other.toml"
    other.write_text("[serve]\nworkers = 0\n[costs]\nunsure = -1\n")
    done = priory("config", "--check", "--config", other, home=tmp_path)
    assert done.returncode == 1
    assert done.stderr.decode() == (
        f"priory: {other}:2: [serve] workers must be a whole number from 1 to 1024, not 0\n"
        f"priory: {other}:4: the cost of unsure must be a number from 0 up, not -1\n"
    )
    assert not done.stdout
    done = priory("config", "--json", "--config", other, home=tmp_path)
    assert [error["key"] for error in json.loads(done.stdout)["errors"]] == ["serve.workers", "costs.unsure"]
    assert done.returncode == 1
    assert b"there is no file /no/such" in priory("config", "--config", "/no/such", home=tmp_path).stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[milter]\nlisten = '127.0.0.1:0'\nreject = { ham = -1000, spam = -1 }",
            "3: [milter] reject: ham = -1000",
        ),
        (
            "[milter]\nlisten = '127.0.0.1:0'\nquarantine = { ham = 100, spam = 0 }",
            "3: [milter] quarantine never",
        ),
        ("[milter]\nreject = { ham = 1000, spam = -1 }", "2: [milter] reject is set, but no mail server can ask"),
        ("[costs]\nunsure = 0", "2: [costs] unsure costs nothing, so it is said of every message"),
        ("[costs]\nham = { spam = 0 }", "2: [costs] spam is never said, not even where it is certain: to say ham when"),
        ("[spamd]\nlisten = '/no/such/folder/x'", "2: [spamd] cannot listen on /no/such/folder/x: No such file"),
        ("[spamd]\nlisten = '0.0.0.0:0'", "2: [spamd] listen: whoever can reach 0.0.0.0:0 can teach the filter"),
        ("[milter]\nlisten = '192.0.2.1:7357'", "2: [milter] cannot listen on 192.0.2.1:7357: Cannot assign"),
        ("[milter]\nlisten = '/dev/null'", "2: [milter] cannot listen on /dev/null: there is something that is no"),
        (
            "[spamd]\nlisten='/tmp/x'\n[milter]\nlisten='/tmp/x'",
            "4: [milter] /tmp/x is taken by [spamd]",
        ),
        (
            "[serve]\nworkers = 9\nmax_connections = 3",
            "3: [serve] max_connections = 3 is less than one for each of",
        ),
        ("[patterns]\nmine = 'a*'", "2: pattern 'mine' matches an empty text, so it is in every message"),
        ("labels = ['spam', 'ham']", "1: HOME/journal.sqlite was taught with the labels ham, spam: name these first"),
        ("[table]\nbits = 24", "2: [table] bits = 24 is for a journal that is yet to be made; HOME/journal.sqlite was"),
        ("labels = ['ham', 'spam']\n[features]\n" + "X", "2: [features] are all switched off"),
    ],
)
def test_what_can_hardly_be_meant_is_warned_of(text: str, said: str, home: Path, tmp_path: Path):
    shutil.copy(home / "journal.sqlite", tmp_path)  # others use the home
    kinds = json.loads(priory("config", "--json", home=tmp_path).stdout)["in_force"]["features"]
    off = "\n".join(f"{kind} = false" for kind in kinds)
    (warning,) = warnings(text.replace("X", off), tmp_path)
    assert warning.startswith(said.replace("HOME", str(tmp_path)))


def test_lessons_of_a_label_that_is_not_named_are_warned_of(tmp_path: Path):
    (tmp_path / "priory.toml").write_text("labels = ['ham', 'spam', 'news']\n")
    priory("learn", "news", "-", home=tmp_path, stdin=b"Subject: news\n\nweekly")
    (warning,) = warnings("", tmp_path)
    assert warning == f"{tmp_path}/journal.sqlite has lessons of news: add that to the labels, at the end"


def test_a_port_in_use_is_warned_of_unless_our_own_daemon_uses_it(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = f"[milter]\nlisten = '127.0.0.1:{port}'\n"
        (warning,) = warnings(config, tmp_path)
        assert warning.startswith(f"2: [milter] cannot listen on 127.0.0.1:{port}: Address already in use")
    assert warnings(config, tmp_path) == []
    with serving(tmp_path, config):
        assert warnings(config, tmp_path) == []


def test_a_home_that_cannot_be_written_or_entered_is_warned_of(open_folder: Path, unprivileged):
    config = Options(), Serving()
    with Filter.open(open_folder):
        pass
    open_folder.chmod(0o555)
    with unprivileged():
        texts = [doubt.text for doubt in doubts(*config, open_folder)]
        assert (
            f"{open_folder} cannot be written by this account, so it can check mail but neither learn nor serve"
            in texts
        )
    open_folder.chmod(0)
    with unprivileged():
        assert [doubt.text for doubt in doubts(*config, open_folder)][-1].startswith(f"{open_folder} cannot be entered")
    open_folder.chmod(0o755)


def test_what_an_account_may_not_enter_is_told_of(open_folder: Path, unprivileged):
    (open_folder / "other.toml").touch()
    open_folder.chmod(0)
    with unprivileged():
        with pytest.raises(Problem, match=f"this account may not enter {open_folder}/home: name another --home"):
            require(open_folder / "home")
        with pytest.raises(ConfigError, match=r"other\.toml cannot be read: Permission denied\."):
            load(config_path(Path(), open_folder / "other.toml"))
    open_folder.chmod(0o755)


def test_a_home_that_is_not_there_or_no_journal_is_warned_of(tmp_path: Path):
    def said() -> str:
        return priory("config", "--check", home=tmp_path / "home").stdout.decode().splitlines()[-1]

    assert said() == f"warning: there is no folder {tmp_path}/home; the first lesson makes it, the daemon does not"
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "journal.sqlite").write_bytes(b"this is no journal")
    assert said().startswith(f"warning: {tmp_path}/home/journal.sqlite is not a Priory journal")
