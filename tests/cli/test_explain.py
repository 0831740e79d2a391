"""`priory explain` shows the sums, in the terminal and as a page."""

import json
import re
import shlex
import shutil
from datetime import datetime
from decimal import Decimal
from html import unescape
from pathlib import Path

import pytest

from command import priory


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
    sums = shown[shown.index("by section") :]
    assert ("\n\n" in sums.replace(" ", "").rstrip("\n")) == (columns == "60")
    rows = re.findall(rf"(?<![\w-])({KINDS.replace(' ', '|')}) +([\d,]+) +([+-][\d.]+)", sums)
    assert {name: n for name, n, _ in rows} == {name: f"{kind['features']:,}" for name, kind in said["kinds"].items()}
    for name, _, shown_sum in rows:
        assert float(shown_sum) == pytest.approx(said["kinds"][name]["sum"], abs=0.001)
    assert len(re.findall(rf"log-odds +{re.escape(format(said['log_odds'], '+.3f'))}", sums)) == 2
    total = said["prior"] + sum(kind["sum"] for kind in said["kinds"].values())
    assert total == pytest.approx(said["log_odds"], abs=1e-9)
    assert sum(kind["features"] for kind in said["kinds"].values()) == len(said["evidence"])


def test_the_page_adds_up_by_kind_as_the_json_does(inbox: Path, home: Path, tmp_path: Path):
    message = next((inbox / "unseen" / "spam").iterdir())
    said = json.loads(priory("explain", message, "--json", "--html", tmp_path / "why.html", home=home).stdout)
    page = (tmp_path / "why.html").read_text()
    name, number = (
        r'<th scope="row">([\w-]+)(?:<span class="words">[^<]*</span>)?</th>',
        r'<td class="n">([\d,.+-]+)</td>',
    )
    rows = re.findall(name + number + number, page)
    assert [(name, n) for name, n, _ in rows] == [(name, f"{k['features']:,}") for name, k in said["kinds"].items()]
    for (_, _, shown), kind in zip(rows, said["kinds"].values(), strict=True):
        assert float(shown) == pytest.approx(kind["sum"], abs=0.001)


@pytest.mark.slow
def test_what_the_page_shows_adds_up_to_the_last_digit(inbox: Path, home: Path, tmp_path: Path):
    for message in sorted((inbox / "unseen" / "spam").iterdir())[:5]:
        priory("explain", message, "--html", tmp_path / "why.html", home=home)
        whole = re.search(r'<p class="whole-sum">(.*?)</p>', (tmp_path / "why.html").read_text())[1]
        *parts, total = [Decimal(value) for value in re.findall(r"<b>([+-][\d.]+)</b>", whole)]
        assert len(parts) > 3
        assert sum(parts) == total


def test_the_json_has_the_message_in_spans_that_add_up(inbox: Path, home: Path):
    message = next((inbox / "unseen" / "ham").iterdir())
    said = json.loads(priory("explain", message, "--json", home=home).stdout)
    spans = [span for section in said["sections"] for span in section["spans"]]
    assert said["prior"] + sum(span["sum"] for span in spans) == pytest.approx(said["log_odds"])


