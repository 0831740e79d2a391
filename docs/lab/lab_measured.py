"""Measure the figures in the workbench's pages on real data, in the folder that PRIORY_CORPORA names.

    python docs/lab/lab_measured.py [bayes-error] [which-features] [suspects]

prints what the pages of these names say under "Measured"; it takes five minutes for all.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from priory.bayes import BernoulliNB, HistogramNB, MixedNB, MultinomialNB
from priory.corpus import trec
from priory.decision import Costs
from priory.features.vectorizer import MailVectorizer
from priory.lab.bayes_bounds import from_classifiers, from_neighbours
from priory.lab.confident_learning import confident_learning
from priory.lab.exclusion import exclusion, one_at_a_time
from priory.lab.out_of_fold import out_of_fold
from priory.lab.suspects import suspects

CENSUS = "age workclass weight education years marital occupation relationship race sex gain loss hours country income"
PROTECTED = ["sex", "race", "country", "marital"]
COSTS = Costs(("<=50K", ">50K"), ((0, 1), (5, 0)), unsure=2)


def say(*lines: object) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def mail(index: Path, n_most: int | None = None) -> tuple[Any, Any]:
    """Return the features of a corpus, or of its first messages, that occur twice or more, and the labels."""
    entries = list(trec.entries(index))[:n_most]
    rows = MailVectorizer(bits=16).transform([trec.load(entry) for entry in entries])
    return rows[:, np.flatnonzero(rows.getnnz(axis=0) > 1)], np.array([entry.label for entry in entries])


def models() -> dict[str, Any]:
    """Return the classifiers for mail."""
    return {
        "BernoulliNB": BernoulliNB(alpha=0.1),
        "MultinomialNB": MultinomialNB(alpha=0.1),
        "logistic regression": make_pipeline(Normalizer(), LogisticRegression(C=100)),
    }


def bayes_error(corpora: Path) -> None:
    """Bound the Bayes error of the filter's features on SpamAssassin."""
    rows, labels = mail(corpora / "spamassassin" / "index")
    for n in (500, 1000, 2000, 4000, len(labels)):
        part = np.random.default_rng(0).permutation(len(labels))[:n]
        say(from_neighbours(rows[part], labels[part], metric="jaccard"))
    bound = from_classifiers([out_of_fold(model, rows, labels) for model in models().values()])
    say(f"{list(models())[bound.best]} errs on {bound.error}: the Bayes error is at most {bound.high:.4f}")


def which_features(corpora: Path) -> None:
    """Leave out what should not decide about incomes in the census table."""
    path = corpora / "uci" / "adult.data"
    table = pd.read_csv(path, names=CENSUS.split(), skipinitialspace=True, na_values="?")
    income = table.pop("income").to_numpy()
    numbers = ["age", "weight", "gain", "loss", "hours"]
    model = MixedNB(densities=dict.fromkeys(numbers, HistogramNB(edges="mdl")))
    for excluded in (PROTECTED, [*PROTECTED, "relationship"]):
        say(exclusion(model, table, income, excluded=excluded, costs=COSTS))
    names = [name for name in table.columns if name not in numbers]
    for each in one_at_a_time(model, table, income, groups=names, costs=COSTS):
        say(str(each).replace("\n", ";"))


def wrong_labels(corpora: Path) -> None:
    """Flip labels of SpamAssassin, and of TREC 2007, and look for them."""
    rows, labels = mail(corpora / "spamassassin" / "index")
    for name, model in models().items():
        _search(name, model, rows, labels, 0.02)
    for share in (0.0, 0.005, 0.01, 0.05, 0.1):
        _search("BernoulliNB", models()["BernoulliNB"], rows, labels, share)
    say("TREC 2007, the first 6,000 messages")
    rows, labels = mail(corpora / "trec07p" / "full" / "index", 6000)
    for share in (0.0, 0.005, 0.01, 0.02, 0.05, 0.1):
        _search("BernoulliNB", models()["BernoulliNB"], rows, labels, share)


def _search(name: str, model: Any, rows: Any, labels: Any, share: float) -> None:
    slipped = np.zeros(len(labels), bool)
    slipped[np.random.default_rng(0).choice(len(labels), int(share * len(labels)), replace=False)] = True
    flipped = np.where(slipped, np.where(labels == "ham", "spam", "ham"), labels)
    said = out_of_fold(model, rows, flipped)
    found, other, n = suspects(said), confident_learning(said).order, int(slipped.sum())
    right, theirs = np.cumsum(slipped[found.order]), np.cumsum(slipped[other])
    own = (said.errors ^ slipped).mean()
    say(f"{name}, {share:.1%} flipped ({n}): own errors {own:.2%}, estimated share {found.slip_rate:.2%}")
    for k in (50, 100, n, 2 * n):
        if k:
            say(f"  first {k}: found {right[k - 1]}, expected {found.expected_wrong(k):.1f}")
    say(f"  expected in all {found.expected_wrong():.1f}; above 1/2: {found.n_above(0.5)}")
    if n:
        say(f"  confident learning: {theirs[-1]} of its {len(other)} suspects, {theirs[:n][-1]} of the first {n}")


PAGES: dict[str, Callable[[Path], None]] = {
    "bayes-error": bayes_error,
    "which-features": which_features,
    "suspects": wrong_labels,
}

if __name__ == "__main__":
    for page in sys.argv[1:] or PAGES:
        PAGES[page](Path(os.environ["PRIORY_CORPORA"]))
