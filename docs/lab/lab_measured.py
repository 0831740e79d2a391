"""Measures the figures in the workbench's pages on real data, in the folder in PRIORY_CORPORA.

    python docs/lab/lab_measured.py [splits] [bayes-error] [which-features] [suspects]

prints the figures under "Measured" in the pages of these names; all together take seven minutes.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from priory.bayes import BernoulliNB, HistogramNB, MixedNB, MultinomialNB
from priory.corpus import trec
from priory.decision import Costs
from priory.features.vectorizer import MailVectorizer
from priory.lab.evaluation.cross_validation import out_of_fold
from priory.lab.evaluation.exclusion import exclusion, one_at_a_time
from priory.lab.label_errors import suspects
from priory.lab.label_errors.confident_learning import confident_learning
from priory.lab.limits.bayes_bounds import from_classifiers, from_neighbours
from priory.lab.splits import folds, joined, near_duplicates, threads
from priory.message import parse

CENSUS = "age workclass weight education years marital occupation relationship race sex gain loss hours country income"
PROTECTED = ["sex", "race", "country", "marital"]
COSTS = Costs(("<=50K", ">50K"), ((0, 1), (5, 0)), unsure=2)


def say(*lines: object) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def mail(index: Path, n_most: int | None = None) -> tuple[Any, Any]:
    """Return the features that occur at least twice in a corpus, or in its first messages, and the labels."""
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


def near_copies(corpora: Path) -> None:
    """Count near-duplicates and threads, time the search, and measure the effect of ignoring them."""
    for name in ("spamassassin/index", "trec07p/full/index"):
        raws, labels = _raw(corpora / name)
        rows = MailVectorizer(kinds=("word", "pair")).transform(raws)
        for similarity in (0.9, 0.8, 0.5):
            start = time.perf_counter()
            copies = near_duplicates(rows, similarity)
            seconds, sizes = time.perf_counter() - start, np.bincount(copies)
            twins = labels[sizes[copies] > 1]
            say(f"{name} at {similarity}: {seconds:.1f} s, {len(sizes)} groups, the largest of {sizes.max()}")
            say(f"  with a near-duplicate: {len(twins)}, of them spam {np.sum(twins == 'spam')}")
        copies = near_duplicates(rows)
        met = [np.isin(copies[test], copies[train]).sum() for train, test in folds(labels, seed=0)]
        say(f"  judged after a copy was learned: {sum(met)}; {folds(labels, 'time', groups=copies).description}")
        talks = threads(map(parse, raws))
        mixed = sum(len(set(labels[talks == talk])) > 1 for talk in np.flatnonzero(np.bincount(talks) > 1))
        say(f"  {talks.max() + 1} threads, {(np.bincount(talks)[talks] > 1).sum()} messages in one, {mixed} mixed")
        if name.startswith("spamassassin"):
            _optimism(rows[:, np.unique(rows.indices)], labels, {"copies": copies, "threads": joined(copies, talks)})


def _raw(index: Path) -> tuple[list[bytes], Any]:
    entries = list(trec.entries(index))
    return [trec.load(entry) for entry in entries], np.array([entry.label for entry in entries])


def _optimism(rows: Any, y: Any, ways: dict[str, Any]) -> None:
    for model in (KNeighborsClassifier(1, metric="cosine"), BernoulliNB(alpha=0.01), MultinomialNB()):
        for name, groups in {"alone": None, **ways}.items():
            wrong = np.array(
                [cross_val_predict(model, rows, y, cv=folds(y, seed=s, groups=groups)) != y for s in range(5)]
            )
            errors, missed = 100 * wrong.mean(), 100 * wrong[:, y == "spam"].mean()
            say(f"  {model}, {name}: {errors:.2f}; spam missed {missed:.2f}")


def bayes_error(corpora: Path) -> None:
    """Bound the Bayes error of the filter's features on SpamAssassin."""
    rows, labels = mail(corpora / "spamassassin" / "index")
    for n in (500, 1000, 2000, 4000, len(labels)):
        part = np.random.default_rng(0).permutation(len(labels))[:n]
        say(from_neighbours(rows[part], labels[part], metric="jaccard"))
    bound = from_classifiers([out_of_fold(model, rows, labels) for model in models().values()])
    say(f"{list(models())[bound.best]} errs on {bound.error}: the Bayes error is at most {bound.high:.4f}")


def which_features(corpora: Path) -> None:
    """Leave out columns of the census table that should not decide about incomes."""
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
    """Flip labels of SpamAssassin and of TREC 2007, and search for them."""
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
    "splits": near_copies,
    "bayes-error": bayes_error,
    "which-features": which_features,
    "suspects": wrong_labels,
}

if __name__ == "__main__":
    for page in sys.argv[1:] or PAGES:
        PAGES[page](Path(os.environ["PRIORY_CORPORA"]))
