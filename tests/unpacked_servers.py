"""Mail servers that are unpacked for the tests, not installed: a machine has room for one, and that is Postfix here.

`make exim sendmail` puts them into `build`. They look for accounts, and one for the name of the machine, that only an
installation makes: nss_wrapper shows them files with these instead of /etc/passwd and its like.
"""

import os
import pwd
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path

import requirements

BUILD = Path(__file__).parents[1] / "build"
HOST = "mx.home.example"


def root_of(name: str, program: str) -> Path:
    """Return where a mail server was unpacked; without it a test is skipped, but never in CI."""
    root = BUILD / name / "root"
    if (root / program).exists() and os.geteuid() == 0:
        return root
    return requirements.missing(f"there is no {name} to be started as root (make {name})")


def made_ready(root: Path, program: str, folder: Path) -> str:
    """Copy a program, without rights of its own, and its libraries to where every account can run it."""
    shutil.copytree(root / "usr" / "lib", folder / "lib", symlinks=True)
    copy = Path(shutil.copy(root / program, folder))
    copy.chmod(0o755)
    for parent in (folder, *folder.parents):
        if parent.parts[1:2] == ("tmp",) and len(parent.parts) > 2:
            parent.chmod(parent.stat().st_mode | 0o011)
    return str(copy)


def environment(folder: Path, homes: Mapping[str, Path]) -> dict[str, str]:
    """Return the environment in which such a program finds its libraries, a name, and accounts beside those there are.

    The accounts have their homes, and the numbers of the account `mail`.
    """
    mail = pwd.getpwnam("mail")
    files = {
        "PASSWD": "".join(f"{name}:x:{mail.pw_uid}:{mail.pw_gid}::{home}:/bin/sh\n" for name, home in homes.items()),
        "GROUP": "".join(f"{name}:x:{mail.pw_gid}:\n" for name in homes),
        "HOSTS": f"127.0.0.1 {HOST} {socket.gethostname()} localhost\n",
    }
    for name, lines in files.items():
        there = Path("/etc", name.lower()).read_text() if name != "HOSTS" else ""
        (folder / name).write_text(there + lines)
    libraries = [folder / "lib", *(folder / "lib").glob("*-linux-gnu*")]
    return {
        "PATH": os.environ["PATH"],
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
        "LD_PRELOAD": "libnss_wrapper.so",
        **{f"NSS_WRAPPER_{name}": str(folder / name) for name in files},
    }
