"""Runs the command as a person does: a real process."""

import os
import subprocess
import sys
from pathlib import Path

PRIORY = str(Path(sys.executable).with_name("priory"))


def priory(
    *arguments: object, home: Path, stdin: bytes = b"", columns: str = "100"
) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PRIORY_HOME": str(home), "COLUMNS": columns}
    command = [PRIORY, *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, env=environment, check=False, timeout=120)


def unread(*arguments: object, home: Path, unbuffered: str = "") -> tuple[int, bytes]:
    """Return the status and the complaints of a command whose output nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "PRIORY_HOME": str(home), "PYTHONUNBUFFERED": unbuffered}
    command = [PRIORY, *map(str, arguments)]
    with os.fdopen(writing, "wb") as out:
        done = subprocess.run(
            command,
            input=b"Subject: x\n\n",
            stdout=out,
            stderr=subprocess.PIPE,
            env=environment,
            check=False,
            timeout=120,
        )
    return done.returncode, done.stderr
