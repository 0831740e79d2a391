"""What holds for all commands: one line for what is wrong, a page for each, and nothing loaded that is not needed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from command import PRIORY, priory, unread
from priory.cli.app import COMMANDS


def test_the_version_is_told(tmp_path: Path):
    assert re.fullmatch(rb"priory \d+\.\d+\.\d+\n", priory("--version", home=tmp_path).stdout)


def test_the_package_is_the_command(home: Path):
    arguments = ["check", "-", "--home", str(home)]
    by_name, by_package = (
        subprocess.run([*start, *arguments], input=b"Subject: x\n\n", capture_output=True, check=True)
        for start in ([PRIORY], [sys.executable, "-m", "priory"])
    )
    assert by_package.stdout == by_name.stdout != b""


def test_output_that_cannot_be_written_is_one_line(home: Path):
    with Path("/dev/full").open("wb") as full:
        for arguments, status in ((("check", "-"), 1), (("filter",), 75)):
            result = subprocess.run(
                [PRIORY, *arguments, "--home", str(home)],
                input=b"Subject: x\n\n",
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
            assert result.returncode == status
            assert b"Traceback" not in result.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["check -", "check --json -", "lessons", "lessons --json", "config", "stats", ""])
def test_who_reads_no_more_is_told_nothing(command: str, unbuffered: str, home: Path):
    assert unread(*command.split(), home=home, unbuffered=unbuffered) == (1, b"")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("learn", "junk", "-"), "unknown label 'junk'; this filter knows ham, spam"),
        (("learn", "spam"), "learn needs a label and at least one path"),
        (("learn", "spam", "/no/such/mail"), "/no/such/mail"),
        (("check", "/no/such/mail"), "/no/such/mail"),
        (
            ("merge", "postgresql://ann:secret@db.example/mail"),
            "merge takes homes: copy it into one first with priory move postgresql://ann@db.example/mail HOME",
        ),
        (("merge", "/no/such/home"), "/no/such/home is no home of a filter: there is no journal.sqlite"),
        (("explain", "-", "--html", "/no/such/folder/x.html"), "/no/such/folder/x.html cannot be written"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: tuple[str, ...], said: str, home: Path):
    result = priory(*arguments, home=home, stdin=b"Subject: x\n\n")
    assert result.returncode == 1
    assert result.stderr.startswith(b"priory: ")
    assert result.stderr.count(b"\n") == 1
    assert said in result.stderr.decode()


@pytest.mark.parametrize(
    "command",
    ["stats", "check -", "learn ham -", "serve", "config", "token --list", "open --print", "imap", "lab report"],
)
def test_a_home_that_can_be_none_is_said_in_one_line(command: str, tmp_path: Path):
    (tmp_path / "file").write_text("no folder\n")
    unknown = "write the whole path, from / on, with --home or PRIORY_HOME\n"
    for home, said in (
        (Path("~no-such-account"), f"priory: it is not known where ~no-such-account is: {unknown}"),
        (tmp_path / "file", f"priory: {tmp_path}/file is no folder: name another --home\n"),
        (tmp_path / ("x" * 300), "xx cannot be used: File name too long. Check its name, and what this account may do"),
    ):
        result = priory(*command.split(), home=home, stdin=b"Subject: x\n\n")
        assert result.returncode == 1
        assert result.stderr.count(b"\n") == 1
        assert said in result.stderr.decode()


def test_mail_passes_also_if_the_home_can_be_none(tmp_path: Path):
    raw = b"Subject: x\n\n"
    for home in (Path("~no-such-account"), tmp_path / ("x" * 300)):
        passed, kept = (priory("filter", *more, home=home, stdin=raw) for more in ((), ("--strict",)))
        assert (passed.returncode, passed.stdout) == (0, raw)
        assert (kept.returncode, kept.stdout) == (75, raw)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("merge", "~no-such-account"), "it is not known where ~no-such-account is: write the whole path, from / on\n"),
        (("move", "~no-such-account", "x"), "it is not known where ~no-such-account is: write the whole path"),
        (("lab", "evaluate", "spam=~no-such-account"), "it is not known where ~no-such-account is"),
        (("config", "--config", "~no-such-account/x"), "it is not known where ~no-such-account/x is"),
        (("stats", "--home", "new\nline\x1b[31m"), "there is no folder new·line·[31m: name another --home"),
    ],
)
def test_odd_paths_are_said_in_one_line(arguments: tuple[str, ...], said: str, home: Path):
    result = priory(*arguments, home=home)
    assert result.returncode == 1
    assert result.stderr.count(b"\n") == 1
    assert said in result.stderr.decode()


def test_a_wrong_configuration_names_file_key_and_remedy(tmp_path: Path):
    (tmp_path / "priory.toml").write_text("[costs]\nunsur = 3\n")
    result = priory("check", "-", home=tmp_path, stdin=b"")
    assert result.stderr.decode() == (
        f"priory: {tmp_path}/priory.toml:2: [costs] unknown key 'unsur'; did you mean 'unsure'?\n"
    )


def test_costs_of_the_configuration_move_the_thresholds(tmp_path: Path):
    (tmp_path / "priory.toml").write_text("[costs]\nunsure = 1\nspam = { ham = 20 }\n")
    figures = json.loads(priory("stats", "--json", home=tmp_path).stdout)
    assert figures["thresholds"] == {"unsure": pytest.approx(0.1), "spam": pytest.approx(0.95)}


def test_the_demo_judges_itself_and_saves_what_it_drew(tmp_path: Path):
    result = priory("demo", "--messages", 300, "--save", tmp_path / "drawn", home=tmp_path)
    shown = result.stdout.decode()
    assert float(re.search(r"ROC area ([\d.]+)", shown)[1]) > 0.95
    assert "is spam" in shown
    assert "log-odds" in shown
    assert len(list((tmp_path / "drawn").rglob("*.eml"))) == 300


def loaded_by(message: Path, home: Path, *arguments: object) -> set[str]:
    """The modules that a command loads which is given a message; it must come to its end."""
    listed = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    command = [sys.executable, "-c", f"{listed}; from priory.cli import main; main()", *map(str, arguments)]
    environment = {**os.environ, "PRIORY_HOME": str(home)}
    done = subprocess.run(command, input=message.read_bytes(), capture_output=True, env=environment, check=True)
    return set(done.stderr.decode().splitlines()[-1].split())


@pytest.mark.parametrize("command", ["check FILE", "check --jobs 2 FILE", "filter", "learn ham FILE", "forget FILE"])
def test_what_a_mail_server_starts_loads_nothing_that_it_does_not_need(command: str, inbox: Path, tmp_path: Path):
    message = next((inbox / "taught" / "spam").iterdir())
    for label in ("ham", "spam"):
        priory("learn", label, inbox / "taught" / label, home=tmp_path)
    loaded = loaded_by(message, tmp_path, *command.replace("FILE", str(message)).split())
    unneeded = "asyncio email joblib multiprocessing numpy psycopg rich scipy sklearn tarfile tomllib"
    assert "priory.filter" in loaded
    assert not {name for name in loaded if name.partition(".")[0] in unneeded.split()}
    assert not {name for name in loaded if name.startswith(("priory.lab", "priory.cli.lab", "priory.demo"))}
    assert loaded.isdisjoint({"priory.cli.show", "priory.bayes.generative"})
    assert ("priory.cli.teach" in loaded) == command.startswith("learn")
    assert ("priory.cli.forget" in loaded) == command.startswith("forget")


def test_every_command_and_option_is_documented(tmp_path: Path):
    documented = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    for name in [name for name in COMMANDS if name != "lab"]:
        assert f"## priory {name}" in documented
        helped = subprocess.run(
            [PRIORY, name, "--help"], capture_output=True, env={**os.environ, "COLUMNS": "200"}, check=True
        )
        options = set(re.findall(r"--[a-z-]+", helped.stdout.decode())) - {"--help"}
        assert "Example" in helped.stdout.decode()
        missing = [option for option in options if option not in documented]
        assert not missing, f"{name}: {missing}"
