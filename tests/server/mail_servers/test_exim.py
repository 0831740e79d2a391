"""Mail through a real Exim with the recipes: marked, filed, refused, and delivered when the daemon is down."""

import email
import smtplib
from email.message import Message
from pathlib import Path

import pytest

from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.filter.spamassassin import rating_of
from real_daemon import serving
from real_exim import exim

pytestmark = pytest.mark.mta

FORGED = b"X-Spam-Flag: NO\r\nx-spam-status: No, score=-9.0 required=5.0\r\nX-Priory-Verdict: ham; spam=0.0001\r\n"
MARKS = ("X-Priory-Verdict", "X-Spam-Flag", "X-Spam-Status", "X-Spam-Bar")


@pytest.fixture
def spamd(tmp_path: Path) -> Path:
    return tmp_path / "spamd.sock"


@pytest.fixture
def by_points(home: Path, mail: list[Drawn]) -> list[bytes]:
    """Mail as it is sent, ordered by its probability of spam."""
    with Filter.open(home) as filter_:
        raws = sorted((drawn.raw for drawn in mail), key=lambda raw: rating_of(filter_.check(raw)).points)
    return [raw.replace(b"\n", b"\r\n") for raw in raws]


def marks(message: Message) -> dict[str, list[str]]:
    return {name: message.get_all(name, []) for name in MARKS}


def test_mail_is_marked_and_filed_and_forged_marks_are_removed(home: Path, by_points: list[bytes], spamd: Path):
    config = f'[spamd]\nlisten = "{spamd}"\n'
    with serving(home, config), exim(spamd.parent / "exim", spamd, "priory-acl", "report-acl") as server:
        spamd.chmod(0o666)
        server.send(FORGED + by_points[0])
        ham = email.message_from_bytes(server.arrived())
        server.send(FORGED + by_points[-1])
        spam = email.message_from_bytes(server.arrived(".Junk"))
    for message, label, flag, status, bar in ((ham, "ham", "NO", "No", "-"), (spam, "spam", "YES", "Yes", "+")):
        assert [len(values) for values in marks(message).values()] == [1, 1, 1, 1]
        assert message["X-Priory-Verdict"].startswith(f"{label}; spam=0.")
        points = message["X-Spam-Status"].removeprefix(f"{status}, score=").removesuffix(" required=5.0")
        assert (message["X-Spam-Flag"], message["X-Spam-Bar"]) == (flag, bar * abs(int(float(points))))
        report = message["X-Spam-Report"]
        said = message["X-Priory-Verdict"].removeprefix(f"{label}; spam=")
        assert report.startswith(f"Priory says {label}: spam with probability {said}\n")
        assert report.isascii()
        assert all(line.strip() for line in report.splitlines())
        assert report.endswith(" log-odds of spam")
    assert spam.get_payload() == email.message_from_bytes(by_points[-1].replace(b"\r\n", b"\n")).get_payload()


def test_mail_is_delivered_as_unchecked_when_priory_is_down(home: Path, by_points: list[bytes], spamd: Path):
    with exim(spamd.parent / "exim", spamd, "priory-acl", "report-acl", "refuse-acl") as server:
        server.send(FORGED + by_points[-1])
        message = email.message_from_bytes(server.arrived())
        assert marks(message) == {name: ["unchecked"] if name == "X-Priory-Verdict" else [] for name in MARKS}
        assert "X-Spam-Report" not in message
        with serving(home, f'[spamd]\nlisten = "{spamd}"\n'):
            spamd.chmod(0o666)
            server.send(by_points[0])
            assert b"\nX-Priory-Verdict: ham; " in server.arrived()


def test_spam_is_refused_by_its_points(home: Path, by_points: list[bytes], spamd: Path):
    # Where a lost ham costs little, less is enough for spam, and points are higher.
    config = f'[spamd]\nlisten = "{spamd}"\n[costs]\nspam = {{ ham = 1 }}\n'
    with serving(home, config), exim(spamd.parent / "exim", spamd, "priory-acl", "refuse-acl") as server:
        spamd.chmod(0o666)
        with pytest.raises(smtplib.SMTPDataError) as refused:
            server.send(by_points[-1])
        server.send(by_points[0])
        assert b"\nX-Priory-Verdict: ham; " in server.arrived()
    assert refused.value.smtp_code == 550
    assert refused.value.smtp_error.startswith(b"taken for spam (1")
