"""A real Sendmail, started by a test with a configuration, a queue and a port of its own, and ended by it."""

import pwd
import signal
import smtplib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ports import reserved_port
from real_daemon import PATIENCE_S, connected, wait_until
from unpacked_servers import HOST, environment, made_ready, root_of

_PROGRAM = "usr/libexec/sendmail/sendmail"
#: As docs/sendmail.md has it, but for the port.
FILTER = "INPUT_MAIL_FILTER(`priory', `S=inet:{milter}@127.0.0.1, F=, T=C:5s;S:30s;R:30s;E:1m')dnl"
_CONFIG = """
OSTYPE(`linux')dnl
define(`confDOMAIN_NAME', `{host}')dnl
define(`QUEUE_DIR', `{folder}/queue')dnl
define(`confPID_FILE', `{folder}/pid')dnl
define(`confCW_FILE', `-o {folder}/none')dnl
define(`ALIAS_FILE', `null:none')dnl
define(`STATUS_FILE', `')dnl
define(`HELP_FILE', `')dnl
define(`confFORWARD_PATH', `')dnl
define(`confDONT_PROBE_INTERFACES', `true')dnl
define(`confTO_IDENT', `0')dnl
define(`confQUEUE_LA', `1000')dnl
define(`confREFUSE_LA', `1000')dnl
define(`confDEF_USER_ID', `{uid}:{gid}')dnl
define(`LOCAL_MAILER_PATH', `/bin/sh')dnl
define(`LOCAL_MAILER_ARGS', `sh {folder}/deliver $u')dnl
define(`LOCAL_MAILER_FLAGS', `SPn')dnl
FEATURE(`no_default_msa')dnl
FEATURE(`nocanonify')dnl
FEATURE(`accept_unresolvable_domains')dnl
DAEMON_OPTIONS(`Name=MTA, Port={port}, Addr=127.0.0.1')dnl
{filter}
MAILER(`local')dnl
MAILER(`smtp')dnl
LOCAL_CONFIG
Cwhome.example
"""


@dataclass
class Sendmail:
    """A mail server that is running, as a test sees it."""

    folder: Path
    port: int

    def send(self, raw: bytes) -> None:
        """Hand it a message, as other mail servers do."""
        with smtplib.SMTP("127.0.0.1", self.port, timeout=PATIENCE_S) as server:
            server.sendmail("ann@mail.example", ["mail@home.example"], raw)

    def arrived(self) -> bytes:
        """Wait for the only message to arrive, and return it; it is gone then."""
        mail = self.folder / "mail"
        wait_until(lambda: any(mail.glob("*.eml")))
        (path,) = mail.glob("*.eml")
        raw = path.read_bytes()
        path.unlink()
        return raw


@contextmanager
def sendmail(folder: Path, milter: int) -> Iterator[Sendmail]:
    """Run a Sendmail that asks a milter on a port of this machine."""
    root, port, mail = root_of("sendmail", _PROGRAM), reserved_port(), pwd.getpwnam("mail")
    for name in ("queue", "mail"):
        (folder / name).mkdir(parents=True)
    program = made_ready(root, _PROGRAM, folder)
    (folder / "deliver").write_text(f"cat > {folder}/mail/$$ && mv {folder}/mail/$$ {folder}/mail/$$.eml\n")
    source, config, cf = folder / "sendmail.mc", folder / "sendmail.cf", root / "usr/share/sendmail/cf"
    settings = {"folder": folder, "host": HOST, "port": port, "uid": mail.pw_uid, "gid": mail.pw_gid}
    source.write_text(_CONFIG.format(filter=FILTER.format(milter=milter), **settings))
    m4 = [str(root / "usr/bin/m4"), f"-D_CF_DIR_={cf}/", str(cf / "m4" / "cf.m4"), str(source)]
    config.write_bytes(subprocess.run(m4, check=True, capture_output=True, timeout=PATIENCE_S).stdout)
    process = subprocess.Popen([program, "-C", str(config), "-bD"], env=environment(folder, {}))
    try:
        wait_until(lambda: process.poll() is not None or _listens(port))
        assert process.poll() is None, "Sendmail has ended; what it wrote may tell why"
        yield Sendmail(folder, port)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


def _listens(port: int) -> bool:
    """Tell whether somebody listens on a port."""
    try:
        connected(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True
