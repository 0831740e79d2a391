"""What somebody says of a message, and what became of that."""

from typing import NamedTuple

from priory.bayes.counts import HeldOut
from priory.features import Numbers, unpacked
from priory.journal import Lesson
from priory.journal.outbox import Kept


class Taught(NamedTuple):
    """A message that somebody says is of a label."""

    digest: bytes
    label: str
    features: bytes  #: packed, for the journal
    buckets: Numbers  #: the same, for the counts
    offsets: Numbers
    source: str
    sender: str
    time: float
    letter: bytes  #: its name whoever's copy it is

    def lesson(self, held_out: HeldOut | None, user: str, node: str) -> Lesson:
        """Return the row of the journal, given what was predicted, and who teaches it on which machine."""
        digest, label, features, _, _, source, sender, when, _ = self
        return Lesson(digest, label, features, held_out, user, source, sender, when, node=node)


def taught_anew(known: Lesson | Kept, bits: int, label: str, time: float, letter: bytes) -> Taught:
    """Return what is taught, under a label and at a time, of a message of which only the features are left."""
    features = unpacked(known.features, bits)
    return Taught(
        digest=known.digest,
        label=label,
        features=known.features,
        buckets=features.buckets,
        offsets=features.offsets,
        source=known.source,
        sender=known.sender,
        time=time,
        letter=letter,
    )


class Learned(NamedTuple):
    """What learning one message came to: *learned*, *relearned* under another label, *known* already, or *kept*."""

    outcome: str
    digest: str
    was: str | None = None
