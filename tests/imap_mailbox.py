"""A person's mailbox on a real server, as their mail program and `priory imap` see it."""

import imaplib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from command import PRIORY
from priory.config import load
from priory.features import VERSION
from priory.imap.account import Account
from priory.imap.session import Session
from priory.imap.store import SightingStore
from priory.imap.watch import FolderPasses, Watcher
from priory.journal import open_file_to_read
from real_daemon import PATIENCE_S, Daemon
from real_dovecot import PASSWORD, Dovecot


@dataclass
class Mailbox:
    """The folders of one user, and the home of the filter that watches them."""

    server: Dovecot
    user: str
    home: Path

    @property
    def files(self) -> Path:
        """Where the server keeps the mail."""
        return self.server.folder / "mail" / self.user

    def look(self, *, teach_existing: bool = False, **settings: object) -> None:
        """Look once, as `priory imap --once` does."""
        watcher = Watcher(self.home, load(self.home / "priory.toml"), self.account(**settings), PASSWORD)
        try:
            watcher.once(teach_existing=teach_existing)
        finally:
            watcher.close()

    def look_and_be_killed_after_moving(self, **settings: object) -> None:
        """Look once, and end before the moved messages are seen in Junk."""
        account = self.account(**settings)
        with Session(account, PASSWORD) as session:
            store = SightingStore(self.home, account.name)
            FolderPasses(account, self.home, load(self.home / "priory.toml"), store, session).run()
            store.close()

    def account(self, **settings: object) -> Account:
        every = {"port": self.server.imap, "tls": "none", "move": True, **settings}
        return Account("127.0.0.1", self.user, password_command="unused", **every)

    def configure(self, password: str = PASSWORD, **settings: object) -> None:
        """Write priory.toml, and the password into a file."""
        path = self.home / "password"
        path.write_text(f"{password}\n")
        path.chmod(0o600)
        every = {"host": "127.0.0.1", "user": self.user, "password_file": str(path), **settings}
        every = {"port": self.server.imap, "tls": "none", **every}
        lines = [f"{key} = {json.dumps(value)}" for key, value in every.items()]
        (self.home / "priory.toml").write_text("\n".join(["[imap]", *lines, ""]))

    @contextmanager
    def watching(self, **settings: object) -> Iterator[Daemon]:
        """Run `priory imap` until the end of the block, and check that it has not ended before."""
        self.configure(**settings)
        log_path = self.home / "imap.log"
        with log_path.open("ab") as log:
            process = subprocess.Popen([PRIORY, "imap", "--home", str(self.home)], stderr=log, env={**os.environ})
        daemon = Daemon(self.home, process, log_path)
        try:
            yield daemon
            assert process.poll() is None, daemon.log
        finally:
            for signal_ in (signal.SIGCONT, signal.SIGTERM):
                process.send_signal(signal_)
            assert process.wait(PATIENCE_S) == 0, daemon.log

    def look_and_be_killed_after(self, n_lines: int) -> bool:
        """Run `priory imap --once` and kill it after some lines of its log; tell whether it was still running."""
        command = [PRIORY, "imap", "--once", "--home", str(self.home)]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            for _ in range(n_lines):
                process.stderr.readline()
            process.kill()
        return process.returncode == -signal.SIGKILL

    def deliver(self, raw: bytes, folder: str = "INBOX", flags: str = "") -> None:
        with self.server.mailboxes(self.user) as program:
            assert program.connection.append(folder, f"({flags})", None, raw)[0] == "OK"

    def move(self, subject: str, source: str, target: str, *, by_copy: bool = False) -> None:
        if by_copy:
            self.copy(subject, source, target)
            self.mark_deleted(subject, source)
            return
        with self.server.mailboxes(self.user) as program:
            program.move(subject, source, target)

    def count(self, folder: str) -> int:
        """The number of messages in a folder that are not marked as deleted."""
        with self.opened(folder) as connection:
            return len(connection.search(None, "UNDELETED")[1][0].split())

    def create(self, folder: str) -> None:
        with self.server.mailboxes(self.user) as program:
            program.connection.create(folder)

    def move_all(self, source: str, target: str) -> None:
        with self.opened(source) as connection:
            connection.copy("1:*", target)
            connection.store("1:*", "+FLAGS", "\\Deleted")
            connection.expunge()

    def copy(self, subject: str, source: str, target: str) -> None:
        with self.opened(source) as connection:
            assert connection.copy(number(connection, subject), target)[0] == "OK"

    def mark_deleted(self, subject: str, folder: str) -> None:
        with self.opened(folder) as connection:
            assert connection.store(number(connection, subject), "+FLAGS", "\\Deleted")[0] == "OK"

    @contextmanager
    def opened(self, folder: str) -> Iterator[imaplib.IMAP4]:
        """Open a folder as a mail program does."""
        with self.server.mailboxes(self.user) as program:
            program.connection.select(folder)
            yield program.connection

    def number_anew(self, folder: str) -> None:
        """Make the server renumber a folder, as it may after a restored backup."""
        place = self.files if folder == "INBOX" else self.files / f".{folder}"
        before = (place / "dovecot-uidlist").read_text().split()[1]
        for path in place.glob("dovecot*"):
            path.unlink()
        (place / "dovecot-uidlist").write_text(f"3 V{int(before.removeprefix('V')) + 1} N1\n")
        shutil.chown(place / "dovecot-uidlist", "mail", "mail")

    def flags(self, folder: str) -> list[str]:
        """The flags of each message in a folder."""
        with self.opened(folder) as connection:
            _, said = connection.fetch("1:*", "(FLAGS)")
        found = [re.search(r"FLAGS \(([^)]*)\)", each.decode())[1].split() for each in said]
        return [" ".join(flag for flag in flags if flag != "\\Recent") for flags in found]

    def learned(self) -> list[tuple[str, str]]:
        """The lessons from moved mail: labels and sources, in order."""
        journal = open_file_to_read(self.home / "journal.sqlite", VERSION)
        try:
            return [(lesson.label, lesson.source) for lesson in journal.lessons() if lesson.source]
        finally:
            journal.close()

    def labels(self) -> list[str]:
        return [label for label, _ in self.learned()]


def note(subject: str) -> bytes:
    return f"From: ann@home.example\r\nSubject: {subject}\r\n\r\nA note about {subject}.\r\n".encode()


def number(connection: imaplib.IMAP4, subject: str) -> str:
    return connection.search(None, "SUBJECT", f'"{subject}"')[1][0].decode()
