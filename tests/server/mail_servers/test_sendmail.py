"""Mail through a real Sendmail: marked on its way, refused where that is cheaper, and never lost."""

import email
import smtplib
from pathlib import Path

import pytest

from ports import reserved_port
from priory.demo import Drawn
from priory.filter.filter import Filter
from real_daemon import serving
from real_sendmail import sendmail

pytestmark = pytest.mark.mta

FORGED = b"X-Spam-Flag: NO\r\nX-Priory-Verdict: ham; spam=0.0001\r\n"


def sent(raw: bytes) -> bytes:
    return FORGED + raw.replace(b"\n", b"\r\n")


def test_mail_is_marked_where_there_is_a_daemon_and_flows_where_there_is_none(
    home: Path, mail: list[Drawn], tmp_path: Path
):
    port = reserved_port()
    with sendmail(tmp_path / "sendmail", port) as server:
        server.send(sent(mail[0].raw))
        unmarked = email.message_from_bytes(server.arrived())
        with serving(home, f'[milter]\nlisten = "127.0.0.1:{port}"\n'):
            server.send(sent(mail[0].raw))
            marked = email.message_from_bytes(server.arrived())
    with Filter.open(home) as filter_:
        verdict = filter_.check(mail[0].raw)
    assert marked.get_all("X-Priory-Verdict") == [verdict.headers()[0][1]]
    assert len(marked.get_all("X-Spam-Flag", [])) == len(marked.get_all("X-Priory-Reason", [])) == 1
    assert unmarked.get_all("X-Priory-Verdict") == ["ham; spam=0.0001"]  # nobody was there to remove it
    payload = email.message_from_bytes(mail[0].raw).get_payload()
    assert marked.get_payload() == unmarked.get_payload() == payload


def test_spam_is_refused_while_it_is_sent(home: Path, mail: list[Drawn], tmp_path: Path):
    with Filter.open(home) as filter_:
        spam = next(drawn for drawn in mail if filter_.check(drawn.raw).label == "spam")
    port = reserved_port()
    config = f'[milter]\nlisten = "127.0.0.1:{port}"\nreject = {{ ham = 0, spam = -1 }}\n'
    with (
        serving(home, config),
        sendmail(tmp_path / "sendmail", port) as server,
        pytest.raises(smtplib.SMTPDataError) as refused,
    ):
        server.send(sent(spam.raw))
    assert refused.value.smtp_code == 550
    assert b"this looks like spam" in refused.value.smtp_error
