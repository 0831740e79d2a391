"""Mail through a real Postfix: marked on its way, refused where that is cheaper, and never lost."""

import email
import os
import signal
import smtplib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import requirements
from checked_mail import learn_from_silence, make_older
from metrics_client import metrics
from ports import reserved_port
from priory.demo import Drawn, draw
from priory.filter.filter import Filter
from priory.journal import Selection
from real_daemon import serving, wait_until
from real_postfix import postfix

pytestmark = pytest.mark.mta


@pytest.fixture(autouse=True)
def _postfix_is_here() -> None:
    """Without Postfix, or the right to start it, these tests are skipped, but never in CI."""
    requirements.servers("postfix")


def sent(drawn: Drawn, number: int) -> bytes:
    """A message as it is sent, which can be told from others."""
    return b"X-Number: %d\r\n" % number + drawn.raw.replace(b"\n", b"\r\n")


def test_a_message_arrives_with_its_verdict_and_without_forged_ones(home: Path, mail: list[Drawn], tmp_path: Path):
    port = reserved_port()
    with serving(home, f'[milter]\nlisten = "127.0.0.1:{port}"\n'), postfix(tmp_path / "postfix", port) as server:
        server.send(b"X-Spam-Flag: NO\r\nX-Priory-Verdict: ham; spam=0.0001\r\n" + sent(mail[0], 0))
        (raw,) = server.arrived(1)
    message = email.message_from_bytes(raw)
    with Filter.open(home) as filter_:
        verdict = filter_.check(b"X-Number: 0\n" + mail[0].raw)
    assert message.get_all("X-Priory-Verdict") == [f"{verdict.label}; spam={verdict.headers()[0][1].split('=')[1]}"]
    assert len(message.get_all("X-Spam-Flag", [])) == len(message.get_all("X-Priory-Reason", [])) == 1
    assert message.get_payload() == email.message_from_bytes(mail[0].raw).get_payload()


def test_spam_is_refused_while_it_is_sent_or_held(home: Path, mail: list[Drawn], tmp_path: Path):
    with Filter.open(home) as filter_:
        spam = next(drawn for drawn in mail if filter_.check(drawn.raw).label == "spam")
    port = reserved_port()
    config = f'[milter]\nlisten = "127.0.0.1:{port}"\n'
    with postfix(tmp_path / "postfix", port) as server:
        with (
            serving(home, config + "reject = { ham = 0, spam = -1 }\n"),
            pytest.raises(smtplib.SMTPDataError) as refused,
        ):
            server.send(sent(spam, 0))
        with serving(home, config + "quarantine = { ham = 0, spam = -1 }\n"):
            server.send(sent(spam, 1))
        held = list((server.folder / "queue" / "hold").rglob("*"))
    assert refused.value.smtp_code == 550
    assert b"this looks like spam" in refused.value.smtp_error
    assert len(held) == 1
    assert not server.delivered()


def test_mail_flows_without_the_daemon_and_is_marked_again_when_it_is_back(
    home: Path, mail: list[Drawn], tmp_path: Path
):
    port = reserved_port()
    config = f'[milter]\nlisten = "127.0.0.1:{port}"\n'
    with postfix(tmp_path / "postfix", port) as server:
        server.send(sent(mail[0], 0))
        assert b"X-Priory-Verdict" not in server.arrived(1)[0]
        with serving(home, config):
            server.send(sent(mail[0], 1))
            arrived = server.arrived(2)
    assert sum(b"X-Priory-Verdict" in raw for raw in arrived) == 1


def test_what_was_learned_while_it_arrived_is_taken_back_by_who_has_got_it(tmp_path: Path):
    """Postfix asks about a message before it writes on it when it came, and to whom."""
    mail, port, home = list(draw(340, seed=12)), reserved_port(), tmp_path / "home"
    with Filter.open(home) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:200]))
        learn_from_silence(filter_, mail[200:240])
        list(filter_.forget_many(Selection(automatic=True)))
    with (
        serving(home, f'[milter]\nlisten = "127.0.0.1:{port}"\n'),
        postfix(tmp_path / "postfix", port) as server,
    ):
        for i, drawn in enumerate(mail[240:]):
            server.send(sent(drawn, i))
        arrived = server.arrived(100)
    make_older(home)
    with serving(home) as daemon:  # it concludes what silence says about these messages
        daemon.wait_until(lambda: daemon.n_logged("concluded silent=100"))
    with Filter.open(home) as filter_:
        n = sum(filter_.stats().automatic.values())
        assert n > 0
        assert all(b"\nReceived: from" in raw for raw in arrived)
        assert {filter_.learn(raw, "ham", user="bob").outcome for raw in arrived} == {"learned"}
        assert sum(filter_.stats().automatic.values()) == 0


def test_none_is_lost_or_doubled_when_the_daemon_is_killed(home: Path, mail: list[Drawn], tmp_path: Path):
    n, port = 1000, reserved_port()
    config = f'[milter]\nlisten = "127.0.0.1:{port}"\n[serve]\nworkers = 2\n'
    with postfix(tmp_path / "postfix", port) as server, ThreadPoolExecutor(8) as senders:
        with serving(home, config) as daemon:
            sending = [senders.submit(server.send, sent(mail[i % len(mail)], i)) for i in range(n)]
            wait_until(lambda: len(server.delivered()) > n // 4)
            for worker in daemon.workers:
                os.kill(worker, signal.SIGKILL)  # they are replaced
            wait_until(lambda: len(server.delivered()) > n // 2)
            daemon.send(signal.SIGKILL)
            wait_until(lambda: daemon.process.poll() is not None)
        (home / "socket").unlink(missing_ok=True)
        with serving(home):
            for each in sending:
                each.result()
        arrived = server.arrived(n)
    numbers = [int(email.message_from_bytes(raw)["X-Number"]) for raw in arrived]
    assert sorted(numbers) == list(range(n))
    assert any(b"X-Priory-Verdict: " in raw for raw in arrived)


def test_what_a_mail_server_asked_is_counted(home: Path, mail: list[Drawn], tmp_path: Path):
    port = reserved_port()
    config = f'[milter]\nlisten = "127.0.0.1:{port}"\n[http]\nlisten = "{home}/http"\n'
    with serving(home, config) as daemon, postfix(tmp_path / "postfix", port) as server:
        for i in range(5):
            server.send(sent(mail[i], i))
        verdicts = Counter(str(email.message_from_bytes(raw)["X-Priory-Verdict"]) for raw in server.arrived(5))
        counted = metrics(daemon)
    said = Counter(f"messages_checked_total{{milter,{verdict.partition(';')[0]}}}" for verdict in verdicts.elements())
    assert {name: counted.get(name) for name in said} == said
    assert counted["milter_actions_total{mark}"] == counted["check_seconds_count{milter}"] == 5
