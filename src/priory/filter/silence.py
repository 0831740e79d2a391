"""Learning from mail about which people say nothing.

People who move mail say what is wrong. They say nothing about the rest, which is nearly all of it. So mail that is
checked on arrival is recorded: its scores, what the filter said, and of a sample the features. Some days later a file
of these records is concluded. Messages that people have taught meanwhile show how often people speak; the others are
counted by their scores, and calibration takes what that says (`priory.bayes.silence`). Where people never move
anything, silence says nothing, so all of this begins when they have moved a few messages.

Part of the sample is learned as what its folder says, as *automatic* lessons: only where the filter had decided and
still agrees, and the less, the less people move. Mail that was *unsure* is never presumed to be anything. Automatic
lessons have no predictions, so neither calibration nor corrections feed on them. Whatever a person says about such a
message, before or later, takes the automatic lesson back. docs/decisions/silence.md has the measurements.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from priory.bayes.counts import NO_SCORE, contrasts
from priory.bayes.silence import (
    MOST_MOVED,
    OWN,
    REST,
    UNDECIDED,
    SilenceEstimate,
    SilenceTally,
    bin_of,
    estimate_silence,
    pack_estimates,
    pack_silent,
    unpack_silent,
)
from priory.decision import UNSURE
from priory.features import pack_features, unpack_features
from priory.filter.scoring import CalibrationCache, calibration, log_odds_towards, plain_scores
from priory.journal import AUTOMATIC, Change, Lesson
from priory.journal.checked import (
    CheckedMail,
    CheckedMessage,
    checked_files_due,
    is_recorded,
    read_checked,
)
from priory.journal.silence import RETENTION_DAYS, StoredSilence, Told
from priory.native.table import is_known
from priory.processes.log import log

if TYPE_CHECKING:
    from priory.bayes import PresenceBayes
    from priory.bayes.calibration import Calibration, PresumedOutcomes
    from priory.filter.counts import JournalCounts
    from priory.filter.options import SilenceRules
    from priory.filter.prepare import Prepared
    from priory.filter.verdict import Verdict

MAIL: Final = "mail"  #: the name of the files of mail that passes through the daemon or `priory filter`
SAMPLE: Final = 0.4  #: the share of decided mail whose features are recorded
_SAMPLED: Final = 256 * SAMPLE  # the first byte of the identity of a message in the sample is below,
_LEARNED: Final = 256 * MOST_MOVED  # and the second byte if it may be learned, however much people move
FEWEST_MOVED: Final = 10  #: messages that people must have moved before silence says anything
MOST_AUTOMATIC: Final = 10  #: automatic lessons for each lesson of people
SOURCE: Final = "silence"
_NO_BIN: Final = 0xFFFF  # of a contrast whose label was hardly known when the message was checked


class Conclusion(NamedTuple):
    """What became of a file of checked mail."""

    silent: int = 0  #: messages about which nobody said anything
    told: int = 0  #: messages that people taught
    learned: Mapping[str, int] = {}  #: of the silent messages, by label
    errors: tuple[str, ...] = ()  #: about files that could not be read

    @property
    def figures(self) -> dict[str, int]:
        """The numbers, for the log."""
        return {"silent": self.silent, "told": self.told, "learned": sum(self.learned.values())}


class SilenceStats(NamedTuple):
    """What silence has said so far, in numbers."""

    silent: int  #: messages that were checked and about which nobody said anything
    moved: int  #: messages that people said to be elsewhere than the filter had said
    #: By label: the share of the messages wrongly given that label that people move; empty while that is unknown.
    move_rates: Mapping[str, float]

    def __str__(self) -> str:
        """The numbers in words.

        >>> print(SilenceStats(1234, 56, {"ham": 0.52, "spam": 0.4}))
        1,234 messages left where they were, 56 moved; people seem to move 52 % of false ham, 40 % of false spam
        >>> print(SilenceStats(1234, 5, {}))
        1,234 messages left where they were, 5 moved; silence counts once 10 were moved
        """
        so_far = f"{self.silent:,} messages left where they were, {self.moved:,} moved"
        if not self.move_rates:
            return f"{so_far}; silence counts once {FEWEST_MOVED} were moved"
        shares = ", ".join(f"{100 * rate:.0f} % of false {label}" for label, rate in self.move_rates.items())
        return f"{so_far}; people seem to move {shares}"


class Silence:
    """Takes in mail that was checked, and what people say and do not say about it."""

    def __init__(
        self,
        home: Path,
        counts: "JournalCounts",
        lines: CalibrationCache,
        model: "PresenceBayes",
        rules: "SilenceRules",
    ) -> None:
        self._home = home
        self._counts = counts
        self._journal = counts.journal
        self._labels = counts.labels
        self._contrasts = contrasts(len(counts.labels))
        self._lines = lines
        self._model = model
        self._rules = rules
        self._files: dict[str, CheckedMail] = {}
        self._is_used = False

    @property
    def is_used(self) -> bool:
        """Whether mail is recorded here or counted in the journal, so that what people say is noted."""
        self._is_used = self._is_used or is_recorded(self._home) or self._journal.silence.exists
        return self._is_used

    def start(self) -> None:
        """Note from here on what people say, also if no mail is recorded in this home."""
        with self._journal.writing():
            self._create_tables()
        self._is_used = True

    def _create_tables(self) -> None:
        if not self._journal.silence.exists:
            self._journal.silence.create_tables()

    # Checked mail

    def record(self, message: "Prepared", verdict: "Verdict", program: str = MAIL) -> None:
        """Record a message that has just been checked on arrival."""
        checked = self.checked_message(message, verdict)
        if checked is not None:
            self._file(program).append(checked)

    def checked_message(self, message: "Prepared", verdict: "Verdict") -> CheckedMessage | None:
        """Return what is recorded about a message that has just been checked; None if the filter was not ready.

        Mail that matches a rule is not recorded, either: where it lies is a person's word, not what the scores say.
        """
        if verdict.is_untaught or verdict.is_ruled:
            return None
        identity = message.identity or message.digest
        # A lesson counts for everyone, so what a single user's own evidence decided is not learned.
        is_sampled = identity[0] < _SAMPLED and identity[1] < _LEARNED and verdict.label != UNSURE and not verdict.you
        lines, totals, scores = self._lines.newest(), self._counts.counts.totals, []
        for i, contrast in enumerate(self._contrasts):
            score = verdict.claims[self._labels[contrast]].score
            scores.append(lines[i].score(score.of_line) if is_known(totals, contrast) else NO_SCORE)
        is_sampled = is_sampled and self._rules.learns
        packed = message.packed or pack_features(message.features, self._journal.bits) if is_sampled else b""
        return CheckedMessage(identity, verdict.label, tuple(scores), message.sender, packed)

    def _file(self, program: str) -> CheckedMail:
        file = self._files.get(program)
        if file is None:
            file = self._files[program] = CheckedMail(self._home, program, self._journal.now)
        return file

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()

    # What people say

    def hear(self, told: Sequence[Told]) -> Change | None:
        """Note that people speak about messages, and forget the automatic lessons about them; call inside `changing`.

        Returns the last lesson that was forgotten, if any.
        """
        if self.is_used:
            self._create_tables()
            self._journal.silence.tell(told)
        change = None
        if any(self._counts.automatic):
            for identity in self._journal.labels_of([message.identity for message in told], AUTOMATIC):
                change = self._counts.forget(identity, AUTOMATIC)
        return change

    # What silence says

    def conclude_due(self, program: str = MAIL) -> Conclusion:
        """Conclude the files whose messages have lain for the time of the rules; delete those that are too old.

        A file that cannot be read stays.
        """
        for path in checked_files_due(self._home, program, RETENTION_DAYS - 1, self._journal.now):
            with suppress(OSError):  # what people said about these messages may be deleted: they would look silent
                path.unlink()
        total = Conclusion()
        for path in checked_files_due(self._home, program, self._rules.days, self._journal.now):
            try:
                messages = list(read_checked(path))
            except FileNotFoundError:  # another process has concluded it
                continue
            except OSError as error:
                total = total._replace(errors=(*total.errors, f"cannot read {path}: {error.strerror}"))
                continue
            silent, told, learned, _ = self.conclude(messages, f"{self._journal.node}:{path.absolute()}")
            path.unlink(missing_ok=True)  # a process that is killed here finds the name of the file in the journal
            total = Conclusion(
                total.silent + silent, total.told + told, Counter(total.learned) + Counter(learned), total.errors
            )
        return total

    def conclude(self, messages: Iterable[CheckedMessage], file: str = "") -> Conclusion:
        """Count messages that people have had time to speak about, and learn a sample of the silent ones; durably."""
        notes = self._journal.silence
        with self._counts.changing():
            if file and notes.is_concluded(file):
                return Conclusion()
            self._create_tables()
            self._journal.name_labels(self._labels)
            silent, n_told = self._sort_out({message.identity: message for message in messages})
            without_lesson = self._stored_tallies()
            for message in silent:
                _count(without_lesson, self._labels, message.decision, _packed_bins(message.scores), 1)
            tallies = self._with_lessons(without_lesson)
            learned = []
            if max(tally.n_moved for tally in tallies) >= FEWEST_MOVED:
                self._counts.set_silence(pack_estimates(self._estimates(tallies)))
                learned = self._learn(silent)
            else:
                self._counts.set_silence(b"")
            self._store(without_lesson, learned)
            if file:
                notes.conclude(file, self._journal.now())
            self._journal.mark_change()
        return Conclusion(len(silent), n_told, Counter(message.decision for message in learned))

    def stats(self) -> SilenceStats | None:
        """Return what silence has said so far, in numbers; None if nothing was concluded yet."""
        tallies = self._with_lessons(self._stored_tallies())
        silent, moved = tallies[0].n_silent, max(tally.n_moved for tally in tallies)
        if not (silent or moved):
            return None
        rates = {label: self._move_rate(label) for label in self._labels} if self._counts.silence else {}
        return SilenceStats(silent, moved, rates)

    def _sort_out(self, messages: dict[bytes, CheckedMessage]) -> tuple[list[CheckedMessage], int]:
        """Note what the filter had said about messages that people taught; return the others, and the number taught."""
        notes = self._journal.silence
        told = notes.told(messages)
        for identity, digest_end in told.items():
            if digest_end is not None:
                notes.judge_taught(
                    bytes(digest_end), messages[identity].decision, _packed_bins(messages[identity].scores)
                )
        known = [identity for identity in messages if identity in told]
        silent = [
            message
            for identity, message in messages.items()
            if identity not in told and len(message.scores) == len(self._counts.counts.held_out)
        ]
        return silent, len(known)

    def _stored_tallies(self) -> list[SilenceTally]:
        """Return the tally of each contrast for silent messages without a lesson; those of other labels are dropped."""
        stored = self._journal.silence.load()
        if stored is not None and stored.labels == ",".join(self._labels):
            try:
                return unpack_silent(stored.silent)
            except ValueError as error:
                log(f"{self._journal.name}: {error}; silence is counted anew")
        return [SilenceTally.empty() for _ in self._contrasts]

    def _with_lessons(self, without_lesson: list[SilenceTally]) -> list[SilenceTally]:
        """Return the tallies with the checked messages that have a lesson, too."""
        tallies = [tally.copy() for tally in without_lesson]
        for lessons in self._journal.silence.judged_lessons():
            if lessons.is_automatic:
                _count(tallies, self._labels, lessons.decision, lessons.bins, lessons.n)
            else:
                for tally, contrast in zip(tallies, self._contrasts, strict=True):
                    label = self._labels[contrast]
                    tally.said[_side(lessons.decision, label)][lessons.label == label] += lessons.n
        return tallies

    def _estimates(self, tallies: list[SilenceTally]) -> list[SilenceEstimate]:
        counts, by_people = self._counts.counts, self._counts.by_people

        def estimate(contrast: int, tally: SilenceTally) -> SilenceEstimate:
            def fit(presumed: "PresumedOutcomes") -> "Calibration":
                return calibration(counts, contrast, by_people, presumed=presumed)

            return estimate_silence(tally, counts.outcomes(contrast), fit)

        return [estimate(contrast, tally) for contrast, tally in enumerate(tallies)]

    def _learn(self, silent: list[CheckedMessage]) -> list[CheckedMessage]:
        """Learn the messages of the sample that may be learned; return them."""
        if not self._rules.learns:
            return []
        room = MOST_AUTOMATIC * sum(self._counts.by_people) - sum(self._counts.automatic)
        learned: list[CheckedMessage] = []
        for message in silent:
            if len(learned) < room and self._may_learn(message):
                self._learn_message(message)
                learned.append(message)
        return learned

    def _may_learn(self, message: CheckedMessage) -> bool:
        """Tell whether a message is in the part of the sample that is learned, and the filter still says the same."""
        if not message.features or message.decision not in self._labels:
            return False
        if message.identity[1] >= 256 * self._move_rate(message.decision):
            return False
        if self._journal.users_of(message.identity):
            return False
        which, n_labels = self._labels.index(message.decision), len(self._labels)
        try:
            features = unpack_features(message.features, self._journal.bits)
        except ValueError:  # they were recorded for an earlier journal of this home, which had more buckets
            return False
        plain = plain_scores(features, self._counts.counts, self._model)
        towards = log_odds_towards(plain, which, n_labels, self._lines.newest())
        return towards[0 if n_labels == 2 else which] > 0

    def _move_rate(self, decision: str) -> float:
        """Return how probable it is that people speak about a message that wrongly lies where the filter put it."""
        if len(self._labels) == 2:
            rates = self._counts.silence[0].rates
            return rates.rest if decision == self._labels[1] else rates.own
        return self._counts.silence[self._labels.index(decision)].rates.rest

    def _learn_message(self, message: CheckedMessage) -> None:
        features = unpack_features(message.features, self._journal.bits)
        lesson = Lesson(
            message.identity,
            message.decision,
            message.features,
            None,
            AUTOMATIC,
            SOURCE,
            message.sender,
            self._journal.now(),
            node=self._journal.node,
        )
        self._journal.learn(lesson)
        self._counts.automatic[self._labels.index(message.decision)] += 1
        self._counts.add(features, message.decision, None)

    def _store(self, without_lesson: list[SilenceTally], learned: list[CheckedMessage]) -> None:
        """Store the numbers of silent messages; those with a lesson are noted beside it, and go with it."""
        notes = self._journal.silence
        self._journal.write_lessons()
        for message in learned:
            bins = _packed_bins(message.scores)
            _count(without_lesson, self._labels, message.decision, bins, -1)
            notes.judge(message.identity, AUTOMATIC, message.decision, bins)
        estimate = pack_estimates(self._counts.silence) if self._counts.silence else b""
        notes.store(StoredSilence(",".join(self._labels), pack_silent(without_lesson), estimate))


def _side(decision: str, label: str) -> int:
    """Return which side of a contrast about a label the filter had chosen."""
    if decision == UNSURE:
        return UNDECIDED
    return OWN if decision == label else REST


def _count(tallies: list[SilenceTally], labels: Sequence[str], decision: str, bins: bytes, n: int) -> None:
    """Count silent messages in the tally of each contrast."""
    packed = _struct(len(tallies))
    if packed.size != len(bins):  # they were stored when there were fewer labels
        return
    places = packed.unpack(bins)
    for tally, contrast, place in zip(tallies, contrasts(len(labels)), places, strict=True):
        if place != _NO_BIN:
            tally.silent[_side(decision, labels[contrast])][place] += n


def _packed_bins(scores: Sequence[float]) -> bytes:
    return _struct(len(scores)).pack(*(_NO_BIN if score == NO_SCORE else bin_of(score) for score in scores))


def _struct(n_contrasts: int) -> Struct:
    return Struct(f"<{n_contrasts}H")
