"""What was seen in folders, and what it means: a lesson, a move, or nothing. No clock, no disk, no socket.

A person teaches by moving mail. Over IMAP nobody says that a message was moved: it is gone from one folder and another,
with another number, is in the other folder. The digest tells that it is the same.

    turns up in Junk, and Priory did not put it there           a person calls it spam
    has been in Junk, turns up elsewhere, Junk has it no more   a person calls it ham
    is gone from Junk, and is nowhere to be seen                says nothing: it was thrown away
    turns up in the inbox                                       says nothing; it may be moved to Junk, if it is spam

A pass over the folders is a series of events. Each is a pure function from the state and what was seen to changes of
the state. In a pass, in this order:

1.  All folders are listed, Junk last.
2.  `looked` and `arrived` for Junk, then for the others. A message that Priory has moved is recognised in Junk because
    its move is still noted in the inbox, so Junk comes first here.
3.  `rescued`: what came from Junk and is there no more is due to be taught as ham.
4.  What is due is done, and then noted as `done`: a lesson is durable before its note is.

Changes are durable before anything is done about them. So whoever is killed, whenever, finds what was due still due.
To learn again what was learned changes nothing, and of a move that was half done the rest is done.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

INBOX: Final = "inbox"
JUNK: Final = "junk"
OTHER: Final = "other"


class Mark(NamedTuple):
    """How far a folder has been looked through."""

    folder: str
    role: str
    uidvalidity: int
    next_uid: int  #: messages from here on have not been seen
    before: int  #: messages up to here were there at the first look, or before the server numbered them anew


class Entry(NamedTuple):
    """A message that matters: it is in Junk, or has been there, or is to be moved there."""

    folder: str
    uid: int
    digest: bytes
    put: str  #: into Junk by a "person", by "priory" or "before"; elsewhere "rescued", or nothing
    due: str = ""  #: what is to be done about it: "spam", "ham", "move", or "moved" until it was seen in Junk


class Gone(NamedTuple):
    """A message that matters no more where it was."""

    folder: str
    uid: int


class Left(NamedTuple):
    """A message that has been in Junk, and who had put it there; nobody, if it is only known not to be new."""

    digest: bytes
    put: str


Change: TypeAlias = Mark | Entry | Gone | Left


class Look(NamedTuple):
    """What is in a folder: of the inbox and others, among the messages that matter and those that are new."""

    folder: str
    role: str
    uidvalidity: int
    next_uid: int
    live: frozenset[int]  #: those that nobody has marked as deleted


class Arrival(NamedTuple):
    """A message that has not been seen in its folder before."""

    uid: int
    digest: bytes
    may_move: bool = False  #: it is spam, and nobody has had it in hand


class State:
    """What is known of one account's folders."""

    def __init__(self, changes: Iterable[Change] = ()) -> None:
        self.marks: dict[str, Mark] = {}
        self.entries: dict[tuple[str, int], Entry] = {}
        self.left: dict[bytes, str] = {}
        self._places: dict[bytes, set[tuple[str, int]]] = defaultdict(set)
        self.apply(changes)

    def apply(self, changes: Iterable[Change]) -> None:
        """Take in changes."""
        for change in changes:
            match change:
                case Mark():
                    self.marks[change.folder] = change
                case Entry():
                    self.entries[change.folder, change.uid] = change
                    self._places[change.digest].add((change.folder, change.uid))
                case Gone():
                    self._remove((change.folder, change.uid))
                case Left():
                    self.left[change.digest] = change.put

    def _remove(self, place: tuple[str, int]) -> None:
        entry = self.entries.pop(place)
        self._places[entry.digest].discard(place)
        if not self._places[entry.digest]:
            del self._places[entry.digest]

    def of(self, digest: bytes) -> list[Entry]:
        """Return the entries of a message, wherever it is."""
        return [self.entries[place] for place in self._places.get(digest, ())]

    def within(self, folder: str) -> list[Entry]:
        """Return the entries of a folder."""
        return [entry for entry in self.entries.values() if entry.folder == folder]

    def is_in_junk(self, digest: bytes) -> bool:
        """Tell whether Junk has a message."""
        return any(self.marks[entry.folder].role == JUNK for entry in self.of(digest))

    def is_moving(self, digest: bytes) -> bool:
        """Tell whether Priory has set out to move a message to Junk and has not seen it there yet."""
        return any(entry.due in ("move", "moved") for entry in self.of(digest))

    def due(self) -> list[Entry]:
        """Return the entries about which something is to be done."""
        return [entry for entry in self.entries.values() if entry.due]

    def is_waiting(self) -> bool:
        """Tell whether something is due, or may become so without any folder getting new mail."""
        return any(entry.due or entry.put == "rescued" for entry in self.entries.values())


