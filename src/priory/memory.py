"""What a filter has learned: the journal and its counts, changed together.

Each lesson is scored just before it is learned, which is what calibration and corrections feed on; so this is also
where it is decided which scores are worth counting.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Final, NamedTuple

from priory.autolearn import DAY_S, Autolearn, has_room, is_ready
from priory.bayes import Calibration, Counts, PresenceBayes
from priory.bayes.counts import (
    NO_PREDICTION,
    PREDICTION_BYTES,
    HeldOut,
    contrasts,
    predictions,
    stored,
    stored_scores,
)
from priory.bayes.line import n_outcomes
from priory.features import VERSION, Features, Numbers, unpacked
from priory.influence import room
from priory.journal import (
    AUTOMATIC,
    Change,
    Journal,
    JournalAwayError,
    JournalBusyError,
    JournalError,
    Lesson,
    Rank,
    Selection,
    SelectionError,
    Store,
    View,
    is_person,
    may_write,
    merge,
    open_file,
    open_file_to_read,
    open_store,
    open_store_or_later,
)
from priory.journal.view import SNAPSHOT_EVERY_IN_BULK
from priory.personal import rows_of
from priory.scoring import CERTAIN, calibrations, held_out, plain_scores, towards
from priory.table import LEAST_KNOWN, are_comparable, is_known

LONGEST_RUN: Final = 30  #: more lessons of one label in a row are an import, not mail as it comes
SCORED: Final = 200  #: lessons of each label that calibration should at least have seen scored


class Taught(NamedTuple):
    """A message that somebody says is of a label."""

    digest: bytes
    label: str
    features: bytes  #: packed, for the journal
    buckets: Numbers  #: the same, for the counts
    offsets: Numbers
    source: str
    sender: str
    time: float
    letter: bytes  #: its name whoever's copy it is


class Learned(NamedTuple):
    """What learning one message came to: *learned*, *relearned* under another label, *known* already, or *kept*."""

    outcome: str
    digest: str
    was: str | None = None


def refuse_another_order(journal: Journal, labels: tuple[str, ...]) -> None:
    """The scores of a lesson stand in the order of the labels, which therefore must stay as it was."""
    scored = journal.labels()
    if any(was != now for was, now in zip(scored, labels, strict=False)):
        raise JournalError(
            f"{journal.name} was taught with the labels {', '.join(scored)}: name these first and in this "
            "order, new ones after them."
        )


class Memory:
    """A journal and the view of it, with a file for its snapshot."""

    def __init__(
        self,
        journal: Journal,
        counts: Path,
        labels: tuple[str, ...],
        model: PresenceBayes,
        rules: Autolearn | None = None,
    ) -> None:
        self.journal = journal
        self.view = View(journal, labels, counts, rows_of)
        self._labels = labels
        self._model = model
        self._rules = rules
        try:
            refuse_another_order(self.journal, labels)
        except JournalAwayError as error:
            self.view.following.work_on(error)
        except JournalError:
            self.journal.close()
            raise
        self._has_changed = False
        self._run = (-1, 0)  # the label learned last, and how often in a row
        self._lines = [Calibration(0.0, 0.0)] * len(contrasts(len(labels)))
        self._drawn_at = -1  # the generation of the counts that the lines were drawn from,
        self._drawn_from = 0  # and the outcomes in them

    @property
    def counts(self) -> Counts:
        """The counts as they were last looked at."""
        return self.view.counts

    @property
    def calibrations(self) -> list[Calibration]:
        """The lines from scores to log-odds, drawn anew whenever the counts have changed."""
        if self._drawn_at != self.view.generation:
            self._draw_lines()
        return self._lines

    def _draw_lines(self) -> None:
        self._lines, self._drawn_at = calibrations(self.counts, self.view.by_people), self.view.generation
        self._drawn_from = sum(n_outcomes(self.counts.outcomes(0)))

    @property
    def _recent_for(self) -> int:
        """How many more changes the lines may be older than, a hundredth of the outcomes in them; negative: too old."""
        return self._drawn_from // 100 - (self.view.generation - self._drawn_at)

    def abandon(self) -> None:
        """Let go of the files at once."""
        self.view.following.stop()
        self.journal.close()

    def close(self) -> None:
        """Let go of the files; who has changed something leaves a snapshot if one is due."""
        self.view.following.stop()
        try:
            if self._has_changed:
                self.view.save_if_due()
        finally:
            self.journal.close()

    def learn(self, taught: list[Taught], user: str, *, late: bool = False) -> list[Learned]:
        """Learn all of these, durably, or none; what comes late may be outdone by what was said since."""
        with self._changing():
            self.journal.name_labels(self._labels)
            self._leave_to_people([each.letter for each in taught])
            done = self._learn(taught, user, late=late)
            if any(each.outcome != "known" for each in done):
                self._score_unscored()
        return done

    def relearn(self, digest: bytes, label: str, user: str, time: float) -> Learned | None:
        """Learn a message anew that is in the journal, by its features there; None if it is not.

        The letter that it is a copy of was left to people when it was learned.
        """
        with self._changing():
            lesson = self.journal.lesson_of(digest, user)
            if lesson is None:
                return None
            self.journal.name_labels(self._labels)
            (done,) = self._learn([self._taught_anew(lesson, label, time)], user)
            if done.outcome != "known":
                self._score_unscored()
        return done

    def _taught_anew(self, lesson: Lesson, label: str, time: float) -> Taught:
        features = unpacked(lesson.features, self.journal.bits)
        return Taught(
            digest=lesson.digest,
            label=label,
            features=lesson.features,
            buckets=features.buckets,
            offsets=features.offsets,
            source=lesson.source,
            sender=lesson.sender,
            time=time,
            letter=b"",
        )

    def confirm(self, digest: bytes, label: str, user: str, *, right: bool) -> bool:
        """Note that the label of a lesson is right, or that nobody is sure of it; tell whether there is that lesson."""
        with self.journal.writing():
            return self.journal.confirm(digest, user, label, right=right)

    def forget(self, digest: bytes, user: str, letter: bytes = b"", *, late: float | None = None) -> str | None:
        """Take a lesson back exactly, the user's or else an automatic one; return its label, None if there was none.

        A wish that comes late, with the time at which somebody had it, is outdone by what was taught since.
        """
        with self._changing():
            if late is not None and self._was_taught_since(late, digest, user):
                return None
            self.journal.bury([(digest, user)], self.journal.now() if late is None else late)
            automatic = self._leave_to_people([letter]) if letter else None
            change = self._forget(digest, user) or automatic or self._forget(digest, AUTOMATIC)
        return change.label if change else None

    def _was_taught_since(self, time: float, digest: bytes, user: str) -> bool:
        rank = self.journal.rank_of(digest, user)
        return rank is not None and (rank.time, rank.node) > (time, self.journal.node)

    def learn_automatically(self, taught: Taught) -> str:
        """Learn what no person has taught; return *learned*, or why not: *known*, *early*, *full* or *busy*.

        It is not scored, so neither calibration nor corrections feed on it: it would confirm itself. Who finds another
        process writing does not wait.
        """
        try:
            with self._changing(wait=False):
                outcome = self._allowed(taught)
                if outcome == "learned":
                    self.journal.name_labels(self._labels)
                    self.journal.learn(
                        _lesson(taught, None, AUTOMATIC, self.journal.node)._replace(digest=taught.letter)
                    )
                    self.view.automatic[self._labels.index(taught.label)] += 1
                    self.view.add(taught.buckets, taught.label, None)
        except JournalBusyError:
            return "busy"
        return outcome

    def _allowed(self, taught: Taught) -> str:
        if self._rules is None or not is_ready(self._rules, self.counts.n_scored()):
            return "early"
        if self._is_known(taught):
            return "known"
        which = self._labels.index(taught.label)
        by_people, automatic = self.view.by_people[which], self.view.automatic[which]
        today = self.journal.automatic.n_since(taught.label, taught.time - DAY_S) if automatic else 0
        return "learned" if has_room(self._rules, by_people, automatic, today) else "full"

    def _is_known(self, taught: Taught) -> bool:
        """Tell whether there is a lesson about a message, or about the letter that it is a copy of, or was one."""
        self.journal.automatic.begin()
        if self.journal.automatic.is_peoples(taught.letter):
            return True
        return bool(self.journal.users_of(taught.digest) or self.journal.users_of(taught.letter))

    def _leave_to_people(self, letters: list[bytes]) -> Change | None:
        """Take back what was learned automatically of these letters, and note that people had a hand in them.

        Returns the last of what was taken back.
        """
        if self._rules is not None:
            self.journal.automatic.begin()
            self.journal.automatic.leave_to_people(letters)
        change = None
        if any(self.view.automatic):
            for letter in self.journal.labels_of(letters, AUTOMATIC):
                change = self._forget(letter, AUTOMATIC)
        return change

    def forget_many(self, selection: Selection, group: int) -> Iterator[int]:
        """Take back the lessons of a selection; yield how many are durably gone, group by group.

        Which those are is looked up first, while others may write. What is taught or turned round meanwhile stays: the
        lesson that was meant is gone.
        """
        if selection.is_everything:
            raise SelectionError("the selection has all lessons in it: say which to forget")
        meant = iter(self.journal.listing.changes_of(selection))
        while some := list(islice(meant, group)):
            if n_gone := self.forget_chosen(partial(self._buried, some)):
                yield n_gone

    def _buried(self, changes: list[int]) -> list[tuple[bytes, str]]:
        """The lessons that these changes have learned and that are still there, which shall not come back."""
        there = self.journal.listing.still(changes)
        self.journal.bury(there, self.journal.now())
        return there

    def forget_chosen(self, chosen: Callable[[], list[tuple[bytes, str]]], *, wait: bool = True) -> int:
        """Take back lessons, by digest and user, that are chosen when nobody else writes; return how many."""
        with self._changing(wait=wait):
            there = chosen()
            for digest, user in there:
                self._forget(digest, user)
        return len(there)

    def delete_user(self, user: str, group: int) -> Iterator[int]:
        """Take back all lessons of a user and leave no trace of them; yield how many are gone, group by group."""
        yield from self.forget_many(Selection(user=user), group)
        self.view.settle()
        with self.journal.writing():
            self.journal.erase(user)
        self.journal.wipe()

    def merge(self, other: Journal) -> dict[str, int]:
        """Take in the lessons of another journal, none of them twice."""
        if other.bits != self.journal.bits:
            raise JournalError(
                f"{other.name} has 2^{other.bits} buckets and {self.journal.name} 2^{self.journal.bits}."
            )
        unknown = set(other.tally()) - set(self._labels)
        if unknown:
            names = ", ".join(sorted(unknown))
            raise JournalError(f"{other.name} has labels this filter does not know: {names}. Add them to its labels.")
        refuse_another_order(other, self._labels)
        with self._changing():
            self.journal.name_labels(self._labels)
            done = merge(self.journal, other)
            self.view.catch_up()
        self.view.save_if_due(1)
        return done

    def rebuild(self) -> None:
        """Check the journal from end to end, and build the counts from it anew."""
        self.journal.check()
        self.view.rebuild()

    @contextmanager
    def _changing(self, *, wait: bool = True) -> Iterator[None]:
        """Change journal and counts together; if the journal cannot follow, the counts go back with it."""
        has_begun = False
        try:
            with self.journal.writing(wait=wait):
                self.view.catch_up()
                has_begun = True
                yield
                self.view.keep_up()
            self._has_changed = True
        except BaseException:
            if has_begun:
                self.view.invalidate()
            raise
        self.view.save_if_due(SNAPSHOT_EVERY_IN_BULK)

    def _learn(self, taught: list[Taught], user: str, *, late: bool = False) -> list[Learned]:
        """Learn what is new, take back what had another label and learn it anew."""
        ranks = self.journal.ranks_of([each.digest for each in taught], user)
        done: list[Learned] = []
        new: list[Taught] = []
        for each in taught:
            was = ranks.get(each.digest)
            if self._is_outdone(each, was, user, late=late):
                done.append(Learned("known", each.digest.hex(), was and was.label))
                continue
            if was:
                self._learn_new(new, user)
                self._forget(each.digest, user)
                new = []
            new.append(each)
            ranks[each.digest] = Rank(each.time, self.journal.node, each.label)
            done.append(Learned("relearned" if was else "learned", each.digest.hex(), was and was.label))
        self._learn_new(new, user)
        again = [
            (each.digest, each.time)
            for each, learned in zip(taught, done, strict=True)
            if learned.outcome == "known" and learned.was == each.label
        ]
        self.journal.touch(again, user)
        return done

    def _is_outdone(self, taught: Taught, was: Rank | None, user: str, *, late: bool) -> bool:
        """Tell whether a message is not to be learned: it is known, or what was said of it later counts.

        What a machine is taught now is later than all it was taught before, whatever its clock says.
        """
        if was is None:
            return late and self.journal.is_buried(taught.digest, user, taught.time)
        if was.label == taught.label:
            return True
        if was.node == self.journal.node and not late:
            return False
        return was >= (taught.time, self.journal.node, taught.label)

    def _forget(self, digest: bytes, user: str) -> Change | None:
        change = self.journal.forget(digest, user)
        if change:
            if user == AUTOMATIC:
                self.view.automatic[self._labels.index(change.label)] -= 1
            self.view.apply(change)
        return change

    def _learn_new(self, new: list[Taught], user: str) -> None:
        """Learn messages that are not in the journal, in their order."""
        if not is_person(user):
            self._learn_for_everyone(new, user)
            return
        own, others = self.journal.taught_by(user)
        most = room(own, others, sum(self.view.by_people) - own)
        self._learn_for_everyone(new[:most], user)
        if most is not None:
            self._learn_for_one(new[most:], user)

    def _learn_for_everyone(self, new: list[Taught], user: str) -> None:
        if new:
            node, predicted = self.journal.node, self._count(new)
            self.journal.learn_many(
                _lesson(each, held_out, user, node) for each, held_out in zip(new, predicted, strict=True)
            )
            if is_person(user):
                for each, held_out in zip(new, predicted, strict=True):
                    self.view.add_personal(user, each.label, held_out, each.buckets, each.offsets)

    def _learn_for_one(self, new: list[Taught], user: str) -> None:
        """Learn messages that count for the one who taught them alone."""
        for each in new:
            held_out = self._predict(each) if are_comparable(self.counts.totals) else None
            self.journal.learn(_lesson(each, held_out, user, self.journal.node)._replace(shared=False))
            self.view.add_personal(user, each.label, held_out, each.buckets, each.offsets)

    def _count(self, new: list[Taught]) -> list[HeldOut | None]:
        """Count messages; return what was predicted of each just before it was.

        Corrections take the newest lines, but to draw them takes longer than all else. So where recent ones say that
        there is nothing to correct, as for nearly all mail, they do.
        """
        which = {label: i for i, label in enumerate(self._labels)}
        labels = [which[each.label] for each in new]
        run = self._model.run(
            self.counts, [(each.buckets, each.offsets) for each in new], labels, self._are_in_turn(labels)
        )
        uncertain: dict[int, HeldOut] = {}
        at = 0
        while True:
            reached = run.learn(at, at + max(self._recent_for + 1, 0), self._lines, CERTAIN)
            self.view.generation += reached - at
            at = reached
            if at == len(new):
                break
            plain = run.scores_of(at)
            if isnan(plain[0]):
                self._draw_lines()
            else:
                uncertain[at] = self._count_uncertain(new[at], plain)
                at += 1
        predicted = stored_scores(run.scores, len(self._lines))
        for at, each in uncertain.items():
            predicted[at] = each
        return predicted

    def _count_uncertain(self, taught: Taught, plain: list[float]) -> HeldOut:
        """Count a message with these scores; return what the newest lines predict of it."""
        predicted = self._held_out(plain, taught.label)
        self.view.add(taught.buckets, taught.label, predicted)
        return predicted

    def _predict(self, taught: Taught) -> HeldOut:
        """Return what the newest lines predict of a message that is not counted."""
        return self._held_out(
            plain_scores(Features(taught.buckets, taught.offsets), self.counts, self._model), taught.label
        )

    def _held_out(self, plain: list[float], label: str) -> HeldOut:
        which, n_labels = self._labels.index(label), len(self._labels)
        return held_out(plain, which, n_labels, towards(plain, which, n_labels, self.calibrations))

    def _are_in_turn(self, labels: list[int]) -> list[bool]:
        """Tell mail as it comes from a folder of one label: what its lessons would have scored says little."""
        last, n = self._run
        in_turn = []
        for label in labels:
            last, n = label, n + 1 if label == last else 1
            in_turn.append(n <= LONGEST_RUN)
        self._run = last, n
        return in_turn

    def _score_unscored(self) -> None:
        """Give scores to lessons from a time when there was nothing to compare with.

        People teach a folder of ham, then a folder of spam. So that calibration sees both, some lessons of a label that
        lacks scores are forgotten and learned again, which scores them as if they were new. They correct nothing: when
        the second folder begins all of it surprises, and what all mail has in common would end up as evidence for it.
        """
        counts, totals = self.view.counts, self.view.by_people
        if sorted(totals)[-2] < LEAST_KNOWN or not are_comparable(counts.totals, without=1):
            return
        size = PREDICTION_BYTES * len(counts.held_out)
        n_unknown = LEAST_KNOWN if len(self._labels) > 2 else 0
        for label, n, scored in zip(self._labels, totals, counts.n_scored(), strict=True):
            wanted = min(n - n_unknown, SCORED)
            if 2 * scored < wanted:
                for lesson in self.journal.unscored(label, wanted - scored, size):
                    self._learn_again(lesson)
        if len(self._labels) > 2:
            self._score_about_new()

    def _score_about_new(self) -> None:
        """Give scores about a label that has become known to lessons of the others, which were scored before it was.

        Where a few dozen of these are all that lack them, the next ones will do.
        """
        counts, totals = self.view.counts, self.view.by_people
        for i in range(len(self._labels)):
            n_rest, _ = n_outcomes(counts.outcomes(i))
            if is_known(counts.totals, i) and 2 * n_rest < min(sum(totals) - totals[i], SCORED) - SCORED // 2:
                for label in self._labels[:i] + self._labels[i + 1 :]:
                    for lesson in self.journal.predicted_with(label, SCORED, PREDICTION_BYTES * i, NO_PREDICTION):
                        self._learn_again(lesson)

    def _learn_again(self, lesson: Lesson) -> None:
        """Score a lesson, which stays what it was, confirmed if it was."""
        is_confirmed = self.journal.is_confirmed(lesson.digest, lesson.user)
        if self._forget(lesson.digest, lesson.user):
            features, scored = unpacked(lesson.features, self.journal.bits), None
            if are_comparable(self.counts.totals):
                plain = plain_scores(features, self.counts, self._model)
                scored = stored(zip(plain, _corrections(lesson.held_out, len(plain)), strict=True))
            self.journal.learn(lesson._replace(held_out=scored))
            self.view.add(features.buckets, lesson.label, scored)
            self.view.add_personal(lesson.user, lesson.label, scored, features.buckets, features.offsets)
            if is_confirmed:
                self.journal.confirm(lesson.digest, lesson.user, lesson.label)


def _corrections(predicted: HeldOut | None, n: int) -> list[int]:
    """How a lesson has corrected, if it was scored among the same labels."""
    found = [correction for _, correction in predictions(predicted or b"")]
    return found if len(found) == n else [0] * n


def _lesson(taught: Taught, held_out: HeldOut | None, user: str, node: str) -> Lesson:
    digest, label, features, _, _, source, sender, when, _ = taught
    return Lesson(digest, label, features, held_out, user, source, sender, when, node=node)


def open_journal(home: Path, bits: tuple[int, int], store: Store | None) -> tuple[Journal, Path]:
    """Open the journal of a home, wherever it is; return it and the file of its snapshot, which is in the home."""
    if store is not None:
        counts = home / "shared-counts"
        return open_store_or_later(store, VERSION, home, bits), counts
    counts = home / "counts"
    return _opened(home / "journal.sqlite", counts, bits), counts


def open_journal_to_read(home: Path, store: Store | None) -> Journal:
    """Open the journal of a home, wherever it is, and change nothing about it."""
    return open_store(store, VERSION) if store else open_file_to_read(home / "journal.sqlite", VERSION)


def _opened(path: Path, counts: Path, bits: tuple[int, int]) -> Journal:
    """Open the journal of a home, or make one with so many bits; who may only read it can still check mail."""
    is_there = path.exists() and path.stat().st_size > 0
    if counts.exists() and not is_there:
        raise JournalError(
            f"{path} is {'empty' if path.exists() else 'missing'}, but there are counts beside it: restore it from a "
            f"backup, or remove {counts} to start anew."
        )
    if is_there and not (may_write(path) and may_write(path.parent)):
        return open_file_to_read(path, VERSION)
    return open_file(path, VERSION, bits[0], personal_bits=bits[1])
