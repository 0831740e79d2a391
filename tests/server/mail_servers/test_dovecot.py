"""People teach the filter by moving mail: a real Postfix, a real Dovecot, and a mail program's commands."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import requirements
from checked_mail import make_older
from five_labels import CONFIG, teach
from ports import reserved_port
from priory.features import VERSION
from priory.filter.filter import Filter
from priory.journal import open_file_to_read
from priory.server.tokens import issue
from real_daemon import PATIENCE_S, serving, wait_until
from real_dovecot import RECIPES, dovecot
from real_postfix import postfix

pytestmark = pytest.mark.mta

SUBJECT = "Your parcel is waiting"


@pytest.fixture(autouse=True)
def _servers_are_here() -> None:
    """Without Postfix and Dovecot, or the right to start them, these tests are skipped, but never in CI."""
    requirements.servers("postfix", "dovecot", "spamc")


def message(number: int) -> bytes:
    """Messages that are much alike, of a kind that the filter has not seen."""
    return (
        f"From: Parcels <parcels{number}@depot.example>\r\nTo: bob@home.example\r\nSubject: {SUBJECT} {number}\r\n"
        f"Message-ID: <{number}@depot.example>\r\nDate: Mon, 6 Jan 2025 08:00:0{number % 10} +0000\r\n\r\n"
        "Dear customer,\r\nyour parcel could not be delivered and is waiting at our depot. Pay the customs fee of\r\n"
        f"2.99 by following this link: http://depot{number}.example/pay within 24 hours.\r\n"
    ).encode()


def learned(home: Path) -> list[tuple[str, str]]:
    """What was taught by moving mail: labels, and by whom."""
    journal = open_file_to_read(home / "journal.sqlite", VERSION)
    try:
        return [(lesson.label, lesson.user) for lesson in journal.lessons() if lesson.user]
    finally:
        journal.close()


def test_mail_is_learned_by_moving_it(home: Path, tmp_path: Path):
    port, spamd = reserved_port(), tmp_path / "spamd.sock"
    config = f'[milter]\nlisten = "127.0.0.1:{port}"\n[spamd]\nlisten = "{spamd}"\n'
    with (
        serving(home, config),
        dovecot(tmp_path / "dovecot", spamd) as store,
        postfix(tmp_path / "postfix", port, f"lmtp:inet:127.0.0.1:{store.lmtp}") as server,
    ):
        spamd.chmod(0o666)

        def arrived(number: int) -> str:
            """Send a message, and return the folder in which it arrives."""
            server.send(message(number))
            with store.mailboxes("bob") as folders:
                wait_until(lambda: f"{SUBJECT} {number}" in [*folders.subjects("INBOX"), *folders.subjects("Junk")])
                return "Junk" if f"{SUBJECT} {number}" in folders.subjects("Junk") else "INBOX"

        def moved(number: int, source: str, target: str) -> None:
            with store.mailboxes("bob") as folders:
                folders.move(f"{SUBJECT} {number}", source, target)

        assert arrived(0) == "INBOX"
        moved(0, "INBOX", "Junk")
        assert learned(home) == [("spam", "bob")]
        moved(0, "Junk", "INBOX")  # it was a mistake: forgotten, and learned the other way
        assert learned(home) == [("ham", "bob")]
        moved(0, "INBOX", "Junk")
        assert learned(home) == [("spam", "bob")]
        moved(0, "Junk", "Trash")  # thrown away: that says nothing
        assert learned(home) == [("spam", "bob")]
        for number in range(1, 20):
            if arrived(number) == "Junk":
                break
            moved(number, "INBOX", "Junk")
        else:
            pytest.fail("the filter has not learned to tell such mail")
        assert len(learned(home)) == number
        assert "Error" not in store.log
    with Filter.open(home) as filter_:
        filter_.rebuild()


def test_what_people_leave_where_it_lies_is_counted_and_what_they_move_is_not(home: Path, tmp_path: Path):
    port, spamd, n = reserved_port(), tmp_path / "spamd.sock", 8
    config = f'[milter]\nlisten = "127.0.0.1:{port}"\n[spamd]\nlisten = "{spamd}"\n'
    with dovecot(tmp_path / "dovecot", spamd) as store:
        with (
            serving(home, config) as daemon,
            postfix(tmp_path / "postfix", port, f"lmtp:inet:127.0.0.1:{store.lmtp}") as server,
        ):
            spamd.chmod(0o666)
            for number in range(n):
                server.send(message(number))
            with store.mailboxes("bob") as folders:
                wait_until(lambda: len(folders.subjects("INBOX") + folders.subjects("Junk")) == n, lambda: store.log)
                in_inbox = [int(subject.split()[-1]) for subject in folders.subjects("INBOX")]
                assert len(in_inbox) >= 4
                for number in in_inbox[:3]:
                    folders.move(f"{SUBJECT} {number}", "INBOX", "Junk")
                folders.move(f"{SUBJECT} {in_inbox[3]}", "INBOX", "Trash")  # thrown away: that says nothing
            daemon.wait_until(lambda: daemon.n_logged("request verb=TELL") == 3)
            killed = [*daemon.workers, daemon.process.pid]
            for process in killed:
                os.kill(process, signal.SIGKILL)
            daemon.wait()
        make_older(home)
        with serving(home) as daemon:
            daemon.wait_until(lambda: daemon.n_logged("concluded"))
            assert f"concluded silent={n - 3} told=3 learned=0" in daemon.log
    with Filter.open(home) as filter_:
        stats = filter_.stats().silence
        assert stats is not None
        assert (stats.silent, stats.moved) == (n - 3, 3)
        assert filter_.forget(message(in_inbox[0]), user="bob").was is None  # it was delivered with other headers
        (of_bob, *_) = [lesson for lesson in filter_.journal.lessons() if lesson.user == "bob"]
        assert filter_.forget_digest(of_bob.digest, "bob").was == "spam"
        after = filter_.stats().silence
        assert after is not None
        assert (after.silent, after.moved) == (n - 3, 2)
        filter_.rebuild()


_NEWSLETTER = """
plugin {{
  imapsieve_mailbox3_name = Newsletter
  imapsieve_mailbox3_causes = COPY
  imapsieve_mailbox3_before = file:{recipes}/learn-label.sieve
}}
"""


def test_mail_is_learned_as_the_label_that_a_folder_has_the_name_of(tmp_path: Path):
    requirements.program("curl")
    home, http = tmp_path / "home", tmp_path / "http.sock"
    teach(home)
    recipes = tmp_path / "dovecot" / "recipes"
    more = _NEWSLETTER.format(recipes=recipes)
    with (
        serving(home, f'{CONFIG}[http]\nlisten = "{http}"\n'),
        dovecot(tmp_path / "dovecot", tmp_path / "unused", more=more) as store,
    ):
        http.chmod(0o666)
        script = recipes / "priory-learn-label"
        script.write_text(script.read_text().replace("/run/priory/http.sock", str(http)))
        (recipes / "token").write_text(f"Authorization: Bearer {issue(home, 'learn')}\n")
        (recipes / "token").chmod(0o644)
        store.deliver(message(0), "bob")
        with store.mailboxes("bob") as folders:
            folders.connection.create("Newsletter")
            folders.move(f"{SUBJECT} 0", "INBOX", "Newsletter")
        wait_until(lambda: learned(home), lambda: store.log)
        assert learned(home) == [("newsletter", "bob")]
        assert "Error" not in store.log


_UNSURE = """
plugin {{
  imapsieve_mailbox3_name = *
  imapsieve_mailbox3_from = Unsure
  imapsieve_mailbox3_causes = COPY
  imapsieve_mailbox3_before = file:{recipes}/learn-ham.sieve
}}
"""


def test_unsure_mail_goes_to_a_folder_and_is_learned_by_sorting_it(home: Path, tmp_path: Path):
    spamd, recipes = tmp_path / "spamd.sock", tmp_path / "dovecot" / "recipes"
    guide = (RECIPES.parent / "docs" / "dovecot.md").read_text()
    settings = _UNSURE.format(recipes="/etc/dovecot/priory").strip().splitlines()
    assert set(settings) <= set(guide.splitlines())
    assert f"\n{(RECIPES / 'dovecot' / 'file-unsure.sieve').read_text()}```\n" in guide
    with (
        serving(home, f'[spamd]\nlisten = "{spamd}"\n'),
        dovecot(tmp_path / "dovecot", spamd, more=_UNSURE.format(recipes=recipes)) as store,
    ):
        spamd.chmod(0o666)
        (recipes / "file-spam.sieve").write_text((recipes / "file-unsure.sieve").read_text())
        for number, label in enumerate(["unsure"] * 4 + ["spam", "ham"]):
            flag = "YES" if label == "spam" else "NO"
            marks = f"X-Priory-Verdict: {label}; spam=0.7000\r\nX-Spam-Flag: {flag}\r\n"
            store.deliver(marks.encode() + message(number), "bob")
        with store.mailboxes("bob") as folders:
            assert folders.subjects("Unsure") == [f"{SUBJECT} {number}" for number in range(4)]
            assert folders.subjects("Junk") == [f"{SUBJECT} 4"]
            assert folders.subjects("INBOX") == [f"{SUBJECT} 5"]
            assert learned(home) == []
            folders.connection.create("Archive")
            folders.move(f"{SUBJECT} 0", "Unsure", "Junk")
            assert learned(home) == [("spam", "bob")]
            folders.move(f"{SUBJECT} 1", "Unsure", "INBOX")
            assert learned(home) == [("spam", "bob"), ("ham", "bob")]
            folders.move(f"{SUBJECT} 2", "Unsure", "Trash")  # thrown away: that says nothing
            assert learned(home) == [("spam", "bob"), ("ham", "bob")]
            folders.move(f"{SUBJECT} 3", "Unsure", "Archive")
            assert learned(home) == [("spam", "bob"), ("ham", "bob"), ("ham", "bob")]
            folders.move(f"{SUBJECT} 0", "Junk", "Unsure")  # no longer certain: the lesson stays
            assert learned(home) == [("spam", "bob"), ("ham", "bob"), ("ham", "bob")]
            folders.move(f"{SUBJECT} 5", "INBOX", "Unsure")
            assert len(learned(home)) == 3
        assert "Error" not in store.log


def test_what_is_delivered_goes_to_the_folder_of_its_label(tmp_path: Path):
    places = {"Newsletter": "newsletter", "Phishing": "phishing", "Junk": "spam", "INBOX": "ham"}
    recipes = tmp_path / "dovecot" / "recipes"
    with dovecot(tmp_path / "dovecot", tmp_path / "unused") as store:
        (recipes / "file-spam.sieve").write_text((recipes / "file-labels.sieve").read_text())
        for number, label in enumerate(places.values()):
            flag = "YES" if label in {"spam", "phishing"} else "NO"
            marks = f"X-Priory-Verdict: {label}; {label}=0.9900\r\nX-Spam-Flag: {flag}\r\n"
            store.deliver(marks.encode() + message(number), "bob")
        with store.mailboxes("bob") as folders:
            for number, folder in enumerate(places):
                assert folders.subjects(folder) == [f"{SUBJECT} {number}"]


@pytest.mark.parametrize(
    ("n_bytes", "why"), [(10_485_761, b"it has more than 10485760 bytes"), (100, b"no answer from SOCKET")]
)
def test_the_recipe_says_why_a_message_was_not_learned(n_bytes: int, why: bytes, tmp_path: Path):
    program, address = Path(shutil.copy(RECIPES / "dovecot" / "priory-learn", tmp_path)), tmp_path / "spamd.sock"
    text = program.read_text()
    assert "\nSOCKET=/run/priory/spamd.sock\n" in text  # the socket of the guides; a real daemon may listen on it
    program.write_text(text.replace("/run/priory/spamd.sock", str(address)))
    raw = message(0).ljust(n_bytes, b" ")
    done = subprocess.run([program, "spam", "bob"], input=raw, capture_output=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 75
    why = why.replace(b"SOCKET", bytes(address))
    assert done.stderr.startswith(b"priory-learn: a message was not learned as spam: " + why)
