"""A real Dovecot, started by a test with a configuration and ports of its own, and ended by it."""

import imaplib
import os
import pwd
import re
import shutil
import signal
import smtplib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ports import reserved_port
from real_daemon import PATIENCE_S, wait_until

RECIPES = Path(__file__).parents[1] / "recipes"
PASSWORD = "lunch"
_CONFIG = """
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols = imap lmtp
listen = 127.0.0.1
{tls}
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
    port = {imaps}
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
{more}
"""
_RECIPES = """
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
    imaps: int
    lmtp: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(["dovecot", "-F", "-c", str(self.folder / "dovecot.conf")])
        wait_until(lambda: "starting up" in self.log)

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(PATIENCE_S)

    def cut(self, user: str) -> None:
        """Cut the connections of a user, whose processes are named in the log of who has logged in."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for process in set(re.findall(rf"Login: user=<{user}>,.* mpid=(\d+)", self.log)) & set(children):
            with suppress(ProcessLookupError):  # it was ending
                os.kill(int(process), signal.SIGKILL)

    @property
    def log(self) -> str:
        path = self.folder / "log"
        return path.read_text() if path.exists() else ""

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
def dovecot(
    folder: Path, spamd: Path | None = None, *includes: str, certificate: Path | None = None, more: str = ""
) -> Iterator[Dovecot]:
    """Run a Dovecot; with the recipes, if its users are to teach a daemon that listens on a socket.

    Files among the recipes can be included. A certificate is a file with the key in it. `more` are more settings.
    """
    mail = pwd.getpwnam("mail")
    for name in ("run", "state", "mail", "recipes"):
        (folder / name).mkdir(parents=True)
    if spamd is not None:
        more += _recipes(folder / "recipes", spamd)
    more += "".join(f"!include {folder / 'recipes' / each}\n" for each in includes)
    for owned in (folder / "mail", folder / "recipes"):
        shutil.chown(owned, "mail", "mail")
    for parent in (folder, *folder.parents):
        if parent.parts[1:2] == ("tmp",) and len(parent.parts) > 2:
            parent.chmod(parent.stat().st_mode | 0o011)  # the owner of the mail must get through
    tls = "ssl = no" if certificate is None else f"ssl_cert = <{certificate}\nssl_key = <{certificate}"
    store = Dovecot(folder, reserved_port(), reserved_port() if certificate else 0, reserved_port())
    ports = {"imap": store.imap, "imaps": store.imaps, "lmtp": store.lmtp}
    owner = {"uid": mail.pw_uid, "gid": mail.pw_gid}
    settings = {"folder": folder, "password": PASSWORD, "tls": tls, "more": more, **ports, **owner}
    (folder / "dovecot.conf").write_text(_CONFIG.format(**settings))
    store.start()
    try:
        yield store
    finally:
        store.stop()


def _recipes(folder: Path, spamd: Path) -> str:
    """Put the recipes into a folder; return the settings that have Dovecot use them."""
    for each in (*(RECIPES / "dovecot").iterdir(), *(RECIPES / "sieve").iterdir()):
        copy = Path(shutil.copy(each, folder))
        text = copy.read_text().replace("/run/priory/spamd.sock", str(spamd))
        copy.write_text(text.replace("/etc/dovecot/priory", str(folder)))
    return _RECIPES.format(recipes=folder)
