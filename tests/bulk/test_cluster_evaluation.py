"""Evaluation on a cluster gives the same results as here, whatever happens to the workers."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from priory.bayes import BernoulliNB, MultinomialNB
from priory.bulk.cluster import Cluster, opened
from priory.corpus import read_index
from priory.features import Spec
from priory.lab.error import LabError
from priory.lab.evaluation.cross_validation import Task, judged
from priory.lab.examples import examples
from priory.lab.splits import folds

pytestmark = pytest.mark.cluster

random = np.random.default_rng(1)
X = random.integers(0, 2, (300, 40))
y = np.where(X[:, :3].sum(axis=1) + random.normal(0, 0.5, 300) > 1.5, "spam", "ham")
TASK = Task.of(X, y, folds(y, n_folds=6, seed=1))
MODELS = {"Bernoulli": BernoulliNB(), "multinomial": MultinomialNB()}


def assert_same(some, others) -> None:
    for one, two in zip(some, others, strict=True):
        assert one.model == two.model
        assert np.array_equal(one.predictions.log_probabilities, two.predictions.log_probabilities)


def test_models_are_judged_the_same(two_workers: Cluster):
    assert_same(judged(MODELS, TASK, jobs=two_workers), judged(MODELS, TASK))


def test_a_killed_worker_changes_no_figure():
    with opened("local:2") as cluster:
        processes = list(cluster._client.run(os.getpid).values())[:1]

        def killing(_model: str, _fold: int) -> None:
            if processes:
                os.kill(processes.pop(), signal.SIGKILL)

        assert_same(judged(MODELS, TASK, jobs=cluster, done=killing), judged(MODELS, TASK))


def test_a_model_that_fails_on_a_worker_is_named(two_workers: Cluster):
    failed: dict[str, str] = {}
    models = {**MODELS, "broken": DummyClassifier(strategy="no such strategy")}
    runs = judged(models, TASK, jobs=two_workers, failed=failed)
    assert [run.model for run in runs] == list(MODELS)
    assert failed["broken"].startswith("broken failed: InvalidParameterError")
    with pytest.raises(LabError, match="broken failed"):
        judged({"broken": models["broken"]}, TASK, jobs=two_workers)


def test_labelled_mail_is_read_the_same(inbox: Path, two_workers: Cluster):
    def read(jobs) -> list[tuple[object, ...]]:
        return [
            (
                each.name,
                each.label,
                each.raw,
                each.time,
                each.thread,
                each.message.digest,
                bytes(each.message.features.buckets),
            )
            for each in examples(read_index(inbox / "index"), Spec(), jobs)
        ]

    assert read(two_workers) == read(1)
