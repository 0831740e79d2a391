"""`priory imap` connects securely or not at all, and its errors never show the password."""

import imaplib
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from command import priory
from imap_mailbox import Mailbox, note
from ports import reserved_port
from priory.imap.account import Account, MailboxError, password_of
from priory.imap.session import Session
from priory.imap.sightings import INBOX, FolderMark
from priory.imap.store import SightingStore
from real_dovecot import PASSWORD


def refused(mailbox: Mailbox, *options: str, **settings: object) -> str:
    """The error message: one line, without the password."""
    mailbox.configure(**settings)
    result = priory("imap", *options, home=mailbox.home)
    message = result.stderr.decode()
    assert result.returncode == 1, message
    assert message.startswith("priory: ")
    assert message.count("\n") == 1
    assert PASSWORD not in message
    return message.removeprefix("priory: ").strip()


@pytest.mark.parametrize("tls", ["implicit", "starttls"])
def test_mail_is_learned_over_tls(tls: str, mailbox: Mailbox, certificate: Path):
    port = mailbox.server.imaps if tls == "implicit" else mailbox.server.imap
    mailbox.configure(tls=tls, port=port, ca_file=str(certificate))
    for _ in range(2):
        result = priory("imap", "--once", home=mailbox.home)
        assert result.returncode == 0, result.stderr
        mailbox.deliver(note("lunch"), "Junk")
    assert mailbox.labels() == ["spam"]


@pytest.mark.parametrize("tls", ["implicit", "starttls"])
@pytest.mark.parametrize("options", [(), ("--once",)])
def test_a_certificate_that_nobody_vouches_for_is_refused(tls: str, options: tuple[str, ...], mailbox: Mailbox):
    port = mailbox.server.imaps if tls == "implicit" else mailbox.server.imap
    assert refused(mailbox, *options, tls=tls, port=port) == (
        f"the certificate of 127.0.0.1:{port} is not trusted: self-signed certificate. If it is self-signed, "
        "name it in ca_file."
    )


def test_a_certificate_for_another_name_is_refused(mailbox: Mailbox, certificate: Path):
    message = refused(mailbox, tls="implicit", host="localhost", port=mailbox.server.imaps, ca_file=str(certificate))
    assert "is not trusted: Hostname mismatch" in message
    assert message.endswith("for 'localhost'. Check host: it must be a name in the certificate.")


def test_a_port_without_tls_is_told_as_that(mailbox: Mailbox, plain_mailbox: Mailbox):
    assert "does not speak TLS as expected" in refused(mailbox, tls="implicit", port=mailbox.server.imap)
    plain = plain_mailbox.server.imap
    assert refused(plain_mailbox, tls="starttls") == f'127.0.0.1:{plain} does not offer STARTTLS; try tls = "implicit"'


def test_a_wrong_password_is_tried_once(mailbox: Mailbox):
    mailbox.configure(password="hush")
    result = priory("imap", home=mailbox.home)
    message = result.stderr.decode()
    assert result.returncode == 1
    assert f"127.0.0.1 refuses the login of {mailbox.user}: [AUTHENTICATIONFAILED] Authentication failed" in message
    assert "There is no second attempt, which might lock the account." in message
    assert "hush" not in message
    assert mailbox.server.log.count(f"user=<{mailbox.user}>") == 1


@pytest.mark.parametrize("last_words", [b"", b"* BYE restarting\r\n", b"{tag} NO [UNAVAILABLE] Try again later\r\n"])
def test_a_server_that_goes_away_while_one_logs_in_has_not_refused_the_password(last_words: bytes):
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as thread:
        served = thread.submit(_goes_away, listening, last_words)
        account = Account("127.0.0.1", "ann", port=listening.getsockname()[1], tls="none")
        with pytest.raises(imaplib.IMAP4.abort):
            Session(account, PASSWORD)
        served.result()


def _goes_away(listening: socket.socket, last_words: bytes) -> None:
    client, _ = listening.accept()
    with client, client.makefile("rb") as lines:
        client.sendall(b"* OK ready\r\n")
        for line in lines:
            tag, command, *_ = line.split()
            if command != b"CAPABILITY":
                client.sendall(last_words.replace(b"{tag}", tag))
                return
            client.sendall(b"* CAPABILITY IMAP4rev1\r\n" + tag + b" OK done\r\n")


def test_a_server_that_is_not_there_is_an_error_for_cron(mailbox: Mailbox):
    port = reserved_port()
    message = refused(mailbox, "--once", port=port)
    assert message == f"127.0.0.1:{port}: Connection refused; nothing is lost, the next run continues from here"


def test_folders_that_are_not_there_are_named_with_those_that_are(mailbox: Mailbox):
    assert refused(mailbox, junk="Rubbish") == "127.0.0.1 has no folder 'Rubbish'. The folders are INBOX, Junk, Trash"
    message = refused(mailbox, watch=["Trash"])
    assert message == "'Trash' is the trash: deleting mail teaches nothing, so do not watch it"


