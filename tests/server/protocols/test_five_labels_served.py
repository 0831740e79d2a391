"""A filter with five labels, two of them unwanted, behind every protocol of the daemon."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from five_labels import CONFIG, LABELS, surest_messages, teach
from http_client import MAIL, Client
from milter_client import inserted, mail_server
from priory.config import parse
from priory.filter.filter import Filter
from priory.server.tokens import issue
from real_daemon import HTTP, Daemon, ask, request, serving

pytestmark = pytest.mark.slow

PRICES = "{ ham = 1000, spam = -1, newsletter = 200, personal = 2000, phishing = %s }"
MILTER = f"""
[milter]
listen = "127.0.0.1:0"
quarantine = {PRICES % -20}
"""
UNWANTED = ("spam", "phishing")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("five") / "home"
    teach(home)
    return home


@pytest.fixture(scope="module")
def messages(home: Path) -> dict[str, bytes]:
    found = surest_messages(home)
    assert set(found) == set(LABELS)
    return found


@pytest.fixture(scope="module")
def daemon(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with serving(copied(home, tmp_path_factory.mktemp("served")), CONFIG + HTTP) as daemon:
        yield daemon


def copied(home: Path, folder: Path) -> Path:
    return Path(shutil.copytree(home, folder / "home"))


@pytest.mark.parametrize("label", LABELS)
def test_clients_of_spamassassin_take_all_that_is_unwanted_for_spam(
    daemon: Daemon, messages: dict[str, bytes], label: str
):
    answer = daemon.ask(request("PROCESS", messages[label])).decode("latin-1")
    is_spam = label in UNWANTED
    assert f"\r\nSpam: {is_spam} ; " in answer
    points = float(answer.partition("\r\nSpam: ")[2].split()[2])
    assert (points >= 5.0) is is_spam
    assert f"\nX-Priory-Verdict: {label}; {label}=0." in answer
    assert f"\nX-Spam-Flag: {'YES' if is_spam else 'NO'}" in answer
    assert f"PRIORY_{label.upper()}" in daemon.ask(request("SYMBOLS", messages[label])).decode("latin-1")
    report = daemon.ask(request("REPORT", messages[label])).decode("latin-1")
    assert f"Priory says {label}: {label} with probability" in report
    assert "Probabilities: " in report


def test_any_label_can_be_taught_and_taken_back_by_clients_of_spamassassin(daemon: Daemon):
    raw = b"From: ann@mail.example\nSubject: knitting\n\nTwo patterns, and a yarn.\n"
    for label in LABELS:
        told = daemon.ask(request("TELL", raw, f"Message-class: {label}", "Set: local"))
        assert b"DidSet: local" in told
        with Filter.open(daemon.home, parse(CONFIG)) as filter_:
            assert filter_.journal.label_of(bytes.fromhex(filter_.check(raw).digest)) == label
    assert b"DidRemove: local" in daemon.ask(request("TELL", raw, "Remove: local"))
    assert b"invalid class" in daemon.ask(request("TELL", raw, "Message-class: unheard-of", "Set: local"))


def test_mail_servers_are_told_the_label_and_may_hold_what_is_unwanted(
    home: Path, messages: dict[str, bytes], tmp_path: Path
):
    with serving(copied(home, tmp_path), CONFIG + MILTER) as daemon, mail_server(daemon) as server:
        answers = {label: server.deliver(raw) for label, raw in messages.items()}
    for label, answered in answers.items():
        fields = dict(inserted(answered))
        assert fields["X-Priory-Verdict"].startswith(f"{label}; {label}=0.")
        assert fields["X-Spam-Flag"] == ("YES" if label in UNWANTED else "NO")
    held = {label for label, answered in answers.items() if any(name == "q" for name, _ in answered)}
    assert "phishing" in held
    assert held <= set(UNWANTED)


def test_what_is_refused_is_called_what_it_is(home: Path, messages: dict[str, bytes], tmp_path: Path):
    config = MILTER.replace("quarantine", "reject").replace("1000", "1").replace("2000", "1")
    with serving(copied(home, tmp_path), CONFIG + config) as daemon, mail_server(daemon) as server:
        *_, (name, said_to_sender) = server.deliver(messages["phishing"])
    assert name == "y"
    assert b"this looks like phishing; if it is not, please tell the postmaster" in said_to_sender


def test_programs_are_told_every_probability_and_teach_any_label(daemon: Daemon, messages: dict[str, bytes]):
    client = Client(daemon.port, issue(daemon.home, "admin"))
    for label, raw in messages.items():
        verdict = client.post("/v1/check", raw).json
        assert verdict["label"] == verdict["about"] == label
        assert set(verdict["probabilities"]) == set(LABELS)
        assert sum(verdict["probabilities"].values()) == pytest.approx(1)
        assert set(verdict["expected_costs"]) == {*LABELS, "unsure"}
        assert sum(reason["sum"] for reason in verdict["reasons"] + verdict["against"]) + verdict["prior"] == (
            pytest.approx(verdict["log_odds"])
        )
    raw = b"From: ann@mail.example\nSubject: a letter\n\nWill you come to see us in May?\n"
    for label in ("personal", "phishing"):
        assert client.ask("POST", f"/v1/learn?label={label}", raw, MAIL).json["after"].keys() == set(LABELS)
    assert client.ask("POST", "/v1/forget", raw, MAIL).json["was"] == "phishing"
    assert client.ask("POST", "/v1/learn?label=scam", raw, MAIL).status == 422
    assert {each["label"] for each in client.get("/v1/messages?label=newsletter").json["lessons"]} == {"newsletter"}
    costs = client.get("/v1/costs").json["costs"]
    costs["phishing"]["personal"] = 1
    body = json.dumps({"costs": costs}).encode()
    preview = client.ask("POST", "/v1/costs/preview", body, {"Content-Type": "application/json"})
    assert (preview.status, preview.json["curves"]) == (200, None)
    assert len(preview.json["then"]["confusion"]["counts"]) == len(LABELS)
    metrics = client.get("/metrics").body.decode()
    assert all(f'verdict="{label}"' in metrics for label in LABELS)


def test_the_daemon_and_the_thin_client_say_what_check_says(daemon: Daemon, messages: dict[str, bytes]):
    with Filter.open(daemon.home, parse(CONFIG)) as filter_:
        for raw in messages.values():
            verdict = filter_.check(raw)
            head = ask(daemon.socket, request("HEADERS", raw)).decode("latin-1")
            assert f"X-Priory-Verdict: {verdict.label}; {verdict.about}=" in head
