"""Lessons are what a person means by moving mail, in any order and with Priory killed at any moment."""

from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from priory.imap.sightings import (
    INBOX,
    JUNK,
    OTHER,
    UNSURE,
    Arrival,
    Change,
    Due,
    FolderListing,
    FolderMark,
    MailboxState,
    MailTask,
    Origin,
    PastFiling,
    Role,
    Sighting,
    SightingRemoved,
    lessons_from_existing,
    on_arrived,
    on_done,
    on_listed,
    on_watching,
    rescues,
    role_of,
    unseen,
)

NEWS = role_of("newsletter")
FILING = {"News": NEWS, "Junk": JUNK, "Unsure": UNSURE}
ROLES = {"INBOX": INBOX, "Family": OTHER, **FILING}
FOLDER_OF = {role: folder for folder, role in FILING.items()}
FOLDERS = [*ROLES, "Trash"]


class KilledError(Exception):
    """Priory was killed."""


class Server:
    """Folders of messages, each with its digest and whether it is marked as deleted."""

    def __init__(self) -> None:
        self.folders: dict[str, dict[int, tuple[bytes, bool]]] = {name: {} for name in FOLDERS}
        self.uidvalidity = dict.fromkeys(FOLDERS, 1)
        self.next_uid = dict.fromkeys(FOLDERS, 1)

    def put(self, folder: str, digest: bytes) -> None:
        self.folders[folder][self.next_uid[folder]] = (digest, False)
        self.next_uid[folder] += 1

    def live(self, folder: str) -> dict[int, bytes]:
        return {uid: digest for uid, (digest, is_deleted) in self.folders[folder].items() if not is_deleted}

    def where(self, digest: bytes) -> list[str]:
        return [folder for folder in FOLDERS for each in self.live(folder).values() if each == digest]

    def renumber(self, folder: str) -> None:
        digests = list(self.live(folder).values())
        self.folders[folder], self.next_uid[folder] = {}, 1
        self.uidvalidity[folder] += 1
        for digest in digests:
            self.put(folder, digest)


class Priory:
    """Does what `FolderPasses` does, with plain values as server, disk and journal, and is killed after some steps."""

    def __init__(self, server: Server, belongs: dict[bytes, str], *, has_move: bool) -> None:
        self.server, self.belongs, self.has_move = server, belongs, has_move
        self.disk: list[Change] = []  # what outlives it
        self.journal: dict[bytes, str] = {}
        self.unsure_of: set[bytes] = set()  # killed before it knew whether it had moved them
        self.steps_left = 0

    def step(self) -> None:
        self.steps_left -= 1
        if self.steps_left == 0:
            raise KilledError

    def note(self, state: MailboxState, changes: list[Change]) -> None:
        self.step()
        self.disk += changes
        state.apply(changes)

    def go(self, killed_after: int = 0) -> None:
        self.steps_left = killed_after
        try:
            self.go_through()
        except KilledError:
            self.unsure_of |= {
                entry.digest for entry in MailboxState(self.disk).due() if entry.due.task is MailTask.MOVE
            }

    def go_through(self) -> None:
        state, server = MailboxState(self.disk), self.server
        looks = [
            FolderListing(name, role, server.uidvalidity[name], server.next_uid[name], frozenset(server.live(name)))
            for name, role in ROLES.items()
        ]
        self.note(state, on_watching(state, ROLES))
        for look in (*looks[2:], *looks[:2]):
            self.note(state, on_listed(state, look))
            for uid in unseen(state, look):
                digest = server.folders[look.folder][uid][0]
                self.note(state, on_arrived(state, look.folder, [Arrival(uid, digest, self.place_of(digest))], uid + 1))
        self.note(state, rescues(state))
        for entry in state.due():
            if entry.due.task is MailTask.MOVE:
                self.move(state, entry)
            else:
                self.step()
                self.journal[entry.digest] = str(entry.due)
                self.note(state, on_done(entry))

    def place_of(self, digest: bytes) -> Role | None:
        return FILING[self.belongs[digest]] if digest in self.belongs else None

    def move(self, state: MailboxState, entry: Sighting) -> None:
        self.step()
        role = entry.due.role
        if not state.is_in(entry.digest, role):
            self.server.put(FOLDER_OF[role], entry.digest)
        if not self.has_move:
            self.step()
        self.server.folders[entry.folder].pop(entry.uid)
        if not self.has_move:
            self.step()
        self.disk += on_done(entry)


