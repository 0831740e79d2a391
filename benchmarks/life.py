"""Measures a filter in daily use: a few messages are taught, then people only move what lies in the wrong folder.

    export PRIORY_CORPORA=~/.cache/priory-corpora
    python benchmarks/life.py                             # every protocol: the tables of docs/decisions/silence.md
    python benchmarks/life.py "from 200" "half moved" --skip 20250 --seeds 0 1
    python benchmarks/life.py "from 200" --no-silence     # what people say is all that the filter hears
    python benchmarks/life.py "from 200" --messages 2000 --program recipes/lab/bogofilter

Each protocol is one of `priory lab replay`; --list shows their options. The first messages are learned, the others
judged by their true labels, in four quarters: ham lost (called spam) and ham that is *unsure* in percent of the ham,
spam missed (called ham) in percent of the spam, the mean cost, the mean probability of spam minus the share of spam,
and the expected calibration error (twenty bins of equal width). With several seeds, each figure is their mean, and the
cost of all messages is their median with its range.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from mail import corpus
from priory.corpus import read_index
from priory.decision import Costs
from priory.filter.options import Options
from priory.lab.evaluation import Teaching
from priory.lab.evaluation.feedback import Feedback
from priory.lab.evaluation.replay import replay
from priory.lab.examples import Example, examples, with_progress
from priory.lab.measures.calibration import calibration_error
from priory.lab.measures.confusion_matrix import said
from priory.lab.measures.costs import prices_of
from priory.lab.models.registry import PROGRAM, learner_named
from priory.lab.predictions import Predictions
from progress import progressed
from report import Table, between
from rounds import Spread

MOVE: Final = Feedback(teach=Teaching.MOVE, start=200)
PROTOCOLS: Final[Mapping[str, Feedback]] = {
    "from 200": MOVE,
    "from 50": replace(MOVE, start=50),
    "half moved": replace(MOVE, moved=0.5),
    "fifth moved": replace(MOVE, moved=0.2),
    "nothing moved": replace(MOVE, moved=0.0),
    "Junk unseen": Feedback(teach=Teaching.ONE_SIDED, start=200),
    "three days late": replace(MOVE, days=3.0),
    "all taught, three days late": Feedback(teach=Teaching.DELAYED, start=200, days=3.0),
    "five in 100 wrong": replace(MOVE, flipped=0.05),
    "all taught": Feedback(start=50),
    "200 asked": Feedback(teach=Teaching.ASK, start=50, ask=200),
    "moved, 200 asked": replace(MOVE, start=50, ask=200),
}
COLUMNS: Final = ("ham lost %", "ham unsure %", "spam missed %", "cost", "bias", "ECE %")
FORMS: Final = (".2f", ".1f", ".2f", ".3f", "+.3f", ".1f")
COST: Final = COLUMNS.index("cost")
EVERY: Final = 1000
QUARTERS: Final = 4
COSTS: Final = Costs()
HAM, SPAM, UNSURE = range(3)


def mail_of(index: str, skip: int, n: int, *, with_raw: bool) -> list[Example]:
    """Return messages of a corpus; their bytes are needed by other programs only."""
    messages = islice(read_index(corpus(index)), skip, skip + n)
    mail = with_progress(examples(messages, Options().spec), _counter("reading", n))
    return [example if with_raw else replace(example, raw=None) for example in mail]


def run(mail: Sequence[Example], feedback: Feedback, model: str, *, hears_silence: bool) -> Predictions:
    """Replay the mail; return what the model said."""
    make = partial(learner_named, model, Options(), hears_silence=hears_silence and feedback.leaves_silence)
    shown = with_progress(mail, _counter(str(feedback), len(mail)))
    [judged] = replay(shown, {model: make}, COSTS.labels, feedback)
    return judged.predictions


def figures(predictions: Predictions) -> list[float]:
    """Return the figures of the columns for some predictions.

    >>> some = Predictions.of(["ham", "spam"], ["ham", "ham", "spam", "spam"], [[1, 0], [0.5, 0.5], [0, 1], [0, 1]])
    >>> figures(some)
    [0.0, 50.0, 0.0, 1.0, 0.125, 12.5]
    """
    answers, is_spam = said(predictions, COSTS), predictions.truth == SPAM
    ham, spam = answers[~is_spam], answers[is_spam]
    return [
        100 * float(np.mean(ham == SPAM)),
        100 * float(np.mean(ham == UNSURE)),
        100 * float(np.mean(spam == HAM)),
        float(prices_of(COSTS)[answers, predictions.truth].mean()),
        float(predictions.probabilities[:, SPAM].mean() - is_spam.mean()),
        100 * calibration_error(predictions, n_resamples=2).estimate,
    ]


def row(name: str, runs: Sequence[Predictions]) -> list[str]:
    """Return the figures of each quarter as means of the runs, then the cost of all messages with its range."""
    parts = [[run.take(part) for part in np.array_split(np.arange(len(run)), QUARTERS)] for run in runs]
    means = np.array([[figures(part) for part in quarters] for quarters in parts]).mean(axis=0).T  # [figure, quarter]
    cells = [" / ".join(format(value, form) for value in of) for of, form in zip(means, FORMS, strict=True)]
    costs = [figures(run)[COST] for run in runs]
    return [name, *cells, between(Spread(median(costs), min(costs), max(costs)), 3)]


def _counter(what: str, n: int) -> "partial[None]":
    return partial(_advance, what, n, [0])


def _advance(what: str, n: int, so_far: list[int], more: int) -> None:
    so_far[0] += more
    if so_far[0] % EVERY == 0 or so_far[0] == n:
        progressed(f"{what}: {so_far[0]:,} of {n:,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("protocols", nargs="*", metavar="PROTOCOL", help=f"one of {', '.join(PROTOCOLS)}; all if none")
    parser.add_argument("--list", action="store_true", help="say what each protocol is, and end")
    parser.add_argument("--corpus", default="trec07p/full/index", help="index of a corpus, in PRIORY_CORPORA")
    parser.add_argument("--skip", type=int, default=0, help="messages left out at the beginning")
    parser.add_argument("--messages", type=int, default=10_000, help="messages that are judged")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--no-silence", action="store_true", help="have the filter hear only what people say")
    parser.add_argument("--program", type=Path, help="judge this program, as of priory lab replay --program")
    parser.add_argument("--markdown", action="store_true", help="print tables for a document")
    asked = parser.parse_args()
    if unknown := [name for name in asked.protocols if name not in PROTOCOLS]:
        parser.error(f"there is no protocol {unknown[0]!r}; there are {', '.join(PROTOCOLS)}")
    chosen = {name: PROTOCOLS[name] for name in asked.protocols or PROTOCOLS}
    if asked.list:
        for name, feedback in chosen.items():
            print(f"{name}: {feedback}")
        return
    model = f"{PROGRAM}{asked.program.resolve()}" if asked.program else "filter"
    longest = max(feedback.start for feedback in chosen.values()) + asked.messages
    mail = mail_of(asked.corpus, asked.skip, longest, with_raw=asked.program is not None)
    rows = []
    for name, feedback in chosen.items():
        part = mail[: feedback.start + asked.messages]
        seeds = [replace(feedback, seed=seed) for seed in asked.seeds]
        rows.append(row(name, [run(part, seeded, model, hears_silence=not asked.no_silence) for seeded in seeds]))
    title = f"{asked.corpus} from {asked.skip:,}: {len(part) - feedback.start:,} messages, by quarters"
    columns = ("", *COLUMNS, "cost of all")
    table = Table("life", title, columns, rows)
    print(f"\n{table.as_markdown()}" if asked.markdown else table.as_text())


if __name__ == "__main__":
    main()
