"""Watches the folders of a mailbox: records changes, learns and moves mail, and waits.

One connection does everything, because providers limit connections. If the server has IDLE, it waits in the inbox, so
that new spam is moved before the user sees it. The other folders are polled: a lesson can wait a minute.
"""

import random
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import Final

from priory import decision
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.prepare import Prepared
from priory.filter.spamassassin import ham_label, is_unwanted, spam_label
from priory.filter.verdict import Verdict
from priory.html.text import printable
from priory.imap import sightings
from priory.imap.account import SCHEME, Account
from priory.imap.session import TEMPORARY_ERRORS, FetchedMessage, FolderStatus, Session, UntrustedError, describe
from priory.imap.sightings import (
    INBOX,
    JUNK,
    UNSURE,
    Arrival,
    Due,
    FolderListing,
    FolderMark,
    MailTask,
    Role,
    SightingRemoved,
    role_of,
)
from priory.imap.store import SightingStore
from priory.journal import JournalError
from priory.journal.checked import CheckedMailError, checked_files_due
from priory.processes.log import log

PROGRAM: Final = "imap"  #: the name of the files of mail that is checked in a mailbox
MAX_PAUSE_S: Final = 300.0  #: between two attempts to connect


class FolderPasses:
    """Passes over the folders by one connection; `priory.imap.sightings` explains their order."""

    def __init__(self, account: Account, home: Path, options: Options, store: SightingStore, session: Session) -> None:
        self._account = account
        self._home = home
        self._options = options
        labels, unwanted = options.labels, options.unwanted
        self._label_of: dict[Role, str] = {  # that is taught
            INBOX: ham_label(labels, unwanted),
            JUNK: spam_label(labels, unwanted),
            **{role_of(label): label for label in account.folders},
        }
        self._store = store
        self._session = session
        self._folders = session.folders()
        self._last_statuses: dict[str, FolderStatus] = {}
        self._store.write(sightings.on_watching(store.state, [folder for folder, _ in self._folders.roles]))

    def has_changed(self) -> bool:
        """Tell whether anything has changed since the last pass."""
        return self._statuses() != self._last_statuses

    def wait(self) -> None:
        """Wait for a change in the inbox, but no longer than until the next look at the other folders."""
        if self._session.can_idle:
            inbox = self._folders.inbox
            self._session.wait(inbox, self._last_statuses[inbox], self._account.poll)
        elif not self.has_changed():
            time.sleep(self._account.poll)

    def run(self, *, teach_existing: bool = False) -> None:
        """Look at all folders, and do all due tasks."""
        statuses, state = self._statuses(), self._store.state
        is_due = state.is_waiting() or teach_existing or self._is_conclusion_due()
        if statuses == self._last_statuses and not is_due:
            return
        roles = self._folders.roles
        listings = [self._session.list_folder(folder, role, statuses[folder], state) for folder, role in roles]
        with Filter.open(self._home, self._options) as filter_:
            for listing in sorted(listings, key=lambda listing: not listing.role.is_filing):
                self._look(listing, filter_, teach_existing=teach_existing)
            self._store.write(sightings.rescues(state))
            if teach_existing:
                self._store.write(sightings.lessons_from_existing(state))
            self._learn_due(filter_)
            if self._is_conclusion_due():  # not before all that people have moved meanwhile is learned
                conclusion = filter_.silence.conclude_due(PROGRAM)
                for error in conclusion.errors:
                    log("error", what=repr(error))
                log("concluded", **conclusion.figures)
        self._move_due()
        self._last_statuses = statuses

    def _is_conclusion_due(self) -> bool:
        return bool(checked_files_due(self._home, PROGRAM, self._options.silence.days))

    def _statuses(self) -> dict[str, FolderStatus]:
        return {folder: self._session.status(folder) for folder, _ in self._folders.roles}

    def _look(self, listing: FolderListing, filter_: Filter, *, teach_existing: bool) -> None:
        """Record which messages have gone from a folder and which are new; learn due lessons at once."""
        state = self._store.state
        is_first = listing.folder not in state.marks
        changes = sightings.on_listed(state, listing)
        starts_over = any(isinstance(change, FolderMark) for change in changes)
        self._store.write(changes)
        uids = sightings.unseen(state, listing)
        if starts_over:
            taught = "yes" if teach_existing else "no"
            about = {"messages": len(uids), "taught": taught} if listing.role.tells_label else {}
            log("first look" if is_first else "numbered anew", folder=_one_word(listing.folder), **about)
        for batch in self._session.fetch(listing.folder, listing.uidvalidity, uids):
            if batch:
                prepared = [filter_.prepare(message.raw) for message in batch]
                arrivals = [self._arrival(listing, *pair, filter_) for pair in zip(batch, prepared, strict=True)]
                self._store.write(sightings.on_arrived(state, listing.folder, arrivals, batch[-1].uid + 1))
                self._learn(listing.folder, zip(batch, prepared, strict=True), filter_)

    def _arrival(self, listing: FolderListing, message: FetchedMessage, prepared: Prepared, filter_: Filter) -> Arrival:
        if not (self._account.move and listing.role == INBOX and message.is_untouched):
            return Arrival(message.uid, prepared.digest, None)
        verdict = filter_.check(prepared)
        try:
            filter_.silence.record(prepared, verdict, PROGRAM)
        except CheckedMailError as error:  # mail is moved and learned all the same
            log("error", what=_one_word(str(error)))
        return Arrival(message.uid, prepared.digest, self._target_of(verdict))

    def _target_of(self, verdict: Verdict) -> Role | None:
        """Return the folder where a message with this verdict belongs; None if it stays where it is."""
        if verdict.label in self._account.folders:
            return role_of(verdict.label)
        if verdict.label == decision.UNSURE and self._account.unsure and not verdict.is_untaught:
            return UNSURE
        return JUNK if is_unwanted(verdict) else None

    def _is_lesson(self, due: Due | None) -> bool:
        """Tell whether a lesson is due; a label may have lost its folder since that was recorded."""
        return due is not None and due.task is MailTask.TEACH and due.role in self._label_of

    def _learn_due(self, filter_: Filter) -> None:
        """Learn rescued messages, and lessons that a killed process left undone."""
        lessons = sorted(
            (sighting.folder, sighting.uid) for sighting in self._store.state.due() if self._is_lesson(sighting.due)
        )
        for folder, places in groupby(lessons, lambda place: place[0]):
            uidvalidity = self._store.state.marks[folder].uidvalidity
            for batch in self._session.fetch(folder, uidvalidity, [uid for _, uid in places]):
                prepared = filter_.prepare_many([message.raw for message in batch])
                self._learn(folder, zip(batch, prepared, strict=True), filter_)

    def _learn(self, folder: str, messages: Iterable[tuple[FetchedMessage, Prepared]], filter_: Filter) -> None:
        """Learn those messages for which a lesson is due; each is durable before it is recorded as done."""
        known = self._store.state.sightings
        due = [
            (sighting, prepared, self._label_of[sighting.due.role])
            for message, prepared in messages
            if (sighting := known.get((folder, message.uid))) and sighting.due and self._is_lesson(sighting.due)
        ]
        lessons = [(prepared, label, f"{SCHEME}{folder}:{sighting.uid}") for sighting, prepared, label in due]
        outcomes = [learned.outcome for group in filter_.learn_many(lessons) for learned in group]
        for (sighting, _, label), outcome in zip(due, outcomes, strict=True):
            log("learned", label=label, folder=_one_word(folder), uid=sighting.uid, outcome=outcome)
        self._store.write(change for sighting, _, _ in due for change in sightings.on_done(sighting))

    def _move_due(self) -> None:
        state = self._store.state
        moves = sorted(
            (sighting.folder, sighting.due.role, sighting)
            for sighting in state.due()
            if sighting.due and sighting.due.task is MailTask.MOVE
        )
        for (folder, role), group in groupby(moves, lambda move: move[:2]):
            messages = [sighting for _, _, sighting in group]
            if (target := self._folders.filing.get(role)) is None:  # the label has lost its folder
                self._store.write(SightingRemoved(sighting.folder, sighting.uid) for sighting in messages)
                continue
            # A process that was killed may have copied some already: these are only removed from the source.
            copied = [sighting.uid for sighting in messages if state.is_in(sighting.digest, role)]
            uids = [sighting.uid for sighting in messages if sighting.uid not in copied]
            self._session.move(folder, state.marks[folder].uidvalidity, uids, copied, target)
            self._store.write(change for sighting in messages for change in sightings.on_done(sighting))
            for sighting in messages:
                log("moved", folder=_one_word(folder), uid=sighting.uid, to=_one_word(target))


