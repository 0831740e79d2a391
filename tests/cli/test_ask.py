"""`priory ask` shows the messages whose labels would teach most, and learns each answer, given by one key."""

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from command import PRIORY, priory
from five_labels import LABELS, teach
from priory.filter.filter import Filter
from priory.filter.options import SpoolLimits
from priory.filter.spool import Spool

PATIENCE_S = 60.0


class Person:
    """Somebody at a terminal who runs `priory ask`."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process = process
        self._terminal = terminal
        self._n_read = 0
        self.screen = ""

    def reads(self, text: str) -> str:
        """Wait for a text that has not been read yet; return everything before and including it."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.screen[self._n_read :]:
            assert time.monotonic() < end, self.screen
            ready, _, _ = select.select([self._terminal], [], [], 0.1)
            if ready:
                try:
                    self.screen += os.read(self._terminal, 4096).decode()
                except OSError:  # the command has ended
                    break
        assert text in self.screen[self._n_read :], self.screen
        start, self._n_read = self._n_read, self.screen.index(text, self._n_read) + len(text)
        return self.screen[start : self._n_read]

    def presses(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def ends(self) -> int:
        return self.process.wait(PATIENCE_S)


@contextmanager
def at_a_terminal(*arguments: object, home: Path) -> Iterator[Person]:
    terminal, other_end = pty.openpty()
    environment = {**os.environ, "PRIORY_HOME": str(home), "COLUMNS": "200", "TERM": "dumb"}
    ends = {"stdin": other_end, "stdout": other_end, "stderr": other_end}
    process = subprocess.Popen([PRIORY, "ask", *map(str, arguments)], env=environment, start_new_session=True, **ends)
    os.close(other_end)
    try:
        yield Person(process, terminal)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


@pytest.fixture
def own_home(home: Path, tmp_path: Path) -> Path:
    return shutil.copytree(home, tmp_path / "home")


def chosen(*arguments: object, home: Path) -> list[dict[str, object]]:
    result = priory("ask", *arguments, "--json", home=home)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def lessons(home: Path) -> dict[str, tuple[str, str]]:
    """The label and the user of each lesson of the home, by the source of its message."""
    lines = priory("lessons", "--json", home=home).stdout.splitlines()
    return {line["source"]: (line["label"], line["user"]) for line in map(json.loads, lines)}


def test_the_costliest_verdicts_are_listed_first(inbox: Path, home: Path):
    listed = chosen(inbox / "unseen", "--most", 40, home=home)
    lines = priory("check", inbox / "unseen", "--json", home=home).stdout.splitlines()
    verdicts = {line["source"]: line for line in map(json.loads, lines)}
    assert len(listed) > 10
    for line in listed:
        verdict = verdicts[line["source"]]
        assert line == {
            **{key: verdict[key] for key in ("source", "digest", "label", "about", "probability")},
            "expected_cost": verdict["expected_costs"][verdict["label"]],
        }
    costs = [line["expected_cost"] for line in listed]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] == max(verdict["expected_costs"][verdict["label"]] for verdict in verdicts.values())
    assert chosen(inbox / "unseen", home=home) == listed[:10]


@pytest.mark.parametrize("options", [(), ("--list",)])
def test_without_a_terminal_messages_are_only_listed(options: tuple[str, ...], inbox: Path, own_home: Path):
    before = lessons(own_home)
    [first, second] = chosen(inbox / "unseen", "--most", 2, home=own_home)
    shown = priory("ask", inbox / "unseen", "--most", 2, *options, home=own_home, stdin=b"ss", columns="200")
    lines = shown.stdout.decode().splitlines()
    starts = [line.split()[0] for line in lines]
    assert starts[:3] == ["1/2", "from", "subject"]
    n = starts.index("2/2")
    assert starts[n : n + 3] == ["2/2", "from", "subject"]
    assert lines[0].startswith(f"1/2  {first['label']}: spam {first['probability']:.4f}  2025-")
    assert lines[n].endswith(f"  {second['source']}")
    with Filter.open(own_home) as filter_:
        verdict = filter_.check(Path(first["source"]).read_bytes())
    assert " ".join(line.strip() for line in lines[3:n]) == verdict.sentence
    assert lessons(own_home) == before


def test_taught_mail_is_left_out(inbox: Path, own_home: Path):
    [first, second] = chosen(inbox / "unseen", "--most", 2, home=own_home)
    priory("learn", "spam", first["source"], "--user", "ann", home=own_home)
    sources = [line["source"] for line in chosen(inbox / "unseen", "--most", 40, home=own_home)]
    assert first["source"] not in sources
    assert second["source"] in sources
    done = priory("ask", inbox / "taught" / "ham", home=own_home)
    n = len(list((inbox / "taught" / "ham").iterdir()))
    assert (done.returncode, done.stdout.decode()) == (0, f"nothing to ask: of {n} messages all are taught already\n")
    assert chosen(inbox / "taught", home=own_home) == []


