"""`priory rule`: set, list and remove rules."""

import json
import re
import shutil
from pathlib import Path

import pytest

from command import priory

FROM_ANN = b"From: Ann <ann@mail.example>\nSubject: Pills\n\nThe pills for the cat are here."


@pytest.fixture
def own(home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(home, tmp_path / "home"))


def checked(home: Path, *options: str) -> dict:
    found: dict = json.loads(priory("check", "--json", *options, "-", home=home, stdin=FROM_ANN).stdout)
    return found


@pytest.mark.slow
def test_rules_are_set_listed_and_removed(own: Path) -> None:
    before = checked(own)
    assert priory("rule", home=own).stdout == b"no rules yet; make one with: priory rule allow, block or ignore\n"
    done = priory("rule", "block", "sender", "Ann <Ann@Mail.example>", home=own)
    assert done.stdout == b"set: block sender ann@mail.example, for everyone\n"
    done = priory("rule", "block", "sender", "ann@mail.example", "--json", home=own)
    assert json.loads(done.stdout) == {"outcome": "known", "rule": "block sender ann@mail.example", "user": ""}
    done = priory("rule", "ignore", "phrase", "the", "cat", "--user", "ann", home=own)
    assert done.stdout == b"set: ignore phrase the cat, for ann\n"
    assert checked(own)["label"] == "spam"
    shown = priory("explain", "--user", "ann", "-", home=own, stdin=FROM_ANN).stdout.decode()
    assert "block sender ann@mail.example" in shown
    assert "ignore phrase the cat" in shown
    marked = priory("filter", home=own, stdin=FROM_ANN).stdout.decode()
    reason = marked.partition("X-Priory-Reason: ")[2].partition("\nX-")[0]
    assert "block sender ann@mail.example" in " ".join(reason.split())
    first, second = priory("rule", home=own).stdout.decode().splitlines()
    assert re.fullmatch(r"everyone  block sender ann@mail.example  \d{4}-\d\d-\d\d \d\d:\d\d  \S+", first)
    assert second.startswith("ann       ignore phrase the cat ")
    (listed,) = priory("rule", "--user", "ann", "--json", home=own).stdout.splitlines()
    assert json.loads(listed)["text"] == "the cat"
    done = priory("rule", "remove", "sender", "ANN@mail.example", home=own)
    assert done.stdout == b"removed: block sender ann@mail.example, for everyone\n"
    assert checked(own) == before


@pytest.mark.slow
def test_merging_says_how_many_rules_came(own: Path, tmp_path: Path) -> None:
    priory("rule", "block", "sender", "ann@mail.example", home=own)
    done = priory("merge", own, home=tmp_path / "other")
    assert done.stdout == b"added 200, relabelled 0, already known 0; 1 rule added or replaced\n"
    assert json.loads(priory("merge", own, "--json", home=tmp_path / "other").stdout)["rules"] == 0
    assert b"block sender ann@mail.example" in priory("rule", home=tmp_path / "other").stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("remove", "domain", "a.example"), "everyone has no rule about domain a.example; list all rules with: priory"),
        (("allow", "sender", "ann"), "'ann' is not an address: write it like ann@mail.example, or name the domain"),
        (("ignore", "word", "two", "words"), "'two words' is not one word: make a rule about the phrase"),
        (("towards", "nix", "domain", "a.example"), "'nix' is not a label of this filter: name one of ham, spam"),
        (("--json", "allow", "domain", "a.example"), "--json comes after the command: priory rule allow …"),
        (("allow", "domain", "a.example", "--user", "a\tb"), "'a\\tb' has control characters: give --user a name"),
    ],
)
def test_what_cannot_be_done_is_named(arguments: tuple[str, ...], says: str, home: Path) -> None:
    done = priory("rule", *arguments, home=home)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"priory: {says}")
