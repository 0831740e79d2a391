"""The toolkit's classifiers beside scikit-learn's on tables of the UCI collection: accuracy in ten folds.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/accuracy.py [--only car vote] [--json FILE]

Everything that is learned, including bins and imputed values, is learned again in each fold. A table has three views:

mixed   the columns as they are, missing values too; scikit-learn has no model for that, so its Gaussian naive Bayes
        gets numbers with the median for missing ones, and names as indicator columns
codes   numbers cut into bins by MDLDiscretiser, names as they are; scikit-learn's categorical naive Bayes cannot sum
        missing values out, so it has them as a value of their own
real    numbers standardised, names as indicator columns, the median for missing values
"""

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB as TheirCategoricalNB
from sklearn.naive_bayes import GaussianNB as TheirGaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from priory import bayes
from tables import Table, load

TABLES = [
    "anneal",
    "autos",
    "balance.scale",
    "breast.cancer",
    "breast.w",
    "car",
    "cmc",
    "colic",
    "credit.a",
    "credit.g",
    "cylinder.bands",
    "dermatology",
    "diabetes",
    "ecoli",
    "glass",
    "haberman",
    "heart.c",
    "heart.h",
    "heart.statlog",
    "hepatitis",
    "hypothyroid",
    "ionosphere",
    "iris",
    "kr.vs.kp",
    "labor",
    "lymph",
    "mushroom",
    "nursery",
    "primary.tumor",
    "segment",
    "sick",
    "sonar",
    "soybean",
    "spambase",
    "splice",
    "tic-tac-toe",
    "vehicle",
    "vote",
    "vowel",
    "wine",
    "zoo",
]

#: view, name, model; a star marks scikit-learn's
MODELS: list[tuple[str, str, Callable[[], Any]]] = [
    ("mixed", "MixedNB", bayes.MixedNB),
    ("mixed", "GaussianNB*", TheirGaussianNB),
    ("codes", "CategoricalNB", bayes.CategoricalNB),
    ("codes", "CategoricalNB*", TheirCategoricalNB),
    ("codes", "TAN", bayes.TreeAugmentedNB),
    ("codes", "AODE", bayes.AveragedOneDependence),
    ("codes", "KDB 2", lambda: bayes.KDependenceNB(k=2)),
    ("real", "GaussianNB", bayes.GaussianNB),
    ("real", "HistogramNB", lambda: bayes.HistogramNB(edges="quantile")),
    ("real", "LDA", lambda: bayes.GaussianDiscriminant(covariance="shared", shrinkage=0.01)),
    ("real", "LDA*", lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.01)),
    ("real", "QDA", lambda: bayes.GaussianDiscriminant(covariance="full", shrinkage=0.1)),
    ("real", "QDA*", lambda: QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1)),
    ("real", "5-NN", bayes.NearestNeighbours),
    ("real", "5-NN*", KNeighborsClassifier),
    ("real", "tree", lambda: bayes.PrunedTree(random_state=0)),
    ("real", "tree*", lambda: DecisionTreeClassifier(random_state=0)),
]


def as_real(table: Table) -> Any:
    names = table.X.columns
    nominal, numeric = list(names[table.nominal]), list(names[~table.nominal])
    steps = [
        ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
        ("names", OneHotEncoder(handle_unknown="ignore", sparse_output=False), nominal),
    ]
    return ColumnTransformer([step for step in steps if step[2]])


def as_codes(table: Table, train: Any, test: Any) -> tuple[Any, Any]:
    """Return numbers in bins learned from the training rows, and names as codes."""
    codes, numeric = table.codes(), ~table.nominal
    learned, asked = codes[train], codes[test]
    if numeric.any():
        cutter = bayes.MDLDiscretiser().fit(learned[:, numeric], table.y[train])
        learned[:, numeric], asked[:, numeric] = (
            cutter.transform(learned[:, numeric]),
            cutter.transform(asked[:, numeric]),
        )
    return learned, asked