def test_each_answer_is_one_key_and_is_learned_at_once(inbox: Path, own_home: Path):
    sources = [line["source"] for line in chosen(inbox / "unseen", "--most", 4, home=own_home)]
    before = lessons(own_home)
    with at_a_terminal(inbox / "unseen", "--most", 4, "--user", "ann", home=own_home) as ann:
        assert sources[0] in ann.reads("q quit: ")
        ann.presses("s")
        assert sources[1] in ann.reads("q quit: ")
        assert lessons(own_home) == {**before, sources[0]: ("spam", "ann")}
        ann.presses("x\x1b[A\r")  # no answer
        ann.presses("n")
        assert sources[2] in ann.reads("q quit: ")
        ann.presses(" ")
        assert sources[3] in ann.reads("q quit: ")
        ann.presses("H")
        ann.reads("no more questions: u undo  q quit: ")
        assert lessons(own_home) == {**before, sources[0]: ("spam", "ann"), sources[3]: ("ham", "ann")}
        ann.presses("q")
        ann.reads("taught 1 spam, 1 ham\r\n")
        assert ann.ends() == 0


def test_an_answer_can_be_undone(inbox: Path, own_home: Path):
    [first, second] = (line["source"] for line in chosen(inbox / "unseen", "--most", 2, home=own_home))
    before = lessons(own_home)
    with at_a_terminal(inbox / "unseen", "--most", 2, home=own_home) as ann:
        ann.reads("q quit: ")
        ann.presses("u")
        assert "there is no answer to undo" in ann.reads("q quit: ")
        ann.presses("s")
        assert second in ann.reads("q quit: ")
        ann.presses("u")
        assert first in ann.reads("q quit: ")
        assert lessons(own_home) == before
        ann.presses("hs")  # faster than it asks
        ann.reads("no more questions: u undo  q quit: ")
        ann.presses("u")
        assert second in ann.reads("q quit: ")
        assert lessons(own_home) == {**before, first: ("ham", "")}
        ann.presses("q")
        ann.reads("taught 1 ham\r\n")
        assert ann.ends() == 0


def test_the_verdict_is_that_after_the_answers_before(inbox: Path, own_home: Path):
    [_, second] = chosen(inbox / "unseen", "--most", 2, home=own_home)
    with at_a_terminal(inbox / "unseen", "--most", 2, home=own_home) as ann:
        ann.reads("q quit: ")
        ann.presses("s")
        shown = ann.reads("q quit: ")
    now = json.loads(priory("check", second["source"], "--json", home=own_home).stdout)
    assert now["probability"] != second["probability"]
    assert f"spam {now['probability']:.4f}" in shown


@pytest.mark.parametrize(("keys", "status"), [("q", 0), ("\x04", 0), ("\x03", 130)])
def test_the_lessons_before_the_end_are_kept(keys: str, status: int, inbox: Path, own_home: Path):
    n_before = len(lessons(own_home))
    with at_a_terminal(inbox / "unseen", home=own_home) as ann:
        ann.reads("q quit: ")
        ann.presses("s")
        ann.reads("q quit: ")
        if keys == "\x03":
            ann.process.send_signal(signal.SIGINT)  # as the terminal does for Ctrl-C
        else:
            ann.presses(keys)
        ann.reads("taught 1 spam\r\n")
        assert ann.ends() == status
    assert len(lessons(own_home)) == n_before + 1


def test_other_labels_are_answered_by_their_numbers(tmp_path: Path):
    home = tmp_path / "home"
    teach(home)
    (tmp_path / "odd.eml").write_bytes(b"From: eve@far.test\nSubject: Hello\n\nBonjour, comment allez-vous?")
    with at_a_terminal(tmp_path / "odd.eml", home=home) as ann:
        shown = ann.reads("q quit: ")
        ann.presses("s")  # no label has this key
        ann.presses("2")
        ann.reads("no more questions")
        ann.presses("q")
        assert ann.ends() == 0
    prompt = "".join(f"{number} {label}  " for number, label in enumerate(LABELS, 1))
    assert f"\r\n{prompt}space skip  u undo  q quit: " in shown
    assert lessons(home)[str(tmp_path / "odd.eml")] == (LABELS[1], "")


def test_only_recent_mail_is_asked_about(inbox: Path, home: Path, tmp_path: Path):
    texts = iter(path.read_bytes().partition(b"\n\n")[2] for path in sorted((inbox / "unseen" / "spam").iterdir()))
    for name, days in {"new": 2, "old": 9}.items():
        when = format_datetime(datetime.now(UTC) - timedelta(days=days))
        header = f"Received: by mx.home.example; {when}\nDate: Fri, 1 Jan 1999 00:00:00 +0000\nSubject: {name}\n\n"
        (tmp_path / f"{name}.eml").write_bytes(header.encode() + next(texts))
    (tmp_path / "undated.eml").write_bytes(b"Subject: undated\n\nBonjour, comment allez-vous?")

    def names(*options: object) -> set[str]:
        return {Path(line["source"]).stem for line in chosen(tmp_path, *options, home=home)}

    assert names("--since", 7) == {"new", "undated"}
    assert names("--since", 1) == {"undated"}
    assert names("--since", 10) == {"new", "old", "undated"}
    (tmp_path / "undated.eml").unlink()
    nothing = priory("ask", tmp_path, "--since", 1.5, home=home).stdout
    assert nothing == b"nothing to ask: of 2 messages all are taught already or older than 1.5 days\n"


