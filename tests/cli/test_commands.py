"""Properties of all commands: errors in one line, documentation, and quick starts."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from command import PRIORY, priory, unread
from priory.cli.app import COMMANDS, app

pytestmark = pytest.mark.slow

#: Options that several commands share; the page explains them once.
COMMON_OPTIONS = ("--home", "--json", "--help", "--config", "--jobs", "--cluster")


def test_the_version_is_printed(tmp_path: Path):
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
def test_a_closed_pipe_is_silent(command: str, unbuffered: str, home: Path):
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
            "merge takes homes; copy the journal into one first: priory move postgresql://ann@db.example/mail HOME",
        ),
        (("merge", "/no/such/home"), "/no/such/home is not the home of a filter: it has no journal.sqlite"),
        (("explain", "-", "--html", "/no/such/folder/x.html"), "/no/such/folder/x.html cannot be written"),
    ],
)
def test_errors_are_printed_in_one_line(arguments: tuple[str, ...], said: str, home: Path):
    result = priory(*arguments, home=home, stdin=b"Subject: x\n\n")
    assert result.returncode == 1
    assert result.stderr.startswith(b"priory: ")
    assert result.stderr.count(b"\n") == 1
    assert said in result.stderr.decode()


@pytest.mark.parametrize(
    "command",
    ["stats", "check -", "learn ham -", "serve", "config", "token --list", "open --print", "imap", "lab report"],
)
def test_an_impossible_home_is_reported_in_one_line(command: str, tmp_path: Path):
    (tmp_path / "file").write_text("no folder\n")
    unknown = "use an absolute path with --home or PRIORY_HOME\n"
    for home, said in (
        (Path("~no-such-account"), f"priory: cannot resolve ~no-such-account: {unknown}"),
        (tmp_path / "file", f"priory: {tmp_path}/file is not a folder: name another --home\n"),
        (tmp_path / ("x" * 300), "xx cannot be used: File name too long. Check its name and permissions."),
    ):
        result = priory(*command.split(), home=home, stdin=b"Subject: x\n\n")
        assert result.returncode == 1
        assert result.stderr.count(b"\n") == 1
        assert said in result.stderr.decode()


def test_mail_passes_even_if_the_home_is_impossible(tmp_path: Path):
    raw = b"Subject: x\n\n"
    for home in (Path("~no-such-account"), tmp_path / ("x" * 300)):
        passed, kept = (priory("filter", *more, home=home, stdin=raw) for more in ((), ("--strict",)))
        assert (passed.returncode, passed.stdout) == (0, raw)
        assert (kept.returncode, kept.stdout) == (75, raw)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("merge", "~no-such-account"), "cannot resolve ~no-such-account: use an absolute path\n"),
        (("move", "~no-such-account", "x"), "cannot resolve ~no-such-account: use an absolute path"),
        (("lab", "evaluate", "spam=~no-such-account"), "cannot resolve ~no-such-account"),
        (("config", "--config", "~no-such-account/x"), "cannot resolve ~no-such-account/x"),
        (("stats", "--home", "new\nline\x1b[31m"), "there is no folder new·line·[31m: name another --home"),
    ],
)
def test_odd_paths_are_reported_in_one_line(arguments: tuple[str, ...], said: str, home: Path):
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


def test_stats_show_the_calibration_as_a_formula(inbox: Path, tmp_path: Path):
    for label in ("ham", "spam"):
        priory("learn", label, inbox / "taught" / label, home=tmp_path)
    line = json.loads(priory("stats", "--json", home=tmp_path).stdout)["calibration"]["spam"]
    shown = re.search(
        r"^calibration +log-odds of spam = ([\d.]+) × score ([+-]) ([\d.]+)$",
        re.sub(r" +$", "", priory("stats", home=tmp_path).stdout.decode(), flags=re.MULTILINE),
        re.MULTILINE,
    )
    assert float(shown[1]) == pytest.approx(line["slope"], abs=5e-4)
    assert float(shown[2] + shown[3]) == pytest.approx(line["intercept"], abs=5e-4)


def test_stats_bound_the_lost_ham_and_tell_how_far_the_promise_is(inbox: Path, tmp_path: Path):
    for label in ("ham", "spam"):
        priory("learn", label, inbox / "taught" / label, home=tmp_path)
    (tmp_path / "priory.toml").write_text("[promise]\nham_lost = 0.001\n")
    figures = json.loads(priory("stats", "--json", home=tmp_path).stdout)
    lost, promise = figures["lost_ham"], figures["promise"]
    assert lost["ham"] == figures["scored"]["ham"] == promise["ham"]
    assert (promise["ham_lost"], promise["limits"], promise["needs"] > 4000) == (0.001, {"spam": 1.0}, True)
    shown = " ".join(priory("stats", home=tmp_path).stdout.decode().split())
    assert f"with 95 % confidence at any moment; so far {lost['lost']} of {lost['ham']}" in shown
    assert f"promise the promise of 1 in 1,000 needs {promise['needs']:,} known ham; {lost['ham']} so far" in shown
    assert "spam never" in shown
    shown = priory("config", home=tmp_path).stdout.decode()
    assert "promise     at most 1 in 1,000 of your ham is called spam" in shown


def test_the_demo_judges_itself_and_saves_what_it_drew(tmp_path: Path):
    result = priory("demo", "--messages", 300, "--save", tmp_path / "drawn", home=tmp_path)
    shown = result.stdout.decode()
    assert float(re.search(r"ROC area ([\d.]+)", shown)[1]) > 0.95
    assert "is spam" in shown
    assert "log-odds" in shown
    assert len(list((tmp_path / "drawn").rglob("*.eml"))) == 300


def loaded_by(message: Path, home: Path, *arguments: object) -> set[str]:
    """Return the modules that a command loads when it is given a message."""
    listed = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    command = [sys.executable, "-c", f"{listed}; from priory.cli import main; main()", *map(str, arguments)]
    environment = {**os.environ, "PRIORY_HOME": str(home)}
    done = subprocess.run(command, input=message.read_bytes(), capture_output=True, env=environment, check=True)
    return set(done.stderr.decode().splitlines()[-1].split())


@pytest.mark.parametrize("command", ["check FILE", "check --jobs 2 FILE", "filter", "learn ham FILE", "forget FILE"])
def test_commands_for_mail_servers_load_only_what_they_need(command: str, inbox: Path, tmp_path: Path):
    message = next((inbox / "taught" / "spam").iterdir())
    for label in ("ham", "spam"):
        priory("learn", label, inbox / "taught" / label, home=tmp_path)
    loaded = loaded_by(message, tmp_path, *command.replace("FILE", str(message)).split())
    unneeded = "asyncio email joblib multiprocessing numpy psycopg rich scipy sklearn tarfile tomllib"
    assert "priory.filter.filter" in loaded
    assert not {name for name in loaded if name.partition(".")[0] in unneeded.split()}
    assert not {name for name in loaded if name.startswith(("priory.lab", "priory.cli.lab", "priory.demo"))}
    assert loaded.isdisjoint({"priory.cli.explanation", "priory.bayes.generative"})
    assert ("priory.cli.learn" in loaded) == command.startswith("learn")
    assert ("priory.cli.forget" in loaded) == command.startswith("forget")


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command but those of the workbench, with its name."""
    for name in COMMANDS:
        command = typer.main.get_command(app).get_command(None, name)
        if name != "lab":
            yield from ((f"{name} {sub}", each) for sub, each in getattr(command, "commands", {"": command}).items())