class Person:
    """Moves mail, and remembers what was meant by it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.numbers = count()
        self.said: dict[bytes, str] = {}
        self.taken_out: set[bytes] = set()

    def every(self) -> list[bytes]:
        return [number.to_bytes(32, "big") for number in range(next(self.numbers))]

    def deliver(self) -> bytes:
        digest = next(self.numbers).to_bytes(32, "big")
        self.server.put("INBOX", digest)
        return digest

    def move(self, source: str, target: str, which: int, *, by_flag: bool) -> None:
        there = sorted(self.server.live(source))
        if not there or source == target:
            return
        uid = there[which % len(there)]
        digest = self.server.folders[source][uid][0]
        self.server.put(target, digest)
        if by_flag:
            self.server.folders[source][uid] = (digest, True)
        else:
            self.server.folders[source].pop(uid)
        if source in FILING:
            self.taken_out.add(digest)
        if target in {"News", "Junk"}:
            self.said[digest] = str(Due(MailTask.TEACH, FILING[target]))
        elif target in {"INBOX", "Family"} and digest in self.taken_out:  # also if it was in Trash meanwhile
            self.said[digest] = "ham"


move = st.tuples(st.sampled_from(FOLDERS), st.sampled_from(FOLDERS), st.integers(0, 12), st.booleans())
killed = st.integers(1, 12).map(lambda steps: ("killed after", steps))
deed = st.one_of(
    st.just("deliver"),
    st.just("deliver to Junk"),
    st.just("deliver to News"),
    st.just("deliver to Unsure"),
    st.just("look"),
    killed,
    move,
    move,
)


def lived(deeds: list, *, has_move: bool) -> tuple[Server, Priory, Person]:
    server, belongs = Server(), {}
    person, priory = Person(server), Priory(server, belongs, has_move=has_move)
    priory.go()
    for each in deeds:
        match each:
            case "deliver":
                person.deliver()
            case "deliver to Junk" | "deliver to News" | "deliver to Unsure":
                belongs[person.deliver()] = each.removeprefix("deliver to ")
            case "look":
                priory.go()
            case ("killed after", steps):
                priory.go(steps)
            case ("renumber", folder):
                server.renumber(folder)
            case (source, target, which, by_flag):
                person.move(source, target, which, by_flag=by_flag)
                if FILING.keys() & {source, target}:
                    priory.go(which + 1)  # and is killed on the way, mostly
                    priory.go()  # otherwise a move there and back would not be seen
    for _ in range(4):
        priory.go()
    return server, priory, person


@settings(max_examples=300, deadline=None)
@given(st.lists(deed, max_size=30))
def test_the_last_that_a_person_said_is_what_was_learned(deeds):
    server, priory, person = lived(deeds, has_move=True)
    assert priory.journal.items() <= person.said.items()
    assert set(person.said) - set(priory.journal) <= priory.unsure_of
    assert all(len(server.where(digest)) == 1 for digest in person.every())


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(deed, st.sampled_from(list(ROLES)).map(lambda folder: ("renumber", folder))), max_size=30))
def test_whatever_happens_no_message_is_lost_and_nothing_stays_undone(deeds):
    server, priory, person = lived(deeds, has_move=False)
    assert all(server.where(digest) for digest in person.every())
    assert not MailboxState(priory.disk).due()


alone = st.sampled_from(["deliver", "deliver to Junk", "deliver to News", "deliver to Unsure", "look"])


@settings(max_examples=300, deadline=None)
@given(st.booleans(), st.lists(alone | killed, max_size=30))
def test_new_mail_is_moved_and_teaches_nothing_however_often_priory_is_killed(has_move, deeds):
    server, priory, _ = lived(deeds, has_move=has_move)
    assert priory.journal == {}
    assert all(server.where(digest) == [folder] for digest, folder in priory.belongs.items())
    assert sum(len(server.live(folder)) for folder in FILING) == len(priory.belongs)


def seen(state: MailboxState, *looks: FolderListing, **digests: dict[int, bytes]) -> MailboxState:
    """Look at folders, with the digest of each message in them."""
    for look in looks:
        state.apply(on_listed(state, look))
        arrivals = [Arrival(uid, digests[look.folder][uid]) for uid in unseen(state, look)]
        state.apply(on_arrived(state, look.folder, arrivals, look.next_uid))
    state.apply(rescues(state))
    return state


def look(folder: str, *uids: int, uidvalidity: int = 1) -> FolderListing:
    return FolderListing(folder, ROLES[folder], uidvalidity, max(uids, default=0) + 1, frozenset(uids))


def test_what_is_in_junk_at_the_first_look_is_known_but_teaches_nothing_unless_asked():
    state = seen(MailboxState(), look("Junk", 1, 2), look("INBOX", 7), Junk={1: b"a", 2: b"b"}, INBOX={7: b"c"})
    assert state.due() == []
    assert [entry.origin for entry in state.within("Junk")] == ["before", "before"]
    assert state.within("INBOX") == []
    state.apply(lessons_from_existing(state))
    assert [(entry.uid, str(entry.due)) for entry in state.due()] == [(1, "spam"), (2, "spam")]


def test_what_is_in_the_folder_of_another_label_at_the_first_look_is_taught_as_that():
    state = seen(MailboxState(), look("News", 1), look("Junk"), News={1: b"a"}, Junk={})
    state.apply(lessons_from_existing(state))
    assert [str(entry.due) for entry in state.due()] == ["label newsletter"]


def test_what_a_person_moves_from_one_label_to_another_is_of_the_other():
    state = seen(MailboxState(), look("News"), look("Junk", 1), look("INBOX"), News={}, Junk={1: b"a"}, INBOX={})
    seen(state, look("News", 1), look("Junk"), look("INBOX"), News={1: b"a"}, Junk={}, INBOX={})
    assert state.due() == [Sighting("News", 1, b"a", Origin.PERSON, Due(MailTask.TEACH, NEWS))]


def test_unsure_mail_is_what_a_person_calls_it_by_taking_it_out():
    state = seen(MailboxState(), look("Unsure", 1, 2, 3), Unsure={1: b"a", 2: b"b", 3: b"c"})
    seen(state, look("Junk"), look("INBOX"), Junk={}, INBOX={})
    state.apply(lessons_from_existing(state))  # to be in Unsure says nothing
    seen(state, look("Unsure", 4), look("Junk"), look("INBOX"), Unsure={4: b"d"}, Junk={}, INBOX={})
    assert state.due() == []  # nor to have gone from there, nor to be put there
    seen(state, look("Unsure"), look("Junk", 1), look("INBOX", 1), Unsure={}, Junk={1: b"a"}, INBOX={1: b"b"})
    assert [(entry.digest, str(entry.due)) for entry in state.due()] == [(b"a", "spam"), (b"b", "ham")]


def test_what_a_person_moves_from_junk_to_unsure_stays_what_it_was_until_it_is_taken_out():
    state = seen(MailboxState(), look("Unsure"), look("Junk"), look("INBOX"), Unsure={}, Junk={}, INBOX={})
    seen(state, look("Junk", 1), Junk={1: b"a"})
    state.apply(on_done(state.due()[0]))
    seen(state, look("Unsure", 1), look("Junk"), look("INBOX"), Unsure={1: b"a"}, Junk={}, INBOX={})
    assert state.due() == []
    seen(state, look("Unsure"), look("Junk"), look("INBOX", 1), Unsure={}, Junk={}, INBOX={1: b"a"})
    assert [str(entry.due) for entry in state.due()] == ["ham"]


def test_a_person_may_move_unsure_mail_to_junk_before_priory_has_seen_it_in_unsure():
    state = seen(MailboxState(), look("Unsure"), look("Junk"), look("INBOX"), Unsure={}, Junk={}, INBOX={})
    state.apply([Sighting("INBOX", 1, b"a", Origin.UNKNOWN, Due(MailTask.MOVE, UNSURE))])
    state.apply(on_done(state.due()[0]))
    seen(state, look("Unsure"), look("Junk", 1), look("INBOX"), Unsure={}, Junk={1: b"a"}, INBOX={})
    assert state.due() == [Sighting("Junk", 1, b"a", Origin.PERSON, Due(MailTask.TEACH, JUNK))]
    state.apply(on_done(state.due()[0]))
    seen(state, look("Junk"), look("INBOX", 2), Junk={}, INBOX={2: b"a"})
    assert [str(entry.due) for entry in state.due()] == ["ham"]


def test_an_unsure_folder_that_is_numbered_anew_or_no_longer_watched_is_still_where_mail_came_from():
    state = seen(MailboxState(), look("Unsure", 1, 2), look("INBOX"), Unsure={1: b"a", 2: b"b"}, INBOX={})
    seen(state, look("Unsure", 1, uidvalidity=2), look("INBOX", 1), Unsure={1: b"b"}, INBOX={1: b"a"})
    assert [(entry.digest, str(entry.due)) for entry in state.due()] == [(b"a", "ham")]
    state.apply(on_watching(state, ["INBOX", "Junk"]))
    seen(state, look("INBOX", 1, 2), INBOX={2: b"b"})
    assert [(entry.digest, str(entry.due)) for entry in state.due()] == [(b"a", "ham"), (b"b", "ham")]


def test_a_first_look_that_was_cut_off_goes_on_as_one():
    state = MailboxState([FolderMark("Junk", JUNK, 1, 2, 4), Sighting("Junk", 1, b"a", Origin.BEFORE)])
    seen(state, look("Junk", 1, 2, 3, 4), Junk={2: b"b", 3: b"c", 4: b"d"})
    assert [(entry.uid, entry.origin, str(entry.due or "")) for entry in state.within("Junk")] == [
        (1, "before", ""),
        (2, "before", ""),
        (3, "before", ""),
        (4, "person", "spam"),
    ]


def test_what_was_in_junk_before_can_be_rescued():
    state = seen(MailboxState(), look("Junk", 1), look("INBOX"), Junk={1: b"a"}, INBOX={})
    seen(state, look("Junk"), look("INBOX", 1), Junk={}, INBOX={1: b"a"})
    assert state.due() == [Sighting("INBOX", 1, b"a", Origin.RESCUED, Due(MailTask.TEACH, INBOX))]


def test_a_copy_of_what_is_still_in_junk_says_nothing_until_junk_has_it_no_more():
    state = seen(MailboxState(), look("Junk", 1), look("INBOX"), Junk={1: b"a"}, INBOX={})
    seen(state, look("Junk", 1), look("INBOX", 1), Junk={}, INBOX={1: b"a"})
    assert state.due() == []
    assert state.is_waiting()
    seen(state, look("Junk"), look("INBOX", 1), Junk={}, INBOX={})
    assert [str(entry.due) for entry in state.due()] == ["ham"]


def test_to_delete_a_copy_in_junk_says_nothing_about_the_one_in_the_inbox():
    state = seen(MailboxState(), look("Junk"), look("INBOX"), Junk={}, INBOX={})
    seen(state, look("INBOX", 1), look("Junk"), Junk={}, INBOX={1: b"a"})
    seen(state, look("Junk", 1), look("INBOX", 1), Junk={1: b"a"}, INBOX={})
    state.apply(on_done(state.due()[0]))
    seen(state, look("Junk"), look("INBOX", 1), Junk={}, INBOX={})
    assert state.due() == []


def test_folders_that_were_numbered_anew_teach_nothing():
    state = MailboxState([FolderMark("Junk", JUNK, 1, 4, 1), FolderMark("INBOX", INBOX, 1, 9, 1)])
    state.apply([Sighting("Junk", 1, b"a", Origin.PERSON), Sighting("Junk", 3, b"b", Origin.PRIORY)])
    anew = look("Junk", 1, 2, 3, uidvalidity=2), look("INBOX", 1, 2, uidvalidity=2)
    seen(state, *anew, Junk={1: b"a", 2: b"b", 3: b"c"}, INBOX={1: b"d", 2: b"a"})
    assert state.due() == []
    assert [entry.origin for entry in state.within("Junk")] == ["person", "priory", "before"]


def test_a_folder_that_becomes_junk_is_looked_at_as_if_for_the_first_time():
    state = seen(MailboxState(), look("Family", 1), Family={1: b"a"})
    state.apply(on_listed(state, FolderListing("Family", JUNK, 1, 2, frozenset([1]))))
    assert state.marks["Family"] == FolderMark("Family", JUNK, 1, 1, 2)


def test_what_is_no_longer_watched_is_forgotten_but_for_what_has_been_in_junk():
    state = MailboxState([FolderMark("Spam", JUNK, 1, 4, 1), Sighting("Spam", 1, b"a", Origin.PERSON)])
    assert on_watching(state, ["INBOX", "Junk"]) == [
        SightingRemoved("Spam", 1),
        PastFiling(b"a", Origin.PERSON),
        FolderMark("Spam", JUNK, 0, 4, 1),
    ]