def looked(state: State, look: Look) -> list[Change]:
    """A folder was listed: what is gone from it; all, if it is another folder or was numbered anew.

    What lies in Junk at the first look has to be known, should it be rescued; what lies elsewhere does not matter.
    """
    mark = state.marks.get(look.folder)
    if mark is not None and (mark.uidvalidity, mark.role) == (look.uidvalidity, look.role):
        gone = [entry for entry in state.within(look.folder) if entry.uid not in look.live or entry.due == "moved"]
        return [each for entry in gone for each in _gone(mark, entry)]
    all_ = [each for entry in state.within(look.folder) for each in _gone(mark, entry)]
    first = 1 if look.role == JUNK else look.next_uid
    return [*all_, Mark(look.folder, look.role, look.uidvalidity, first, look.next_uid)]


def unwatched(state: State, folders: Iterable[str]) -> list[Change]:
    """Only these folders are watched: what was known of others is gone, and they would be looked at anew."""
    others = [mark for folder, mark in state.marks.items() if folder not in set(folders)]
    gone = [each for mark in others for entry in state.within(mark.folder) for each in _gone(mark, entry)]
    return [*gone, *(mark._replace(uidvalidity=0) for mark in others if mark.uidvalidity)]


def _gone(mark: Mark | None, entry: Entry) -> Iterator[Change]:
    """What Priory has moved has been in Junk. Where it only set out to move a message, somebody was quicker."""
    yield Gone(entry.folder, entry.uid)
    if entry.due == "move":
        yield Left(entry.digest, "")
    elif entry.due == "moved" or (mark is not None and mark.role == JUNK):
        yield Left(entry.digest, entry.put)


def unseen(state: State, look: Look) -> list[int]:
    """Return the messages of a folder that have not been seen yet, in the order in which they came."""
    return sorted(uid for uid in look.live if uid >= state.marks[look.folder].next_uid)


def arrived(state: State, folder: str, arrivals: Sequence[Arrival], next_uid: int) -> list[Change]:
    """Messages have turned up in a folder, all there are up to a number: what each of them means."""
    mark = state.marks[folder]
    means = _in_junk if mark.role == JUNK else _elsewhere
    entries = [entry for arrival in arrivals if (entry := means(state, mark, arrival))]
    return [*entries, mark._replace(next_uid=max(next_uid, mark.next_uid))]


def _in_junk(state: State, mark: Mark, arrival: Arrival) -> Entry:
    if state.is_moving(arrival.digest):
        return Entry(mark.folder, arrival.uid, arrival.digest, "priory")
    if arrival.uid < mark.before:
        return Entry(mark.folder, arrival.uid, arrival.digest, state.left.get(arrival.digest) or "before")
    return Entry(mark.folder, arrival.uid, arrival.digest, "person", "spam")


def _elsewhere(state: State, mark: Mark, arrival: Arrival) -> Entry | None:
    """What has been in Junk was brought back by a person, who is right: it is not moved again."""
    if state.left.get(arrival.digest) or state.is_in_junk(arrival.digest):
        return Entry(mark.folder, arrival.uid, arrival.digest, "rescued")
    is_new = arrival.digest not in state.left and not state.is_moving(arrival.digest)
    if mark.role == INBOX and arrival.may_move and is_new:
        return Entry(mark.folder, arrival.uid, arrival.digest, "", "move")
    return None


def rescued(state: State) -> list[Change]:
    """What came from Junk and is there no more was moved: it is ham. What is still there may only be a copy."""
    if any(mark.role == JUNK and mark.next_uid < mark.before for mark in state.marks.values()):
        return []  # Junk is not known in full
    back = [entry for entry in state.entries.values() if entry.put == "rescued" and not entry.due]
    return [entry._replace(due="ham") for entry in back if not state.is_in_junk(entry.digest)]


def existing(state: State) -> list[Change]:
    """A person says that what was in Junk before is spam."""
    return [entry._replace(put="person", due="spam") for entry in state.entries.values() if entry.put == "before"]


def done(entry: Entry) -> list[Change]:
    """What was due was done: a lesson is durable, or the server has moved the message."""
    match entry.due:
        case "move":
            return [entry._replace(put="priory", due="moved")]
        case "ham":
            return [Gone(entry.folder, entry.uid)]
    return [entry._replace(due="")]