class Watcher:
    """Watches one mailbox, over any number of connections."""

    def __init__(self, home: Path, options: Options, account: Account, password: str) -> None:
        self._home = home
        self._options = options
        self._account = account
        self._password = password
        self._store = SightingStore(home, account.name)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def once(self, *, teach_existing: bool) -> None:
        """Look at all folders until nothing changes, do all due tasks, and return."""
        with self._connect() as session:
            passes = self._passes(session)
            passes.run(teach_existing=teach_existing)
            while passes.has_changed():
                passes.run()

    def run(self, *, teach_existing: bool) -> None:
        """Watch for ever; reconnect after errors, with pauses that grow until an attempt succeeds."""
        pauses = _pauses()
        was_connected = False
        while True:
            try:
                with self._connect() as session:
                    was_connected = True
                    passes = self._passes(session)
                    log("connected", account=_one_word(self._account.name), idle="yes" if session.can_idle else "no")
                    while True:
                        passes.run(teach_existing=teach_existing)
                        teach_existing, pauses = False, _pauses()
                        passes.wait()
            except (*TEMPORARY_ERRORS, JournalError, UntrustedError) as error:
                # A certificate that is wrong at the start is a wrong setting; later it may be a passing fault.
                if isinstance(error, UntrustedError) and not was_connected:
                    raise
                pause = next(pauses)
                is_ours = isinstance(error, JournalError | UntrustedError)
                why = str(error) if is_ours else f"{self._account.address}: {describe(error)}"
                log("interrupted", why=_one_word(why), again_s=f"{pause:.1f}")
            time.sleep(pause)

    def _connect(self) -> Session:
        return Session(self._account, self._password)

    def _passes(self, session: Session) -> FolderPasses:
        return FolderPasses(self._account, self._home, self._options, self._store, session)


def _one_word(text: str) -> str:
    """Return a text quoted for a line of the log."""
    return quote(printable(text))


def _pauses() -> Iterator[float]:
    """Yield growing numbers of seconds, at random, so that clients cut off together do not return together."""
    pause = 1.0
    while True:
        yield min(pause * random.uniform(0.5, 1.5), MAX_PAUSE_S)  # noqa: S311 - not for security
        pause = min(2 * pause, MAX_PAUSE_S)
