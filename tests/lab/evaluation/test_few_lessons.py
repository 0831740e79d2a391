"""A filter after few lessons: what is learned, what is judged, how far mail is read, and when there is too little."""

from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from priory.bayes import BernoulliNB
from priory.corpus import Labelled, read_index
from priory.decision import Costs
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.lab.cache import ResultFolder, digest_of
from priory.lab.error import LabError
from priory.lab.evaluation.feedback import Feedback, FewLessons
from priory.lab.evaluation.replay import Checkpoint, replay
from priory.lab.examples import examples
from priory.lab.measures import summary
from priory.lab.models.learner import FilterLearner, PartialFitLearner
from priory.lab.run import Run

OPTIONS = Options()
FILTER = {"filter": partial(FilterLearner, OPTIONS)}
FEW = Feedback(few=FewLessons(first=10, then=40))


def replay_source(mail: list[Labelled], feedback: Feedback = FEW, checkpoint: Checkpoint | None = None) -> Run:
    return replay(examples(mail, OPTIONS.spec), FILTER, OPTIONS.labels, feedback, checkpoint)[0]


def numbered(labels: str) -> list[Labelled]:
    """Messages named by their place: h is ham, s is spam."""
    return [Labelled(b"Subject: %d" % i, {"h": "ham", "s": "spam"}[label], str(i)) for i, label in enumerate(labels)]


def parts(labels: str, first: int, then: int) -> list[tuple[str, bool]]:
    mail = examples(numbered(labels), OPTIONS.spec)
    return [(each.name, is_lesson) for each, is_lesson in FewLessons(first, then).parts(mail, OPTIONS.labels)]


@pytest.mark.parametrize(
    ("labels", "lessons", "judged"),
    [("hshshshsh", "0123", "4567"), ("hhhhssss", "0145", "2367"), ("shhhhhhsss", "0127", "3489")],
)
def test_all_lessons_come_before_all_that_is_judged_and_both_in_order(labels, lessons, judged):
    assert parts(labels, 2, 2) == [(name, True) for name in lessons] + [(name, False) for name in judged]


def test_the_filter_is_judged_as_it_is_after_the_lessons(inbox, tmp_path):
    of = {label: [message for message in inbox if message.label == label] for label in OPTIONS.labels}
    judged = [message for message in inbox if message in of[message.label][10:50]]
    with Filter.open(tmp_path) as filter_:
        for message in inbox:
            if message in of[message.label][:10]:
                filter_.learn(message.raw, message.label)
        expected = [filter_.check(message.raw).log_odds for message in judged]
    run = replay_source(inbox)
    assert run.predictions.names == tuple(message.source for message in judged)
    assert [OPTIONS.labels[code] for code in run.predictions.truth] == [message.label for message in judged]
    assert run.predictions.log_odds() == pytest.approx(np.array(expected), abs=1e-9)
    assert run.protocol == "replay in order, first 10 of each label learned, next 40 of each judged"
    assert run.seconds_learning > 0
    assert run.mistakes
    assert {mistake.number for mistake in run.mistakes} <= set(np.flatnonzero(run.predictions.errors).tolist())
    assert run.predictions.groups is not None


def test_mail_is_read_until_every_label_has_enough_and_no_further():
    rest = iter(numbered("hhshshhsshsh"))
    replay(examples(rest, OPTIONS.spec), FILTER, OPTIONS.labels, Feedback(few=FewLessons(1, 2)))
    assert next(rest).source == "8"


@pytest.mark.slow
def test_wrong_lessons_are_taught_but_the_truth_is_judged(inbox):
    right, wrong = replay_source(inbox), replay_source(inbox, Feedback(flipped=1.0, few=FEW.few))
    assert np.array_equal(right.predictions.truth, wrong.predictions.truth)
    assert wrong.predictions.errors.mean() > 0.5 > right.predictions.errors.mean()
    assert wrong.protocol.endswith("next 40 of each judged, 100 % of the lessons wrong")


@pytest.mark.slow
def test_several_models_say_what_each_says_alone(inbox):
    others = {"bernoulli": lambda: PartialFitLearner(BernoulliNB(), OPTIONS.costs)}
    both = replay(examples(inbox, OPTIONS.spec), FILTER | others, OPTIONS.labels, FEW)
    [alone] = replay(examples(inbox, OPTIONS.spec), others, OPTIONS.labels, FEW)
    assert np.array_equal(both[0].predictions.log_probabilities, replay_source(inbox).predictions.log_probabilities)
    assert np.array_equal(both[1].predictions.log_probabilities, alone.predictions.log_probabilities)


def test_what_was_interrupted_goes_on_but_not_after_other_lessons(inbox, tmp_path, monkeypatch):
    monkeypatch.setattr("priory.lab.evaluation.replay.CHECKPOINT_EVERY", 50)
    kept = ResultFolder(tmp_path)
    checkpoint = Checkpoint(kept.load_partial, kept.save_partial)
    whole = replay_source(inbox, checkpoint=checkpoint)
    assert kept.load_partial("filter").n_seen == 50
    again = replay_source(inbox, checkpoint=checkpoint)
    assert np.array_equal(again.predictions.log_probabilities, whole.predictions.log_probabilities)
    changed = [Labelled(b"Subject: another\n\n" + inbox[0].raw, inbox[0].label, "another"), *inbox[1:]]
    with pytest.raises(LabError, match="first 50 messages differ from the interrupted replay"):
        replay_source(changed, checkpoint=checkpoint)


def test_a_result_is_kept_under_its_own_numbers():
    asked = [Feedback(), FEW, Feedback(few=FewLessons(10, 41)), Feedback(few=FewLessons(11, 40))]
    assert len({digest_of({"feedback": each}) for each in asked}) == len(asked)


def test_too_little_mail_is_named():
    with pytest.raises(
        LabError, match=r"of spam there are 2 messages, but 3 are needed, 1 to learn and 2 to judge: name"
    ):
        parts("hhhhshshhh", 1, 2)
    with pytest.raises(LabError, match="of ham there are 0 messages, but 1,500 are needed, 1,000 to learn and 500"):
        parts("", 1000, 500)
    with pytest.raises(LabError, match=r"1.eml has the label 'junk', which is none of ham, spam"):
        replay_source([Labelled(b"Subject: hi", "junk", "1.eml")])


def test_what_makes_no_sense_is_refused():
    with pytest.raises(LabError, match="0 messages of each label cannot be learned"):
        FewLessons(0)
    with pytest.raises(LabError, match="-1 messages of each label cannot be judged"):
        FewLessons(1, -1)
    for late_or_missing in ({"delay": 1}, {"share": 0.5}):
        with pytest.raises(LabError, match="before any message is judged: leave out --delay and --share"):
            Feedback(few=FewLessons(1), **late_or_missing)


@pytest.mark.corpora
def test_few_lessons_suffice_on_real_mail(corpora: Path):
    """Ten lessons of each label, fifty, five hundred; of these the share of spam found where 0.5 % of ham is lost."""
    mail = list(examples(islice(read_index(corpora / "trec07p/full/index"), 4000), OPTIONS.spec, jobs=2))
    figures = {}
    for first in (10, 50, 500):
        [run] = replay(mail, FILTER, OPTIONS.labels, Feedback(few=FewLessons(first, then=500)))
        figures[first] = summary(run.predictions, Costs()).figures
    assert figures[10]["AUC"].estimate >= 0.98
    assert figures[50]["AUC"].estimate >= 0.996
    assert 100 - figures[500]["h=0.5%"].estimate >= 98.5
