"""The commands with five labels, two of them unwanted, and a label that is added later."""

import json
from pathlib import Path

import pytest

from command import priory
from five_labels import CONFIG, LABELS, mail, surest_messages, teach
from mail_programs import thunderbird
from priory.filter.filter import Filter
from real_daemon import serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("five") / "home"
    teach(home)
    return home


@pytest.fixture(scope="module")
def folder(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A message of each label."""
    folder = tmp_path_factory.mktemp("asked")
    for label, raw in surest_messages(home).items():
        (folder / f"{label}.eml").write_bytes(raw)
    return folder


def test_check_names_the_label_of_each_probability_with_a_daemon_and_without(home: Path, folder: Path):
    alone = {label: priory("check", folder / f"{label}.eml", home=home).stdout for label in LABELS}
    for label, line in alone.items():
        assert line.decode().split()[0] == label
        assert line.decode().split()[2] == label
    with serving(home, CONFIG) as daemon:
        for label, line in alone.items():
            assert priory("check", folder / f"{label}.eml", home=home).stdout == line
        daemon.wait_until(lambda: daemon.n_logged("request verb=HEADERS") == len(LABELS))  # it answers first


def test_check_aligns_columns_for_all_messages(home: Path, folder: Path):
    together = priory("check", folder, home=home).stdout.decode().splitlines()
    assert len(together) == len(LABELS)
    assert {(line.index(" 0."), line.index(f" {folder}")) for line in together} == {(10, 34)}
    one_by_one = [priory("check", path, home=home).stdout.decode() for path in sorted(folder.iterdir())]
    assert "".join(one_by_one).splitlines() == together
    assert {line.split()[2] for line in together} == {line[23:33].strip() for line in together} == set(LABELS)


def test_a_scan_treats_all_unwanted_labels_as_junk(home: Path, folder: Path):
    told = priory("scan", folder, "--json", home=home).stdout.decode().splitlines()
    changes = {Path(each["source"]).stem: each for each in map(json.loads, told)}
    assert {label for label, each in changes.items() if each["change"] == "to junk"} == {"spam", "phishing"}
    assert all((each["probability"] > 0.5) is (label in {"spam", "phishing"}) for label, each in changes.items())


def test_an_explanation_names_all_probabilities(home: Path, folder: Path):
    shown = priory("explain", folder / "personal.eml", home=home).stdout.decode()
    assert "probability of  personal 0." in shown
    page = folder / "why.html"
    assert priory("explain", "--html", page, folder / "personal.eml", home=home).returncode == 0
    assert "Probabilities: personal 0." in page.read_text()
    page.unlink()


def test_stats_config_and_lessons_know_every_label(home: Path):
    stats = json.loads(priory("stats", "--json", home=home).stdout)
    assert set(stats["lessons"]) == set(stats["calibration"]) == set(LABELS)
    shown = priory("config", "--check", home=home).stdout.decode()
    assert "labels      ham, spam, newsletter, personal, phishing; unwanted: spam, phishing\n" in shown
    assert "warning" not in shown
    listed = priory("lessons", "--label", "phishing", "--json", home=home).stdout.decode().splitlines()
    assert {json.loads(line)["label"] for line in listed} == {"phishing"}


def test_mail_can_be_reported_as_any_label(tmp_path: Path):
    (tmp_path / "priory.toml").write_text(CONFIG + '[report]\nsenders = ["ann@mail.example"]\n')
    raw = mail()[0][0]
    done = priory("report", "phishing", "--sender=ann@mail.example", home=tmp_path, stdin=thunderbird(raw))
    assert done.stdout == b"learned 1 as phishing, relabelled 0, already known 0\n"


def test_the_workbench_evaluates_five_labels(home: Path):
    told = json.loads(priory("lab", "evaluate", "--json", "--folds", "2", home=home).stdout)
    assert set(LABELS) <= set(json.dumps(told).replace('"', " ").split())


def test_a_label_is_added_to_a_trained_filter(tmp_path: Path):
    for label in ("ham", "spam"):
        (tmp_path / f"{label}.mbox").write_bytes(_mbox("ham", "personal") if label == "ham" else _mbox("spam"))
        assert priory("learn", label, tmp_path / f"{label}.mbox", home=tmp_path / "home").returncode == 0
    (tmp_path / "home" / "priory.toml").write_text('labels = ["ham", "spam", "newsletter"]\n')
    (tmp_path / "newsletter.mbox").write_bytes(_mbox("newsletter"))
    assert priory("learn", "newsletter", tmp_path / "newsletter.mbox", home=tmp_path / "home").returncode == 0
    stats = json.loads(priory("stats", "--json", home=tmp_path / "home").stdout)
    assert min(stats["scored"].values()) >= 10, stats["scored"]
    assert min(line["slope"] for line in stats["calibration"].values()) > 0.5
    with Filter.open(tmp_path / "home") as filter_, pytest.raises(Exception, match="does not name"):
        filter_.check(b"")


def _mbox(*labels: str) -> bytes:
    several = [raw.replace(b"\nFrom ", b"\n>From ") for raw, label in mail() if label in labels]
    return b"".join(b"From ann\n%s\n\n" % raw for raw in several)
