"""The commands as a person runs them: real processes, real files."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from priory.cli.app import COMMANDS, app
from priory.demo import draw

PRIORY = str(Path(sys.executable).with_name("priory"))


def priory(
    *arguments: object, home: Path, stdin: bytes = b"", columns: str = "100"
) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PRIORY_HOME": str(home), "COLUMNS": columns}
    command = [PRIORY, *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, env=environment, check=False, timeout=120)


@pytest.fixture(scope="module")
def inbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inbox")
    for i, drawn in enumerate(draw(240, seed=4)):
        place = folder / ("unseen" if i >= 200 else "taught") / drawn.label
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i}.eml").write_bytes(drawn.raw)
    return folder


@pytest.fixture(scope="module")
def home(inbox: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    for label in ("ham", "spam"):
        assert priory("learn", label, inbox / "taught" / label, home=home).returncode == 0
    return home


def test_learning_says_what_it_did_and_twice_changes_nothing(inbox: Path, tmp_path: Path):
    first = priory("learn", "ham", inbox / "taught" / "ham", home=tmp_path)
    again = priory("learn", "ham", inbox / "taught" / "ham", "--json", home=tmp_path)
    n = len(list((inbox / "taught" / "ham").iterdir()))
    assert first.stdout.decode().startswith(f"learned {n} in {tmp_path}")
    assert json.loads(again.stdout)["known"] == n


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
    total = said["prior"] + sum(e["term"] for e in said["evidence"]) + said["other_evidence"]
    assert total == pytest.approx(said["log_odds"], abs=1e-9)
    assert said["source"] == str(message)


def test_nothing_learned_is_unsure_and_says_why(inbox: Path, tmp_path: Path):
    result = priory("check", "-", home=tmp_path, stdin=b"Subject: hi\n\nhello")
    assert result.stdout.decode().startswith("unsure   0.5000")
    assert result.stdout.count(b"\n") == 1
    assert f"no ham and no spam has been learned yet in {tmp_path}" in result.stderr.decode()


def test_explain_shows_the_sum_the_evidence_and_the_text(inbox: Path, home: Path):
    message = next((inbox / "unseen" / "spam").iterdir())
    shown = priory("explain", message, home=home).stdout.decode()
    rows = re.findall(
        r"^(prior|text|headers|links|sender|facts|markup|attachments|part headers) +([+-][\d.]+)", shown, re.MULTILINE
    )
    total = float(re.search(r"^log-odds +([+-][\d.]+)", shown, re.MULTILINE)[1])
    assert sum(float(value) for _, value in rows) == pytest.approx(total, abs=0.0005 * (len(rows) + 1))
    assert "for spam" in shown
    assert "Subject:" in shown


KINDS = "word pair header sender fact link markup attachment source-gram header-gram"


@pytest.mark.parametrize("columns", ["60", "100"])
def test_explain_adds_up_by_kind_beside_the_sections_or_below_them(inbox: Path, home: Path, columns: str):
    message = next((inbox / "unseen" / "spam").iterdir())
    shown = priory("explain", message, home=home, columns=columns).stdout.decode()
    said = json.loads(priory("explain", message, "--json", home=home).stdout)
    sums = shown[shown.index("by section") : shown.index("for spam")]
    assert ("\n\n" in sums.replace(" ", "").rstrip("\n")) == (columns == "60")
    rows = re.findall(rf"(?<![\w-])({KINDS.replace(' ', '|')}) +([\d,]+) +([+-][\d.]+)", sums)
    assert {name: (n, value) for name, n, value in rows} == {
        name: (f"{kind['features']:,}", f"{kind['sum']:+.3f}") for name, kind in said["kinds"].items()
    }
    assert len(re.findall(rf"log-odds +{re.escape(format(said['log_odds'], '+.3f'))}", sums)) == 2
    total = said["prior"] + sum(kind["sum"] for kind in said["kinds"].values())
    assert total == pytest.approx(said["log_odds"], abs=1e-9)
    assert sum(kind["features"] for kind in said["kinds"].values()) == len(said["evidence"])


def test_the_page_adds_up_by_kind_as_the_json_does(inbox: Path, home: Path, tmp_path: Path):
    message = next((inbox / "unseen" / "spam").iterdir())
    said = json.loads(priory("explain", message, "--json", "--html", tmp_path / "why.html", home=home).stdout)
    page = (tmp_path / "why.html").read_text()
    rows = re.findall(r'<tr><td>([\w-]+)</td><td class="n">([\d,]+)</td><td class="n">([+-][\d.]+)</td>', page)
    assert rows == [(name, f"{k['features']:,}", f"{k['sum']:+.3f}") for name, k in said["kinds"].items()]


def test_the_page_escapes_the_message_and_loads_nothing(home: Path, tmp_path: Path):
    raw = b"Subject: <script>alert(1)</script>\nContent-Type: text/plain\n\n<img src=x onerror=alert(2)> & more"
    result = priory("explain", "-", "--html", tmp_path / "why.html", home=home, stdin=raw)
    page = (tmp_path / "why.html").read_text()
    assert result.returncode == 0
    assert "<script" not in page
    assert "<img" not in page
    assert "default-src 'none'" in page
    text = re.sub(r"<[^>]+>", "", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_filter_adds_headers_and_removes_forged_ones(inbox: Path, home: Path):
    raw = next((inbox / "unseen" / "spam").iterdir()).read_bytes()
    forged = b"X-Priory-Verdict: ham; spam=0.0001\n\tfolded\nx-priory-evidence: none\n" + raw
    clean, marked = priory("filter", home=home, stdin=raw), priory("filter", home=home, stdin=forged)
    assert clean.stdout == marked.stdout
    assert clean.stdout.endswith(raw)
    head = clean.stdout[: -len(raw)].decode("ascii")
    fields = (r"Verdict: \w+; spam=\d\.\d+\n", r"Log-Odds: .*\n", r"Evidence: (.*\n\t)*.*\n")
    assert re.fullmatch("".join(f"X-Priory-{field}" for field in fields), head)


def test_filter_keeps_line_ends_and_the_envelope(home: Path):
    raw = b"From ann@x.example Mon Jan  6 08:00:00 2025\r\nSubject: hi\r\n\r\nX-Priory-Verdict: in the body\r\n"
    out = priory("filter", home=home, stdin=raw).stdout
    assert out.startswith(b"From ann@x.example Mon Jan  6 08:00:00 2025\r\nX-Priory-Verdict: ")
    assert out.endswith(b"\r\nSubject: hi\r\n\r\nX-Priory-Verdict: in the body\r\n")
    assert b"\n" not in out.replace(b"\r\n", b"")


def test_a_filtered_message_is_the_same_message(home: Path, inbox: Path):
    message = next((inbox / "taught" / "spam").iterdir())
    out = priory("filter", home=home, stdin=message.read_bytes()).stdout
    assert json.loads(priory("learn", "spam", "-", "--json", home=home, stdin=out).stdout)["known"] == 1


@pytest.mark.parametrize(("options", "status"), [((), 0), (("--strict",), 75)])
def test_filter_passes_mail_unchanged_when_the_store_is_broken(options: tuple[str, ...], status: int, tmp_path: Path):
    (tmp_path / "journal.sqlite").write_bytes(b"this is no journal")
    raw = b"X-Priory-Verdict: forged\nSubject: hi\n\nhello\n"
    result = priory("filter", *options, home=tmp_path, stdin=raw)
    assert (result.stdout, result.returncode) == (raw, status)
    assert b"message passed unchecked" in result.stderr
    assert b"is not a Priory journal" in result.stderr
    assert (tmp_path / "journal.sqlite").read_bytes() == b"this is no journal"


def test_forget_by_file_and_by_digest(inbox: Path, tmp_path: Path):
    one, two = list((inbox / "taught" / "spam").iterdir())[:2]
    priory("learn", "spam", one, two, home=tmp_path)
    digest = json.loads(priory("check", two, "--json", home=tmp_path).stdout)["digest"]
    assert priory("forget", one, digest, home=tmp_path).stdout == b"forgot 2, never learned 0\n"
    again = priory("forget", one, home=tmp_path)
    assert (again.stdout, again.returncode) == (b"forgot 0, never learned 1\n", 1)


def test_what_is_no_mail_is_passed_over_and_told(inbox: Path, tmp_path: Path):
    folder = tmp_path / "mixed"
    shutil.copytree(inbox / "unseen", folder)
    (folder / "notes.txt").write_text("buy milk\n")
    learned = priory("learn", "ham", folder, home=tmp_path / "home").stdout.decode()
    assert "passed over 1 that are no mail" in learned
    checked = priory("check", folder, home=tmp_path / "home")
    assert checked.stdout.count(b"\n") == 40
    assert b"passed over 1 files that are no mail" in checked.stderr


def test_what_was_learned_before_a_broken_archive_is_kept_and_told(inbox: Path, tmp_path: Path):
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


def test_asking_makes_no_home(tmp_path: Path):
    result = priory("check", "-", home=tmp_path / "typo", stdin=b"Subject: x\n\n")
    assert result.returncode == 1
    assert result.stderr.decode() == (
        f"priory: there is no folder {tmp_path}/typo: name another --home, or teach a filter there with: priory learn\n"
    )
    assert not (tmp_path / "typo").exists()


def test_filter_passes_mail_when_the_home_cannot_be_read(open_folder: Path, unprivileged):
    open_folder.chmod(0)
    raw = b"Subject: hi\n\nhello\n"
    with unprivileged():
        result = CliRunner().invoke(app, ["filter", "--home", str(open_folder)], input=raw)
    open_folder.chmod(0o755)
    assert (result.stdout_bytes, result.exit_code) == (raw, 0)
    assert "message passed unchecked" in result.stderr


def test_merging_changes_nothing_but_the_home(home: Path, tmp_path: Path):
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    refused = priory("merge", empty, home=tmp_path / "a")
    assert refused.stderr.decode() == f"priory: {empty} is not a Priory journal: there is nothing in it.\n"
    assert empty.read_bytes() == b""
    before = (home / "journal.sqlite").read_bytes()
    priory("merge", home, home=tmp_path / "b")
    assert (home / "journal.sqlite").read_bytes() == before


def test_weights_are_shown_however_narrow_the_terminal_is(inbox: Path, home: Path):
    message = next((inbox / "unseen" / "spam").iterdir())
    for columns in ("60", "80", "120"):
        shown = priory("explain", message, home=home, columns=columns).stdout.decode()
        rows = shown[shown.index("for spam") : shown.index("\n\n", shown.index("for spam"))].splitlines()[1:]
        assert rows
        assert all(re.search(r"[+-]0\.\d{3}", row) for row in rows)


def test_names_of_files_can_do_nothing_to_a_terminal(home: Path, tmp_path: Path):
    (tmp_path / "ev\x1b[31mil.eml").write_bytes(b"Subject: <http://\x1b[2Jx.test>\n\nhttp://\x1b[2Jevil.test/x")
    assert b"\x1b" not in priory("check", tmp_path, home=home).stdout
    assert b"\x1b" not in priory("explain", tmp_path, home=home).stdout


def test_explain_wants_one_message(inbox: Path, home: Path):
    result = priory("explain", inbox / "unseen", home=home)
    assert result.returncode == 1
    assert "holds more than one message; name one, such as" in result.stderr.decode()


def test_the_version_is_told(tmp_path: Path):
    assert re.fullmatch(rb"priory \d+\.\d+\.\d+\n", priory("--version", home=tmp_path).stdout)


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


def test_stats_rebuild_and_merge(inbox: Path, home: Path, tmp_path: Path):
    figures = json.loads(priory("stats", "--json", home=home).stdout)
    assert sum(figures["lessons"].values()) == 200
    assert b"built anew from 200 lessons" in priory("rebuild", home=home).stdout
    assert priory("merge", home, home=tmp_path).stdout == b"added 200, turned round 0, known already 0\n"
    assert json.loads(priory("merge", home, "--json", home=tmp_path).stdout)["known"] == 200
    assert json.loads(priory("stats", "--json", home=tmp_path).stdout)["lessons"] == figures["lessons"]
    assert "thresholds" in priory("stats", home=home).stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("learn", "junk", "-"), "unknown label 'junk'; this filter knows ham, spam"),
        (("learn", "spam"), "learn needs a label and at least one path"),
        (("learn", "spam", "/no/such/mail"), "/no/such/mail"),
        (("check", "/no/such/mail"), "/no/such/mail"),
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


def test_a_wrong_configuration_names_file_key_and_remedy(tmp_path: Path):
    (tmp_path / "priory.toml").write_text("[costs]\nunsur = 3\n")
    result = priory("check", "-", home=tmp_path, stdin=b"")
    assert result.stderr.decode() == (f"priory: {tmp_path}/priory.toml: unknown key 'unsur'; did you mean 'unsure'?\n")


def test_costs_of_the_configuration_move_the_thresholds(tmp_path: Path):
    (tmp_path / "priory.toml").write_text("[costs]\nunsure = 1\nspam = { ham = 20 }\n")
    figures = json.loads(priory("stats", "--json", home=tmp_path).stdout)
    assert figures["thresholds"] == {"unsure": pytest.approx(0.1), "spam": pytest.approx(0.95)}


def test_ctrl_c_keeps_what_was_learned(tmp_path: Path):
    folder = tmp_path / "mail"
    folder.mkdir()
    for i, drawn in enumerate(draw(6000, seed=9)):
        (folder / f"{i}.eml").write_bytes(drawn.raw)
    home = tmp_path / "home"
    command = [PRIORY, "learn", "ham", str(folder), "--json", "--home", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        log = home / "journal.sqlite-wal"
        while process.poll() is None and not (log.exists() and log.stat().st_size > 500_000):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate()
    said = json.loads(out)
    assert process.returncode == 130
    assert said["stopped"] is True
    assert 0 < said["learned"] < 6000
    assert json.loads(priory("stats", "--json", home=home).stdout)["lessons"]["ham"] == said["learned"]


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_check_prints_the_same_on_any_number_of_cores(options: tuple[str, ...], inbox: Path, home: Path):
    (alone, *several) = (priory("check", inbox, "--jobs", jobs, *options, home=home) for jobs in (1, 2, 3))
    assert alone.stdout.count(b"\n") == 240
    assert alone.returncode == 0
    assert [(each.stdout, each.stderr, each.returncode) for each in several] == 2 * [(alone.stdout, alone.stderr, 0)]


def test_several_cores_say_the_same_of_what_is_wrong(inbox: Path, home: Path, tmp_path: Path):
    message = next((inbox / "taught/ham").iterdir())
    (tmp_path / "index").write_text(f"ham {message}\nham gone.eml\n")
    (tmp_path / "foreign").write_text(f"ham {message}\nspan {message}\n")
    (tmp_path / "empty").mkdir()
    for command in (
        ("learn", "--index", tmp_path / "index", "--json"),
        ("learn", "--index", tmp_path / "foreign", "--json"),
        ("learn", "ham", tmp_path / "empty", "--json"),
        ("check", tmp_path / "empty"),
        ("check", "-"),
    ):
        said = []
        for jobs in (1, 2):
            done = priory(*command, "--jobs", jobs, home=tmp_path / f"home{jobs}" if command[0] == "learn" else home)
            said.append((done.returncode, done.stderr, re.sub(rb"seconds.*", b"", done.stdout)))
        assert said[0] == said[1]
        assert said[0][0] == 1
    assert json.loads(priory("stats", "--json", home=tmp_path / "home2").stdout)["lessons"] == {"ham": 1, "spam": 0}


def _learning_on_two_cores(folder: Path, home: Path) -> tuple[subprocess.Popen[bytes], list[int]]:
    """Begin to learn more than can be learned at once, and wait until something is durable."""
    command = [PRIORY, "learn", "--index", str(folder / "index"), "--jobs", "2", "--home", str(home), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    until = time.monotonic() + 60
    while _n_learned(home) < 500 and time.monotonic() < until:
        time.sleep(0.05)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 2
    return process, [int(child) for child in children]


def _n_learned(home: Path) -> int:
    done = priory("stats", "--json", home=home)
    return sum(json.loads(done.stdout)["lessons"].values()) if done.returncode == 0 else 0


@pytest.fixture(scope="module")
def much(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("much")
    lines = []
    for i, drawn in enumerate(draw(500, seed=6)):
        for j in range(40):
            (folder / f"{i}-{j}.eml").write_bytes(drawn.raw + b"%d" % j)
            lines.append(f"{drawn.label} {i}-{j}.eml\n")
    (folder / "index").write_text("".join(lines))
    return folder


def test_ctrl_c_on_several_cores_keeps_what_was_learned(much: Path, tmp_path: Path):
    process, children = _learning_on_two_cores(much, tmp_path)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    stdout, stderr = process.communicate(timeout=60)
    said = json.loads(stdout)
    assert process.returncode == 130
    assert stderr == b""
    assert said["stopped"]
    assert 500 <= said["learned"] == _n_learned(tmp_path) < 20_000
    assert not any(Path(f"/proc/{child}").exists() for child in children)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_a_check_and_its_workers(much: Path, home: Path, jobs: str):
    command = [PRIORY, "check", str(much), "--jobs", jobs, "--home", str(home)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=environment
    ) as process:
        process.stdout.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == (0 if jobs == "1" else 2)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr == b""
    assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_a_killed_worker_is_told_and_what_was_learned_is_kept(much: Path, tmp_path: Path):
    process, children = _learning_on_two_cores(much, tmp_path)
    os.kill(children[0], signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert stderr.decode() == "priory: a worker process was killed by SIGKILL; start again to go on\n"
    assert 500 <= json.loads(stdout)["learned"] == _n_learned(tmp_path) < 20_000
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    assert priory("rebuild", home=tmp_path).returncode == 0


def test_workers_end_when_their_parent_is_killed_and_what_was_learned_is_kept(much: Path, tmp_path: Path):
    process, children = _learning_on_two_cores(much, tmp_path)
    process.kill()
    process.communicate(timeout=60)
    until = time.monotonic() + 20
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    assert _n_learned(tmp_path) >= 500
    assert priory("rebuild", home=tmp_path).returncode == 0


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
    unneeded = "asyncio email joblib multiprocessing numpy rich scipy sklearn tarfile tomllib"
    assert "priory.filter" in loaded
    assert not {name for name in loaded if name.partition(".")[0] in unneeded.split()}
    assert not {name for name in loaded if name.startswith(("priory.lab", "priory.cli.lab", "priory.demo"))}
    assert loaded.isdisjoint({"priory.cli.show", "priory.bayes.generative"})
    assert ("priory.cli.teach" in loaded) == command.startswith(("learn", "forget"))


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
