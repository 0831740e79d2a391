"""Learning what people teach.

A message that is new is learned; one that had another label is forgotten and learned again. Where several machines
share a journal, the later lesson about a message counts. Each lesson is scored just before it is counted: calibration
and corrections rest on these predictions.
"""

from collections.abc import Callable, Iterable, Iterator
from math import isnan
from typing import TYPE_CHECKING, Final, NamedTuple

from priory.bayes import PresenceBayes
from priory.bayes.calibration import FEWEST_WRONG
from priory.bayes.counts import HeldOut, pack_scores
from priory.features import Features, Spec, pack_features, unpack_features
from priory.filter.counts import JournalCounts
from priory.filter.home import refuse_other_label_order
from priory.filter.outcome import LearnResult, LessonOutcome
from priory.filter.personal import shared_room
from priory.filter.prepare import READ_TOGETHER, Extras, Prepared, in_groups, prepare_many
from priory.filter.rescore import Rescorer
from priory.filter.scoring import CERTAIN, CalibrationCache, held_out, log_odds_towards, plain_scores
from priory.filter.silence import Silence
from priory.journal import Journal, JournalError, Lesson, LessonUser, Rank, is_person, require_label
from priory.journal.silence import Told
from priory.native.table import are_comparable

if TYPE_CHECKING:
    from priory.journal.shared.outbox import OutboxEntry

LONGEST_RUN: Final = 30  #: more lessons of one label in a row are an import, not mail as it arrives


class NewLesson(NamedTuple):
    """A message with the label that it is taught, before it is in the journal."""

    digest: bytes
    label: str
    packed: bytes  #: its features, for the journal
    features: Features  #: the same, for the counts
    source: str
    sender: str
    time: float
    identity: bytes  #: the identity that all copies of the message share
    subject: str = ""  #: if the journal keeps subjects

    def row(self, predicted: HeldOut | None, user: LessonUser, node: str) -> Lesson:
        """Return the row of the journal, given the prediction, the user and the machine."""
        digest, label, packed, _, source, sender, when, _, subject = self
        return Lesson(digest, label, packed, predicted, user, source, sender, when, node=node, subject=subject)


def read_lessons(
    lessons: Iterable[tuple[bytes | Prepared, str, str]],
    spec: Spec,
    labels: tuple[str, ...],
    clock: Callable[[], float],
    extras: Extras,
) -> Iterator[NewLesson]:
    """Parse the message of each (message, label, source), and extract its features."""
    for group in in_groups(lessons, _raw_bytes, READ_TOGETHER):
        messages = prepare_many([message for message, _, _ in group], spec, extras)
        for message, (_, label, source) in zip(messages, group, strict=True):
            digest, sender, features, blob, identity, subject = message
            require_label(label, labels)
            stored = blob or pack_features(features, spec.bits)
            now = clock()
            # Without the message: a whole group of lessons is in memory until it is durable.
            bare = Features(features.buckets, features.offsets, named=features.named)
            yield NewLesson(digest, label, stored, bare, source, sender, now, identity or digest, subject)


def _raw_bytes(lesson: tuple[bytes | Prepared, str, str]) -> int:
    return 0 if isinstance(lesson[0], Prepared) else len(lesson[0])


def restored_lesson(stored: "Lesson | OutboxEntry", bits: int, label: str, time: float, identity: bytes) -> NewLesson:
    """Return a lesson about a message whose features are stored, with a label and a time."""
    return NewLesson(
        digest=stored.digest,
        label=label,
        packed=stored.features,
        features=unpack_features(stored.features, bits),
        source=stored.source,
        sender=stored.sender,
        time=time,
        identity=identity,
        subject=stored.subject,
    )


