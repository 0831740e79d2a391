"""TREC's protocol: score, then learn; late, missing and wrong feedback; several models in one pass; going on later."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from priory.bayes import BernoulliNB
from priory.corpus import Labelled, read_index
from priory.decision import Costs
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.lab.cache import ResultFolder
from priory.lab.error import LabError
from priory.lab.evaluation.feedback import Feedback
from priory.lab.evaluation.replay import Checkpoint, replay
from priory.lab.examples import Example, examples
from priory.lab.measures import summary
from priory.lab.models.learner import FilterLearner, PartialFitLearner, Prediction
from priory.lab.run import MOST_MISTAKES, Run

OPTIONS = Options()
FILTER = {"filter": partial(FilterLearner, OPTIONS)}


def replay_source(inbox: list[Labelled], feedback: Feedback | None = None, **more) -> Run:
    return replay(examples(inbox, OPTIONS.spec), FILTER, OPTIONS.labels, feedback, **more)[0]


@pytest.mark.slow
def test_each_message_is_scored_by_what_came_before_it(inbox, tmp_path):
    run = replay_source(inbox)
    with Filter.open(tmp_path) as filter_:
        expected = []
        for message in inbox:
            expected.append(filter_.check(message.raw).log_odds)
            filter_.learn(message.raw, message.label)
    assert run.predictions.log_odds() == pytest.approx(np.array(expected), abs=1e-9)
    assert run.predictions.names == tuple(message.source for message in inbox)
    assert [OPTIONS.labels[code] for code in run.predictions.truth] == [message.label for message in inbox]


@pytest.mark.slow
def test_two_processes_give_the_same_as_one(inbox):
    [one] = replay(examples(inbox, OPTIONS.spec), FILTER, OPTIONS.labels)
    [two] = replay(examples(inbox, OPTIONS.spec, jobs=2), FILTER, OPTIONS.labels)
    assert np.array_equal(one.predictions.log_probabilities, two.predictions.log_probabilities)


def test_a_label_comes_as_many_messages_late_as_was_said():
    learned: list[tuple[int, str]] = []

    class Recorder(FilterLearner):
        n_scored = 0

        def judge(self, example):
            self.n_scored += 1
            return Prediction(np.log([0.5, 0.5]), "unsure", 4.0)

        def learn(self, example, label):
            learned.append((self.n_scored, label))

    mail = [Labelled(b"Subject: %d" % i, "spam" if i % 2 else "ham", str(i)) for i in range(6)]
    replay(examples(mail, OPTIONS.spec), {"recorder": lambda: Recorder(OPTIONS)}, OPTIONS.labels, Feedback(delay=3))
    assert learned == [(4, "ham"), (5, "spam"), (6, "ham")]


@pytest.mark.slow
def test_wrong_labels_are_taught_but_the_truth_is_judged(inbox):
    right, wrong = replay_source(inbox), replay_source(inbox, Feedback(flipped=1.0))
    assert np.array_equal(right.predictions.truth, wrong.predictions.truth)
    assert wrong.predictions.errors.mean() > 2 * right.predictions.errors.mean()


def test_without_feedback_nothing_is_known(inbox):
    run = replay_source(inbox, Feedback(share=0.0))
    assert set(run.predictions.log_odds().tolist()) == {0.0}
    assert run.protocol == "replay in order, feedback at once for 0 % of the messages"


@pytest.mark.slow
def test_several_models_in_one_pass_say_what_each_says_alone(inbox):
    others = {"bernoulli": lambda: PartialFitLearner(BernoulliNB(), OPTIONS.costs)}
    both = replay(examples(inbox, OPTIONS.spec), FILTER | others, OPTIONS.labels)
    alone = replay(examples(inbox, OPTIONS.spec), others, OPTIONS.labels)
    assert [run.model for run in both] == ["filter", "bernoulli"]
    assert np.array_equal(both[1].predictions.log_probabilities, alone[0].predictions.log_probabilities)
    assert np.array_equal(both[0].predictions.log_probabilities, replay_source(inbox).predictions.log_probabilities)


@pytest.mark.slow
def test_mistakes_have_reasons_and_features_have_weights(inbox):
    run = replay_source(inbox)
    wrong = set(np.flatnonzero(run.predictions.errors).tolist())
    explained = [mistake for mistake in run.mistakes if mistake.reasons]
    assert explained
    assert {mistake.number for mistake in run.mistakes} <= wrong
    assert len(run.mistakes) == min(len(wrong), MOST_MISTAKES)
    assert all(":" in reason.feature for mistake in explained for reason in mistake.reasons)
    assert all(weight.n_examples >= 5 for weight in run.weights)
    assert {"grams:all together"} < {weight.feature for weight in run.weights}


@pytest.mark.slow
def test_an_interrupted_replay_goes_on_where_it_stopped(inbox, tmp_path, monkeypatch):
    monkeypatch.setattr("priory.lab.evaluation.replay.CHECKPOINT_EVERY", 50)
    kept = ResultFolder(tmp_path)
    checkpoint = Checkpoint(kept.load_partial, kept.save_partial)
    whole = replay_source(inbox)
    with pytest.raises(KeyboardInterrupt):
        replay(_until(examples(inbox, OPTIONS.spec), 120), FILTER, OPTIONS.labels, None, checkpoint)
    scored = []

    class Counting(FilterLearner):
        def judge(self, example):
            scored.append(example)
            return super().judge(example)

    [again] = replay(
        examples(inbox, OPTIONS.spec), {"filter": lambda: Counting(OPTIONS)}, OPTIONS.labels, None, checkpoint
    )
    assert len(scored) == len(inbox) - 100
    assert np.array_equal(again.predictions.log_probabilities, whole.predictions.log_probabilities)
    assert [m.number for m in again.mistakes] == [m.number for m in whole.mistakes]
    assert again.mistakes[-1] == whole.mistakes[-1]


def _until(mail, n):
    for i, example in enumerate(mail):
        if i == n:
            raise KeyboardInterrupt
        yield example


def test_going_on_with_other_mail_is_refused(inbox, tmp_path, monkeypatch):
    monkeypatch.setattr("priory.lab.evaluation.replay.CHECKPOINT_EVERY", 50)
    kept = ResultFolder(tmp_path)
    checkpoint = Checkpoint(kept.load_partial, kept.save_partial)
    with pytest.raises(KeyboardInterrupt):
        replay(_until(examples(inbox, OPTIONS.spec), 60), FILTER, OPTIONS.labels, None, checkpoint)
    with pytest.raises(LabError, match=r"first 50 messages differ from the interrupted replay.*--fresh"):
        replay(examples(inbox[1:], OPTIONS.spec), FILTER, OPTIONS.labels, None, checkpoint)


def test_bad_input_is_named():
    with pytest.raises(LabError, match="no mail to replay"):
        replay_source([])
    with pytest.raises(LabError, match=r"1.eml has the label 'junk', which is none of ham, spam: name all labels"):
        replay_source([Labelled(b"Subject: hi", "junk", "1.eml")])
    with pytest.raises(LabError, match="share is a share from 0 to 1, not 2"):
        Feedback(share=2)
    with pytest.raises(LabError, match="flipped is a share from 0 to 1, not -1"):
        Feedback(flipped=-1)
    with pytest.raises(LabError, match="the delay of feedback must be 0 or more, not -5"):
        Feedback(delay=-5)
    with pytest.raises(LabError, match="object has no partial_fit: replay learns message by message"):
        PartialFitLearner(object(), OPTIONS.costs)


def test_one_label_only_is_named_when_it_is_summed_up():
    run = replay_source([Labelled(b"Subject: hi", "ham", "1"), Labelled(b"Subject: ho", "ham", "2")])
    with pytest.raises(LabError, match="spam"):
        summary(run.predictions, Costs())


def test_examples_know_their_thread_and_their_time():
    raw = (
        b"Received: from a by b; Tue, 3 Jun 2003 10:00:00 +0000\n"
        b"Received: from c by a; Tue, 3 Jun 2003 09:00:00 +0000\n"
        b"Date: Mon, 2 Jun 2003 10:00:00 +0000\nMessage-ID: <1@a>\nReferences: <0@a>\n\nhello"
    )
    [example] = examples([Labelled(raw, "ham", "1")], OPTIONS.spec)
    assert isinstance(example, Example)
    assert example.thread == ("<1@a>", "", "<0@a>")
    assert example.time == 1054634400
    [undated] = examples([Labelled(b"Date: yesterday\n\nhello", "ham", "1")], OPTIONS.spec)
    assert np.isnan(undated.time)


#: What docs/accuracy.md says, and a little room for processors that round otherwise.
MEASURED = {
    "trec07p/full/index": {
        "1-ROCA%": 0.0112, "h=0.1%": 0.42, "lam%": 0.18, "ECE%": 0.10,
        "ham lost %": 0.06, "spam missed %": 0.07, "unsure %": 0.60,
    },
    "spamassassin/index": {"1-ROCA%": 0.060, "h=0.1%": 10.6, "lam%": 1.1, "ECE%": 0.68, "ham lost %": 0.13},
}  # fmt: skip


@pytest.mark.corpora
@pytest.mark.parametrize("index", MEASURED)
def test_the_filter_is_as_accurate_on_real_mail_as_documented(index, corpora: Path):
    [run] = replay(examples(read_index(corpora / index), OPTIONS.spec, jobs=2), FILTER, OPTIONS.labels)
    figures = summary(run.predictions, Costs()).figures
    assert {
        name: figures[name].estimate for name, most in MEASURED[index].items() if figures[name].estimate > most
    } == {}


@pytest.mark.corpora
def test_wrong_labels_do_not_ruin_the_filter(corpora: Path):
    """One label in ten is wrong; what is judged is the truth.

    Right labels lose 0.096 % of ham, and wrong ones should lose no more. 0.05 % was kept by a filter that called 24 %
    *unsure* (docs/decisions/wrong-labels.md).
    """
    mail = examples(read_index(corpora / "spamassassin/index"), OPTIONS.spec, jobs=2)
    [run] = replay(mail, FILTER, OPTIONS.labels, Feedback(flipped=0.1))
    figures = summary(run.predictions, Costs()).figures
    assert figures["1-ROCA%"].estimate <= 0.5
    assert figures["ham lost %"].estimate <= 0.1
    assert figures["unsure %"].estimate <= 11