def for_theirs(learned: Any, asked: Any) -> tuple[Any, Any, list[int]]:
    """Return codes for scikit-learn's categorical naive Bayes: whole numbers, with one more for missing values."""
    both = np.vstack([learned, asked])
    missing = np.nanmax(np.where(np.isnan(both), 0, both), axis=0) + 1
    n_values = [int(n) + 1 for n in missing]
    both = np.where(np.isnan(both), missing, both).astype(int)
    return both[: len(learned)], both[len(learned) :], n_values


def views(table: Table, train: Any, test: Any) -> dict[tuple[str, bool], tuple[Any, Any, dict[str, Any]]]:
    """Return, by view and library, the training rows, the test rows and the settings."""
    real = as_real(table).fit(table.X.iloc[train])
    numbers = real.transform(table.X.iloc[train]), real.transform(table.X.iloc[test]), {}
    codes = as_codes(table, train, test)
    learned, asked, n_values = for_theirs(*codes)
    return {
        ("mixed", True): (table.X.iloc[train], table.X.iloc[test], {}),
        ("mixed", False): numbers,
        ("codes", True): (*codes, {}),
        ("codes", False): (learned, asked, {"min_categories": n_values}),
        ("real", True): numbers,
        ("real", False): numbers,
    }


def accuracies(table: Table, seed: int = 0) -> dict[str, float]:
    """Return each model's share of right answers over ten folds."""
    right = dict.fromkeys((name for _, name, _ in MODELS), 0.0)
    folds = StratifiedKFold(10, shuffle=True, random_state=seed)
    for train, test in folds.split(table.X, table.y):
        seen = views(table, train, test)
        for view, name, model in MODELS:
            learned, asked, settings = seen[view, not name.endswith("*")]
            right[name] += n_right(model().set_params(**settings), learned, table.y[train], asked, table.y[test])
    return {name: 100 * n / len(table.y) for name, n in right.items()}


def n_right(model: Any, learned: Any, labels: Any, asked: Any, answers: Any) -> float:
    """Return the number of right answers; NaN if scikit-learn refuses the rows, as its QDA does for small classes."""
    try:
        return float((model.fit(learned, labels).predict(asked) == answers).sum())
    except ValueError:
        if not type(model).__module__.startswith("sklearn"):
            raise
        return np.nan


def summary(results: dict[str, dict[str, float]]) -> list[str]:
    """Print the means, and how often models with dependences beat naive Bayes on the same codes."""
    lines = [line("mean", {name: float(np.nanmean([r[name] for r in results.values()])) for _, name, _ in MODELS})]
    for name in ("TAN", "AODE", "KDB 2"):
        gaps = np.array([r[name] - r["CategoricalNB"] for r in results.values()])
        won, lost = int((gaps > 0.05).sum()), int((gaps < -0.05).sum())
        even = len(gaps) - won - lost
        lines.append(f"{name} against CategoricalNB: better {won}, equal {even}, worse {lost}, mean {gaps.mean():+.2f}")
    return lines


def line(name: str, figures: dict[str, float]) -> str:
    return f"{name:<16}" + "".join(f"{figures[model]:>{max(len(model), 5) + 2}.1f}" for _, model, _ in MODELS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=TABLES, help="the tables to use")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    arguments = parser.parse_args()
    if "PRIORY_CORPORA" not in os.environ:
        sys.exit("accuracy.py: set PRIORY_CORPORA to the folder of the corpora")
    warnings.simplefilter("ignore")  # scikit-learn's on classes with fewer rows than folds, and on collinear columns
    print(f"{'accuracy, %':<16}" + "".join(f"{name:>{max(len(name), 5) + 2}}" for _, name, _ in MODELS))
    results = {}
    for name in arguments.only:
        results[name] = accuracies(load(Path(os.environ["PRIORY_CORPORA"]), name))
        print(line(name, results[name]), flush=True)
    print("\n".join(summary(results)))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
