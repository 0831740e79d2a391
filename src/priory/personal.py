"""What counts for a person alone: which features of a person's lessons, and which lessons.

A lesson of somebody with a name counts for everyone, as any other; if the filter was not certain of it, or had nothing
to say yet, it also counts for the one who taught it. So what a person has of their own is where they see things
differently, it takes little room, and mail that all agree on is judged as it was. The figures behind the numbers are in
docs/decisions/users.md.
"""

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from priory.bayes.counts import HeldOut, corrects
from priory.bayes.personal import PersonalBayes
from priory.features import KINDS
from priory.journal import is_person

if TYPE_CHECKING:
    from array import array

    from typing_extensions import Buffer

#: Kinds of features that count for a person: one in how many of them, and their weight.
KINDS_OF_PERSONS: Final = {"header": (16, 5.5), "sender": (1, 1.6), "link": (1, 7.0)}
_NOT: Final = (0, 0.0)

PERSONAL: Final = PersonalBayes(
    one_in=[KINDS_OF_PERSONS.get(kind, _NOT)[0] for kind in KINDS],
    weights=[KINDS_OF_PERSONS.get(kind, _NOT)[1] for kind in KINDS],
    damping=20.0,
    smoothing=0.03,
    doubt=3.0,
    trust=10.0,
)


@lru_cache(maxsize=1024)
def key_of(user: str) -> int:
    """Return the number that a person's features are hashed with.

    >>> key_of("ann") == key_of("ann"), key_of("ann") == key_of("bob")
    (True, False)
    """
    return int.from_bytes(hashlib.blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def rows_of(
    user: str, held_out: HeldOut | None, buckets: "Buffer", offsets: "Buffer", bits: int
) -> "array[int] | None":
    """Return the rows of 2^bits in which a lesson counts for the one who taught it; None if it does not.

    That depends on what was predicted of it before it was learned, and so on nothing but the lesson.
    """
    if not is_person(user) or not (held_out is None or corrects(held_out)):
        return None
    return PERSONAL.rows(buckets, offsets, key_of(user), bits)
