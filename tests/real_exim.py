"""A real Exim, started by a test with a configuration, a spool and a port of its own, and ended by it."""

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
from unpacked_servers import HOST, environment, made_ready, root_of

RECIPES = Path(__file__).parents[1] / "recipes" / "exim"
_PROGRAM = "usr/sbin/exim4"
_CONFIG = """
keep_environment = ^LD_ : ^NSS_WRAPPER_
exim_user = mail
exim_group = mail
deliver_drop_privilege = true
spool_directory = {folder}/spool
log_file_path = {folder}/spool/%slog
pid_file_path = {folder}/spool/pid
primary_hostname = {host}
domainlist local_domains = home.example
tls_advertise_hosts =
host_lookup =
rfc1413_query_timeout = 0s
smtp_accept_max = 0
smtp_reserve_hosts =
acl_smtp_rcpt = check_rcpt
acl_smtp_data = check_data
spamd_address = {spamd} tmo=30s

begin acl
check_rcpt:
  accept domains = +local_domains
  deny
check_data:
  {acl}
  accept

begin routers
.include {recipes}/junk-router
inbox:
  driver = accept
  check_local_user
  transport = inbox

begin transports
.include {recipes}/junk-transport
inbox:
  driver = appendfile
  maildir_format
  directory = $home/Maildir
"""


@dataclass
class Exim:
    """A mail server that is running, as a test sees it."""

    folder: Path
    port: int

    @property
    def log(self) -> str:
        return (self.folder / "spool" / "mainlog").read_text()

    def send(self, raw: bytes) -> None:
        """Hand it a message, as other mail servers do."""
        with smtplib.SMTP("127.0.0.1", self.port, timeout=PATIENCE_S) as server:
            server.sendmail("ann@mail.example", ["bob@home.example"], raw)

    def arrived(self, mailbox: str = "") -> bytes:
        """Wait for the only message to arrive in a folder, and return it; it is gone then."""
        new = self.folder / "bob" / "Maildir" / mailbox / "new"
        wait_until(lambda: new.exists() and any(new.iterdir()), lambda: self.log)
        (path,) = new.iterdir()
        raw = path.read_bytes()
        path.unlink()
        return raw


@contextmanager
def exim(folder: Path, spamd: Path, *acl: str) -> Iterator[Exim]:
    """Run an Exim with these of the recipes for its ACL, which asks a daemon that listens on a socket."""
    root, port = root_of("exim", _PROGRAM), reserved_port()
    for name in ("spool", "bob"):
        (folder / name).mkdir(parents=True)
        shutil.chown(folder / name, "mail", "mail")
    program = made_ready(root, _PROGRAM, folder)
    recipes = Path(shutil.copytree(RECIPES, folder / "recipes"))
    includes = "\n  ".join(f".include {recipes / each}" for each in acl)
    config = folder / "exim.conf"
    config.write_text(_CONFIG.format(folder=folder, host=HOST, spamd=spamd, acl=includes, recipes=recipes))
    accounts = {"Debian-exim": folder, "bob": folder / "bob"}
    command = [program, "-C", str(config), "-bdf", "-oX", f"127.0.0.1.{port}"]
    process = subprocess.Popen(command, env=environment(folder, accounts))
    server = Exim(folder, port)
    try:
        wait_until(lambda: process.poll() is not None or (folder / "spool" / "mainlog").exists())
        assert process.poll() is None, (folder / "spool" / "paniclog").read_text()
        wait_until(lambda: "listening for SMTP" in server.log)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
