"""Lessons are scored just before they are counted: calibration and corrections feed on what was predicted of them.

So this is also where it is decided which scores are worth counting.
"""

from math import isnan
from typing import Final

from priory.bayes import PresenceBayes
from priory.bayes.counts import HeldOut, stored_scores
from priory.features import Features
from priory.memory.memory import Memory
from priory.memory.taught import Taught
from priory.scoring import CERTAIN, held_out, plain_scores, towards

LONGEST_RUN: Final = 30  #: more lessons of one label in a row are an import, not mail as it comes


class Counting:
    """Scores and counts what is new, in its order."""

    def __init__(self, memory: Memory, model: PresenceBayes) -> None:
        self._view = memory.view
        self._lines = memory.lines
        self._labels = memory.labels
        self._model = model
        self._run = (-1, 0)  # the label learned last, and how often in a row

    def count(self, new: list[Taught]) -> list[HeldOut | None]:
        """Count messages; return what was predicted of each just before it was.

        Corrections take the newest lines, but to draw them takes longer than all else. So where recent ones say that
        there is nothing to correct, as for nearly all mail, they do.
        """
        which = {label: i for i, label in enumerate(self._labels)}
        labels = [which[each.label] for each in new]
        run = self._model.run(
            self._view.counts, [(each.buckets, each.offsets) for each in new], labels, self._are_in_turn(labels)
        )
        uncertain: dict[int, HeldOut] = {}
        at = 0
        while True:
            reached = run.learn(at, at + max(self._lines.recent_for + 1, 0), self._lines.last, CERTAIN)
            self._view.generation += reached - at
            at = reached
            if at == len(new):
                break
            plain = run.scores_of(at)
            if isnan(plain[0]):
                self._lines.draw()
            else:
                uncertain[at] = self._count_uncertain(new[at], plain)
                at += 1
        predicted = stored_scores(run.scores, len(self._lines.last))
        for at, each in uncertain.items():
            predicted[at] = each
        return predicted

    def _count_uncertain(self, taught: Taught, plain: list[float]) -> HeldOut:
        """Count a message with these scores; return what the newest lines predict of it."""
        predicted = self._held_out(plain, taught.label)
        self._view.add(taught.buckets, taught.label, predicted)
        return predicted

    def predict(self, taught: Taught) -> HeldOut:
        """Return what the newest lines predict of a message that is not counted."""
        return self._held_out(
            plain_scores(Features(taught.buckets, taught.offsets), self._view.counts, self._model), taught.label
        )

    def _held_out(self, plain: list[float], label: str) -> HeldOut:
        which, n_labels = self._labels.index(label), len(self._labels)
        return held_out(plain, which, n_labels, towards(plain, which, n_labels, self._lines.newest()))

    def _are_in_turn(self, labels: list[int]) -> list[bool]:
        """Tell mail as it comes from a folder of one label: what its lessons would have scored says little."""
        last, n = self._run
        in_turn = []
        for label in labels:
            last, n = label, n + 1 if label == last else 1
            in_turn.append(n <= LONGEST_RUN)
        self._run = last, n
        return in_turn
