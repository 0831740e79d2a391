"""A real Postfix, started by a test with a configuration, a queue and a port of its own, and ended by it."""

import os
import pwd
import shutil
import signal
import smtplib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ports import reserved_port
from real_daemon import PATIENCE_S, wait_until

_MAIN = """
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mx.home.example
mydestination =
mynetworks = 192.0.2.1/32
smtpd_relay_restrictions = reject_unauth_destination
smtpd_client_connection_count_limit = 0
virtual_mailbox_domains = home.example
virtual_mailbox_base = {folder}/mail
virtual_mailbox_maps = static:inbox/
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{gid}
virtual_minimum_uid = 1
virtual_transport = {transport}
smtpd_milters = inet:127.0.0.1:{milter}
milter_default_action = accept
milter_connect_timeout = 5s
queue_run_delay = 3s
minimal_backoff_time = 3s
maximal_backoff_time = 3s
"""
_MASTER = """
127.0.0.1:{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
proxywrite unix - - n - 1 proxymap
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
virtual unix - n n - - virtual
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
"""


@dataclass
class Postfix:
    """A mail server that is running, as a test sees it."""

    folder: Path
    port: int

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def send(self, raw: bytes, to: str = "bob@home.example", sender: str = "ann@mail.example") -> None:
        """Hand it a message, as other mail servers do."""
        with smtplib.SMTP("127.0.0.1", self.port, timeout=PATIENCE_S) as server:
            server.sendmail(sender, [to], raw)

    def flush(self) -> None:
        """Have it try again to deliver what waits."""
        command = ["postqueue", "-c", str(self.folder / "config"), "-f"]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)

    def delivered(self) -> list[bytes]:
        """Return what has arrived."""
        return [path.read_bytes() for path in sorted((self.folder / "mail" / "inbox" / "new").glob("*"))]

    def arrived(self, n: int) -> list[bytes]:
        """Wait until so many messages have arrived, and return them all."""
        wait_until(lambda: len(self.delivered()) >= n, lambda: self.log)
        return self.delivered()


@contextmanager
def postfix(
    folder: Path, milter: int, transport: str = "virtual", main: str = "", master: str = ""
) -> Iterator[Postfix]:
    """Run a Postfix that asks a milter on a port of this machine, and delivers to a Maildir or by another transport.

    What is given last is added to its main.cf and its master.cf.
    """
    mail, port = pwd.getpwnam("mail"), reserved_port()
    for name in ("config", "queue", "data", "mail"):
        (folder / name).mkdir(parents=True)
    for parent in (folder, *folder.parents):
        if parent.owner() == "root" and parent.parts[1:2] == ("tmp",) and len(parent.parts) > 2:
            parent.chmod(parent.stat().st_mode | 0o011)  # Postfix's own accounts must get through
    os.chown(folder / "mail", mail.pw_uid, mail.pw_gid)
    shutil.chown(folder / "data", "postfix")
    settings = {"folder": folder, "uid": mail.pw_uid, "gid": mail.pw_gid, "milter": milter, "transport": transport}
    (folder / "config" / "main.cf").write_text(_MAIN.format(**settings) + main)
    (folder / "config" / "master.cf").write_text(_MASTER.format(port=port) + master)
    postfix_command = ["postfix", "-c", str(folder / "config")]
    subprocess.run([*postfix_command, "start"], check=True, capture_output=True, timeout=PATIENCE_S)
    group = int((folder / "queue" / "pid" / "master.pid").read_text())
    try:
        yield Postfix(folder, port)
    finally:
        os.killpg(group, signal.SIGTERM)
        wait_until(lambda: not _is_any_left(group))


def _is_any_left(group: int) -> bool:
    """Tell whether a process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
