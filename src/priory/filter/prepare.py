"""Parsing messages and extracting their features, once for both checking and learning."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from priory.features import Features, Spec, extract
from priory.html.text import printable
from priory.message import Message, identity, parse

Thing = TypeVar("Thing")
READ_TOGETHER: Final = 16
MOST_BYTES_TOGETHER: Final = 512 * 1024
MOST_SUBJECT: Final = 100  #: characters of a subject that the journal stores


class Extras(NamedTuple):
    """What is prepared of a message in addition to its features."""

    identity: bool = False  #: the identity that all copies of the message share
    subject: bool = False  #: the subject as the journal stores it


NO_EXTRAS: Final = Extras()


class Prepared(NamedTuple):
    """A message with its features, for both `check` and `learn`."""

    digest: bytes
    sender: str
    features: Features
    packed: bytes = b""  #: the features as the journal stores them, if they are packed already
    identity: bytes = b""  #: the identity that all copies of the message share, where it is needed
    subject: str = ""  #: as the journal stores it, if it stores subjects

    @property
    def message(self) -> Message:
        """The parsed message; features that were read from a journal have none."""
        if self.features.extracted_from is None:
            raise ValueError("these features were read from a journal, which stores no messages")
        return self.features.extracted_from[0]


def prepare(raw: bytes, spec: Spec) -> Prepared:
    """Parse a message and extract its features.

    >>> prepare(b"From: ann@mail.example\\n\\nLunch on Friday?", Spec()).sender
    'mail.example'
    """
    return prepare_parsed(parse(raw), spec)


def prepare_parsed(message: Message, spec: Spec, extras: Extras = NO_EXTRAS, *, located: bool = False) -> Prepared:
    """Extract the features of a parsed message, and add the extras.

    If `located`, the features know their positions, so reasons need no second extraction.
    """
    return Prepared(
        message.digest,
        message.sender_domain,
        extract(message, spec, located=located),
        identity=identity(message) if extras.identity else b"",
        subject=stored_subject(message) if extras.subject else "",
    )


def stored_subject(message: Message) -> str:
    r"""Return the subject of a message as the journal stores it: decoded, printable and not too long.

    >>> stored_subject(parse(b"Subject: =?utf-8?q?Caf=C3=A9=07?=\n  on Friday\n\n"))
    'Café· on Friday'
    """
    subject = message.header("subject")
    return printable(subject if len(subject) <= MOST_SUBJECT else f"{subject[: MOST_SUBJECT - 1]}…")


def prepare_many(
    messages: Sequence[bytes | Prepared], spec: Spec, extras: Extras = NO_EXTRAS, *, located: bool = False
) -> list[Prepared]:
    """Parse messages and extract their features, except those that are prepared already.

    A whole group is parsed before its features are extracted. Doing both for one message after the other takes a tenth
    longer, because each step evicts the other from the processor's caches.
    """
    ready: list[Prepared] = []
    for i in range(0, len(messages), READ_TOGETHER):
        group = [raw if isinstance(raw, Prepared) else parse(raw) for raw in messages[i : i + READ_TOGETHER]]
        ready += [
            message if isinstance(message, Prepared) else prepare_parsed(message, spec, extras, located=located)
            for message in group
        ]
    return ready


def in_groups(
    things: Iterable[Thing], size: Callable[[Thing], int], most: int, most_bytes: int = MOST_BYTES_TOGETHER
) -> Iterator[list[Thing]]:
    """Yield things in groups of `most`, or fewer if they are large; the last group may be empty.

    If the iterable fails, the things before the failure are yielded first.

    >>> list(in_groups(["a", "b", "c"], len, 2))
    [['a', 'b'], ['c']]
    """
    group: list[Thing] = []
    n_bytes = 0
    try:
        for thing in things:
            group.append(thing)
            n_bytes += size(thing)
            if len(group) == most or n_bytes >= most_bytes:
                yield group
                group, n_bytes = [], 0
    except Exception:
        yield group
        raise
    yield group