def documented_as(option: Any) -> str:
    """Return the row of the documentation for an option, with the text of its help."""
    value = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
    names = [f"`{name}{value}`" for name in (*option.opts, *option.secondary_opts)]
    return f"| {', '.join([*names, *([f'`{option.envvar}`'] if option.envvar else [])])} | {option.help} |"


@pytest.mark.parametrize("option", ["--home", "--json"])
def test_the_page_names_the_commands_without_a_common_option(option: str):
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    row = re.search(rf"^\| `{option}[ `].*; not for (.*) \|$", page, re.MULTILINE)[1]
    lab = typer.main.get_command(app).get_command(None, "lab")
    every = [*commands(), *((f"lab {name}", command) for name, command in lab.commands.items())]
    without = {name.strip() for name, command in every if not any(option in param.opts for param in command.params)}
    assert set(re.findall("`(.*?)`", row)) == without


def test_check_says_that_it_reads_standard_input_by_default(tmp_path: Path):
    assert b"[default: -]" in priory("check", "--help", home=tmp_path).stdout
    assert b"[default: -]" not in priory("scan", "--help", home=tmp_path).stdout


def test_every_command_and_option_is_documented_as_its_help_says():
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    for name, command in commands():
        assert f"## priory {name.split()[0]}" in page
        assert "**Example" in command.help
        for option in command.params:
            if option.param_type_name != "option" or option.opts[0] in COMMON_OPTIONS:
                assert option.opts[0] in page or option.param_type_name == "argument"
            elif not name.startswith("user "):  # whose commands are a table
                assert documented_as(option) in page, f"docs/commands.md lacks\n{documented_as(option)}"
