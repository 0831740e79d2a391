"""The toolkit beside scikit-learn and river: time and memory of learning and predicting, in one run.

    python benchmarks/toolkit.py [--repeats 7] [--only "CategoricalNB"] [--json FILE]

Every cell draws its own rows. The libraries take turns, each time with a new model: it learns, then it predicts the
same rows for the first time, so that nothing is prepared outside of what is timed. Reported are medians, the ratio of
each pair of turns with its quartiles, and the peak of memory that numpy and Python allocate meanwhile (in a turn of its
own, as watching slows it down). Cells of a few milliseconds have five times as many turns. A ratio above 1 means that
Priory takes less time.
"""

import argparse
import gc
import json
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.discriminant_analysis as discriminant
import sklearn.naive_bayes as theirs
from scipy.sparse import csr_matrix, random_array

import priory.bayes as ours

try:
    from river import naive_bayes as rivers
except ImportError:
    rivers = None

HASHED = 1 << 20
SHORT = 0.02  #: seconds of two turns below which five times as many are taken
Prepared = Callable[[], tuple[Callable[[], Any], Any]]  #: returns what is to be timed, and what must stay alive


@dataclass(frozen=True)
class Case:
    """One cell of the table: an act, by Priory and by a peer, each with a new model."""

    name: str
    act: str
    peer: str
    ours: Prepared
    theirs: Prepared | None


@dataclass(frozen=True)
class Result:
    """The measurements of one cell."""

    name: str
    act: str
    peer: str
    ours_ms: float
    theirs_ms: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    ours_mb: float
    theirs_mb: float | None


class ByHand:
    """Mixed columns with scikit-learn: two models whose log probabilities are added."""

    def __init__(self, n_real: int) -> None:
        self.n_real = n_real

    def fit(self, X: Any, y: Any) -> "ByHand":
        """Fit both."""
        self.real = theirs.GaussianNB().fit(X[:, : self.n_real], y)
        self.codes = theirs.CategoricalNB().fit(X[:, self.n_real :].astype(int), y)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Add the log probabilities of both, and count the prior once."""
        real = self.real.predict_joint_log_proba(X[:, : self.n_real])
        joint = real + self.codes.predict_joint_log_proba(X[:, self.n_real :].astype(int)) - self.codes.class_log_prior_
        joint -= joint.max(axis=1, keepdims=True)
        return np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)


def batches() -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Yield name, our model, theirs, X and y."""
    rng = np.random.default_rng(0)
    for k in (2, 20):
        counts = rng.poisson(0.7, (20_000, 100)).astype(np.float64)
        y = rng.integers(0, k, len(counts))
        words = random_array((20_000, 1 << 16), density=100 / (1 << 16), format="csr", rng=rng, dtype=np.float64)
        words = csr_matrix(words)
        words.sum_duplicates()
        words.data[:] = 1 + rng.poisson(0.3, words.nnz)
        hashed = csr_matrix((words.data, rng.integers(0, HASHED, words.nnz), words.indptr), (words.shape[0], HASHED))
        hashed.sum_duplicates()
        for name, X in (("dense", counts), ("sparse 2^16", words), ("sparse 2^20", hashed)):
            for model in ("BernoulliNB", "MultinomialNB", "ComplementNB"):
                yield f"{model}, {name}, {k} classes", getattr(ours, model), getattr(theirs, model), X, y
    for k in (2, 10):
        y = rng.integers(0, k, 100_000)
        real = rng.normal(size=(len(y), 20)) + y[:, None] / 5
        codes = rng.integers(0, 5, (len(y), 20))
        yield f"GaussianNB, {k} classes", ours.GaussianNB, theirs.GaussianNB, real, y
        yield f"CategoricalNB, {k} classes", ours.CategoricalNB, theirs.CategoricalNB, codes, y
        shared = partial(ours.GaussianDiscriminant, covariance="shared")
        linear = partial(discriminant.LinearDiscriminantAnalysis, solver="lsqr")
        yield f"GaussianDiscriminant shared, {k} classes", shared, linear, real, y
        full = partial(ours.GaussianDiscriminant, covariance="full")
        quadratic = discriminant.QuadraticDiscriminantAnalysis
        yield f"GaussianDiscriminant full, {k} classes", full, quadratic, real, y
        mixed = np.hstack([real[:, :10], codes[:, :10]])
        densities = {column: "gaussian" if column < 10 else "categorical" for column in range(20)}
        chosen = partial(ours.MixedNB, densities=densities)
        yield f"MixedNB, {k} classes (theirs by hand)", chosen, partial(ByHand, 10), mixed, y


def batch_cases() -> Iterator[Case]:
    for name, our, their, X, y in batches():
        yield Case(name, "fit", "scikit-learn", *(_fit(model, X, y) for model in (our, their)))
        yield Case(name, "predict_proba", "scikit-learn", *(_predict(model, X, y) for model in (our, their)))


def _fit(model: Callable[[], Any], X: Any, y: Any) -> Prepared:
    return lambda: (lambda: model().fit(X, y), None)


def _predict(model: Callable[[], Any], X: Any, y: Any) -> Prepared:
    def prepared() -> tuple[Callable[[], Any], Any]:
        fitted = model().fit(X, y)
        return lambda: fitted.predict_proba(X), fitted

    return prepared


