"""Another program as a model in a replay, such as bogofilter, beside which the filter is judged.

The program is started once for each message, with the message on its standard input, in an empty folder that it keeps
for its data until the replay ends:

    COMMAND check       prints its decision (a label, or "unsure") and the probability of the second label
    COMMAND LABEL       learns the message under this label

A few lines of shell adapt any filter to this: `recipes/lab/bogofilter` is an example.
"""

import math
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np

from priory.decision import UNSURE, Costs
from priory.filter.questions import may_teach_much
from priory.lab.error import LabError
from priory.lab.examples import Example
from priory.lab.models.learner import Prediction
from priory.lab.run import LogOddsTerms

LONGEST_S: Final = 60  #: a program that takes longer for one message is ended


class ProgramLearner:
    """A program that judges and learns messages."""

    decides_itself = True

    def __init__(self, command: str, costs: Costs) -> None:
        if len(costs.labels) != 2:
            raise LabError(f"another program is compared for two labels, and there are {len(costs.labels)}")
        self._command = _words(command)
        self._costs = costs
        self._folder = tempfile.TemporaryDirectory(prefix="priory-program-")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._folder.cleanup()

    def judge(self, example: Example) -> Prediction:
        """Return the program's own decision."""
        printed = self._run("check", example)
        decision, _, text = printed.strip().partition(" ")
        try:
            probability = float(text)
        except ValueError:
            probability = math.nan
        if decision not in {*self._costs.labels, UNSURE} or not 0 <= probability <= 1:
            expected = f"{', '.join(self._costs.labels)} or {UNSURE}, and a probability from 0 to 1"
            raise LabError(f"{self._name} check printed {printed[:60]!r}; it must print {expected}")
        with np.errstate(divide="ignore"):
            logs = np.log(np.array([1 - probability, probability]))
        costs = self._costs.expected([1 - probability, probability])
        return Prediction(logs, decision, may_teach_much(decision, costs))

    def learn(self, example: Example, label: str) -> None:
        """Have the program learn one message."""
        self._run(label, example)

    def conclude(self, example: Example) -> None:
        """Do nothing: a program is told nothing about silence."""

    def reasons(self, raw: bytes) -> LogOddsTerms | None:  # noqa: ARG002 - a program gives no terms
        """Return None: a program gives no terms."""
        return None

    @property
    def _name(self) -> str:
        return Path(self._command[0]).name

    def _run(self, word: str, example: Example) -> str:
        """Run the program with a word and a message; return what it prints."""
        if example.raw is None:
            raise LabError("another program needs the messages themselves: name mail in files, with --index or folders")
        try:
            done = subprocess.run(  # noqa: S603 - the user names the command
                [*self._command, word],
                input=example.raw,
                capture_output=True,
                cwd=self._folder.name,
                timeout=LONGEST_S,
                check=False,
            )
        except OSError as error:
            raise LabError(f"cannot run {self._name}: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise LabError(f"{self._name} {word} took more than {LONGEST_S} s for {example.name}") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().partition("\n")[0][:200]
            raise LabError(f"{self._name} {word} failed for {example.name} with status {done.returncode}: {said}")
        return done.stdout.decode(errors="replace")


def _words(command: str) -> list[str]:
    """Return the words of a command, the program with its whole path: it runs in another folder."""
    try:
        program, *arguments = shlex.split(command)
    except ValueError:
        raise LabError(f"{command!r} is not a command: name a program, and its options") from None
    path = shutil.which(program)
    if path is None:
        raise LabError(f"there is no program {program}: name one that can be run")
    return [str(Path(path).resolve()), *arguments]
