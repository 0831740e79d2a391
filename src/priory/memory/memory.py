"""The journal and its counts, changed together."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from priory.bayes import Calibration, Counts
from priory.journal import AUTOMATIC, Change, Journal, JournalAwayError, JournalError, View
from priory.journal.view import SNAPSHOT_EVERY_IN_BULK
from priory.memory.lines import Lines
from priory.personal import rows_of


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

    def __init__(self, journal: Journal, counts: Path, labels: tuple[str, ...]) -> None:
        self.journal = journal
        self.labels = labels
        self.view = View(journal, labels, counts, rows_of)
        self.lines = Lines(self.view, len(labels))
        try:
            refuse_another_order(self.journal, labels)
        except JournalAwayError as error:
            self.view.following.work_on(error)
        except JournalError:
            self.journal.close()
            raise
        self._has_changed = False

    @property
    def counts(self) -> Counts:
        """The counts as they were last looked at."""
        return self.view.counts

    @property
    def calibrations(self) -> list[Calibration]:
        """The lines from scores to log-odds, drawn anew whenever the counts have changed."""
        return self.lines.newest()

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

    @contextmanager
    def changing(self, *, wait: bool = True) -> Iterator[None]:
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

    def take_back(self, digest: bytes, user: str) -> Change | None:
        """Let one lesson go, if it is there; call inside `changing`."""
        change = self.journal.forget(digest, user)
        if change:
            if user == AUTOMATIC:
                self.view.automatic[self.labels.index(change.label)] -= 1
            self.view.apply(change)
        return change

    def confirm(self, digest: bytes, label: str, user: str, *, right: bool) -> bool:
        """Note that the label of a lesson is right, or that nobody is sure of it; tell whether there is that lesson."""
        with self.journal.writing():
            return self.journal.confirm(digest, user, label, right=right)

    def merge(self, other: Journal) -> dict[str, int]:
        """Take in the lessons of another journal, none of them twice."""
        from priory.journal.merging import merge  # noqa: PLC0415 - a quick start where nobody merges

        if other.bits != self.journal.bits:
            raise JournalError(
                f"{other.name} has 2^{other.bits} buckets and {self.journal.name} 2^{self.journal.bits}."
            )
        unknown = set(other.tally()) - set(self.labels)
        if unknown:
            names = ", ".join(sorted(unknown))
            raise JournalError(f"{other.name} has labels this filter does not know: {names}. Add them to its labels.")
        refuse_another_order(other, self.labels)
        with self.changing():
            self.journal.name_labels(self.labels)
            done = merge(self.journal, other)
            self.view.catch_up()
        self.view.save_if_due(1)
        return done

    def rebuild(self) -> None:
        """Check the journal from end to end, and build the counts from it anew."""
        self.journal.check()
        self.view.rebuild()
