"""Measures a filter whose teachers are wrong at random: each message is checked, then learned, some with a wrong label.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/wrong_labels.py [--flip 0 0.03 0.1] [--seeds 7 8 9]
    python benchmarks/wrong_labels.py --corpus trec07p/full/index --skip 12000 --messages 8000

The second half of the messages is judged, by the true labels. `--ham` and `--spam` set the rate of each label apart. A
line has 1-ROCA and the expected calibration error (twenty bins of equal size), the same of all mail, the number of ham
lost, the spam missed, the share that is *unsure*, the mean cost, and the estimated rates of wrong labels.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from priory.corpus import read_index
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.prepare import Prepared, prepare

Mail = Sequence[tuple[Prepared, bool]]
N_BINS = 20


def mail_of(index: Path, skip: int, n: int) -> Mail:
    """Return messages of a corpus, and whether each is spam."""
    spec = Spec()
    every = (message for i, message in enumerate(read_index(index)) if skip <= i < skip + n)
    return [(prepare(message.raw, spec), message.label == "spam") for message in every]


def one_minus_area(log_odds: NDArray[np.float64], is_spam: NDArray[np.bool_]) -> float:
    """Return the share of pairs of a ham and a spam in which the ham has the higher log-odds, in percent."""
    ham, spam = np.sort(log_odds[~is_spam]), log_odds[is_spam]
    below = np.searchsorted(ham, spam, "left") + np.searchsorted(ham, spam, "right")
    return float(100 * (1 - below.sum() / 2 / max(len(ham) * len(spam), 1)))


def calibration_error(probability: NDArray[np.float64], is_spam: NDArray[np.bool_]) -> float:
    """Return the expected calibration error in bins of equal size, in percent."""
    bins = np.array_split(np.argsort(probability, kind="stable"), N_BINS)
    return float(
        100 * sum(abs(probability[b].mean() - is_spam[b].mean()) * len(b) for b in bins if len(b)) / len(is_spam)
    )


def judged(mail: Mail, ham_flip: float, spam_flip: float, seed: int) -> dict[str, float]:
    """Check each message, then learn it; return the figures of the second half."""
    random = Random(seed)  # noqa: S311 - mistakes, not secrets
    log_odds, said = [], []
    with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter_:
        for message, is_spam in mail:
            verdict = filter_.check(message)
            log_odds.append(verdict.log_odds)
            said.append(verdict.label)
            is_flipped = random.random() < (spam_flip if is_spam else ham_flip)
            filter_.learn(message, "spam" if is_spam != is_flipped else "ham")
        line = filter_.stats().calibration["spam"]
    half = len(mail) // 2
    odds, answers, truth = np.array(log_odds), np.array(said[half:]), np.array([is_spam for _, is_spam in mail])
    late, probability = truth[half:], 1 / (1 + np.exp(-np.clip(odds, -40, 40)))
    lost, missed = (answers == "spam") & ~late, (answers == "ham") & late
    unsure = answers == "unsure"
    return {
        "1-ROCA": one_minus_area(odds[half:], late),
        "1-ROCA of all": one_minus_area(odds, truth),
        "ECE": calibration_error(probability[half:], late),
        "ECE of all": calibration_error(probability, truth),
        "lost": int(lost.sum()),
        "missed": 100 * missed.sum() / max(late.sum(), 1),
        "unsure": 100 * unsure.mean(),
        "cost": (100 * lost.sum() + 10 * missed.sum() + 4 * unsure.sum()) / len(late),
        "ham as spam": 100 * line.false_positives,
        "spam as ham": 100 * line.false_negatives,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="trec07p/full/index", help="index of a corpus, in PRIORY_CORPORA")
    parser.add_argument("--skip", type=int, default=0, help="messages left out at the beginning")
    parser.add_argument("--messages", type=int, default=8000)
    parser.add_argument("--flip", type=float, nargs="*", default=[0.0, 0.03, 0.1], help="rates of wrong labels")
    parser.add_argument("--ham", type=float, help="the rate of ham that is taught as spam, with --spam")
    parser.add_argument("--spam", type=float, help="the rate of spam that is taught as ham, with --ham")
    parser.add_argument("--seeds", type=int, nargs="+", default=[7])
    asked = parser.parse_args()
    if "PRIORY_CORPORA" not in os.environ:
        sys.exit("Set PRIORY_CORPORA to the folder of corpora: CONTRIBUTING.md says what is in it.")
    mail = mail_of(Path(os.environ["PRIORY_CORPORA"]) / asked.corpus, asked.skip, asked.messages)
    rates = [(flip, flip) for flip in asked.flip]
    if asked.ham is not None or asked.spam is not None:
        rates = [(asked.ham or 0.0, asked.spam or 0.0)]
    for ham_flip, spam_flip in rates:
        for seed in asked.seeds:
            figures = judged(mail, ham_flip, spam_flip, seed)
            shown = ", ".join(f"{name} {value:.4g}" for name, value in figures.items())
            print(f"wrong {ham_flip:.1%} {spam_flip:.1%}, seed {seed}: {shown}", flush=True)


if __name__ == "__main__":
    main()
