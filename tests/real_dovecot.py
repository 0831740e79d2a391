"""A real Dovecot, started by a test with a configuration and ports of its own, and ended by it."""

import imaplib
import pwd
import shutil
import signal
import smtplib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from real_daemon import PATIENCE_S, wait_until
from real_postfix import free_port

RECIPES = Path(__file__).parents[1] / "recipes"
PASSWORD = "lunch"
_CONFIG = """
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols = imap lmtp
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
first_valid_uid = 1
first_valid_gid = 1
mail_location = maildir:{folder}/mail/%n
mail_fsync = never
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Junk {{
    auto = subscribe
    special_use = \\Junk
  }}
  mailbox Trash {{
    auto = subscribe
    special_use = \\Trash
  }}
}}
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/mail/%n
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
}}
service lmtp {{
  inet_listener lmtp {{
    port = {lmtp}
  }}
  unix_listener lmtp {{
    mode = 0
  }}
}}
protocol imap {{
  mail_plugins = $mail_plugins imap_sieve
}}
protocol lmtp {{
  mail_plugins = $mail_plugins sieve
  auth_username_format = %n
}}
plugin {{
  sieve_before = {recipes}/file-spam.sieve
  sieve_plugins = sieve_imapsieve sieve_extprograms
  sieve_global_extensions = +vnd.dovecot.pipe
  sieve_pipe_bin_dir = {recipes}

  imapsieve_mailbox1_name = Junk
  imapsieve_mailbox1_causes = COPY
  imapsieve_mailbox1_before = file:{recipes}/learn-spam.sieve

  imapsieve_mailbox2_name = *
  imapsieve_mailbox2_from = Junk
  imapsieve_mailbox2_causes = COPY
  imapsieve_mailbox2_before = file:{recipes}/learn-ham.sieve
}}
"""


@dataclass
class Dovecot:
    """A mail store that is running, as a test sees it."""

    folder: Path
    imap: int
    lmtp: int

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def deliver(self, raw: bytes, to: str) -> None:
        """Hand it a message, as a mail server does."""
        with smtplib.LMTP("127.0.0.1", self.lmtp) as server:
            server.sendmail("ann@mail.example", [to], raw)

    @contextmanager
    def mailboxes(self, user: str) -> Iterator["Mailboxes"]:
        """Log in as a mail program does."""
        with imaplib.IMAP4("127.0.0.1", self.imap, PATIENCE_S) as connection:
            connection.login(user, PASSWORD)
            yield Mailboxes(connection)


@dataclass
class Mailboxes:
    """The folders of a user."""

    connection: imaplib.IMAP4

    def subjects(self, folder: str) -> list[str]:
        """Return the subjects of all messages in a folder."""
        self.connection.select(folder, readonly=True)
        _, (numbers,) = self.connection.search(None, "ALL")
        found = []
        for number in numbers.split():
            _, data = self.connection.fetch(number, "(BODY.PEEK[HEADER.FIELDS (SUBJECT)])")
            found.append(data[0][1].decode().removeprefix("Subject: ").strip())
        return found

    def move(self, subject: str, source: str, target: str) -> None:
        """Move a message, as people do."""
        self.connection.select(source)
        _, (numbers,) = self.connection.search(None, "SUBJECT", f'"{subject}"')
        assert len(numbers.split()) == 1, (subject, source, numbers)
        said, answer = self.connection._simple_command("MOVE", numbers.decode(), target)
        assert said == "OK", answer


@contextmanager
def dovecot(folder: Path, spamd: Path, *more: str) -> Iterator[Dovecot]:
    """Run a Dovecot with the recipes, whose users teach a daemon that listens on a socket, and more of its settings."""
    mail = pwd.getpwnam("mail")
    for name in ("run", "state", "mail", "recipes"):
        (folder / name).mkdir(parents=True)
    for each in (*(RECIPES / "dovecot").iterdir(), *(RECIPES / "sieve").iterdir()):
        copy = Path(shutil.copy(each, folder / "recipes"))
        text = copy.read_text().replace("/run/priory/spamd.sock", str(spamd))
        copy.write_text(text.replace("/etc/dovecot/priory", str(folder / "recipes")))
    for owned in (folder / "mail", folder / "recipes"):
        shutil.chown(owned, "mail", "mail")
    for parent in (folder, *folder.parents):
        if parent.parts[1:2] == ("tmp",) and len(parent.parts) > 2:
            parent.chmod(parent.stat().st_mode | 0o011)  # the owner of the mail must get through
    imap, lmtp = free_port(), free_port()
    settings = {"folder": folder, "recipes": folder / "recipes", "imap": imap, "lmtp": lmtp, "password": PASSWORD}
    config = folder / "dovecot.conf"
    includes = "".join(f"!include {folder / 'recipes' / each}\n" for each in more)
    config.write_text(_CONFIG.format(uid=mail.pw_uid, gid=mail.pw_gid, **settings) + includes)
    process = subprocess.Popen(["dovecot", "-F", "-c", str(config)])
    try:
        wait_until(lambda: "starting up" in (folder / "log").read_text() if (folder / "log").exists() else False)
        yield Dovecot(folder, imap, lmtp)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
