"""What was seen in folders, and what it means: a lesson, a move, or nothing. No clock, no disk, no socket.

A person teaches by moving mail. Over IMAP nobody says that a message was moved: it is gone from one folder and another,
with another number, is in the other folder. The digest tells that it is the same.

    turns up in Junk, and Priory did not put it there           a person calls it spam
    has been in Junk, turns up elsewhere, Junk has it no more   a person calls it ham
    is gone from Junk, and is nowhere to be seen                says nothing: it was thrown away
    turns up in the inbox                                       says nothing; it may be moved to Junk, if it is spam

Other labels may have folders, too, for which the same holds: *filing* a message in one is to call it that. So Junk is
here the folder of one label among others.

A pass over the folders is a series of events. Each is a pure function from the state and what was seen to changes of
the state. In a pass, in this order:

1.  All folders are listed, those of labels last.
2.  `looked` and `arrived` for these, then for the others. A message that Priory has moved is recognised in Junk because
    its move is still noted in the inbox, so Junk comes first here.
3.  `rescued`: what came from the folder of a label and is in none any more is due to be taught as ham.
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
_LABEL: Final = "label "  # before the label whose folder it is


def role_of(label: str) -> str:
    """Return the role of the folder of a label that is not spam."""
    return f"{_LABEL}{label}"


def is_filing(role: str) -> bool:
    """Tell whether to put a message into a folder of this role says what it is."""
    return role == JUNK or role.startswith(_LABEL)


def meaning(role: str) -> str:
    """Return what is due where a person has put a message into the folder of a label.

    >>> meaning(JUNK), meaning(role_of("newsletter"))
    ('spam', 'label newsletter')
    """
    return "spam" if role == JUNK else role


def _moving(word: str, role: str) -> str:
    return word if role == JUNK else f"{word} {role}"


def target_of(due: str) -> str:
    """Return the role of the folder into which a message is to be moved, if that is due; else nothing.

    >>> target_of("move"), target_of("move label newsletter"), target_of("spam"), target_of("moved")
    ('junk', 'label newsletter', '', '')
    """
    word, _, role = due.partition(" ")
    return (role or JUNK) if word == "move" else ""


class Mark(NamedTuple):
    """How far a folder has been looked through."""

    folder: str
    role: str
    uidvalidity: int
    next_uid: int  #: messages from here on have not been seen
    before: int  #: messages up to here were there at the first look, or before the server numbered them anew


class Entry(NamedTuple):
    """A message that matters: it is in the folder of a label, or has been in one, or is to be moved there."""

    folder: str
    uid: int
    digest: bytes
    put: str  #: there by a "person", by "priory" or "before"; elsewhere "rescued", or nothing
    due: str = ""  #: what is to be done about it: a `meaning`, "ham", "move …", or "moved …" until it was seen there


class Gone(NamedTuple):
    """A message that matters no more where it was."""

    folder: str
    uid: int


class Left(NamedTuple):
    """A message that has been in the folder of a label, and who had put it there; nobody: it is only not new."""

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
    to: str = ""  #: the role of the folder where it belongs, if that is another and nobody has had it in hand


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

    def is_filed(self, digest: bytes) -> bool:
        """Tell whether the folder of some label has a message."""
        return any(is_filing(self.marks[entry.folder].role) for entry in self.of(digest))

    def is_in(self, digest: bytes, role: str) -> bool:
        """Tell whether a folder of this role has a message."""
        return any(self.marks[entry.folder].role == role for entry in self.of(digest))

    def is_moving(self, digest: bytes, role: str) -> bool:
        """Tell whether Priory has set out to move a message into such a folder and has not seen it there yet."""
        return any(entry.due in (_moving("move", role), _moving("moved", role)) for entry in self.of(digest))

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
        gone = [entry for entry in state.within(look.folder) if entry.uid not in look.live or _was_moved(entry)]
        return [each for entry in gone for each in _gone(mark, entry)]
    all_ = [each for entry in state.within(look.folder) for each in _gone(mark, entry)]
    first = 1 if is_filing(look.role) else look.next_uid
    return [*all_, Mark(look.folder, look.role, look.uidvalidity, first, look.next_uid)]


def unwatched(state: State, folders: Iterable[str]) -> list[Change]:
    """Only these folders are watched: what was known of others is gone, and they would be looked at anew."""
    others = [mark for folder, mark in state.marks.items() if folder not in set(folders)]
    gone = [each for mark in others for entry in state.within(mark.folder) for each in _gone(mark, entry)]
    return [*gone, *(mark._replace(uidvalidity=0) for mark in others if mark.uidvalidity)]


def _was_moved(entry: Entry) -> bool:
    return entry.due.partition(" ")[0] == "moved"


def _gone(mark: Mark | None, entry: Entry) -> Iterator[Change]:
    """What Priory has moved has been in Junk. Where it only set out to move a message, somebody was quicker."""
    yield Gone(entry.folder, entry.uid)
    if target_of(entry.due):
        yield Left(entry.digest, "")
    elif _was_moved(entry) or (mark is not None and is_filing(mark.role)):
        yield Left(entry.digest, entry.put)


def unseen(state: State, look: Look) -> list[int]:
    """Return the messages of a folder that have not been seen yet, in the order in which they came."""
    return sorted(uid for uid in look.live if uid >= state.marks[look.folder].next_uid)


def arrived(state: State, folder: str, arrivals: Sequence[Arrival], next_uid: int) -> list[Change]:
    """Messages have turned up in a folder, all there are up to a number: what each of them means."""
    mark = state.marks[folder]
    means = _filed if is_filing(mark.role) else _elsewhere
    entries = [entry for arrival in arrivals if (entry := means(state, mark, arrival))]
    return [*entries, mark._replace(next_uid=max(next_uid, mark.next_uid))]


def _filed(state: State, mark: Mark, arrival: Arrival) -> Entry:
    if state.is_moving(arrival.digest, mark.role):
        return Entry(mark.folder, arrival.uid, arrival.digest, "priory")
    if arrival.uid < mark.before:
        return Entry(mark.folder, arrival.uid, arrival.digest, state.left.get(arrival.digest) or "before")
    return Entry(mark.folder, arrival.uid, arrival.digest, "person", meaning(mark.role))


def _elsewhere(state: State, mark: Mark, arrival: Arrival) -> Entry | None:
    """What has been in Junk was brought back by a person, who is right: it is not moved again."""
    if state.left.get(arrival.digest) or state.is_filed(arrival.digest):
        return Entry(mark.folder, arrival.uid, arrival.digest, "rescued")
    is_new = arrival.digest not in state.left and not state.is_moving(arrival.digest, arrival.to)
    if mark.role == INBOX and arrival.to and is_new:
        return Entry(mark.folder, arrival.uid, arrival.digest, "", _moving("move", arrival.to))
    return None


def rescued(state: State) -> list[Change]:
    """What came from Junk and is there no more was moved: it is ham. What is still there may only be a copy."""
    if any(is_filing(mark.role) and mark.next_uid < mark.before for mark in state.marks.values()):
        return []  # it is not known in full
    back = [entry for entry in state.entries.values() if entry.put == "rescued" and not entry.due]
    return [entry._replace(due="ham") for entry in back if not state.is_filed(entry.digest)]


def existing(state: State) -> list[Change]:
    """A person says that what was in the folders of labels before is of these labels."""
    before = [entry for entry in state.entries.values() if entry.put == "before"]
    return [entry._replace(put="person", due=meaning(state.marks[entry.folder].role)) for entry in before]


def done(entry: Entry) -> list[Change]:
    """What was due was done: a lesson is durable, or the server has moved the message."""
    if role := target_of(entry.due):
        return [entry._replace(put="priory", due=_moving("moved", role))]
    return [Gone(entry.folder, entry.uid) if entry.due == "ham" else entry._replace(due="")]
