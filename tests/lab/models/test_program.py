"""Another program in a replay, beside the filter."""

from pathlib import Path

import pytest

import requirements
from priory.corpus import Labelled
from priory.decision import Costs
from priory.demo import draw
from priory.filter.options import Options
from priory.lab.error import LabError
from priory.lab.evaluation.feedback import Feedback
from priory.lab.evaluation.replay import replay
from priory.lab.examples import Example, examples
from priory.lab.measures import auc
from priory.lab.models.program import ProgramLearner
from priory.lab.models.registry import PROGRAM, learner_named

OPTIONS = Options()
RECIPE = Path(__file__).parents[3] / "recipes" / "lab" / "bogofilter"


def program(folder: Path, script: str) -> str:
    path = folder / "judge"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture(scope="module")
def mail() -> list[Example]:
    inbox = (Labelled(drawn.raw, drawn.label, f"inbox:{i}") for i, drawn in enumerate(draw(120, seed=2)))
    return list(examples(inbox, OPTIONS.spec))


def test_a_program_gets_each_message_and_its_own_decision_counts(tmp_path, mail):
    script = 'case $1 in check) cat >checked; echo spam 0.25;; *) cat >>learned; echo "$1" >>labels;; esac'
    with ProgramLearner(program(tmp_path, script), Costs()) as learner:
        learner.learn(mail[0], "ham")
        learner.learn(mail[1], "spam")
        prediction = learner.judge(mail[2])
        folder = Path(learner._folder.name)
        assert (folder / "learned").read_bytes() == mail[0].raw + mail[1].raw
        assert (folder / "labels").read_text() == "ham\nspam\n"
        assert (folder / "checked").read_bytes() == mail[2].raw
    assert prediction.decision == "spam"
    assert prediction.is_doubtful  # ham is likelier than spam: to call it spam is expected to cost 75
    assert not folder.exists()


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("echo junk 0.5", "judge check printed 'junk 0.5\\n'; it must print ham, spam or unsure, and a probability"),
        ("echo ham", "judge check printed 'ham\\n'; it must print"),
        ("echo ham 1.5", "judge check printed 'ham 1.5\\n'; it must print"),
        ("echo no wordlist >&2; exit 3", "judge check failed for inbox:0 with status 3: no wordlist"),
    ],
)
def test_a_program_that_fails_is_named_with_the_reason(tmp_path, mail, script, error):
    with ProgramLearner(program(tmp_path, script), Costs()) as learner, pytest.raises(LabError) as raised:
        learner.judge(mail[0])
    assert str(raised.value).startswith(error)


def test_a_program_that_is_missing_is_refused():
    with pytest.raises(LabError, match=r"^there is no program nosuchfilter: name one that can be run$"):
        learner_named(f"{PROGRAM}nosuchfilter --fast", OPTIONS)
    with pytest.raises(LabError, match=r"is not a command: name a program, and its options$"):
        learner_named(f"{PROGRAM}'", OPTIONS)


def test_a_program_needs_the_messages(tmp_path, mail):
    bare = Example("lesson", "ham", mail[0].message)
    with ProgramLearner(program(tmp_path, "echo ham 0.1"), Costs()) as learner, pytest.raises(LabError) as raised:
        learner.judge(bare)
    assert str(raised.value) == (
        "another program needs the messages themselves: name mail in files, with --index or folders"
    )


@pytest.mark.slow
def test_bogofilter_is_judged_by_the_recipe(mail):
    requirements.program("bogofilter")
    name = f"{PROGRAM}{RECIPE}"
    [run] = replay(mail, {name: lambda: learner_named(name, OPTIONS)}, OPTIONS.labels, Feedback(start=60))
    assert len(run.predictions) == 60
    assert auc(run.predictions).estimate > 0.7
