"""learn, forget, merge and rebuild: lessons are reported and kept, whatever stops the command."""

import json
import re
import shutil
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest

from checked_mail import learn_from_silence
from collected_mail import COLLECTION, INBOX, JUNK
from command import PRIORY, priory
from priory.corpus import Labelled
from priory.demo import draw
from priory.filter.filter import Filter
from real_daemon import wait_until


def test_learning_prints_counts_and_learning_twice_changes_nothing(inbox: Path, tmp_path: Path):
    first = priory("learn", "ham", inbox / "taught" / "ham", home=tmp_path)
    again = priory("learn", "ham", inbox / "taught" / "ham", "--json", home=tmp_path)
    n = len(list((inbox / "taught" / "ham").iterdir()))
    assert first.stdout.decode().startswith(f"learned {n} in {tmp_path}")
    assert json.loads(again.stdout)["known"] == n


@pytest.mark.slow
def test_forget_by_file_and_by_digest(inbox: Path, tmp_path: Path):
    one, two = list((inbox / "taught" / "spam").iterdir())[:2]
    priory("learn", "spam", one, two, home=tmp_path)
    digest = json.loads(priory("check", two, "--json", home=tmp_path).stdout)["digest"]
    assert priory("forget", one, digest, home=tmp_path).stdout == b"forgot 2, never learned 0\n"
    again = priory("forget", one, home=tmp_path)
    assert (again.stdout, again.returncode) == (b"forgot 0, never learned 1\n", 1)
    priory("learn", "spam", "--user", "ann", one, home=tmp_path)
    of_another = priory("forget", one, home=tmp_path).stdout.decode()
    assert (
        of_another
        == "forgot 0, never learned 1\nsome of these messages were taught with --user ann: forget them that way\n"
    )


def test_forget_explains_how_to_select_by_the_first_digits_of_a_digest(
    inbox: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    one, two = list((inbox / "taught" / "spam").iterdir())[:2]
    priory("learn", "spam", one, two, home=tmp_path)
    digest = json.loads(priory("check", two, "--json", home=tmp_path).stdout)["digest"]
    for digits in (digest[:8], digest[:63].upper()):
        refused = priory("forget", one, digits, home=tmp_path)  # before anything is forgotten
        assert (refused.returncode, refused.stdout) == (1, b"")
        assert refused.stderr.decode() == (
            f"priory: {digits} is neither a file nor a whole digest (64 digits); "
            f"to select by the first digits: priory forget --digest {digits} --yes\n"
        )
        assert json.loads(priory("stats", "--json", home=tmp_path).stdout)["lessons"]["spam"] == 2
    monkeypatch.chdir(tmp_path)
    Path("cafe").write_bytes(one.read_bytes())
    assert priory("forget", "cafe", home=tmp_path).stdout == b"forgot 1, never learned 0\n"
    assert b"c0ffee.eml does not exist; check the path" in priory("forget", "c0ffee.eml", home=tmp_path).stderr
    assert priory("forget", "--digest", digest[:8], "--yes", home=tmp_path).stdout == b"forgot 1\n"


def test_files_that_are_not_mail_are_skipped_and_reported(inbox: Path, tmp_path: Path):
    folder = tmp_path / "mixed"
    shutil.copytree(inbox / "unseen", folder)
    (folder / "notes.txt").write_text("buy milk\n")
    learned = priory("learn", "ham", folder, home=tmp_path / "home").stdout.decode()
    assert learned == f"learned 40 in {tmp_path / 'home'}; skipped 1 file that is not mail\n"
    (folder / "list.txt").write_text("bread\n")
    again = priory("learn", "ham", folder, home=tmp_path / "home").stdout.decode()
    assert again == f"learned 0, already known 40 in {tmp_path / 'home'}; skipped 2 files that are not mail\n"
    (folder / "list.txt").unlink()
    checked = priory("check", folder, home=tmp_path / "home")
    assert checked.stdout.count(b"\n") == 40
    assert f"priory: skipped {folder}/notes.txt, which is not mail\n".encode() in checked.stderr
    (empty := tmp_path / "empty.eml").touch()
    beside = priory("check", next((folder / "spam").iterdir()), empty, folder / "notes.txt", home=tmp_path / "home")
    assert beside.stdout.count(b"\n") == 2  # a file that is named is mail, whatever it looks like, unless it is empty
    assert f"priory: skipped {empty}, which is not mail\n".encode() in beside.stderr
    nothing = priory("learn", "ham", empty, home=tmp_path / "home")
    assert (nothing.returncode, nothing.stderr) == (1, f"priory: no messages in {empty}\n".encode())


def test_lessons_before_a_broken_archive_are_kept_and_reported(inbox: Path, tmp_path: Path):
    archive = tmp_path / "mail.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(inbox / "taught", "mail")
    archive.write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])
    result = priory("learn", "ham", archive, home=tmp_path / "home")
    assert result.returncode == 1
    assert b"mail.tar" in result.stderr
    learned = int(re.match(r"learned (\d+) ", result.stdout.decode())[1])
    assert learned > 0
    assert json.loads(priory("stats", "--json", home=tmp_path / "home").stdout)["lessons"]["ham"] == learned