def test_the_page_escapes_the_message_and_loads_nothing(home: Path, tmp_path: Path):
    raw = b"Subject: <script>alert(1)</script>\nContent-Type: text/plain\n\n<img src=x onerror=alert(2)> & more"
    result = priory("explain", "-", "--html", tmp_path / "why.html", home=home, stdin=raw)
    page = (tmp_path / "why.html").read_text()
    assert result.returncode == 0
    assert "<script" not in page
    assert "<img" not in page
    assert "default-src 'none'" in unescape(page)
    text = re.sub(r"<[^>]+>", "", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_weights_are_shown_however_narrow_the_terminal_is(inbox: Path, home: Path):
    message = next((inbox / "unseen" / "spam").iterdir())
    for columns in ("60", "80", "120"):
        shown = priory("explain", message, home=home, columns=columns).stdout.decode()
        start = shown.index("\nfor spam")
        rows = re.split(r"\n *\n", shown[start:])[0].splitlines()[2:]
        assert len(rows) > 4
        assert all(re.search(r" [+-]\d\.\d{3}", row) for row in rows if row.strip() != "against")


def test_explain_needs_exactly_one_message(inbox: Path, home: Path):
    result = priory("explain", inbox / "unseen", home=home)
    assert result.returncode == 1
    assert "holds more than one message; name one, such as" in result.stderr.decode()


def test_one_message_of_an_mbox_is_explained_by_the_proposed_name(inbox: Path, home: Path, tmp_path: Path):
    mbox = tmp_path / "old.mbox"
    ham, spam = (next((inbox / "unseen" / label).iterdir()).read_bytes() for label in ("ham", "spam"))
    mbox.write_bytes(b"".join(b"From ann Thu Jan  1 00:00:00 2026\n" + raw + b"\n\n" for raw in (ham, spam)))
    proposed = re.search(r"such as (\S+),", priory("explain", mbox, home=home).stderr.decode())[1]
    checked = [json.loads(line) for line in priory("check", mbox, "--json", home=home).stdout.splitlines()]
    explained = [
        json.loads(priory("explain", path, "--json", home=home).stdout) for path in (proposed, checked[1]["source"])
    ]
    assert [each["probability"] for each in explained] == [each["probability"] for each in checked]
    assert priory("explain", f"{mbox}:3", home=home).stderr.decode() == f"priory: {mbox} has no message {mbox}:3\n"


@pytest.mark.parametrize("columns", ["60", "100"])
def test_the_lessons_behind_a_verdict_follow_its_reasons(inbox: Path, home: Path, columns: str):
    message = next((inbox / "unseen" / "spam").iterdir())
    shown = priory("explain", "--lessons", message, home=home, columns=columns).stdout.decode()
    titles = (
        "for spam",
        "single lessons that moved it most",
        "lessons most like it",
        "what would have changed it",
        "by section",
    )
    places = [shown.index(f"\n{title}") for title in titles]
    assert places == sorted(places)
    assert re.search(r"^  mail from \S+ · taught as (ham|spam) from \S+, \d", shown, re.MULTILINE)
    assert re.search(r"^ +(towards|away from) spam(: without it \d|, by less than)", shown, re.MULTILINE)
    assert re.search(r"^  \d+ % alike  ", shown, re.MULTILINE)
    assert "It would have been " in shown or "Nothing small would" in shown
    rows = re.split(r"\n *\n", shown[places[0] :])[0].splitlines()[2:]
    assert all(re.search(r" [+-]\d\.\d{3}", row) for row in rows if row.strip() != "against")
    if columns == "100":
        assert re.search(r"\d spam, since \d+ \w+", shown)
    assert "since" not in priory("explain", message, home=home).stdout.decode()


def test_the_command_beside_a_lesson_takes_it_back_and_the_verdict_changes_as_it_says(
    inbox: Path, home: Path, tmp_path: Path
):
    own = shutil.copytree(home, tmp_path / "home")
    message = next((inbox / "unseen" / "spam").iterdir())
    said = json.loads(priory("explain", "--lessons", "--json", message, home=own).stdout)
    shown = priory("explain", "--lessons", message, home=own).stdout.decode()
    program, *command = shlex.split(re.search(r"^ +(priory forget .*)$", shown, re.MULTILINE)[1])
    assert program == "priory"
    assert priory(*command, home=own).returncode == 0
    after = json.loads(priory("explain", "--json", message, home=own).stdout)
    first = said["lessons"]["influential"][0]
    assert command[-1] == first["digest"]
    assert said["log_odds"] - after["log_odds"] == first["adds"]
    assert after["label"] == first["without"]


def test_the_json_has_lessons_counterfactuals_and_times_only_if_asked(inbox: Path, home: Path):
    message = next((inbox / "unseen" / "spam").iterdir())
    plain = json.loads(priory("explain", "--json", message, home=home).stdout)
    said = json.loads(priory("explain", "--lessons", "--json", message, home=home).stdout)
    assert said.keys() - plain.keys() == {"lessons", "counterfactuals"}
    assert said["lessons"].keys() == {"influential", "similar"}
    assert said["counterfactuals"].keys() == {"sentences", "things", "lesson", "cost"}
    items = [item for reason in said["reasons"] + said["against"] for item in reason["items"]]
    assert all(("since" in item) == bool(item["counts"]) for item in items)
    assert all(datetime.fromisoformat(item["since"]).tzinfo for item in items if item["counts"])
    without_times = [{name: value for name, value in item.items() if name != "since"} for item in items]
    assert without_times == [item for reason in plain["reasons"] + plain["against"] for item in reason["items"]]


def test_the_page_has_the_lessons_if_asked(inbox: Path, home: Path, tmp_path: Path):
    message = next((inbox / "unseen" / "spam").iterdir())
    page = tmp_path / "why.html"
    priory("explain", "--html", page, message, home=home)
    assert "What would have changed it" not in page.read_text()
    priory("explain", "--lessons", "--html", page, message, home=home)
    assert all(text in page.read_text() for text in ("What would have changed it", "priory forget ", ", since "))
    assert "<button" not in page.read_text()


def test_a_filter_without_lessons_of_both_labels_has_none_behind(tmp_path: Path):
    home = tmp_path / "home"
    raw = b"From: ann@mail.example\nSubject: Lunch\n\nLunch in the garden?"
    assert priory("learn", "ham", "-", home=home, stdin=raw).returncode == 0
    shown = priory("explain", "--lessons", home=home, stdin=raw)
    assert shown.returncode == 0
    assert "no spam has been learned yet" in shown.stdout.decode()
    said = json.loads(priory("explain", "--lessons", "--json", home=home, stdin=raw).stdout)
    assert said["lessons"] == {"influential": [], "similar": []}
