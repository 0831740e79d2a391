"""Mail that is forwarded to spam@ through a real Postfix teaches the filter what is attached to it."""

import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import requirements
from command import priory
from mail_programs import apple_mail, thunderbird
from ports import reserved_port
from priory.features import VERSION
from priory.filter.filter import Filter
from priory.journal import open_file_to_read
from real_daemon import wait_until
from real_postfix import postfix

pytestmark = pytest.mark.mta

#: As in docs/reporting.md, but for the program and its account.
MAIN = """
transport_maps = inline:{{ spam@home.example=priory-report:, ham@home.example=priory-report: }}
priory-report_destination_recipient_limit = 1
smtpd_restriction_classes = own_users
own_users = reject_authenticated_sender_login_mismatch, permit_sasl_authenticated, reject
smtpd_recipient_restrictions = check_recipient_access inline:{{ ham@home.example=own_users }}
"""
MASTER = """
priory-report unix - n n - 2 pipe
  flags=qu user=mail argv={program} report ${{user}} --sender=${{sender}}
"""
#: Postfix runs no program as root, and other accounts may not be let into the folder in which Python is. So its program
#: leaves word, and the test does what it says.
PROGRAM = """#!/bin/sh
cd {folder} || exit 75
cat > $$.message
printf '%s\\n' "$@" > $$.new && mv $$.new $$.asked
until [ -e $$.status ]; do sleep 0.05; done
cat $$.said >&2
exit "$(cat $$.status)"
"""


@pytest.fixture(autouse=True)
def _postfix_is_here() -> None:
    """Without Postfix, or the right to start it, these tests are skipped, but never in CI."""
    requirements.servers("postfix")


@contextmanager
def program(folder: Path, home: Path) -> Iterator[Path]:
    """A program that Postfix can run, and that runs `priory` with the same arguments, input, output and status."""
    folder.mkdir()
    shutil.chown(folder, "mail")
    path = folder / "priory"
    path.write_text(PROGRAM.format(folder=folder))
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(0.02):
            for asked in folder.glob("*.asked"):
                arguments = asked.read_text().splitlines()
                done = priory(*arguments, home=home, stdin=asked.with_suffix(".message").read_bytes())
                asked.unlink()
                asked.with_suffix(".said").write_bytes(done.stdout + done.stderr)
                asked.with_suffix(".status.new").write_text(str(done.returncode))
                asked.with_suffix(".status.new").rename(asked.with_suffix(".status"))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield path
    finally:
        ended.set()
        thread.join()


def parcel(number: int) -> bytes:
    """Messages that are much alike, of a kind that the filter has not seen."""
    return (
        f"From: Parcels <parcels{number}@depot.example>\r\nTo: bob@home.example\r\nSubject: Your parcel {number}\r\n"
        f"Message-ID: <{number}@depot.example>\r\nDate: Mon, 6 Jan 2025 08:00:0{number % 10} +0000\r\n\r\n"
        "Dear customer,\r\nyour parcel could not be delivered and is waiting at our depot. Pay the customs fee of\r\n"
        f"2.99 by following this link: http://depot{number}.example/pay within 24 hours.\r\n"
    ).encode()


def reported(home: Path) -> list[tuple[str, str]]:
    journal = open_file_to_read(home / "journal.sqlite", VERSION)
    try:
        return [(lesson.label, lesson.user) for lesson in journal.lessons() if lesson.source == "report"]
    finally:
        journal.close()


def test_mail_is_learned_by_forwarding_it(home: Path, tmp_path: Path):
    (home / "priory.toml").write_text('[report]\nsenders = ["@home.example"]\n')
    with (
        program(tmp_path / "run", home) as run,
        postfix(tmp_path / "postfix", reserved_port(), main=MAIN.format(), master=MASTER.format(program=run)) as server,
    ):
        with Filter.open(home) as filter_:
            assert filter_.check(parcel(100)).label != "spam"
        server.send(parcel(0))
        (arrived,) = server.arrived(1)  # with all that Postfix has written on it
        server.send(thunderbird(arrived), to="spam@home.example", sender="bob@home.example")
        wait_until(lambda: reported(home) == [("spam", "bob@home.example")], lambda: server.log)
        wait_until(lambda: "delivered via priory-report service (learned 1 as spam, " in server.log, lambda: server.log)
        with Filter.open(home) as filter_:
            assert filter_.learn(arrived, "spam", user="bob@home.example").outcome == "known"
            assert filter_.check(parcel(100)).label == "spam"

        server.send(thunderbird(parcel(1)), to="spam@home.example", sender="eve@mail.example")
        wait_until(lambda: "[report] does not name its sender" in server.log, lambda: server.log)
        server.send(b"Subject: Fwd: win\r\n\r\n> You have won\r\n", to="spam@home.example", sender="bob@home.example")
        wait_until(lambda: "no message is attached" in server.log, lambda: server.log)
        assert reported(home) == [("spam", "bob@home.example")]
        wait_until(lambda: len(server.delivered()) == 2, lambda: server.log)  # which says so to bob, and to nobody else
        returned = next(raw for raw in server.delivered() if raw != arrived)
        assert b"no message is attached: forward it as an attachment" in b" ".join(returned.split())
        assert b"eve@mail.example" not in returned

        server.send(apple_mail(parcel(2), parcel(3)), to="Spam@home.example", sender="bob@home.example")
        wait_until(lambda: len(reported(home)) == 3, lambda: server.log)
        with pytest.raises(Exception, match="Access denied"):  # who has not logged in
            server.send(apple_mail(parcel(2)), to="ham@home.example", sender="bob@home.example")
    assert [label for label, _ in reported(home)] == ["spam"] * 3


def test_a_report_waits_until_it_can_be_learned(home: Path, tmp_path: Path):
    (home / "priory.toml").write_text("[report]\nsenders = [1]\n")
    with (
        program(tmp_path / "run", home) as run,
        postfix(tmp_path / "postfix", reserved_port(), main=MAIN.format(), master=MASTER.format(program=run)) as server,
    ):
        server.send(thunderbird(parcel(0)), to="spam@home.example", sender="bob@home.example")
        wait_until(lambda: "status=deferred" in server.log, lambda: server.log)
        (home / "priory.toml").write_text('[report]\nsenders = ["@home.example"]\n')
        server.flush()
        wait_until(lambda: reported(home) == [("spam", "bob@home.example")], lambda: server.log)