def test_of_near_copies_one_is_asked_about(inbox: Path, home: Path, tmp_path: Path):
    raw = Path(chosen(inbox / "unseen", "--most", 1, home=home)[0]["source"]).read_bytes()
    for number in range(3):
        (tmp_path / f"{number}.eml").write_bytes(raw + b"\nReference %d\n" % number)
    assert len(chosen(tmp_path, home=home)) == 1


def test_what_mail_says_cannot_control_the_terminal(home: Path, tmp_path: Path):
    (tmp_path / "evil.eml").write_bytes(b"From: \x1b[2J@evil.test\nSubject: one\n two\x1b]0;x\x07\n\nHello")
    shown = priory("ask", tmp_path / "evil.eml", home=home).stdout
    assert b"\x1b" not in shown
    assert shown.count(b"\n") == 5  # verdict, sender, subject, and a sentence of two lines


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (("missing.eml",), 1, "missing.eml does not exist; check the path"),
        ((".",), 1, "no messages in ."),
        ((), 1, 'the spool is off: name a PATH, or write spool = "20 MB" into section [ask] of '),
        ((".", "--most", "0"), 2, "--most"),
        ((".", "--since", "-1"), 2, "--since"),
        (("imap:INBOX",), 1, "names no mailbox: set host"),
    ],
)
def test_wrong_input_is_explained(  # noqa: PLR0917 - the cases, and fixtures
    arguments: tuple[str, ...], status: int, complaint: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    result = priory("ask", *arguments, home=home)
    assert result.returncode == status
    assert complaint in result.stderr.decode()
    assert status == 2 or result.stderr.count(b"\n") == 1


@pytest.fixture
def spool(inbox: Path, own_home: Path) -> Spool:
    """The spool of the home, with some mail."""
    (own_home / "priory.toml").write_text('[ask]\nspool = "1 MB"\n')
    spool = Spool(own_home, SpoolLimits(1_000_000))
    for source in [Path(str(line["source"])) for line in chosen(inbox / "unseen", "--most", 5, home=own_home)]:
        spool.keep(source.read_bytes(), 4.0)
    return spool


def test_without_a_path_it_asks_about_the_spool(inbox: Path, own_home: Path, spool: Spool):
    from_folder = chosen(inbox / "unseen", "--most", 5, home=own_home)
    listed = chosen(home=own_home)
    assert [line["digest"] for line in listed] == [line["digest"] for line in from_folder]
    assert {line["source"] for line in listed} == {"spool"}
    before = lessons(own_home)
    with at_a_terminal(home=own_home) as ann:
        ann.reads("q quit: ")
        ann.presses("snhu")  # of the third answer, the lesson is taken back
        ann.reads("undone")
        ann.reads("q quit: ")
        ann.presses("q")
        ann.reads("taught 1 spam\r\n")
        assert ann.ends() == 0
    assert lessons(own_home) == {**before, "spool": ("spam", "")}
    assert [line["digest"] for line in chosen(home=own_home)] == [line["digest"] for line in listed[2:]]
    assert len(spool) == 3
    with at_a_terminal(home=own_home) as ann:
        ann.reads("q quit: ")
        ann.presses("nu")  # a message that was skipped can be brought back
        ann.reads("undone")
        ann.presses("q")
        ann.reads("taught nothing")
    assert len(spool) == 3
    nothing = priory("ask", "--since", 1, home=own_home).stdout.decode()
    assert nothing == "nothing to ask: of 3 messages all are taught already or older than 1 days\n"


def test_an_empty_spool_is_no_error(own_home: Path):
    (own_home / "priory.toml").write_text('[ask]\nspool = "1 MB"\n')
    done = priory("ask", home=own_home)
    assert done.returncode == 0
    assert done.stdout.decode() == f"nothing to ask: there are no messages in the spool, {own_home}/spool\n"
    assert priory("ask", "--json", home=own_home).stdout == b""


def test_a_filter_that_knows_nothing_says_how_to_teach_it(inbox: Path, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    result = priory("ask", inbox / "unseen", home=tmp_path / "empty")
    reason = f"no ham and no spam has been learned yet in {tmp_path / 'empty'}"
    assert result.returncode == 1
    assert result.stderr.decode() == f"priory: {reason}; teach it with: priory learn LABEL PATH…\n"
    missing = priory("ask", inbox / "unseen", home=tmp_path / "typo")
    assert b"there is no folder" in missing.stderr
    assert not (tmp_path / "typo").exists()
