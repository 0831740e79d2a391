"""Replay real mail as TREC did: score each message, then learn its label, in order of arrival.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/replay.py [--weight gram=0] [--json FILE]

Each message goes through `Filter.check` and then `Filter.learn`. Printed, for each corpus: 1-ROCA% (how often a random
spam ranks below a random ham, in percent), the spam missed where 0.1 % of the ham is lost, what the default costs
decided, and how far the probabilities are from the truth (expected calibration error over 20 bins). Other filters'
verdict headers are not read.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from priory.corpus import Labelled, read_index
from priory.filter import WEIGHTS, Filter, Options
from priory.verdict import probability

CORPORA = {"trec07p": "trec07p/full/index", "spamassassin": "spamassassin/index"}


def replay(mail: Iterable[Labelled], options: Options) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the log-odds that each message had before it was learned, whether it is spam, and what was said."""
    log_odds, truth, said = [], [], []
    memory = Path("/dev/shm")  # noqa: S108 - a lesson is durable when it is learned, and this is no test of the disk
    with (
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as home,
        Filter.open(home, options) as filter_,
    ):
        for message in mail:
            verdict = filter_.check(message.raw)
            log_odds.append(verdict.log_odds)
            said.append(verdict.label)
            truth.append(message.label == "spam")
            filter_.learn(message.raw, message.label)
    return np.array(log_odds), np.array(truth, int), np.array(said)


def measures(log_odds: np.ndarray, truth: np.ndarray, said: np.ndarray) -> dict[str, float]:
    ham, spam = log_odds[truth == 0], log_odds[truth == 1]
    threshold = np.sort(ham)[::-1][int(0.001 * len(ham))]
    return {
        "messages": len(truth),
        "1-ROCA%": 100 * (1 - roc_auc_score(truth, log_odds)),
        "spam missed at 0.1 % ham lost, %": 100 * float(np.mean(spam <= threshold)),
        "ham lost, %": 100 * float(np.mean(said[truth == 0] == "spam")),
        "spam missed, %": 100 * float(np.mean(said[truth == 1] == "ham")),
        "unsure, %": 100 * float(np.mean(said == "unsure")),
        "calibration error, %": 100 * calibration_error(log_odds, truth),
    }


def calibration_error(log_odds: np.ndarray, truth: np.ndarray, n_bins: int = 20) -> float:
    """Expected calibration error: |mean probability - share of spam|, averaged over bins by their messages."""
    p = np.array([probability(each) for each in log_odds])
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    gaps = [abs(p[bins == b].sum() - truth[bins == b].sum()) for b in range(n_bins)]
    return float(sum(gaps) / len(truth))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("corpora", nargs="*", default=list(CORPORA), help="which of: " + ", ".join(CORPORA))
    parser.add_argument("--weight", action="append", default=[], metavar="KIND=W", help="another weight for a kind")
    arguments = parser.parse_args()
    options = Options(weights={**WEIGHTS, **{kind: float(w) for kind, w in (w.split("=") for w in arguments.weight)}})
    results = {}
    for name in arguments.corpora:
        start = time.perf_counter()
        figures = measures(*replay(read_index(Path(os.environ["PRIORY_CORPORA"]) / CORPORA[name]), options))
        results[name] = figures | {"seconds": time.perf_counter() - start}
    for figure in next(iter(results.values())):
        print(f"{figure:36}" + "".join(f"{results[name][figure]:>14.4f}" for name in results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
