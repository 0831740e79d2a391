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