def test_merging_changes_nothing_but_the_home(home: Path, tmp_path: Path):
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    refused = priory("merge", empty, home=tmp_path / "a")
    assert refused.stderr.decode() == f"priory: {empty} is not a Priory journal: it is empty.\n"
    assert empty.read_bytes() == b""
    before = (home / "journal.sqlite").read_bytes()
    priory("merge", home, home=tmp_path / "b")
    assert (home / "journal.sqlite").read_bytes() == before


@pytest.mark.slow
def test_stats_rebuild_and_merge(inbox: Path, home: Path, tmp_path: Path):
    figures = json.loads(priory("stats", "--json", home=home).stdout)
    assert sum(figures["lessons"].values()) == 200
    assert b"rebuilt from 200 lessons" in priory("rebuild", home=home).stdout
    assert priory("merge", home, home=tmp_path).stdout == b"added 200, relabelled 0, already known 0\n"
    assert json.loads(priory("merge", home, "--json", home=tmp_path).stdout)["known"] == 200
    assert json.loads(priory("stats", "--json", home=tmp_path).stdout)["lessons"] == figures["lessons"]
    assert "thresholds" in (shown := priory("stats", home=home).stdout.decode())
    assert "silence" not in shown
    assert figures["silence"] is None
    with Filter.open(tmp_path) as filter_:
        learned = len(learn_from_silence(filter_, list(draw(300, seed=21))))
    shown = " ".join(priory("stats", home=tmp_path).stdout.decode().split())
    assert "silence 270 messages left where they were, 30 moved; people seem to move " in shown
    figures = json.loads(priory("stats", "--json", home=tmp_path).stdout)
    assert (figures["silence"]["silent"], figures["silence"]["moved"]) == (270, 30)
    assert sum(figures["automatic"].values()) == learned


@pytest.mark.slow
def test_stats_tell_how_many_labels_look_wrong(home: Path, tmp_path: Path):
    assert json.loads(priory("stats", "--json", home=home).stdout)["wrong_labels"] == 0
    assert b"wrong" not in priory("stats", home=home).stdout
    other = {"ham": "spam", "spam": "ham"}
    with Filter.open(tmp_path) as filter_:
        mail = enumerate(draw(1500, seed=5))
        list(
            filter_.learn_many((drawn.raw, other[drawn.label] if i % 9 == 0 else drawn.label, "") for i, drawn in mail)
        )
    figures = json.loads(priory("stats", "--json", home=tmp_path).stdout)
    line = figures["calibration"]["spam"]
    assert min(line["false_positives"], line["false_negatives"]) <= figures["wrong_labels"] + 1e-9
    words = f"about 1 in {1 / figures['wrong_labels']:.0f} labels looks wrong; to see them: priory lab errors"
    assert words in " ".join(priory("stats", home=tmp_path).stdout.decode().split())


@pytest.mark.slow
def test_ctrl_c_keeps_lessons(tmp_path: Path):
    folder = tmp_path / "mail"
    folder.mkdir()
    for i, drawn in enumerate(draw(6000, seed=9)):
        (folder / f"{i}.eml").write_bytes(drawn.raw)
    home = tmp_path / "home"
    command = [PRIORY, "learn", "ham", str(folder), "--json", "--home", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        log = home / "journal.sqlite-wal"
        wait_until(lambda: process.poll() is not None or (log.exists() and log.stat().st_size > 500_000))
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate()
    said = json.loads(out)
    assert process.returncode == 130
    assert said["stopped"] is True
    assert 0 < said["learned"] < 6000
    assert json.loads(priory("stats", "--json", home=home).stdout)["lessons"]["ham"] == said["learned"]


def written(mail: list[Labelled], folder: Path) -> Path:
    folder.mkdir()
    for i, message in enumerate(mail):
        (folder / f"{i}.eml").write_bytes(message.raw)
    return folder


def test_a_collection_beside_an_inbox_is_named_when_it_is_learned_and_in_the_stats(tmp_path: Path):
    home, ham, spam = tmp_path / "home", written(INBOX, tmp_path / "inbox"), written(COLLECTION, tmp_path / "spam")
    finding = (
        "ham comes from another place than spam: headers alone, without dates, tell 100 % of it apart. "
        f"ham: received 2025-10 to 2026-11, from {ham}; spam: received 2007-04 to 2007-06, from {spam}."
    )
    assert b"warning" not in priory("learn", "ham", ham, home=home).stdout
    _, warning, advice = priory("learn", "spam", spam, home=home).stdout.decode().splitlines()
    assert warning == f"warning: {finding}"
    assert advice.endswith("take back the rest: priory forget --source FOLDER")
    assert finding in " ".join(priory("stats", home=home).stdout.decode().split())
    assert json.loads(priory("stats", "--json", home=home).stdout)["origins"]["finding"] == finding
    again = json.loads(priory("learn", "spam", spam, "--json", home=home).stdout)
    assert (again["known"], again["origins"]) == (len(COLLECTION), None)  # nothing was learned, so nothing is compared
    own = written(JUNK, tmp_path / "junk")
    assert json.loads(priory("learn", "spam", own, "--json", home=home).stdout)["origins"] is None


def test_many_messages_learned_say_in_json_from_where_they_come(tmp_path: Path):
    home = tmp_path / "home"
    priory("learn", "ham", written(INBOX, tmp_path / "inbox"), home=home)
    learned = json.loads(priory("learn", "spam", written(COLLECTION, tmp_path / "spam"), "--json", home=home).stdout)
    assert [origin["since"] for origin in learned["origins"]["origins"]] == ["2025-10", "2007-04"]
