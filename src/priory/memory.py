"""What a filter has learned: the journal and its counts, changed together.

Each lesson is scored just before it is learned, which is what calibration and corrections feed on; so this is also
where it is decided which scores are worth counting.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from priory.bayes import Calibration, Counts, PresenceBayes
from priory.bayes.counts import PREDICTION_BYTES, HeldOut, predictions, stored
from priory.features import VERSION, Features, unpacked
from priory.journal import Journal, JournalError, Lesson, View
from priory.journal.sqlite import may_write
from priory.journal.view import SNAPSHOT_EVERY_IN_BULK
from priory.scoring import CERTAIN, are_comparable, calibrations, held_out, plain_scores, towards

LONGEST_RUN: Final = 30  #: more lessons of one label in a row are an import, not mail as it comes
SCORED: Final = 200  #: lessons of each label that calibration should at least have seen scored


@dataclass(frozen=True, slots=True)
class Learned:
    """What learning one message came to: *learned*, *relearned* under another label, or *known* already."""

    outcome: str
    digest: str
    was: str | None = None


class Memory:
    """A journal and the view of it, in a folder."""

    def __init__(self, home: Path, labels: tuple[str, ...], bits: int, model: PresenceBayes) -> None:
        self.journal = _opened(home / "journal.sqlite", home / "counts", bits)
        self.view = View(self.journal, labels, home / "counts")
        self._labels = labels
        self._model = model
        try:
            self._refuse_another_order(self.journal)
        except JournalError:
            self.journal.close()
            raise
        self._has_changed = False
        self._run = ("", 0)  # the label learned last, and how often in a row
        self._lines: list[Calibration] = []
        self._drawn_at = -1  # the generation of the counts that the lines were drawn from,
        self._drawn_from = 0  # and the outcomes in them

    def _refuse_another_order(self, journal: Journal) -> None:
        """The scores of a lesson stand in the order of the labels, which therefore must stay as it was."""
        scored = journal.labels()
        if any(was != now for was, now in zip(scored, self._labels, strict=False)):
            raise JournalError(
                f"{journal.path} was taught with the labels {', '.join(scored)}: name these first and in this "
                "order, new ones after them."
            )

    @property
    def counts(self) -> Counts:
        """The counts as they were last looked at."""
        return self.view.counts

    @property
    def calibrations(self) -> list[Calibration]:
        """The lines from scores to log-odds, drawn anew whenever the counts have changed."""
        if self._drawn_at != self.view.generation:
            self._lines, self._drawn_at = calibrations(self.counts), self.view.generation
            self._drawn_from = int(self.counts.held_out[0].sum())
        return self._lines

    @property
    def _recent_calibrations(self) -> list[Calibration]:
        """The lines, or older ones if at most a hundredth as many changes came since as outcomes were in them."""
        is_recent = 100 * (self.view.generation - self._drawn_at) <= self._drawn_from
        return self._lines if is_recent else self.calibrations

    def close(self) -> None:
        """Let go of the files; who has changed something leaves a snapshot if one is due."""
        try:
            if self._has_changed:
                self.view.save_if_due()
        finally:
            self.journal.close()

    def learn(self, lessons: list[tuple[Lesson, Features]], user: str) -> list[Learned]:
        """Learn all of these, durably, or none."""
        with self._changing():
            self.journal.name_labels(self._labels)
            labels = self.journal.labels_of((lesson.digest for lesson, _ in lessons), user)
            done = [self._learn(*each, labels) for each in lessons]
            if any(each.outcome != "known" for each in done):
                self._score_unscored()
        return done

    def forget(self, digest: bytes, user: str) -> str | None:
        """Take a lesson back exactly; return its label, None if there was none."""
        with self._changing():
            change = self.journal.forget(digest, user)
            if change:
                self.view.apply(change)
        return change.label if change else None

    def merge(self, other: Journal) -> dict[str, int]:
        """Take in the lessons of another journal, none of them twice."""
        if other.bits != self.journal.bits:
            raise JournalError(
                f"{other.path} has 2^{other.bits} buckets and {self.journal.path} 2^{self.journal.bits}."
            )
        unknown = set(other.tally()) - set(self._labels)
        if unknown:
            names = ", ".join(sorted(unknown))
            raise JournalError(f"{other.path} has labels this filter does not know: {names}. Add them to its labels.")
        self._refuse_another_order(other)
        with self._changing():
            self.journal.name_labels(self._labels)
            done = self.journal.merge(other.lessons())
            self.view.catch_up()
        self.view.save_if_due(1)
        return done

    def rebuild(self) -> None:
        """Check the journal from end to end, and build the counts from it anew."""
        self.journal.check()
        self.view.rebuild()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Change journal and counts together; if the journal cannot follow, the counts go back with it."""
        try:
            with self.journal.writing():
                self.view.catch_up()
                yield
                self.view.change = self.journal.last_change
            self._has_changed = True
        except BaseException:
            self.view.invalidate()
            raise
        self.view.save_if_due(SNAPSHOT_EVERY_IN_BULK)

    def _learn(self, lesson: Lesson, features: Features, labels: dict[bytes, str]) -> Learned:
        """Learn one of several messages; `labels` has those that were learned before, this one in the end included."""
        was = labels.get(lesson.digest)
        if was == lesson.label:
            return Learned("known", lesson.digest.hex(), was)
        change = self.journal.forget(lesson.digest, lesson.user) if was else None
        if change:
            self.view.apply(change)
        predicted = self._predicted(lesson.label, features) if self._is_in_turn(lesson.label) else None
        self._append(lesson, features, predicted)
        labels[lesson.digest] = lesson.label
        return Learned("relearned" if was else "learned", lesson.digest.hex(), was)

    def _append(self, lesson: Lesson, features: Features, predicted: HeldOut | None) -> None:
        self.journal.learn(lesson._replace(held_out=predicted))
        self.view.add(features.buckets, lesson.label, predicted)

    def _predicted(self, label: str, features: Features) -> HeldOut | None:
        """What is said of a message before it is learned; nothing while labels cannot be compared.

        That takes the newest lines, but to draw them takes longer than all else. So where recent ones say that there is
        nothing to correct, as for nearly all mail, they do.
        """
        if not are_comparable(self.counts):
            return None
        plain = plain_scores(features, self.counts, self._model)
        which, n_labels = self._labels.index(label), len(self._labels)
        log_odds = towards(plain, which, n_labels, self._recent_calibrations)
        if min(log_odds) < CERTAIN:
            log_odds = towards(plain, which, n_labels, self.calibrations)
        return held_out(plain, which, n_labels, log_odds)

    def _is_in_turn(self, label: str) -> bool:
        """Tell mail as it comes from a folder of one label: what its lessons would have scored says little."""
        self._run = (label, self._run[1] + 1 if self._run[0] == label else 1)
        return self._run[1] <= LONGEST_RUN

    def _score_unscored(self) -> None:
        """Give scores to lessons from a time when there was nothing to compare with.

        People teach a folder of ham, then a folder of spam. So that calibration sees both, some lessons of a label that
        lacks scores are forgotten and learned again, which scores them as if they were new. They correct nothing: when
        the second folder begins all of it surprises, and what all mail has in common would end up as evidence for it.
        """
        counts = self.view.counts
        if counts.totals.min() < 10 or not are_comparable(counts, without=1):
            return
        size = PREDICTION_BYTES * len(counts.held_out)
        for label, n, scored in zip(self._labels, counts.totals.tolist(), counts.n_scored(), strict=True):
            wanted = min(n, SCORED)
            if 2 * scored < wanted:
                for lesson in self.journal.unscored(label, wanted - scored, size):
                    self._learn_again(lesson)

    def _learn_again(self, lesson: Lesson) -> None:
        change = self.journal.forget(lesson.digest, lesson.user)
        if change:
            self.view.apply(change)
            features = unpacked(lesson.features, self.journal.bits)
            predicted = self._predicted(lesson.label, features)
            if predicted is not None:
                predicted = stored((score, 0) for score, _ in predictions(predicted))
            self._append(lesson, features, predicted)


def _opened(path: Path, counts: Path, bits: int) -> Journal:
    """Open the journal of a home; who may only read it can still check mail."""
    is_there = path.exists() and path.stat().st_size > 0
    if counts.exists() and not is_there:
        raise JournalError(
            f"{path} is {'empty' if path.exists() else 'missing'}, but there are counts beside it: restore it from a "
            f"backup, or remove {counts} to start anew."
        )
    if is_there and not (may_write(path) and may_write(path.parent)):
        return Journal.open_to_read(path, VERSION)
    return Journal.open(path, VERSION, bits)
