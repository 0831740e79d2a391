"""Measures autolearning in a filter that people rarely teach: the figures of docs/decisions/autolearn.md.

python docs/decisions/autolearn_measured.py INDEX [MESSAGES]

Mail is replayed as it came. People teach the first messages, and later some share of the rest; of what they do not
teach, the filter learns what its rules allow. Every message after the first ones is scored before anything is learned
of it. A day has as many messages as in trec07p: about 830.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from priory.filter.autolearn import DAY_S

from priory.corpus import read_index
from priory.filter.filter import Filter
from priory.filter.options import Autolearn, Options
from priory.lab.examples import Example, examples
from priory.lab.measures import one_minus_roca
from priory.lab.models.filter_classifier import temp_home
from priory.lab.predictions import Predictions

PER_DAY = 830
LABELS = ("ham", "spam")
UNBOUNDED = Autolearn(per_day=10**9, most=1e9)
clock = SimpleNamespace(now=0.0)


@dataclass(frozen=True)
class People:
    """The habits of the people who teach."""

    first: int = 500  #: messages, all of them
    share: float = 0.0  #: share of the later messages that are taught
    corrected: float = 0.0  #: share of the later wrong or unsure messages that are taught
    flipped: float = 0.0  #: share of the first lessons that are wrong


def replayed(mail: Sequence[Example], people: People, rules: Autolearn | None) -> str:
    """Return a row of the table: the accuracy of a filter with these teachers and these rules of autolearning."""
    random = np.random.default_rng(7)
    probabilities, said, truth, learned, wrong = [], [], [], [0, 0], [0, 0]
    with temp_home() as home, Filter.open(home, Options(autolearn=rules)) as filter_:
        filter_.journal.now = lambda: clock.now
        for i, example in enumerate(mail):
            clock.now = i * DAY_S / PER_DAY
            is_told, is_flipped = random.random(2)
            true = LABELS.index(example.label)
            if i < people.first:
                filter_.learn(example.message, LABELS[true ^ (is_flipped < people.flipped)])
                continue
            verdict = filter_.check(example.message)
            probabilities.append(verdict.probabilities["spam"])
            said.append(verdict.label)
            truth.append(true)
            if is_told < (people.share if verdict.label == example.label else max(people.share, people.corrected)):
                filter_.learn(example.message, example.label)
            elif filter_.would_learn(verdict) and filter_.autolearn(example.message, verdict.label) == "learned":
                learned[LABELS.index(verdict.label)] += 1
                wrong[LABELS.index(verdict.label)] += verdict.label != example.label
    return row(np.array(probabilities), np.array(said), np.array(truth), learned, wrong)


def row(p: np.ndarray, said: np.ndarray, truth: np.ndarray, learned: list[int], wrong: list[int]) -> str:
    """Return figures as a row."""
    seen = Predictions.of(list(LABELS), [LABELS[t] for t in truth], np.column_stack([1 - p, p]))
    ham, spam = said[truth == 0], said[truth == 1]
    shares = [np.mean(ham == "spam"), np.mean(spam == "ham"), np.mean(said == "unsure")]
    percent = " | ".join(f"{100 * share:.2f}" for share in shares)
    by_itself = f"{learned[0]:,} + {learned[1]:,} | {wrong[0]} + {wrong[1]}"
    return f"{one_minus_roca(seen).estimate:.4f} | {percent} | {by_itself}"


def main() -> None:
    """Print a table for each kind of people."""
    index, n = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None
    mail = list(islice((replace(each, raw=None) for each in examples(read_index(index), Options().spec)), n))
    rules = {
        "off": None,
        **{f"{c}": Autolearn(certainty=c) for c in (0.99, 0.999, 0.9999)},
        "0.999, any number": replace(UNBOUNDED, certainty=0.999),
        "0.999, after 20": Autolearn(certainty=0.999, after=20),
        "0.9, any number, after 20": replace(UNBOUNDED, certainty=0.9, after=20),
    }
    some = People(share=0.05)
    for people in (
        some,
        replace(some, flipped=0.1),
        replace(some, share=0.1),
        People(1000, corrected=0.5),
        People(1000, corrected=0.5, flipped=0.1),
        People(2000),
    ):
        print(f"\n{people}, {len(mail):,} messages")  # noqa: T201
        print("| autolearning | 1-ROCA % | ham lost % | spam missed % | unsure % | ham + spam learned | wrongly |")  # noqa: T201
        print("|---|---|---|---|---|---|---|")  # noqa: T201
        for name, each in rules.items():
            print(f"| {name} | {replayed(mail, people, each)} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