class Trainer:
    """Learns the lessons of people."""

    def __init__(self, counts: JournalCounts, silence: Silence, model: PresenceBayes) -> None:
        self._counts = counts
        self._journal = counts.journal
        self._labels = counts.labels
        self._calibration = CalibrationCache(counts, FEWEST_WRONG)
        self._silence = silence
        self._model = model
        self._rescorer = Rescorer(counts, model)
        self._run = (-1, 0)  # the label learned last, and how often in a row

    def learn(self, lessons: list[NewLesson], user: str, *, late: bool = False) -> list[LearnResult]:
        """Learn all lessons durably, or none; a late one may be outranked by a lesson that was taught since."""
        with self._counts.changing():
            self._journal.name_labels(self._labels)
            self._silence.hear([Told(lesson.identity, lesson.digest, user, lesson.time) for lesson in lessons])
            results = self._learn(lessons, user, late=late)
            if any(result.outcome is not LessonOutcome.KNOWN for result in results):
                self._rescorer.score_unscored()
        return results

    def relearn(self, digest: bytes, label: str, user: str) -> LearnResult | None:
        """Give a lesson another label without the message, by its stored features; None if there is no such lesson.

        Automatic lessons about copies of the message were removed when it was learned.
        """
        require_label(label, self._labels)
        with self._counts.changing():
            lesson = self._journal.lesson_of(digest, user)
            if lesson is None:
                return None
            self._journal.name_labels(self._labels)
            again = restored_lesson(lesson, self._journal.bits, label, self._journal.now(), b"")
            (result,) = self._learn([again], user)
            if result.outcome is not LessonOutcome.KNOWN:
                self._rescorer.score_unscored()
        return result

    def merge(self, other: Journal) -> dict[str, int]:
        """Add the lessons of another journal; a lesson that both have counts once."""
        from priory.journal.transfer import merge  # noqa: PLC0415 - a quick start where nothing is merged

        journal = self._journal
        if other.bits != journal.bits:
            raise JournalError(f"{other.name} has 2^{other.bits} buckets and {journal.name} 2^{journal.bits}.")
        unknown = set(other.tally()) - set(self._labels)
        if unknown:
            names = ", ".join(sorted(unknown))
            raise JournalError(f"{other.name} has labels this filter does not know: {names}. Add them to its labels.")
        refuse_other_label_order(other, self._labels)
        with self._counts.changing():
            journal.name_labels(self._labels)
            done = merge(journal, other)
            self._counts.catch_up()
        self._counts.save_if_due(1)
        return done

    def _learn(self, lessons: list[NewLesson], user: str, *, late: bool = False) -> list[LearnResult]:
        """Learn new messages; forget messages that had another label, and learn them again."""
        ranks = self._journal.ranks_of([lesson.digest for lesson in lessons], user)
        results: list[LearnResult] = []
        new: list[NewLesson] = []
        for lesson in lessons:
            was = ranks.get(lesson.digest)
            if self._is_outranked(lesson, was, user, late=late):
                results.append(LearnResult(LessonOutcome.KNOWN, lesson.digest.hex(), was and was.label))
                continue
            if was:
                self._learn_new(new, user)
                self._counts.forget(lesson.digest, user)
                new = []
            new.append(lesson)
            ranks[lesson.digest] = Rank(lesson.time, self._journal.node, lesson.label)
            outcome = LessonOutcome.RELEARNED if was else LessonOutcome.LEARNED
            results.append(LearnResult(outcome, lesson.digest.hex(), was and was.label))
        self._learn_new(new, user)
        again = [
            lesson
            for lesson, result in zip(lessons, results, strict=True)
            if result.outcome is LessonOutcome.KNOWN and result.was == lesson.label
        ]
        self._journal.touch([(lesson.digest, lesson.time) for lesson in again], user)
        self._journal.subjects.replace([(lesson.digest, lesson.subject) for lesson in again if lesson.subject], user)
        return results

    def _is_outranked(self, lesson: NewLesson, was: Rank | None, user: str, *, late: bool) -> bool:
        """Tell whether a message must not be learned: it is known, or a later lesson about it counts.

        A lesson taught on this machine outranks all earlier ones of this machine, whatever its clock says.
        """
        if was is None:
            return late and self._journal.is_buried(lesson.digest, user, lesson.time)
        if was.label == lesson.label:
            return True
        if was.node == self._journal.node and not late:
            return False
        return was >= (lesson.time, self._journal.node, lesson.label)

    def _learn_new(self, new: list[NewLesson], user: str) -> None:
        """Learn messages that are not in the journal, in their order."""
        if not is_person(user):
            self._learn_for_everyone(new, user)
            return
        own, others = self._journal.n_own_and_other_users(user)
        most = shared_room(own, others, sum(self._counts.by_people) - own)
        self._learn_for_everyone(new[:most], user)
        if most is not None:
            self._learn_for_user(new[most:], user)

    def _learn_for_everyone(self, new: list[NewLesson], user: str) -> None:
        if new:
            node, predicted = self._journal.node, self._count(new)
            self._journal.learn_many(
                lesson.row(prediction, user, node) for lesson, prediction in zip(new, predicted, strict=True)
            )
            if is_person(user):
                for lesson, prediction in zip(new, predicted, strict=True):
                    self._counts.add_personal(user, lesson.label, prediction, lesson.features)

    def _learn_for_user(self, new: list[NewLesson], user: str) -> None:
        """Learn messages that count only for the user who taught them."""
        for lesson in new:
            prediction = self._predict(lesson) if are_comparable(self._counts.counts.totals) else None
            self._journal.learn(lesson.row(prediction, user, self._journal.node)._replace(shared=False))
            self._counts.add_personal(user, lesson.label, prediction, lesson.features)

    def _count(self, new: list[NewLesson]) -> list[HeldOut | None]:
        """Count messages in their order; return the prediction for each, made just before it was counted.

        Corrections need the newest calibration, but computing it takes longer than all else. So where a recent one says
        that there is nothing to correct, as for nearly all mail, the recent one is used.
        """
        which = {label: i for i, label in enumerate(self._labels)}
        labels = [which[lesson.label] for lesson in new]
        run = self._model.learning_run(
            self._counts.counts,
            [(lesson.features.buckets, lesson.features.offsets, lesson.features.named) for lesson in new],
            labels,
            self._are_in_turn(labels),
        )
        uncertain: dict[int, HeldOut] = {}
        at = 0
        while True:
            reached = run.learn(at, at + max(self._calibration.recent_for + 1, 0), self._calibration.last, CERTAIN)
            self._counts.generation += reached - at
            at = reached
            if at == len(new):
                break
            plain = run.scores_of(at)
            if isnan(plain[0]):
                self._calibration.compute()
            else:
                uncertain[at] = self._count_uncertain(new[at], plain)
                at += 1
        predicted = pack_scores(run.scores, len(self._calibration.last))
        for at, prediction in uncertain.items():
            predicted[at] = prediction
        return predicted

    def _count_uncertain(self, lesson: NewLesson, plain: list[float]) -> HeldOut:
        """Count a message that has these scores; return what the newest calibration predicts of it."""
        prediction = self._held_out(plain, lesson.label)
        self._counts.add(lesson.features, lesson.label, prediction)
        return prediction

    def _predict(self, lesson: NewLesson) -> HeldOut:
        """Return what the newest calibration predicts of a message."""
        return self._held_out(plain_scores(lesson.features, self._counts.counts, self._model), lesson.label)

    def _held_out(self, plain: list[float], label: str) -> HeldOut:
        which, n_labels = self._labels.index(label), len(self._labels)
        return held_out(plain, which, n_labels, log_odds_towards(plain, which, n_labels, self._calibration.newest()))

    def _are_in_turn(self, labels: list[int]) -> list[bool]:
        """Tell for each label whether its message is mail as it arrives, not part of an imported folder of one label.

        Predictions for such a folder say little.
        """
        last, n = self._run
        in_turn = []
        for label in labels:
            last, n = label, n + 1 if label == last else 1
            in_turn.append(n <= LONGEST_RUN)
        self._run = last, n
        return in_turn
