"""Decides what a message seen in a folder means: a lesson, a move, or nothing. No clock, no disk, no socket.

People teach by moving mail. IMAP does not report a move: a message disappears from one folder, and one with another
number appears in another folder. The digest shows that it is the same message.

    appears in Junk, and Priory did not put it there                    a person calls it spam
    has been in Junk, appears elsewhere, and is no longer in Junk       a person calls it ham
    disappears from Junk and appears nowhere                            means nothing: it was deleted
    appears in the inbox                                                means nothing; if it is spam, it may be moved

Other labels may have folders, too, and the same holds for them: putting a message into such a folder calls it that
label. So Junk is the folder of one label among others. A folder for unsure mail differs only in that putting a message
there means nothing. All these are *filing folders*: Priory files mail in them, and people take it out.

A pass over the folders is a series of events. Each is handled by a pure function from the state and the event to
changes of the state. A pass has this order:

1.  All folders are listed, the filing folders last.
2.  `on_listed` and `on_arrived` for the filing folders, then for the others. A message that Priory has moved is
    recognised in Junk because its move is still recorded for the inbox, so Junk has to come first.
3.  `rescues`: a message that came from a filing folder and is in none of them any more is to be taught as ham.
4.  Due tasks are done, and then recorded by `on_done`. A lesson is durable before it is recorded as done.

Changes are durable before any task is done. So a process that is killed at any moment finds its work still
due at the next start. Learning the same lesson again changes nothing, and a move that was half done is completed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias


class FolderKind(StrEnum):
    """The purpose of a folder."""

    INBOX = "inbox"
    JUNK = "junk"
    UNSURE = "unsure"
    LABEL = "label"
    OTHER = "other"


class Role(NamedTuple):
    """The kind of a folder, with the label if it is the folder of one.

    >>> str(role_of("newsletter")), Role.parse("label newsletter") == role_of("newsletter"), Role.parse("junk") == JUNK
    ('label newsletter', True, True)
    """

    kind: FolderKind
    label: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value} {self.label}" if self.label else self.kind.value

    @classmethod
    def parse(cls, text: str) -> "Role":
        """Return a role from its text in the store."""
        kind, _, label = text.partition(" ")
        return cls(FolderKind(kind), label)

    @property
    def is_filing(self) -> bool:
        """Whether moving a message from this folder to the inbox calls it ham."""
        return self.tells_label or self.kind is FolderKind.UNSURE

    @property
    def tells_label(self) -> bool:
        """Whether putting a message into this folder tells its label."""
        return self.kind in {FolderKind.JUNK, FolderKind.LABEL}


INBOX: Final = Role(FolderKind.INBOX)
JUNK: Final = Role(FolderKind.JUNK)
UNSURE: Final = Role(FolderKind.UNSURE)
OTHER: Final = Role(FolderKind.OTHER)


def role_of(label: str) -> Role:
    """Return the role of the folder of a label that is not spam."""
    return Role(FolderKind.LABEL, label)


class MailTask(StrEnum):
    """A task that is due for a message."""

    TEACH = "teach"  #: learn it with the label of the role: Junk means spam, the inbox ham
    MOVE = "move"  #: move it to the folder of the role
    AWAIT = "moved"  #: it was moved there; wait until it is seen there


class Due(NamedTuple):
    """A task, and the role of the folder that it is about.

    >>> texts = ["spam", "ham", "label newsletter", "move", "move unsure", "moved label newsletter"]
    >>> [str(Due.parse(text)) for text in texts] == texts
    True
    >>> Due.parse("spam") == Due(MailTask.TEACH, JUNK), Due.parse("move") == Due(MailTask.MOVE, JUNK)
    (True, True)
    """

    task: MailTask
    role: Role

    def __str__(self) -> str:
        if self.task is MailTask.TEACH:
            return {JUNK: "spam", INBOX: "ham"}.get(self.role) or str(self.role)
        return self.task.value if self.role == JUNK else f"{self.task.value} {self.role}"

    @classmethod
    def parse(cls, text: str) -> "Due":
        """Return a due task from its text in the store."""
        word, _, rest = text.partition(" ")
        match word:
            case "spam":
                return cls(MailTask.TEACH, JUNK)
            case "ham":
                return cls(MailTask.TEACH, INBOX)
            case FolderKind.LABEL:
                return cls(MailTask.TEACH, Role.parse(text))
        return cls(MailTask(word), Role.parse(rest) if rest else JUNK)


class Origin(StrEnum):
    """How a message came to where it is."""

    PERSON = "person"  #: a person filed it
    PRIORY = "priory"  #: Priory moved it
    BEFORE = "before"  #: it was in a filing folder at the first look
    RESCUED = "rescued"  #: a person brought it back from a filing folder
    UNKNOWN = ""  #: it was not filed


class FolderMark(NamedTuple):
    """How far a folder has been looked through."""

    folder: str
    role: Role
    uidvalidity: int
    next_uid: int  #: messages from this number on have not been seen
    before: int  #: messages below this number were there at the first look, or before the server renumbered them


class Sighting(NamedTuple):
    """A message that matters: it is in a filing folder, has been in one, or is to be moved there."""

    folder: str
    uid: int
    digest: bytes
    origin: Origin
    due: Due | None = None


class SightingRemoved(NamedTuple):
    """A message that no longer matters where it was."""

    folder: str
    uid: int


class PastFiling(NamedTuple):
    """A message that has been in a filing folder, and how it came there; UNKNOWN: it is only not new."""

    digest: bytes
    origin: Origin


Change: TypeAlias = FolderMark | Sighting | SightingRemoved | PastFiling


class FolderListing(NamedTuple):
    """The messages in a folder: all in a filing folder, elsewhere those that matter or are new."""

    folder: str
    role: Role
    uidvalidity: int
    next_uid: int
    live: frozenset[int]  #: the messages that are not marked as deleted


class Arrival(NamedTuple):
    """A message that has not been seen in its folder before."""

    uid: int
    digest: bytes
    to: Role | None = None  #: the folder where it belongs, if that is another and the message was not touched


class MailboxState:
    """Everything that is known about the folders of one account."""

    def __init__(self, changes: Iterable[Change] = ()) -> None:
        self.marks: dict[str, FolderMark] = {}
        self.sightings: dict[tuple[str, int], Sighting] = {}
        self.past_filings: dict[bytes, Origin] = {}
        self._places: dict[bytes, set[tuple[str, int]]] = defaultdict(set)
        self.apply(changes)

    def apply(self, changes: Iterable[Change]) -> None:
        """Apply changes."""
        for change in changes:
            match change:
                case FolderMark():
                    self.marks[change.folder] = change
                case Sighting():
                    self.sightings[change.folder, change.uid] = change
                    self._places[change.digest].add((change.folder, change.uid))
                case SightingRemoved():
                    self._remove((change.folder, change.uid))
                case PastFiling():
                    self.past_filings[change.digest] = change.origin

    def _remove(self, place: tuple[str, int]) -> None:
        sighting = self.sightings.pop(place)
        self._places[sighting.digest].discard(place)
        if not self._places[sighting.digest]:
            del self._places[sighting.digest]

    def of(self, digest: bytes) -> list[Sighting]:
        """Return the sightings of a message in all folders."""
        return [self.sightings[place] for place in self._places.get(digest, ())]

    def within(self, folder: str) -> list[Sighting]:
        """Return the sightings in a folder."""
        return [sighting for sighting in self.sightings.values() if sighting.folder == folder]

    def is_filed(self, digest: bytes) -> bool:
        """Tell whether a message is in any filing folder."""
        return any(self.marks[sighting.folder].role.is_filing for sighting in self.of(digest))

    def is_in(self, digest: bytes, role: Role) -> bool:
        """Tell whether a message is in the folder of a role."""
        return any(self.marks[sighting.folder].role == role for sighting in self.of(digest))

    def is_moving(self, digest: bytes, role: Role) -> bool:
        """Tell whether Priory has begun to move a message to the folder of a role, and has not seen it there yet."""
        moves = (Due(MailTask.MOVE, role), Due(MailTask.AWAIT, role))
        return any(sighting.due in moves for sighting in self.of(digest))

    def due(self) -> list[Sighting]:
        """Return the sightings with a due task."""
        return [sighting for sighting in self.sightings.values() if sighting.due]

    def is_waiting(self) -> bool:
        """Tell whether a task is due, or may become due without new mail in any folder."""
        return any(sighting.due or sighting.origin is Origin.RESCUED for sighting in self.sightings.values())


def on_listed(state: MailboxState, listing: FolderListing) -> list[Change]:
    """Handle the listing of a folder: remove sightings that have gone; all, if it was replaced or renumbered.

    Messages in Junk at the first look have to be known in case they are rescued. In other folders they do not matter.
    """
    mark = state.marks.get(listing.folder)
    sightings = state.within(listing.folder)
    if mark is not None and (mark.uidvalidity, mark.role) == (listing.uidvalidity, listing.role):
        gone = [sighting for sighting in sightings if sighting.uid not in listing.live or _was_moved(sighting)]
        return [change for sighting in gone for change in _removal(mark, sighting)]
    removals = [change for sighting in sightings for change in _removal(mark, sighting)]
    # What is listed was there, whatever the server says about the next number.
    next_uid = max([listing.next_uid, *(uid + 1 for uid in listing.live if listing.role.is_filing)])
    first = 1 if listing.role.is_filing else next_uid
    return [*removals, FolderMark(listing.folder, listing.role, listing.uidvalidity, first, next_uid)]


def on_watching(state: MailboxState, folders: Iterable[str]) -> list[Change]:
    """Forget the sightings in folders that are not watched any more; their next look is a first look again."""
    others = [mark for folder, mark in state.marks.items() if folder not in set(folders)]
    removals = [
        change for mark in others for sighting in state.within(mark.folder) for change in _removal(mark, sighting)
    ]
    return [*removals, *(mark._replace(uidvalidity=0) for mark in others if mark.uidvalidity)]


def _was_moved(sighting: Sighting) -> bool:
    return sighting.due is not None and sighting.due.task is MailTask.AWAIT


def _removal(mark: FolderMark | None, sighting: Sighting) -> Iterator[Change]:
    """Yield the changes for a message that has gone.

    A message that Priory has moved has been filed. If its move was only planned, a person was quicker.
    """
    yield SightingRemoved(sighting.folder, sighting.uid)
    if sighting.due is not None and sighting.due.task is MailTask.MOVE:
        yield PastFiling(sighting.digest, Origin.UNKNOWN)
    elif _was_moved(sighting) or (mark is not None and mark.role.is_filing):
        yield PastFiling(sighting.digest, sighting.origin)


def unseen(state: MailboxState, listing: FolderListing) -> list[int]:
    """Return the numbers of the messages in a folder that have not been seen yet, in order of arrival."""
    return sorted(uid for uid in listing.live if uid >= state.marks[listing.folder].next_uid)


def on_arrived(state: MailboxState, folder: str, arrivals: Sequence[Arrival], next_uid: int) -> list[Change]:
    """Handle messages that have appeared in a folder, all below `next_uid`: record what each of them means."""
    mark = state.marks[folder]
    meaning_of = _filed_sighting if mark.role.is_filing else _other_sighting
    sightings = [sighting for arrival in arrivals if (sighting := meaning_of(state, mark, arrival))]
    return [*sightings, mark._replace(next_uid=max(next_uid, mark.next_uid))]


def _filed_sighting(state: MailboxState, mark: FolderMark, arrival: Arrival) -> Sighting:
    if state.is_moving(arrival.digest, mark.role):
        return Sighting(mark.folder, arrival.uid, arrival.digest, Origin.PRIORY)
    if arrival.uid < mark.before:
        origin = state.past_filings.get(arrival.digest, Origin.UNKNOWN)
        if origin is Origin.UNKNOWN:
            origin = Origin.BEFORE
        return Sighting(mark.folder, arrival.uid, arrival.digest, origin)
    due = Due(MailTask.TEACH, mark.role) if mark.role.tells_label else None
    return Sighting(mark.folder, arrival.uid, arrival.digest, Origin.PERSON, due)


def _other_sighting(state: MailboxState, mark: FolderMark, arrival: Arrival) -> Sighting | None:
    """Leave a message that was filed before where it is: a person has brought it back."""
    past = state.past_filings.get(arrival.digest, Origin.UNKNOWN)
    if past is not Origin.UNKNOWN or state.is_filed(arrival.digest):
        return Sighting(mark.folder, arrival.uid, arrival.digest, Origin.RESCUED)
    if mark.role != INBOX or arrival.to is None or arrival.digest in state.past_filings:
        return None
    if state.is_moving(arrival.digest, arrival.to):
        return None
    return Sighting(mark.folder, arrival.uid, arrival.digest, Origin.UNKNOWN, Due(MailTask.MOVE, arrival.to))


def rescues(state: MailboxState) -> list[Change]:
    """Return the lessons from messages that were moved out of the filing folders: they are ham.

    If the message is still in the folder, the message seen elsewhere may only be a copy.
    """
    if any(mark.role.is_filing and mark.next_uid < mark.before for mark in state.marks.values()):
        return []  # the first look at a folder is not complete
    back = [
        sighting
        for sighting in state.sightings.values()
        if sighting.origin is Origin.RESCUED and not sighting.due and not state.is_filed(sighting.digest)
    ]
    return [sighting._replace(due=Due(MailTask.TEACH, INBOX)) for sighting in back]


def lessons_from_existing(state: MailboxState) -> list[Change]:
    """Return lessons for the mail that was in label folders at the first look; the user vouches for its labels."""
    before = [sighting for sighting in state.sightings.values() if sighting.origin is Origin.BEFORE]
    return [
        sighting._replace(origin=Origin.PERSON, due=Due(MailTask.TEACH, role))
        for sighting in before
        if (role := state.marks[sighting.folder].role).tells_label
    ]


def on_done(sighting: Sighting) -> list[Change]:
    """Record that a task is done: the lesson is durable, or the server has moved the message."""
    assert sighting.due is not None
    if sighting.due.task is MailTask.MOVE:
        return [sighting._replace(origin=Origin.PRIORY, due=Due(MailTask.AWAIT, sighting.due.role))]
    if sighting.due == Due(MailTask.TEACH, INBOX):
        return [SightingRemoved(sighting.folder, sighting.uid)]
    return [sighting._replace(due=None)]
