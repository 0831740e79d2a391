"""Models that the workbench can evaluate, and the ways to split the mail of a journal.

This file has only descriptions, so that the daemon can list them without loading scikit-learn.
"""

from collections.abc import Mapping
from typing import Any, Final

#: The models that can be chosen by name.
MODELS: Final[Mapping[str, str]] = {
    "filter": "the filter as configured here: all kinds of features, with corrections",
    "bernoulli": "naive Bayes on the presence and absence of features",
    "multinomial": "naive Bayes on the features present, drawn one by one",
    "complement": "naive Bayes on the counts of the other labels",
    "neighbours": "the five most similar messages",
    "tan": "naive Bayes in which each feature may depend on one other (a tree)",
    "aode": "naive Bayes, averaged over the feature that all others may depend on",
    "kdb": "naive Bayes in which each feature may depend on several others",
    "tree": "a decision tree, pruned",
    "logistic": "logistic regression (scikit-learn)",
    "forest": "a random forest of 200 trees (scikit-learn)",
    "boosting": "boosted trees (scikit-learn)",
    "sklearn-multinomial": "multinomial naive Bayes (scikit-learn)",
}

#: The ways to split a journal. It stores no Message-ID to find threads by, and leave-one-out would take too long.
JOURNAL_SPLITS: Final[Mapping[str, str]] = {
    "stratified": "at random, with each label equally frequent in every part",
    "k-fold": "at random, regardless of labels",
    "random": "a random quarter is judged, each time another",
    "time": "the past is learned, the following messages are judged",
    "sender": "all mail of a sender's domain is on one side",
}


def dense(X: Any) -> Any:
    """Return a sparse matrix as a table with its zeros written out."""
    # Defined here because digests of models in the log of attempts contain this module's name.
    return X.toarray()
