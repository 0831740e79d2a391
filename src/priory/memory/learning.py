"""How lessons come: what is new is learned, what had another label is turned round, what was said later counts."""

from priory.bayes import PresenceBayes
from priory.influence import room
from priory.journal import Rank, is_person
from priory.memory.automatic import Automatic
from priory.memory.counting import Counting
from priory.memory.memory import Memory
from priory.memory.rescoring import Rescoring
from priory.memory.taught import Learned, Taught, taught_anew
from priory.table import are_comparable


class Learning:
    """Teaches a memory what people say."""

    def __init__(self, memory: Memory, automatic: Automatic, model: PresenceBayes) -> None:
        self._memory = memory
        self._journal = memory.journal
        self._view = memory.view
        self._automatic = automatic
        self._counting = Counting(memory, model)
        self._rescoring = Rescoring(memory, model)

    def learn(self, taught: list[Taught], user: str, *, late: bool = False) -> list[Learned]:
        """Learn all of these, durably, or none; what comes late may be outdone by what was said since."""
        with self._memory.changing():
            self._journal.name_labels(self._memory.labels)
            self._automatic.leave_to_people([each.letter for each in taught])
            done = self._learn(taught, user, late=late)
            if any(each.outcome != "known" for each in done):
                self._rescoring.score_unscored()
        return done

    def relearn(self, digest: bytes, label: str, user: str, time: float) -> Learned | None:
        """Learn a message anew that is in the journal, by its features there; None if it is not.

        The letter that it is a copy of was left to people when it was learned.
        """
        with self._memory.changing():
            lesson = self._journal.lesson_of(digest, user)
            if lesson is None:
                return None
            self._journal.name_labels(self._memory.labels)
            (done,) = self._learn([taught_anew(lesson, self._journal.bits, label, time, b"")], user)
            if done.outcome != "known":
                self._rescoring.score_unscored()
        return done

    def _learn(self, taught: list[Taught], user: str, *, late: bool = False) -> list[Learned]:
        """Learn what is new, take back what had another label and learn it anew."""
        ranks = self._journal.ranks_of([each.digest for each in taught], user)
        done: list[Learned] = []
        new: list[Taught] = []
        for each in taught:
            was = ranks.get(each.digest)
            if self._is_outdone(each, was, user, late=late):
                done.append(Learned("known", each.digest.hex(), was and was.label))
                continue
            if was:
                self._learn_new(new, user)
                self._memory.take_back(each.digest, user)
                new = []
            new.append(each)
            ranks[each.digest] = Rank(each.time, self._journal.node, each.label)
            done.append(Learned("relearned" if was else "learned", each.digest.hex(), was and was.label))
        self._learn_new(new, user)
        again = [
            (each.digest, each.time)
            for each, learned in zip(taught, done, strict=True)
            if learned.outcome == "known" and learned.was == each.label
        ]
        self._journal.touch(again, user)
        return done

    def _is_outdone(self, taught: Taught, was: Rank | None, user: str, *, late: bool) -> bool:
        """Tell whether a message is not to be learned: it is known, or what was said of it later counts.

        What a machine is taught now is later than all it was taught before, whatever its clock says.
        """
        if was is None:
            return late and self._journal.is_buried(taught.digest, user, taught.time)
        if was.label == taught.label:
            return True
        if was.node == self._journal.node and not late:
            return False
        return was >= (taught.time, self._journal.node, taught.label)

    def _learn_new(self, new: list[Taught], user: str) -> None:
        """Learn messages that are not in the journal, in their order."""
        if not is_person(user):
            self._learn_for_everyone(new, user)
            return
        own, others = self._journal.taught_by(user)
        most = room(own, others, sum(self._view.by_people) - own)
        self._learn_for_everyone(new[:most], user)
        if most is not None:
            self._learn_for_one(new[most:], user)

    def _learn_for_everyone(self, new: list[Taught], user: str) -> None:
        if new:
            node, predicted = self._journal.node, self._counting.count(new)
            self._journal.learn_many(
                each.lesson(held_out, user, node) for each, held_out in zip(new, predicted, strict=True)
            )
            if is_person(user):
                for each, held_out in zip(new, predicted, strict=True):
                    self._view.add_personal(user, each.label, held_out, each.buckets, each.offsets)

    def _learn_for_one(self, new: list[Taught], user: str) -> None:
        """Learn messages that count for the one who taught them alone."""
        for each in new:
            held_out = self._counting.predict(each) if are_comparable(self._view.counts.totals) else None
            self._journal.learn(each.lesson(held_out, user, self._journal.node)._replace(shared=False))
            self._view.add_personal(user, each.label, held_out, each.buckets, each.offsets)
