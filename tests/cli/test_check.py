"""`priory check` judges messages and changes nothing."""

import json
import os
from pathlib import Path

import pytest

from command import priory


def test_check_prints_one_line_per_message_and_is_mostly_right(inbox: Path, home: Path):
    for label in ("ham", "spam"):
        result = priory("check", inbox / "unseen" / label, home=home)
        said = [line.split()[0] for line in result.stdout.decode().splitlines()]
        assert len(said) == len(list((inbox / "unseen" / label).iterdir()))
        assert said.count(label) > len(said) * 0.6
        assert said.count({"ham": "spam", "spam": "ham"}[label]) < len(said) * 0.2


def test_check_as_json_adds_up(inbox: Path, home: Path):
    message = next((inbox / "unseen" / "spam").iterdir())
    said = json.loads(priory("check", message, "--json", home=home).stdout)
    total = said["prior"] + sum(reason["sum"] for reason in (*said["reasons"], *said["against"]))
    assert total == pytest.approx(said["log_odds"], abs=1e-9)
    assert said["source"] == str(message)


def test_an_untaught_filter_is_unsure_and_gives_the_reason(inbox: Path, tmp_path: Path):
    result = priory("check", "-", home=tmp_path, stdin=b"Subject: hi\n\nhello")
    assert result.stdout.decode().startswith("unsure   0.5000")
    assert result.stdout.count(b"\n") == 1
    assert f"no ham and no spam has been learned yet in {tmp_path}" in result.stderr.decode()


def test_checking_creates_no_home(tmp_path: Path):
    result = priory("check", "-", home=tmp_path / "typo", stdin=b"Subject: x\n\n")
    assert result.returncode == 1
    assert result.stderr.decode() == (
        f"priory: there is no folder {tmp_path}/typo: name another --home, or create a filter there with: "
        "priory learn\n"
    )
    assert not (tmp_path / "typo").exists()


def test_file_names_are_escaped_for_the_terminal(home: Path, tmp_path: Path):
    (tmp_path / "ev\x1b[31mil.eml").write_bytes(b"Subject: <http://\x1b[2Jx.test>\n\nhttp://\x1b[2Jevil.test/x")
    assert b"\x1b" not in priory("check", tmp_path, home=home).stdout
    assert b"\x1b" not in priory("explain", tmp_path, home=home).stdout


def test_a_file_name_that_is_not_unicode_is_json_too(inbox: Path, home: Path, tmp_path: Path):
    message = next((inbox / "unseen" / "spam").iterdir()).read_bytes()
    path = tmp_path / os.fsdecode(b"caf\xe9.eml")
    path.write_bytes(message)
    result = priory("check", path, "--json", home=home)
    assert json.loads(result.stdout)["source"] == f"{tmp_path}/caf\\xe9.eml"
