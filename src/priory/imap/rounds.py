"""One pass over the folders of a mailbox after the other, by one connection: look, note, learn, move."""

import time
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from shlex import quote

from priory.filter import Filter
from priory.imap import sightings
from priory.imap.options import SCHEME, Account
from priory.imap.session import Fetched, Session, Status
from priory.imap.sightings import (
    INBOX,
    JUNK,
    Arrival,
    Change,
    Entry,
    Gone,
    Look,
    is_filing,
    meaning,
    role_of,
    target_of,
)
from priory.imap.store import Store
from priory.options import Options
from priory.points import ham_label, is_unwanted, spam_label
from priory.reading import Prepared
from priory.server.log import log
from priory.verdict import Verdict, printable


class Rounds:
    """Passes over the folders; `priory.imap.sightings` says in which order, and why."""

    def __init__(self, account: Account, home: Path, options: Options, store: Store, session: Session) -> None:
        self._account = account
        self._home = home
        self._options = options
        labels, unwanted = options.labels, options.unwanted
        self._labels = {
            "ham": ham_label(labels, unwanted),
            "spam": spam_label(labels, unwanted),
            **{meaning(role_of(label)): label for label in account.folders},
        }
        self._store = store
        self._session = session
        self._folders = session.folders()
        self._seen: dict[str, Status] = {}
        self._note(sightings.unwatched(store.state, [folder for folder, _ in self._folders.roles]))

    def has_changed(self) -> bool:
        """Tell whether anything has happened since the last pass."""
        return self._statuses() != self._seen

    def wait(self) -> None:
        """Wait until something happens in the inbox, or it is time to look at the other folders."""
        if self._session.can_idle:
            inbox = self._folders.inbox
            self._session.wait(inbox, self._seen[inbox], self._account.poll)
        elif not self.has_changed():
            time.sleep(self._account.poll)

    def go(self, *, teach_existing: bool = False) -> None:
        """Look at all folders, and do what follows."""
        statuses, state = self._statuses(), self._store.state
        if statuses == self._seen and not state.is_waiting() and not teach_existing:
            return
        roles = self._folders.roles
        looks = [self._session.look(folder, role, statuses[folder], state) for folder, role in roles]
        with Filter.open(self._home, self._options) as filter_:
            for look in sorted(looks, key=lambda look: not is_filing(look.role)):
                self._see(look, filter_, teach_existing=teach_existing)
            self._note(sightings.rescued(state))
            if teach_existing:
                self._note(sightings.existing(state))
            self._learn_due(filter_)
        self._move_due()
        self._seen = statuses

    def _statuses(self) -> dict[str, Status]:
        return {folder: self._session.status(folder) for folder, _ in self._folders.roles}

    def _note(self, changes: Iterable[Change]) -> None:
        self._store.write(changes)

    def _see(self, look: Look, filter_: Filter, *, teach_existing: bool) -> None:
        """Note what is gone from a folder and what has turned up there; learn from it at once where that is due."""
        state = self._store.state
        is_first = look.folder not in state.marks
        changes = sightings.looked(state, look)
        is_anew = any(isinstance(change, sightings.Mark) for change in changes)
        self._note(changes)
        uids = sightings.unseen(state, look)
        if is_anew:
            taught = "yes" if teach_existing else "no"
            about = {"messages": len(uids), "taught": taught} if is_filing(look.role) else {}
            log("first look" if is_first else "numbered anew", folder=shown(look.folder), **about)
        for some in self._session.fetch(look.folder, look.uidvalidity, uids):
            if some:
                read = filter_.prepare_many([each.raw for each in some])
                arrivals = [self._arrival(look, *each, filter_) for each in zip(some, read, strict=True)]
                self._note(sightings.arrived(state, look.folder, arrivals, some[-1].uid + 1))
                self._learn(look.folder, zip(some, read, strict=True), filter_)

    def _arrival(self, look: Look, fetched: Fetched, read: Prepared, filter_: Filter) -> Arrival:
        is_candidate = self._account.move and look.role == INBOX and fetched.is_untouched
        return Arrival(fetched.uid, read.digest, self._place_of(filter_.check(read)) if is_candidate else "")

    def _place_of(self, verdict: Verdict) -> str:
        """Where a message belongs: in the folder of its label, in Junk if nobody wants it; nothing: where it is."""
        if verdict.label in self._account.folders:
            return role_of(verdict.label)
        return JUNK if is_unwanted(verdict) else ""

    def _learn_due(self, filter_: Filter) -> None:
        """Learn what is due and not at hand: what was rescued, and what somebody who was killed has left."""
        lessons = sorted(entry for entry in self._store.state.due() if entry.due in self._labels)
        for folder, entries in groupby(lessons, lambda entry: entry.folder):
            uidvalidity = self._store.state.marks[folder].uidvalidity
            for some in self._session.fetch(folder, uidvalidity, [entry.uid for entry in entries]):
                read = filter_.prepare_many([each.raw for each in some])
                self._learn(folder, zip(some, read, strict=True), filter_)

    def _learn(self, folder: str, messages: Iterable[tuple[Fetched, Prepared]], filter_: Filter) -> None:
        """Learn those of some messages of which that is due; it is durable before it is noted as done."""
        entries = self._store.state.entries
        due = [(entry, read) for each, read in messages if (entry := entries.get((folder, each.uid)))]
        due = [(entry, read) for entry, read in due if entry.due in self._labels]
        lessons = [(read, self._labels[entry.due], f"{SCHEME}{folder}:{entry.uid}") for entry, read in due]
        outcomes = [learned.outcome for group in filter_.learn_many(lessons) for learned in group]
        for (entry, _), outcome in zip(due, outcomes, strict=True):
            log("learned", label=self._labels[entry.due], folder=shown(folder), uid=entry.uid, outcome=outcome)
        self._note(change for entry, _ in due for change in sightings.done(entry))

    def _move_due(self) -> None:
        state = self._store.state
        moves = sorted((entry for entry in state.due() if target_of(entry.due)), key=_from_and_to)
        for (folder, due), several in groupby(moves, _from_and_to):
            entries, role = list(several), target_of(due)
            if (target := self._folders.filing.get(role)) is None:  # the label has no folder any more
                self._note(Gone(entry.folder, entry.uid) for entry in entries)
                continue
            copied = [entry.uid for entry in entries if state.is_in(entry.digest, role)]
            fresh = [entry.uid for entry in entries if entry.uid not in copied]
            self._session.move(folder, state.marks[folder].uidvalidity, fresh, copied, target)
            self._note(change for entry in entries for change in sightings.done(entry))
            for entry in entries:
                log("moved", folder=shown(folder), uid=entry.uid, to=shown(target))


def _from_and_to(entry: Entry) -> tuple[str, str]:
    return entry.folder, entry.due


def shown(text: str) -> str:
    """Return a text as one word of a line."""
    return quote(printable(text))
