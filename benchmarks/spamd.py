"""SpamAssassin's daemon, with its Bayes and no other rules."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import daemons
from mail import Mail
from peers import SpamAssassin
from rounds import FailedError, run


def teach(mail: Mail, home: Path) -> None:
    """Teach SpamAssassin, and set the store in its rules, because not all of its programs have an option for it."""
    SpamAssassin(every=1).learn(mail, home)
    with (home / "rules" / "bayes.cf").open("a") as rules:
        rules.write(f"bayes_path {home}/store/bayes\n")


@contextlib.contextmanager
def serving(home: Path, message: Path, children: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run spamd on the socket in its home; enter the block once its Bayes has checked a message."""
    options = [*SpamAssassin.rules_only(home), "--nouser-config", "--allow-tell", "--max-children", str(children)]
    if os.geteuid() == 0:  # spamd refuses to check mail as root, so its files get another owner
        options += ["--username", "nobody"]
        home.parent.chmod(0o711)
        for path in (home, *home.rglob("*")):
            shutil.chown(path, "nobody")
    socket, said = home / "socket", home.with_suffix(".said")
    with daemons.running(["spamd", *options, "--socketpath", str(socket)], socket) as process:
        run([*spamc(socket), "-y"], stdin=message, stdout=said)
        if "BAYES" not in said.read_text():
            raise FailedError("spamd answers without asking its Bayes")
        yield process


def spamc(socket: Path) -> list[str]:
    """Return the spamc command for a socket, which fails if no daemon listens."""
    return ["spamc", "-U", str(socket), "-x"]