def row_cases() -> Iterator[Case]:
    """Yield cases of fifty single rows with 2^20 features, after a thousand rows: learn; learn and predict."""
    rng = np.random.default_rng(1)
    words = csr_matrix((np.ones(100_000), rng.integers(0, HASHED, 100_000), np.arange(0, 100_001, 100)), (1000, HASHED))
    words.sum_duplicates()
    words.data[:] = 1.0
    rows = [words[i] for i in range(len(words.indptr) - 1)]
    named = [{f"w{column}": 1 for column in row.indices} for row in rows]
    for model in ("BernoulliNB", "MultinomialNB", "ComplementNB"):
        name = f"{model}, one row of 100 non-zeros, 2^20 features"
        our, their = getattr(ours, model), getattr(theirs, model)
        for act, predicting in (("partial_fit", False), ("partial_fit, then predict_proba", True)):
            learners = [_stream(m, words, rows[:50], predicting) for m in (our, their)]
            yield Case(name, act, "scikit-learn", *learners)
            if rivers is not None:
                peer = _river_stream(getattr(rivers, model), named, 50, predicting)
                yield Case(name, act, "river", learners[0], peer)


def _stream(model: Callable[[], Any], before: Any, rows: list[Any], predicting: bool) -> Prepared:
    def prepared() -> tuple[Callable[[], Any], Any]:
        fitted = model().partial_fit(before, np.arange(before.shape[0]) % 2, classes=[0, 1])

        def run() -> None:
            for i, row in enumerate(rows):
                fitted.partial_fit(row, [i % 2])
                if predicting:
                    fitted.predict_proba(row)

        return run, fitted

    return prepared


def _river_stream(model: Callable[[], Any], rows: list[dict[str, Any]], n: int, predicting: bool) -> Prepared:
    def prepared() -> tuple[Callable[[], Any], Any]:
        fitted = model()
        for i, row in enumerate(rows):
            fitted.learn_one(row, i % 2)

        def run() -> None:
            for i, row in enumerate(rows[:n]):
                fitted.learn_one(row, i % 2)
                if predicting:
                    fitted.predict_proba_one(row)

        return run, fitted

    return prepared


def gaussian_stream() -> Iterator[Case]:
    """Yield rows of 20 real numbers, one by one, as river needs them."""
    if rivers is None:
        return
    X = np.random.default_rng(2).normal(size=(200, 20))
    named = [{f"x{j}": float(value) for j, value in enumerate(row)} for row in X]
    rows = [row[None] for row in X]
    for act, predicting in (("partial_fit", False), ("partial_fit, then predict_proba", True)):
        our = _stream(ours.GaussianNB, X, rows, predicting)
        peer = _river_stream(rivers.GaussianNB, named, len(named), predicting)
        yield Case("GaussianNB, 200 rows of 20 numbers one by one", act, "river", our, peer)


def dependence_cases() -> Iterator[Case]:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 100_000)
    wide = rng.integers(0, 5, (len(y), 100))
    for name, model, X in (
        ("TreeAugmentedNB, 100,000 × 100", ours.TreeAugmentedNB, wide),
        ("AveragedOneDependence, 100,000 × 20", ours.AveragedOneDependence, wide[:, :20]),
        ("KDependenceNB(k=2), 100,000 × 20", ours.KDependenceNB, wide[:, :20]),
    ):
        yield Case(name, "fit", "-", _fit(model, X, y), None)
        yield Case(name, "predict_proba", "-", _predict(model, X[:10_000], y[:10_000]), None)


def seconds(prepared: Prepared) -> float:
    act, _kept = prepared()
    gc.collect()
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def peak_mb(prepared: Prepared) -> float:
    act, _kept = prepared()
    gc.collect()
    tracemalloc.start()
    act()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def measured(case: Case, repeats: int) -> Result:
    if case.theirs is None:
        ours_s = statistics.median(seconds(case.ours) for _ in range(max(1, repeats // 3)))
        empty = (None, None, None, None)
        return Result(case.name, case.act, case.peer, 1e3 * ours_s, *empty, peak_mb(case.ours), None)
    first = seconds(case.ours), seconds(case.theirs)
    more = 5 * repeats if sum(first) < SHORT else repeats
    pairs = [(seconds(case.ours), seconds(case.theirs)) for _ in range(more)]
    ratios = [them / us for us, them in pairs]
    low, middle, high = statistics.quantiles(ratios, n=4)
    ours_ms, theirs_ms = (1e3 * statistics.median(column) for column in zip(*pairs, strict=True))
    memory = peak_mb(case.ours), peak_mb(case.theirs)
    return Result(case.name, case.act, case.peer, ours_ms, theirs_ms, middle, low, high, *memory)


def line(result: Result) -> str:
    name = f"{result.name}: {result.act}"
    if result.theirs_ms is None:
        return f"{name:88}{'':14}{result.ours_ms:>10.2f}{'':>10}{'':>22}{result.ours_mb:>9.1f}"
    spread = f"{result.ratio:8.1f} ({result.ratio_low:.1f}-{result.ratio_high:.1f})"
    memory = f"{result.ours_mb:>9.1f}{result.theirs_mb:>9.1f}"
    return f"{name:88}{result.peer:14}{result.ours_ms:>10.2f}{result.theirs_ms:>10.2f}{spread:>22}{memory}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", default="", help="cells whose name has this in it")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    arguments = parser.parse_args()
    if rivers is None:
        print("river is not installed, so its cells are left out; to have them: pip install 'priory[bench]'")
    columns = f"{'peer':14}{'ours, ms':>10}{'theirs':>10}{'theirs / ours':>22}{'ours, MB':>9}{'theirs':>9}"
    print(f"{'':88}{columns}")
    results = []
    for cases in (row_cases, gaussian_stream, batch_cases, dependence_cases):
        for case in cases():
            if arguments.only in case.name:
                results.append(measured(case, arguments.repeats))
                print(line(results[-1]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")


if __name__ == "__main__":
    main()
