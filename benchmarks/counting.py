"""Counts the instructions of a program, which do not depend on other load.

valgrind's cachegrind counts, with its caches switched off: of the tools that count it is the quickest here (7 s where
callgrind takes 13, exp-bbv 10 and lackey 46). What a program costs per message is the difference of two runs, one
with n messages more, so that its start cancels out.
"""

import os
import platform
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

VALGRIND = "valgrind"
MISSING = "valgrind is not installed: apt-get install valgrind"
_TOOL = ("--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_REFERENCES = re.compile(r"I\s+refs:\s+([\d,]+)")
#: The same hashes in every run, and no threads that spin while they wait.
_STEADY = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class CountingError(Exception):
    """The instructions could not be counted; the text says why."""


def instructions(command: Sequence[str]) -> int:
    """Return the number of instructions of a command."""
    if not shutil.which(VALGRIND):
        raise CountingError(MISSING)
    environment = {**os.environ, **_STEADY}
    done = subprocess.run([VALGRIND, *_TOOL, *command], capture_output=True, text=True, env=environment, check=False)
    counted = _REFERENCES.search(done.stderr)
    if done.returncode or not counted:
        raise CountingError(f"{' '.join(command)} failed under valgrind:\n{done.stderr[-2000:]}")
    return int(counted[1].replace(",", ""))


def instructions_of_each(commands: Sequence[Sequence[str]]) -> list[int]:
    """Return the counts of several commands, run in parallel on all cores: other load does not change counts."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(instructions, commands))


def made_with() -> dict[str, str]:
    """Return what the counts depend on besides Priory: interpreter, C library, compiler, and vector instructions.

    The C library selects code by the processor's capabilities; valgrind supports AVX2 but not AVX-512.
    """
    compiler = sysconfig.get_config_var("CC").split()[0]
    version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True, check=False)
    vectors = "AVX2" if re.search(r"\bavx2\b", Path("/proc/cpuinfo").read_text()) else "none"
    return {
        "python": platform.python_version(),
        "libc": " ".join(platform.libc_ver()),
        "compiler": f"{compiler} {version.stdout.strip()}",
        "machine": platform.machine(),
        "vectors": vectors,
    }
