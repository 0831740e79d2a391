"""`priory config`: values in effect, errors and warnings."""

import json
import shutil
import socket
from pathlib import Path

import pytest

from command import priory
from priory.cli.options import CommandError, config_path, require_home
from priory.config import ConfigError, load
from priory.config.warnings import find_warnings
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.server.options import ServeOptions
from real_daemon import serving


def warnings(text: str, home: Path) -> list[str]:
    """Return the warnings without the name of the file."""
    (home / "priory.toml").write_text(text)
    done = priory("config", "--check", "--json", home=home)
    assert done.returncode == 0, done.stderr
    return [warning["text"].removeprefix(f"{home}/priory.toml:") for warning in json.loads(done.stdout)["warnings"]]


@pytest.mark.slow
def test_all_commands_accept_another_configuration_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
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


def test_values_in_effect_are_shown_as_text_and_json(tmp_path: Path):
    shown = priory("config", home=tmp_path).stdout.decode()
    assert shown.startswith(f"nothing is set in {tmp_path}/priory.toml; the defaults:\n  labels      ham, spam\n")
    (tmp_path / "priory.toml").write_text(
        "[costs]\nunsure = 2\n[milter]\nlisten = '127.0.0.1:0'\nreject = { ham = 1000, spam = -1 }\n"
    )
    shown = priory("config", "--check", home=tmp_path).stdout.decode()
    assert shown.startswith(f"{tmp_path}/priory.toml is valid:\n")
    assert "  verdicts    unsure from 0.20, spam from 0.98\n" in shown
    assert "spam is marked, or rejected from 0.9989 (ham 1000, spam -1)\n" in shown
    assert "warning" not in shown
    figures = json.loads(priory("config", "--json", home=tmp_path).stdout)["in_force"]
    assert figures["costs"] == {"ham": {"spam": 10}, "spam": {"ham": 100}, "unsure": 2}
    assert figures["milter"]["reject"] == {"ham": 1000, "spam": -1}
    assert figures["milter"]["thresholds"] == {"reject": pytest.approx(900 / 901)}
    assert figures["spamd"]["listen"] == [f"{tmp_path}/socket"]


def test_all_errors_are_printed_with_their_lines(tmp_path: Path):
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
        (
            "[milter]\nreject = { ham = 1000, spam = -1 }",
            "2: [milter] reject is set, but mail servers cannot connect: set listen",
        ),
        (
            "[ask]\nspool = '20 MB'",
            "2: [ask] spool: messages are stored in HOME/spool; this account, and everyone with a token",
        ),
        ("[costs]\nunsure = 0", "2: [costs] unsure costs nothing, so every message is unsure"),
        (
            "[costs]\nham = { spam = 0 }",
            "2: [costs] no message is judged spam, however certain, because the verdict ham costs",
        ),
        ("[spamd]\nlisten = '/no/such/folder/x'", "2: [spamd] cannot listen on /no/such/folder/x: No such file"),
        (
            "[spamd]\nlisten = '0.0.0.0:0'",
            "2: [spamd] listen: every machine that reaches 0.0.0.0:0 can teach the filter",
        ),
        ("[milter]\nlisten = '192.0.2.1:7357'", "2: [milter] cannot listen on 192.0.2.1:7357: Cannot assign"),
        ("[milter]\nlisten = '/dev/null'", "2: [milter] cannot listen on /dev/null: it exists and is not a socket"),
        (
            "[spamd]\nlisten='HOME/mail'\n[milter]\nlisten='HOME/mail'",
            "4: [milter] HOME/mail is already used by [spamd]",
        ),
        (
            "[serve]\nworkers = 9\nmax_connections = 3",
            "3: [serve] max_connections = 3 is less than the 9 workers",
        ),
        ("[patterns]\nmine = 'a*'", "2: pattern 'mine' matches an empty text, so it matches every message"),
        ("labels = ['spam', 'ham']", "1: HOME/journal.sqlite was taught with the labels ham, spam: name these first"),
        ("[table]\nbits = 24", "2: [table] bits = 24 has no effect: HOME/journal.sqlite was created with 22"),
        ("labels = ['ham', 'spam']\n[features]\n" + "X", "2: [features] are all switched off"),
    ],
)
def test_probable_mistakes_are_warned_of(text: str, said: str, home: Path, tmp_path: Path):
    shutil.copy(home / "journal.sqlite", tmp_path)  # others use the home
    kinds = json.loads(priory("config", "--json", home=tmp_path).stdout)["in_force"]["features"]
    off = "\n".join(f"{kind} = false" for kind in kinds)
    (warning,) = warnings(text.replace("X", off).replace("HOME", str(tmp_path)), tmp_path)
    assert warning.startswith(said.replace("HOME", str(tmp_path)))


def test_lessons_of_an_unknown_label_are_warned_of(tmp_path: Path):
    (tmp_path / "priory.toml").write_text("labels = ['ham', 'spam', 'news']\n")
    priory("learn", "news", "-", home=tmp_path, stdin=b"Subject: news\n\nweekly")
    (warning,) = warnings("", tmp_path)
    assert warning == f"{tmp_path}/journal.sqlite has lessons of news: add this to the end of labels"


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
    config = Options(), ServeOptions()
    with Filter.open(open_folder):
        pass
    open_folder.chmod(0o555)
    with unprivileged():
        texts = [warning.text for warning in find_warnings(*config, open_folder)]
        assert (
            f"{open_folder} cannot be written by this account: it can check mail, but neither learn nor serve" in texts
        )
    open_folder.chmod(0)
    with unprivileged():
        assert [warning.text for warning in find_warnings(*config, open_folder)][-1].startswith(
            f"{open_folder} cannot be entered"
        )
    open_folder.chmod(0o755)


def test_an_inaccessible_folder_is_reported(open_folder: Path, unprivileged):
    (open_folder / "other.toml").touch()
    open_folder.chmod(0)
    with unprivileged():
        with pytest.raises(CommandError, match=f"this account may not enter {open_folder}/home: name another --home"):
            require_home(open_folder / "home")
        with pytest.raises(ConfigError, match=r"other\.toml cannot be read: Permission denied\."):
            load(config_path(Path(), open_folder / "other.toml"))
    open_folder.chmod(0o755)


def test_a_missing_home_and_a_foreign_journal_are_warned_of(tmp_path: Path):
    def said() -> str:
        return priory("config", "--check", home=tmp_path / "home").stdout.decode().splitlines()[-1]

    assert said() == f"warning: there is no folder {tmp_path}/home; the first lesson creates it, the daemon does not"
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "journal.sqlite").write_bytes(b"this is no journal")
    assert said().startswith(f"warning: {tmp_path}/home/journal.sqlite is not a Priory journal")
