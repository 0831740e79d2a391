"""The workbench: evaluate any classifier by mail it has not learned, and show the result.

It takes every classifier that predicts probabilities: the toolkit's models, scikit-learn's pipelines, and the filter on
its owner's mail. Every figure has an interval, and every report says how far to trust its best figure.

>>> from sklearn.naive_bayes import BernoulliNB as TheirNB
>>> from priory.bayes import BernoulliNB
>>> from priory.lab import Task, folds, judged, winner_trust
>>> X = [[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0]] * 25              # has "offer", has "lunch", is long
>>> y = ["spam", "spam", "ham", "ham"] * 25
>>> runs = judged({"ours": BernoulliNB(), "theirs": TheirNB()}, Task.of(X, y, folds(y, seed=1)))
>>> [float(run.predictions.errors.mean()) for run in runs]
[0.0, 0.0]

| package or module | purpose |
|---|---|
| `splits` | divide examples into folds, with copies, threads and senders on one side |
| `models` | models by name, and the filter as a classifier |
| `evaluation` | cross-validation, nested choice, learning curves, leave-one-out, replay |
| `measures` | figures with intervals, and tests of differences |
| `trust` | whether to believe an error rate |
| `label_errors` | labels that look wrong |
| `limits` | the Bayes error, and why no classifier is best for everything |
| `report` | a report as a page, as text, as JSON |
| `test_set` | a test set that counts how often it was used |
| `cache` | results on disk |
| `track_record`, `cost_trial` | a filter judged by its predictions for its own lessons |
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from priory.lab.error import LabError
    from priory.lab.evaluation.bench import Bench, Subject, judge
    from priory.lab.evaluation.cross_validation import Task, judged
    from priory.lab.evaluation.feedback import Feedback, FewLessons
    from priory.lab.mail import Mail
    from priory.lab.measures.interval import Interval
    from priory.lab.models.filter_classifier import FilterClassifier
    from priory.lab.predictions import Predictions
    from priory.lab.report import Report, page, text
    from priory.lab.run import Run
    from priory.lab.splits import Folds, folds, joined, near_duplicates, threads
    from priory.lab.test_set import Sealed, seal
    from priory.lab.trust import ErrorClaim, judgement, winner_trust

__all__ = [
    "Bench",
    "ErrorClaim",
    "Feedback",
    "FewLessons",
    "FilterClassifier",
    "Folds",
    "Interval",
    "LabError",
    "Mail",
    "Predictions",
    "Report",
    "Run",
    "Sealed",
    "Subject",
    "Task",
    "folds",
    "joined",
    "judge",
    "judged",
    "judgement",
    "near_duplicates",
    "page",
    "seal",
    "text",
    "threads",
    "winner_trust",
]

_HOMES = {
    "Bench": "evaluation.bench",
    "ErrorClaim": "trust",
    "Feedback": "evaluation.feedback",
    "FewLessons": "evaluation.feedback",
    "FilterClassifier": "models.filter_classifier",
    "Folds": "splits",
    "Interval": "measures.interval",
    "LabError": "error",
    "Mail": "mail",
    "Predictions": "predictions",
    "Report": "report",
    "Run": "run",
    "Sealed": "test_set",
    "Subject": "evaluation.bench",
    "Task": "evaluation.cross_validation",
    "folds": "splits",
    "joined": "splits",
    "judge": "evaluation.bench",
    "judged": "evaluation.cross_validation",
    "judgement": "trust",
    "near_duplicates": "splits",
    "page": "report",
    "seal": "test_set",
    "text": "report",
    "threads": "splits",
    "winner_trust": "trust",
}


def __getattr__(name: str) -> Any:
    """Load a name on first use: scikit-learn takes a second to load, and few callers need all of it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'priory.lab' has no attribute {name!r}")
    return getattr(import_module(f"priory.lab.{_HOMES[name]}"), name)
