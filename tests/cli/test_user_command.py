"""`priory user`: list, export and delete."""

import base64
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from command import priory, unread
from priory.cli.app import COMMANDS
from priory.features import Spec, unpack_features
from priory.filter.filter import Filter
from priory.filter.prepare import prepare

LIST = b"List-Id: <daily.list.example>\nSubject: Daily %d\n\nhttp://list.example/%d"


@pytest.fixture
def shared(home: Path, tmp_path: Path) -> Path:
    """A home in which Ann and Bob disagree about a list."""
    copy = Path(shutil.copytree(home, tmp_path / "home"))
    with Filter.open(copy) as filter_:
        for user, label in (("ann", "spam"), ("bob", "ham")):
            list(filter_.learn_many([(LIST % (i, i), label, "daily") for i in range(30)], user))
    return copy


@pytest.mark.slow
def test_verdicts_name_the_evidence_of_the_user_and_of_everyone(shared: Path, tmp_path: Path):
    message = tmp_path / "daily.eml"
    message.write_bytes(LIST % (99, 99))
    ann, bob = (
        json.loads(priory("check", "--json", "--user", user, message, home=shared).stdout) for user in ("ann", "bob")
    )
    assert ann["you"] > 0.5 > -0.5 > bob["you"]
    assert ann["everyone"] == pytest.approx(bob["everyone"])
    explained = priory("explain", "--user", "ann", message, home=shared).stdout.decode()
    assert f"you: {ann['you']:+.3f}, everyone: {ann['everyone']:+.3f}" in explained
    priory("explain", "--user", "ann", "--html", tmp_path / "why.html", message, home=shared)
    assert f"you: {ann['you']:+.3f}, everyone: {ann['everyone']:+.3f}" in (tmp_path / "why.html").read_text()
    marked = priory("filter", "--user", "bob", home=shared, stdin=message.read_bytes()).stdout.decode()
    assert f"; you={bob['you']:+.3f}; everyone=" in marked
    scanned = json.loads(priory("scan", "--json", "--user", "ann", message, home=shared).stdout)
    assert scanned["probability"] == ann["probability"]


def test_users_are_listed(shared: Path, tmp_path: Path):
    assert priory("user", "list", home=shared).stdout == b"ann: 30 spam\nbob: 30 ham\n"
    listed = priory("user", "list", "--json", home=shared).stdout.splitlines()
    assert json.loads(listed[0]) == {"name": "ann", "lessons": {"spam": 30}, "unshared": 0}
    (tmp_path / "other").mkdir()
    assert b"no lessons belong to a user yet" in priory("user", "list", home=tmp_path / "other").stdout


def test_a_user_is_exported(shared: Path, tmp_path: Path):
    done = priory("user", "export", "ann", "--to", tmp_path / "ann.jsonl", home=shared)
    assert done.stdout.startswith(b"30 lessons of ann written to ")
    lines = (tmp_path / "ann.jsonl").read_text().splitlines()
    assert priory("user", "export", "ann", home=shared).stdout.decode().splitlines() == lines
    first = json.loads(lines[0])
    read = prepare(LIST % (0, 0), Spec())
    assert (first["user"], first["label"], first["source"], first["shared"]) == ("ann", "spam", "daily", True)
    assert first["digest"] == read.digest.hex()
    assert unpack_features(base64.b64decode(first["features"]), 22).buckets == read.features.buckets
    assert (tmp_path / "ann.jsonl").stat().st_mode & 0o777 == 0o600
    nobody = priory("user", "export", "eve", "--to", tmp_path / "ann.jsonl", home=shared)
    assert (tmp_path / "ann.jsonl").read_text().splitlines() == lines
    assert (nobody.returncode, b"eve has no lessons in" in nobody.stderr) == (1, True)
    unwritable = priory("user", "export", "ann", "--to", tmp_path / "no" / "such", home=shared)
    assert b"cannot be written: No such file" in unwritable.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_of_users_is_silent(unbuffered: str, shared: Path):
    for command in (("list",), ("export", "ann")):
        assert unread("user", *command, home=shared, unbuffered=unbuffered) == (1, b"")


def test_an_undecodable_name_is_escaped_as_by_the_daemon(home: Path, tmp_path: Path):
    copy = Path(shutil.copytree(home, tmp_path / "home"))
    name = os.fsdecode(b"\xffann")
    assert priory("learn", "spam", "--user", name, "-", home=copy, stdin=LIST % (0, 0)).returncode == 0
    assert priory("user", "list", home=copy).stdout == b"\\xffann: 1 spam\n"
    assert b"1 of 1 lessons" in priory("lessons", "--user", name, home=copy).stdout
    assert priory("user", "delete", name, "--yes", home=copy).stdout.startswith(b"deleted 1 lesson of ")


def test_a_new_name_has_no_control_characters(home: Path, tmp_path: Path):
    copy = Path(shutil.copytree(home, tmp_path / "home"))
    for name in ("\tauto", "an\nn", "ann\x7f"):
        done = priory("learn", "spam", "--user", name, "-", home=copy, stdin=LIST % (0, 0))
        assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
        assert b"has control characters: give --user a name without them" in done.stderr
    for command in (("forget", "--user", "\tauto", "-"), ("user", "delete", "\tauto", "--yes")):
        done = priory(*command, home=copy, stdin=LIST % (0, 0))
        assert b"Traceback" not in done.stderr, command


def test_help_names_all_commands(tmp_path: Path):
    said = priory("--help", home=tmp_path).stdout.decode()
    assert all(re.search(rf"^\W+{name} ", said, re.MULTILINE) for name in COMMANDS)


def test_a_user_is_deleted_only_with_yes(shared: Path):
    assert b"30 lessons of ann, none deleted: --yes deletes them" in priory("user", "delete", "ann", home=shared).stdout
    assert priory("user", "delete", "ann", "--yes", home=shared).stdout == b"deleted 30 lessons of ann\n"
    assert priory("user", "list", home=shared).stdout == b"bob: 30 ham\n"
    again = priory("user", "delete", "ann", "--yes", "--json", home=shared)
    assert json.loads(again.stdout) == {"lessons": 0, "deleted": 0, "rules": 0}
    unknown = priory("user", "delete", "ann", home=shared)
    assert (unknown.returncode, unknown.stdout) == (1, b"")
    assert unknown.stderr.decode() == f"priory: ann has no lessons in {shared}; list all users with: priory user list\n"
    assert priory("user", "delete", "ann", "--yes", home=shared).stdout == b"deleted 0 lessons of ann\n"
    assert b"name the user to delete" in priory("user", "delete", "", "--yes", home=shared).stderr


def test_rules_are_exported_and_deleted_with_their_user(shared: Path):
    assert priory("rule", "allow", "domain", "mail.example", "--user", "ann", home=shared).returncode == 0
    assert priory("rule", "allow", "domain", "mail.example", "--user", "eve", home=shared).returncode == 0
    *_, last = priory("user", "export", "ann", home=shared).stdout.splitlines()
    assert json.loads(last)["rule"] == "allow domain mail.example"
    assert b"30 lessons and 1 rule of ann, none deleted" in priory("user", "delete", "ann", home=shared).stdout
    assert b"0 lessons and 1 rule of eve, not deleted" in priory("user", "delete", "eve", home=shared).stdout
    done = priory("user", "delete", "ann", "--yes", "--json", home=shared)
    assert json.loads(done.stdout) == {"lessons": 30, "deleted": 30, "rules": 1}
    (left,) = priory("rule", "--json", home=shared).stdout.splitlines()
    assert json.loads(left)["user"] == "eve"
