"""Times whole processes from start to end, in turns, so that other load affects all of them equally."""

import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

LAUNCH = Path(__file__).with_name("launch.py")


@dataclass(frozen=True, slots=True)
class Run:
    """The resources of a process and its children; memory is that of the largest of them."""

    seconds: float
    cpu_seconds: float
    peak_mb: float

    def __add__(self, other: "Run") -> "Run":
        """Return the resources of both runs together."""
        peak_mb = max(self.peak_mb, other.peak_mb)
        return Run(self.seconds + other.seconds, self.cpu_seconds + other.cpu_seconds, peak_mb)


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of several figures, and the least and the greatest."""

    median: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float]:
        """Return a dictionary for JSON."""
        return asdict(self)


class FailedError(Exception):
    """A measured program failed; the text has its output."""


def run(
    command: Sequence[str],
    *,
    stdin: Path | None = None,
    stdout: Path | None = None,
    cwd: Path | None = None,
    answers: Sequence[int] = (0,),
) -> Run:
    """Run a command and return its resources; `answers` are the exit codes that mean success."""
    reading, writing = os.pipe()
    launched = [sys.executable, "-I", "-S", str(LAUNCH), str(writing), *command]
    with (stdin or Path(os.devnull)).open("rb") as given, (stdout or Path(os.devnull)).open("wb") as said:
        done = subprocess.run(
            launched, stdin=given, stdout=said, stderr=subprocess.PIPE, cwd=cwd, pass_fds=[writing], check=False
        )
    os.close(writing)
    with os.fdopen(reading) as pipe:
        figures = [float(figure) for figure in pipe.read().split()]
    if not figures or figures[3] not in answers:
        raise FailedError(f"{' '.join(command)[:200]} failed:\n{done.stderr.decode()[-2000:]}")
    return Run(figures[0], figures[1], figures[2] / 1024)


def spread(figures: Iterable[float]) -> Spread:
    """Return the median and the range.

    >>> spread([3.0, 1.0, 2.0])
    Spread(median=2.0, low=1.0, high=3.0)
    """
    figures = list(figures)
    return Spread(statistics.median(figures), min(figures), max(figures))


def ratios(these: Sequence[float], those: Sequence[float]) -> Spread:
    """Return the ratios of the second values to the first, each within its own round.

    A single value is compared with every round of the other.

    >>> ratios([1.0, 2.0, 4.0], [3.0, 4.0, 12.0])
    Spread(median=3.0, low=2.0, high=3.0)
    >>> ratios([1.0, 2.0, 4.0], [12.0])
    Spread(median=6.0, low=3.0, high=12.0)
    """
    n = max(len(these), len(those))
    pairs = zip(*(n * list(each) if len(each) == 1 else each for each in (these, those)), strict=True)
    return spread(that / this for this, that in pairs)
