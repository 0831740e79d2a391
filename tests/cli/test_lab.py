"""The workbench's commands as a person runs them."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from priory.cli.lab import app
from priory.cli.lab.bench import require_page
from priory.cli.lab.options import By
from priory.cli.options import CommandError
from priory.demo import draw
from priory.lab.mail import WAYS
from real_daemon import wait_until

pytestmark = pytest.mark.slow

PRIORY = str(Path(sys.executable).with_name("priory"))


def lab(*arguments: object, home: Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PRIORY_HOME": str(home), "COLUMNS": "100", "PYTHONPATH": str(cwd or "")}
    command = [PRIORY, "lab", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, check=False, timeout=300)


def found(*arguments: object, home: Path, cwd: Path | None = None):
    done = lab(*arguments, "--json", home=home, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def inbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of three hundred messages; of each label, every thirtieth is given the other one."""
    folder = tmp_path_factory.mktemp("inbox")
    lines, n = [], {"ham": 0, "spam": 0}
    for i, drawn in enumerate(draw(300, seed=8)):
        n[drawn.label] += 1
        label = {"ham": "spam", "spam": "ham"}[drawn.label] if n[drawn.label] % 30 == 0 else drawn.label
        place = folder / label
        place.mkdir(exist_ok=True)
        (place / f"{i}.eml").write_bytes(drawn.raw)
        lines.append(f"{label} {label}/{i}.eml\n")
    (folder / "index").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def home(inbox: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    for label in ("ham", "spam"):
        subprocess.run([PRIORY, "learn", label, inbox / label, "--home", home], check=True, capture_output=True)
    return home


def test_replay_gives_the_figures_of_trec_and_the_speed(inbox, tmp_path):
    replay_source = found("replay", "--index", inbox / "index", home=tmp_path)
    [run] = replay_source["runs"]
    for figure in ("1-ROCA%", "h=0.1%", "lam%", "ECE%"):
        assert run["figures"][figure]["low"] <= run["figures"][figure]["estimate"] <= run["figures"][figure]["high"]
    assert replay_source["messages"] == 300
    assert replay_source["messages_per_second"] == pytest.approx(300 / replay_source["seconds"])
    assert run["figures"]["AUC"]["estimate"] > 0.85
    assert run["protocol"] == "replay in order, feedback at once"


def test_replay_of_folders_is_in_order_of_time_and_so_equals_that_of_the_index(inbox, tmp_path):
    by_index = found("replay", "--index", inbox / "index", home=tmp_path)
    by_time = found("replay", f"ham={inbox / 'ham'}", f"spam={inbox / 'spam'}", home=tmp_path)
    assert by_time["runs"][0]["figures"] == by_index["runs"][0]["figures"]


def test_replay_warns_if_one_folder_was_taught_after_another(inbox, tmp_path):
    lines = sorted(f"{label} {inbox / label / file}\n" for label, file in _repeated(inbox, 1))
    (tmp_path / "index").write_text("".join(lines))
    done = lab("replay", "--index", tmp_path / "index", home=tmp_path)
    assert (
        f"the labels change only once in {len(lines)} messages, as if one folder after another had been taught; "
        "mail does not arrive in this order: use priory lab evaluate"
    ) in " ".join(done.stdout.split())


def test_replay_with_bad_feedback_is_worse_and_says_so(inbox, tmp_path):
    options = ("--delay", 20, "--share", 0.5, "--flip", 0.3)
    replay_source = found("replay", "--index", inbox / "index", *options, "--weight", "link=0", home=tmp_path)
    [run] = replay_source["runs"]
    assert run["protocol"].endswith("feedback 20 messages later for 50 % of the messages, 30 % of it wrong")
    best = found("replay", "--index", inbox / "index", home=tmp_path)["runs"][0]
    assert run["figures"]["AUC"]["estimate"] < best["figures"]["AUC"]["estimate"]


def test_replay_after_few_lessons_judges_what_comes_next(inbox, tmp_path):
    asked = ("replay", "--index", inbox / "index", "--model", "filter", "--model", "bernoulli", "--first", 10)
    page = tmp_path / "report.html"
    replay_source = found(*asked, "--then", 40, "--html", page, "--jobs", 2, home=tmp_path)
    for run in replay_source["runs"]:
        assert run["protocol"] == "replay in order, first 10 of each label learned, next 40 of each judged"
        assert run["n_by_class"] == {"ham": 40, "spam": 40}
        assert run["figures"]["AUC"]["estimate"] > 0.7
        assert run["figures"]["h=0.5%"]["low"] <= run["figures"]["h=0.5%"]["estimate"]
    labels = [line.split()[0] for line in (inbox / "index").read_text().splitlines()]
    assert min(labels[: replay_source["messages"]].count(label) for label in ("ham", "spam")) == 50
    assert "next 40 of each judged" in page.read_text()
    other = found(*asked, "--then", 30, "--flip", 0.1, home=tmp_path)
    assert other["runs"][0]["n_by_class"] == {"ham": 30, "spam": 30}
    assert len(list((tmp_path / "lab").glob("replay-*/report.json"))) == 2
    assert not (tmp_path / "lab" / "tried.jsonl").exists()


def temp_homes(process: int) -> list[Path]:
    """The temporary homes of one process: other processes of the machine may have theirs."""
    return list(Path("/dev/shm").glob(f"priory-lab-{process}-*"))


def test_an_interrupted_replay_goes_on(inbox, tmp_path):
    many = tmp_path / "index"
    many.write_text("".join(f"{label} {inbox / label / file}\n" for label, file in _repeated(inbox, 20)))
    environment = {**os.environ, "PRIORY_HOME": str(tmp_path)}
    process = subprocess.Popen([PRIORY, "lab", "replay", "--index", many], env=environment, stderr=subprocess.PIPE)
    wait_until(lambda: process.poll() is not None or list((tmp_path / "lab").glob("replay-*/so-far-*.npz")))
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert temp_homes(process.pid)  # as long as nobody has waited for the process, no other lab removes them
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    replay_source = found("replay", "--index", many, home=tmp_path)
    assert replay_source["messages"] == 6000
    assert replay_source["messages_per_second"] is None
    assert not temp_homes(process.pid)
    assert not list((tmp_path / "lab").glob("replay-*/so-far-*.npz"))
    whole = found("replay", "--index", many, "--fresh", home=tmp_path)
    assert replay_source["runs"][0]["figures"] == whole["runs"][0]["figures"]


def _repeated(inbox: Path, times: int) -> list[list[str]]:
    entries = [line.split()[1].split("/") for line in (inbox / "index").read_text().splitlines()]
    return entries * times


def test_the_filter_is_judged_on_what_it_was_taught(home):
    judged = found("evaluate", home=home)
    [run] = judged["runs"]
    assert run["model"] == "filter"
    assert sum(run["n_by_class"].values()) == 300
    assert "near-duplicates kept together" in run["protocol"]
    assert "Believe it:" in judged["lines"][0]
    assert judged["title"] == f"lessons of {home}"


def test_leaving_one_out_needs_no_mail_either(home):
    [run] = found("evaluate", "--by", "leave-one-out", home=home)["runs"]
    assert run["protocol"].startswith("leave-one-out: each message judged by the filter")
    assert run["figures"]["AUC"]["estimate"] > 0.85


def test_what_a_kind_of_features_is_worth_is_told(inbox, tmp_path):
    judged = found(
        "evaluate", "--index", inbox / "index", "--exclude", "source-gram", "--exclude", "header-gram", home=tmp_path
    )
    assert {run["model"] for run in judged["runs"]} == {"filter", "filter without source-gram, header-gram"}
    assert any(line.startswith("without source-gram, header-gram: ") for line in judged["lines"])
    assert any("cost per example" in line for line in judged["lines"])


def test_a_learning_curve_is_shown(inbox, tmp_path):
    judged = found("evaluate", "--index", inbox / "index", "--curve", "--model", "multinomial", home=tmp_path)
    [curve] = judged["learning_curves"]
    assert curve["model"] == "multinomial"
    assert len(curve["points"]) >= 3


def test_models_are_compared_and_the_winner_is_doubted(inbox, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from sklearn.linear_model import LogisticRegression\n"
        "def pipeline():\n    return LogisticRegression(C=0.1)\n"
    )  # fmt: skip
    models = ("filter", "multinomial", "complement", "mine:pipeline")
    options = [option for name in models for option in ("--model", name)]
    judged = found("compare", "--index", inbox / "index", *options, "--nested", home=tmp_path, cwd=tmp_path)
    runs = {run["model"]: run for run in judged["runs"]}
    assert set(runs) == {*models, "the best, chosen in each fold"}
    assert re.search(
        r", best of 4 on 300 messages: .* after correcting for choosing; .* Believe it: ", judged["lines"][0]
    )
    for name in models:
        assert runs[name]["seconds_learning"] > 0
        assert runs[name]["peak_bytes"] >= (1_000_000 if name == "filter" else 0)  # small ones fit into what is free
        assert runs[name]["figures"]["AUC"]["high"] > 0.8
    shown = lab("compare", "--index", inbox / "index", *options, home=tmp_path, cwd=tmp_path)
    assert "Believe it" in shown.stdout
    assert "multinomial" in shown.stdout


def test_a_sealed_test_set_is_left_out_until_it_is_looked_at(inbox, tmp_path):
    seal = tmp_path / "test.seal"
    sealed = found("seal", seal, "--index", inbox / "index", home=tmp_path)
    n_sealed = sum(sealed["sealed"].values())
    assert 30 < n_sealed < 90
    judged = found("evaluate", "--index", inbox / "index", "--seal", seal, home=tmp_path)
    assert sum(judged["runs"][0]["n_by_class"].values()) == 300 - n_sealed
    assert "were left out (not looked at yet)" in judged["lines"][0]
    look = ("evaluate", "--index", inbox / "index", "--seal", seal, "--look")
    first = found(*look, home=tmp_path)
    assert first["lines"][0] == "looked at once: this is a test error"
    [kept] = [path.name for path in (tmp_path / "lab").glob("look-*")]
    again = found(*look, "--model", "multinomial", home=tmp_path)
    assert again["lines"][0] == "looked at 2 times: this is a validation error"
    assert found("report", kept, home=tmp_path)["lines"][0] == again["lines"][0]
    replay_source = found("replay", "--index", inbox / "index", "--seal", seal, home=tmp_path)
    assert replay_source["messages"] == 300 - n_sealed
    assert sum(again["runs"][0]["n_by_class"].values()) == n_sealed
    shown = lab("report", kept, home=tmp_path).stdout
    assert "looked at 2 times: this is a validation error" in shown


def test_looking_for_wrong_labels_leaves_the_report_as_it_was(inbox, tmp_path):
    judged = found("evaluate", "--index", inbox / "index", home=tmp_path)
    found("errors", "--index", inbox / "index", home=tmp_path)
    assert found("report", home=tmp_path) == judged
    assert judged["runs"][0]["weights"]


def test_a_page_that_cannot_be_drawn_is_refused_before_the_work(monkeypatch, tmp_path):
    monkeypatch.setattr("priory.cli.lab.bench.find_spec", lambda _name: None)
    require_page(None)
    install = re.escape("install it with: pip install '.[report]' in Priory's source folder")
    with pytest.raises(CommandError, match=f"a page needs plotly for its plots; {install}"):
        require_page(tmp_path / "report.html")
    monkeypatch.undo()
    require_page(tmp_path / "report.html")
    with pytest.raises(CommandError, match=r"cannot write .*: name a file in an existing folder"):
        require_page(tmp_path / "nowhere" / "report.html")


def test_wrong_labels_are_found(inbox, tmp_path):
    listed = found("errors", "--index", inbox / "index", "--most", 10, home=tmp_path)
    suspected = {str(Path(each["name"]).relative_to(inbox)) for each in listed["suspects"]}
    assert len(suspected) == 10
    assert len(_wrong(inbox)) >= 9
    assert len(suspected & _wrong(inbox)) >= 6
    assert listed["suspects"][0]["label"] != listed["suspects"][0]["rather"]
    shown = lab("errors", "--index", inbox / "index", home=tmp_path).stdout
    assert "labels about" in shown.splitlines()[-1]


def _wrong(inbox: Path) -> set[str]:
    drawn = {f"{i}.eml": each.label for i, each in enumerate(draw(300, seed=8))}
    return {f"{path.parent.name}/{path.name}" for path in inbox.glob("*/*.eml") if drawn[path.name] != path.parent.name}


def test_a_report_is_shown_again_with_the_costs_of_now(inbox, tmp_path):
    nothing = lab("report", home=tmp_path)
    assert nothing.stderr == (
        f"priory: there is no report in {tmp_path} yet: begin with priory lab evaluate, compare or replay\n"
    )
    first = found("replay", "--index", inbox / "index", home=tmp_path)
    found("evaluate", "--index", inbox / "index", "--model", "complement", home=tmp_path)
    listed = lab("report", "--list", home=tmp_path).stdout.splitlines()
    assert sum(not line.startswith(" ") for line in listed) == 2
    assert any("Believe it" in line for line in listed)
    name = next(line.split()[0] for line in listed if line.startswith("replay-"))
    (tmp_path / "priory.toml").write_text("[costs]\nunsure = 0\n")
    again = found("report", name, home=tmp_path)
    assert again["runs"][0]["figures"]["1-ROCA%"] == first["runs"][0]["figures"]["1-ROCA%"]
    assert again["costs"]["unsure"] == 0
    assert again["runs"][0]["figures"]["unsure %"]["estimate"] > 90
    page = tmp_path / "report.html"
    assert f"written to {page}" in lab("report", "--html", page, home=tmp_path).stdout
    assert "<title>" in page.read_text()


def test_what_is_wrong_is_said_in_one_line(inbox, tmp_path):
    (tmp_path / "ham-only").write_text("".join(f"ham {inbox}/ham/{p.name}\n" for p in (inbox / "ham").iterdir()))
    (tmp_path / "empty").write_text("")
    (tmp_path / "missing").write_text("ham nowhere.eml\n")
    few = [f"ham {inbox}/ham/{p.name}\n" for p in (inbox / "ham").iterdir()][:30]
    spam = next((inbox / "spam").iterdir())
    (tmp_path / "one-spam").write_text("".join([*few, f"spam {spam}\n"]))
    (tmp_path / "junk").write_text(f"junk {spam}\n")
    index = inbox / "index"
    for arguments, said in {
        (
            "evaluate",
            "--index",
            tmp_path / "ham-only",
        ): "there is no spam among [0-9]+ messages: an evaluation needs messages of every label",
        ("evaluate", "--index", tmp_path / "ham-only", "--by", "leave-one-out"): "there is no spam among",
        ("replay", "--index", tmp_path / "ham-only"): "no spam",
        ("evaluate", "--index", tmp_path / "empty"): "there is no mail to judge by",
        ("replay", "--index", tmp_path / "empty"): "there is no mail to replay",
        (
            "replay",
            "--index",
            index,
            "--start",
            "5000",
        ): "no mail to judge after the first 5,000 messages: lower --start",
        ("evaluate", "--index", tmp_path / "missing"): "missing:1: there is no file",
        ("evaluate", "--index", tmp_path / "nothing"): "nothing does not exist",
        ("evaluate", "--index", tmp_path / "one-spam"): "spam is in 1 of [0-9]+ groups, too few for 5 folds",
        ("compare", "--index", index, "--model", "naive"): "unknown model 'naive'; choose one of filter",
        ("replay", "--index", index, "--model", "forest"): "unknown model 'forest' for a replay",
        ("evaluate", "--index", index, "--model", "sklearn.svm:LinearSVC"): "LinearSVC.* predicts no probabilities",
        ("evaluate", "--index", index, "--look"): "--look needs a sealed test set",
        ("evaluate", "--index", index, "--look", "--seal", "x", "--curve"): "--look judges one model once",
        ("evaluate", "--index", index, "--by", "leave-one-out", "--curve"): "--curve needs folds",
        ("evaluate", "--index", index, "--seal", tmp_path / "no.seal"): "no.seal",
        ("evaluate", "--index", index, "--exclude", "smell"): "no kind of features 'smell'",
        ("evaluate", "--index", index, "ham=x"): "either as LABEL=PATH… or with --index",
        ("evaluate", "x"): "'x' is not LABEL=PATH",
        ("evaluate", "junk=x"): "junk=x: unknown label 'junk'; this filter knows ham, spam",
        ("replay", "--index", tmp_path / "junk"): "has the label 'junk', which is none of ham, spam",
        ("replay", "--index", index, "--then", 10): "--then needs --first",
        ("replay", "--index", index, "--first", 10, "--delay", 1): "with --first .*leave out --delay and --share",
        ("replay", "--index", index, "--first", 10, "--share", 0.5): "with --first .*leave out --delay and --share",
        (
            "replay",
            "--index",
            index,
            "--first",
            10,
        ): "of ham there are [0-9]+ messages, but 510 are needed, 10 to learn",
        ("replay", "--index", index, "--weight", "smell=1"): "'smell=1' is not KIND=WEIGHT",
        ("replay", "--index", index, "--weight", "link=much"): "the weight must be a number",
        ("evaluate",): "has no lessons yet|there is no filter",
        ("report", "nothing"): "there is no report",
        ("evaluate", "--index", index, "--folds", 1000): "300 groups cannot fill 1000 folds: use fewer",
        ("trust", 5, 3): "5 errors in 3 examples are impossible",
    }.items():
        done = CliRunner().invoke(app, [*map(str, arguments)], env={"PRIORY_HOME": str(tmp_path)})
        assert isinstance(done.exception, CommandError), (arguments, done.exception, done.output)
        assert "\n" not in str(done.exception)
        assert re.search(said, str(done.exception)), (arguments, done.exception)


@pytest.mark.parametrize("text", ["x", "1.5", "nan", "inf"])
def test_a_number_of_models_that_is_none_is_refused(text, tmp_path):
    done = lab("trust", 10, 500, "--models", text, home=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"Invalid value for '--models': '{text}' is not a whole number; write 20 or 1e9." in done.stderr


def test_a_replay_that_is_terminated_leaves_nothing_behind(inbox, tmp_path):
    many = tmp_path / "index"
    many.write_text("".join(f"{label} {inbox / label / file}\n" for label, file in _repeated(inbox, 20)))
    environment = {**os.environ, "PRIORY_HOME": str(tmp_path)}
    process = subprocess.Popen([PRIORY, "lab", "replay", "--index", many], env=environment, stderr=subprocess.PIPE)
    wait_until(
        lambda: (
            process.poll() is not None or any((home / "journal.sqlite").exists() for home in temp_homes(process.pid))
        )
    )
    process.terminate()
    process.communicate()
    assert process.returncode == 143
    assert not temp_homes(process.pid)


def test_what_was_kept_can_be_removed(inbox, tmp_path):
    found("evaluate", "--index", inbox / "index", "--model", "complement", home=tmp_path)
    assert lab("report", "--clear", home=tmp_path).returncode == 0
    assert [path.name for path in (tmp_path / "lab").iterdir()] == ["tried.jsonl"]
    assert lab("report", home=tmp_path).returncode == 1


def test_a_model_of_ones_own_may_lie_in_the_current_folder_and_may_fail(inbox, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from priory.bayes import BernoulliNB\n"
        "class Broken(BernoulliNB):\n    def fit(self, X, y):\n        raise RuntimeError('no way')\n"
    )
    done = lab("evaluate", "--index", inbox / "index", "--model", "mine.py:Broken", home=tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    assert re.fullmatch(
        r"priory: mine.py:Broken failed: RuntimeError: no way \(.*mine.py:4\); it was given .* rows\n", done.stderr
    )


def test_every_command_and_option_is_documented():
    documented = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        assert f"### priory lab {name}" in documented
        environment = {**os.environ, "COLUMNS": "200"}
        helped = subprocess.run([PRIORY, "lab", name, "--help"], capture_output=True, env=environment, check=True)
        options = set(re.findall(r"--[a-z-]+", helped.stdout.decode())) - {"--help"}
        assert "Example" in helped.stdout.decode()
        missing = [option for option in options if f"`{option}" not in documented]
        assert not missing, f"{name}: {missing}"


def test_the_ways_to_split_are_those_of_the_library():
    assert [way.value for way in By] == list(WAYS)


@pytest.mark.corpora
def test_ten_models_are_compared_on_real_mail(corpora, tmp_path):
    names = (
        "filter",
        "bernoulli",
        "multinomial",
        "complement",
        "tan",
        "kdb",
        "tree",
        "logistic",
        "forest",
        "boosting",
    )
    options = [option for name in names for option in ("--model", name)]
    index, lines = tmp_path / "index", (corpora / "spamassassin/index").read_text().splitlines()
    pairs = [line.split(maxsplit=1) for line in lines[::3]]  # ten models take minutes on all of them
    index.write_text("".join(f"{label} {corpora}/spamassassin/{path}\n" for label, path in pairs))
    judged = found("compare", "--index", index, "--jobs", 2, *options, home=tmp_path)
    runs = {run["model"]: run for run in judged["runs"]}
    assert set(runs) == set(names)
    assert all(run["figures"]["accuracy %"]["estimate"] > 90 for run in runs.values())
    assert runs["filter"]["figures"]["AUC"]["estimate"] > 0.998
    assert "best of 10 on 2,016 messages" in judged["lines"][0]
