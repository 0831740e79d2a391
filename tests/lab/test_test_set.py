"""A sealed test set counts every look: through crashes, two processes at once, and hands that edit the file."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from priory.lab.chained_file import create_chain
from priory.lab.error import LabError
from priory.lab.test_set import Sealed, fingerprints, seal

MAIL = fingerprints(
    ["inbox:1", "inbox:2", "junk:1", "junk:2"],
    ["ham", "ham", "spam", "spam"],
    [b"lunch".ljust(16), b"minutes".ljust(16), b"casino".ljust(16), b"refund".ljust(16)],
)


@pytest.fixture
def sealed(tmp_path: Path) -> Sealed:
    return seal(tmp_path / "test.seal", MAIL)


def look(sealed: Sealed, error: float = 0.25, model: str = "bernoulli") -> dict[str, float]:
    return sealed.look(MAIL, model, lambda: {"error": error}, dict)


def test_a_new_seal_has_not_been_looked_at(sealed):
    assert (sealed.n_looks, sealed.line, sealed.n_by_class) == (0, "not looked at yet", {"ham": 2, "spam": 2})
    assert sorted(sealed.examples) == sorted(MAIL)


def test_the_first_look_is_a_test_error_and_every_other_makes_it_a_validation_error(sealed):
    assert look(sealed) == {"error": 0.25}
    assert sealed.line == "looked at once: this is a test error"
    look(sealed, 0.0, "bernoulli, alpha 0.1")
    assert Sealed.open(sealed.path).line == "looked at 2 times: this is a validation error"
    assert [(seen.number, seen.model, seen.figures) for seen in sealed.looks] == [
        (1, "bernoulli", {"error": 0.25}),
        (2, "bernoulli, alpha 0.1", {"error": 0.0}),
    ]
    assert all(seen.who and seen.when.endswith("+00:00") for seen in sealed.looks)


def test_the_result_is_handed_out_whole_and_only_figures_are_kept(sealed):
    result = sealed.look(MAIL, "bernoulli", lambda: ["anything", 0.25], lambda found: {"error": found[1]})
    assert result == ["anything", 0.25]
    assert sealed.looks[0].figures == {"error": 0.25}


def test_nothing_is_handed_out_if_the_look_cannot_be_recorded(sealed, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(LabError, match=r"cannot use the sealed test set .*: No space left on device"):
        look(sealed)


def test_the_look_is_on_the_disk_before_it_is_handed_out(sealed, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (real(file), synced.append(sealed.path.read_bytes().count(b"\n"))))
    look(sealed)
    assert synced == [2, 2]  # the line, then the number


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, b"raw"])
def test_figures_that_cannot_be_kept_are_not_handed_out(sealed, value):
    with pytest.raises(LabError, match="cannot record the figures of bernoulli"):
        look(sealed, value)
    assert sealed.n_looks == 0


def test_what_fails_before_there_are_figures_is_no_look(sealed):
    def broken():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sealed.look(MAIL, "bernoulli", broken, dict)
    assert sealed.n_looks == 0


def test_order_and_place_of_the_examples_do_not_matter(sealed):
    moved = [example._replace(name=f"elsewhere/{example.name}") for example in reversed(MAIL)]
    sealed.check(moved)


def test_other_examples_than_the_sealed_ones_are_counted_and_refused(sealed):
    changed = MAIL[1]._replace(digest="0" * 32)
    relabelled = MAIL[2]._replace(label="ham")
    new = MAIL[0]._replace(name="inbox:9", digest="1" * 32)
    with pytest.raises(
        LabError, match="of 4 sealed, 1 are missing and 2 have changed; 1 are new; the first is inbox:1"
    ):
        sealed.check([changed, relabelled, new, MAIL[3]])
    with pytest.raises(
        LabError, match=r"1 are missing and 0 have changed; 0 are new; the first is junk:2\. A test error"
    ):
        sealed.check(MAIL[:3])
    with pytest.raises(LabError, match="0 are missing and 0 have changed; 1 are new"):
        sealed.look([*MAIL, MAIL[0]], "bernoulli", dict, dict)  # twice is not once
    assert sealed.n_looks == 0


def test_what_is_in_the_test_set_is_not_to_be_learned(sealed):
    sealed.check_training([MAIL[0]._replace(digest="2" * 32)])
    with pytest.raises(LabError, match=r"1 of 2 examples to learn are in the test set .*, the first is copy:7"):
        sealed.check_training([MAIL[0]._replace(digest="2" * 32), MAIL[0]._replace(name="copy:7")])


def test_a_seal_is_not_made_again_over_its_looks(sealed):
    look(sealed)
    with pytest.raises(LabError, match="exists: sealing it again would lose its looks"):
        seal(sealed.path, MAIL)
    assert sealed.n_looks == 1
    assert [path.name for path in sealed.path.parent.iterdir()] == ["test.seal"]


@pytest.mark.parametrize(
    ("examples", "text"), [([], "the 0 examples are none"), (MAIL[:2], "the 2 examples are all ham: a test set needs")]
)
def test_no_test_set_is_made_of_fewer_than_two_classes(tmp_path, examples, text):
    with pytest.raises(LabError, match=text):
        seal(tmp_path / "test.seal", examples)


def test_names_labels_and_digests_belong_together():
    with pytest.raises(LabError, match="2 names, 1 labels, 1 digests: give one for each example"):
        fingerprints(["a", "b"], ["ham"], [b"x"])


def test_files_that_are_no_seal_are_named(tmp_path):
    with pytest.raises(LabError, match=r"cannot use the sealed test set .*none\.seal: No such file or directory"):
        Sealed.open(tmp_path / "none.seal")
    for content in (b"", b"\n", b"{}", b'{"n":         0, "kind": 1}\n', b"\x00\xff" * 50):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(LabError, match="other is no sealed test set, or its first line was changed"):
            Sealed.open(tmp_path / "other")
    create_chain(tmp_path / "stranger", {"kind": "diary"})
    with pytest.raises(LabError, match="stranger is no sealed test set"):
        Sealed.open(tmp_path / "stranger")


@pytest.mark.slow
def test_every_changed_byte_is_noticed_or_still_counted(sealed):
    """Whatever one byte is changed to, the looks are not fewer: it is an error, or the line counts as torn."""
    for error in (0.1, 0.2, 0.3):
        look(sealed, error)
    raw = sealed.path.read_bytes()
    silent = []
    for place in range(len(raw)):
        for byte in (b"0", b"\n", b" "):
            if raw[place : place + 1] == byte:
                continue
            sealed.path.write_bytes(raw[:place] + byte + raw[place + 1 :])
            try:
                assert sealed.n_looks >= 3
                silent.append(place)
            except LabError:
                pass
    inside_the_last = raw[:-1].rindex(b"\n") + 1
    assert all(place < len(b'{"n":         3') or place >= inside_the_last for place in silent)


def test_a_line_taken_out_and_lines_exchanged_are_noticed(sealed):
    for error in (0.1, 0.2, 0.3):
        look(sealed, error)
    head, one, two, three = sealed.path.read_bytes().splitlines(keepends=True)
    for lines in ([head, two, three], [head, one, three], [head, two, one, three], [head, one, one, two, three]):
        sealed.path.write_bytes(b"".join(lines))
        with pytest.raises(LabError, match=r"was changed in line \d or before: restore it"):
            Sealed.open(sealed.path)


def test_looks_cut_off_at_the_end_are_noticed(sealed):
    for error in (0.1, 0.2, 0.3):
        look(sealed, error)
    lines = sealed.path.read_bytes().splitlines(keepends=True)
    sealed.path.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(LabError, match="was shortened: it had 3 looks and has 2; restore it"):
        look(sealed)


def test_a_single_look_cut_off_is_one_look(sealed):
    look(sealed)
    sealed.path.write_bytes(sealed.path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(LabError, match="was shortened: it had 1 look and has 0; restore it"):
        look(sealed)


def test_a_look_torn_at_any_byte_counts_and_the_next_one_follows_it(sealed):
    look(sealed)
    before = sealed.path.read_bytes()
    look(sealed, 0.5, "torn")
    whole = sealed.path.read_bytes()
    for length in range(len(before) + 1, len(whole)):
        sealed.path.write_bytes(before + whole[len(before) : length])
        assert sealed.n_looks == 2
        look(sealed, 0.75, "after")
        assert [seen.figures for seen in sealed.looks][::2] == [{"error": 0.25}, {"error": 0.75}]
        assert sealed.line == "looked at 3 times: this is a validation error"
    assert sealed.looks[1].model == "torn"  # only its line feed was missing


LOOKER = """
import sys
from pathlib import Path
from priory.lab.test_set import Sealed
sealed = Sealed.open(Path(sys.argv[1]))
mail = sealed.examples
for i in range(int(sys.argv[2])):
    sealed.look(mail, sys.argv[3], lambda: {"error": i / 1000}, dict)
    print(i, flush=True)