def test_a_filter_that_knows_too_little_to_move_anything_says_so(mailbox: Mailbox, tmp_path: Path):
    empty = Mailbox(mailbox.server, mailbox.user, tmp_path / "empty")
    empty.home.mkdir()
    empty.configure(move=True)
    message = priory("imap", "--once", home=empty.home).stderr.decode().splitlines()[0]
    assert message == (
        f"priory: no ham and no spam has been learned yet in {empty.home}, so nothing is moved; "
        "teach it with: priory learn LABEL imap:FOLDER"
    )


def test_certificates_that_are_not_there_are_named(mailbox: Mailbox):
    message = refused(mailbox, tls="starttls", ca_file="/no/such/file")
    assert message == "ca_file /no/such/file cannot be used: No such file or directory"


def test_a_state_that_is_damaged_or_of_another_version_is_named_with_the_remedy(mailbox: Mailbox):
    state = mailbox.home / "imap.sqlite"
    state.write_bytes(b"no database" * 100)
    message = refused(mailbox, "--once")
    assert message.startswith(f"{state}: file is not a database. ")
    assert message.endswith(
        "If the file is damaged, remove it: mail that is in Junk then counts as having been there before."
    )
    state.unlink()
    with closing(SightingStore(mailbox.home, "ann")) as store:
        store.write([FolderMark("INBOX", INBOX, 1, 1, 1)])
    with closing(sqlite3.connect(state)) as database:
        database.execute("UPDATE marks SET role = 'attic'")
        database.commit()
    with pytest.raises(MailboxError, match=r"'attic' is not a valid FolderKind\. .* If the file is damaged, remove it"):
        SightingStore(mailbox.home, "ann")
    state.unlink()
    with closing(sqlite3.connect(state)) as database:
        database.execute("PRAGMA user_version = 7")
    message = refused(mailbox, "--once")
    assert message == f"{state} was written by another Priory (format 7); use that version, or remove the file"


def test_a_home_without_a_mailbox_says_what_to_write(tmp_path: Path):
    result = priory("imap", home=tmp_path)
    assert result.stderr.decode() == (
        f"priory: {tmp_path}/priory.toml names no mailbox: set host, user and password_command or password_file in "
        "section [imap]\n"
    )


def test_only_one_at_a_time_is_at_work_in_a_home(mailbox: Mailbox):
    with mailbox.watching() as watcher:
        watcher.wait_until(lambda: watcher.n_logged("connected"))
        message = refused(mailbox, "--once")
    assert message == f"another priory imap runs in {mailbox.home}; wait until it has ended"


def test_the_password_is_the_first_line_of_what_a_command_says():
    assert password_of(Account("h", "u", "printf 'a b\\r\\nlogin: ann\\n'")) == "a b"
    for command, message in [
        ("exit 3", "password_command has ended with status 3; try it in a terminal"),
        ("true", "password_command has written no password: it must be the first line"),
        ("printf '\\377'", "password_command has written text that is not UTF-8, instead of a password"),
    ]:
        with pytest.raises(MailboxError) as refused:
            password_of(Account("h", "u", command))
        assert str(refused.value) == message


def test_a_password_file_that_others_can_read_is_refused(
    open_folder: Path, unprivileged: Callable[[], AbstractContextManager[None]]
):
    path = open_folder / "password"
    path.write_text("lunch\n")
    account = Account("h", "u", password_file=path)
    for mode in (0o640, 0o604, 0o660):
        path.chmod(mode)
        with pytest.raises(MailboxError, match="password can be read by others: run chmod 600 on it"):
            password_of(account)
    path.chmod(0o600)
    assert password_of(account) == "lunch"
    with unprivileged(), pytest.raises(MailboxError, match=r"password_file .* cannot be read: Permission denied"):
        password_of(account)


def test_a_password_may_be_in_any_language(mailbox: Mailbox):
    """The server refuses it, but it is sent."""
    mailbox.configure(password="schlüssel")
    assert "refuses the login of" in priory("imap", home=mailbox.home).stderr.decode()


def test_without_imapclient_it_is_said_what_to_install(tmp_path: Path):
    (tmp_path / "priory.toml").write_text('[imap]\nhost = "h"\nuser = "u"\npassword_command = "true"\n')
    program = "import sys; sys.modules['imapclient'] = None; from priory.cli import main; main()"
    for arguments in (["imap"], ["check", "imap:INBOX"]):
        command = [sys.executable, "-c", program, *arguments, "--home", str(tmp_path)]
        result = subprocess.run(command, capture_output=True, env={**os.environ}, check=False)
        needs = "IMAP needs the package imapclient: pip install '.[imap]' in Priory's source folder"
        assert result.stderr.decode() == f"priory: {needs}\n"
