"""What can be compared, in a line each, for who chooses: the models, and the ways to split what a filter was taught."""

from collections.abc import Mapping
from typing import Final

#: All models that have a name.
MODELS: Final[Mapping[str, str]] = {
    "filter": "the filter as it is set up here: all kinds of features, with corrections",
    "bernoulli": "naive Bayes: which features are there, and which are not",
    "multinomial": "naive Bayes: features drawn one by one",
    "complement": "naive Bayes that counts what the other labels have",
    "neighbours": "the five messages that are most alike",
    "tan": "naive Bayes in which each feature may depend on one other (a tree)",
    "aode": "naive Bayes, averaged over what all others may depend on",
    "kdb": "naive Bayes in which each feature may depend on several others",
    "tree": "a decision tree, pruned",
    "logistic": "logistic regression (scikit-learn)",
    "forest": "a random forest of 200 trees (scikit-learn)",
    "boosting": "boosted trees (scikit-learn)",
    "sklearn-multinomial": "naive Bayes as scikit-learn has it",
}

#: Ways for what a journal has: it keeps no Message-ID to tell threads by, and to leave each message out takes too long.
JOURNAL_WAYS: Final[Mapping[str, str]] = {
    "stratified": "at random, with each label as frequent in every part",
    "k-fold": "at random, wherever the labels fall",
    "random": "a random quarter is judged, each time another",
    "time": "the past is learned, what came next is judged",
    "sender": "all mail of a sender's domain is on one side",
}