"""


def looker(sealed: Sealed, times: int, name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", LOOKER, sealed.path, str(times), name], stdout=subprocess.PIPE)


def test_two_processes_at_once_lose_no_look(sealed):
    processes = [looker(sealed, 25, name) for name in ("one", "two")]
    assert [process.communicate()[0].count(b"\n") for process in processes] == [25, 25]
    assert sealed.n_looks == 50
    for name in ("one", "two"):
        seen = [look.figures["error"] for look in sealed.looks if look.model == name]
        assert seen == [i / 1000 for i in range(25)]


def test_a_process_killed_in_the_middle_has_every_look_it_saw_on_record(sealed):
    for n_seen in (1, 3, 8):
        before = sealed.n_looks
        process = looker(sealed, 100_000, "killed")
        assert process.stdout
        for _ in range(n_seen):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        seen = n_seen + process.communicate()[0].count(b"\n")
        assert sealed.n_looks - before in (seen, seen + 1)  # the last may have been recorded and not yet seen


def test_the_file_is_lines_of_json_that_people_can_read(sealed):
    look(sealed)
    head, line = map(json.loads, sealed.path.read_text().splitlines())
    assert (head["n"], head["kind"], head["n_by_class"]) == (1, "sealed test set", {"ham": 2, "spam": 2})
    assert (line["model"], line["figures"]) == ("bernoulli", {"error": 0.25})


def test_a_file_that_may_only_be_read_can_be_asked_but_not_looked_at(sealed, monkeypatch):
    real = os.open

    def read_only(path, flags, *rest):
        if flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", read_only)
    assert sealed.n_looks == 0
    with pytest.raises(LabError, match=r"cannot use the sealed test set .*: Permission denied"):
        look(sealed)
