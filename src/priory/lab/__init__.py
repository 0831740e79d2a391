"""The workbench: judge any classifier honestly, and look at the result.

Whatever predicts probabilities can be judged: the toolkit's models, any scikit-learn pipeline, and the filter itself on
its owner's mail. Figures come with intervals, and with a word on whether to believe them.

>>> from sklearn.naive_bayes import BernoulliNB as TheirNB
>>> from priory.bayes import BernoulliNB
>>> from priory.lab import Task, folds, judged, winner_trust
>>> X = [[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0]] * 25              # has "offer", has "lunch", is long
>>> y = ["spam", "spam", "ham", "ham"] * 25
>>> runs = judged({"ours": BernoulliNB(), "theirs": TheirNB()}, Task.of(X, y, folds(y, seed=1)))
>>> [float(run.predictions.errors.mean()) for run in runs]
[0.0, 0.0]

What has a module of its own is imported from there: `priory.lab.replay`, `nested`, `learning_curve`, `leave_one_out`,
`exclusion`, `suspects`, `bayes_error`, `bayes_bounds`, `no_free_lunch`, `measures`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from priory.lab.bench import Bench, Subject, judge
    from priory.lab.error import LabError
    from priory.lab.feedback import Feedback
    from priory.lab.filter_classifier import FilterClassifier
    from priory.lab.interval import Interval
    from priory.lab.judging import Task, judged
    from priory.lab.mail import Mail
    from priory.lab.predictions import Predictions
    from priory.lab.report import Report, page, text
    from priory.lab.run import Run
    from priory.lab.sealed import Sealed, seal
    from priory.lab.splits import Folds, folds, joined, near_duplicates, threads
    from priory.lab.trust import Claim, judgement, winner_trust

__all__ = [
    "Bench",
    "Claim",
    "Feedback",
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
    "Bench": "bench",
    "Claim": "trust",
    "Feedback": "feedback",
    "FilterClassifier": "filter_classifier",
    "Folds": "splits",
    "Interval": "interval",
    "LabError": "error",
    "Mail": "mail",
    "Predictions": "predictions",
    "Report": "report",
    "Run": "run",
    "Sealed": "sealed",
    "Subject": "bench",
    "Task": "judging",
    "folds": "splits",
    "joined": "splits",
    "judge": "bench",
    "judged": "judging",
    "judgement": "trust",
    "near_duplicates": "splits",
    "page": "report",
    "seal": "sealed",
    "text": "report",
    "threads": "splits",
    "winner_trust": "trust",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for: few need all of it, and scikit-learn takes a second to load."""
    if name not in _HOMES:
        raise AttributeError(f"module 'priory.lab' has no attribute {name!r}")
    return getattr(import_module(f"priory.lab.{_HOMES[name]}"), name)
