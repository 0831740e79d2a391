"""Evidence of one user: which lessons count for a user alone, and which count for everyone.

A lesson of a named user counts for everyone, like any other. It also counts for that user if the filter was not certain
of it, or could not score it yet. So personal evidence is where a user sees things differently: it takes little room,
and mail that all agree on is judged as before.

One user who teaches wrongly, or far more than all others, must not decide for strangers. So beyond a bound, a user's
lessons count for that user alone. This is decided when a lesson is learned and stored in its row; forgetting, merging
and rebuilding therefore stay exact. docs/decisions/users.md has the measurements.
"""

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from priory.bayes.counts import HeldOut, has_correction
from priory.bayes.personal import PersonalBayes
from priory.features import KINDS, Features
from priory.journal import LessonUser, is_person

if TYPE_CHECKING:
    from array import array

#: The kinds of features that count for a user: one in how many of them, and their weight.
PERSONAL_KINDS: Final = {"header": (16, 5.5), "sender": (1, 1.6), "link": (1, 7.0)}
_UNUSED: Final = (0, 0.0)

PERSONAL: Final = PersonalBayes(
    one_in=[PERSONAL_KINDS.get(kind, _UNUSED)[0] for kind in KINDS],
    weights=[PERSONAL_KINDS.get(kind, _UNUSED)[1] for kind in KINDS],
    damping=20.0,
    smoothing=0.03,
    doubt=3.0,
    trust=10.0,
)

FEW: Final = 20  #: with fewer other users, a family or an office that know each other, there is no bound
TIMES: Final = 2  #: the bound is this many times the average number of lessons of the others,
ONE_IN: Final = 50  #: or one lesson for this many lessons of the others together,
MOST: Final = 1_000  #: up to this number,
LEAST: Final = 20  #: and never less than this


@lru_cache(maxsize=1024)
def user_key(user: str) -> int:
    """Return the number that a user's features are hashed with.

    >>> user_key("ann") == user_key("ann"), user_key("ann") == user_key("bob")
    (True, False)
    """
    return int.from_bytes(hashlib.blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def personal_rows(
    user: LessonUser, held_out: HeldOut | None, features: Features, bits: int, personal_bits: int
) -> "array[int] | None":
    """Return the rows, of 2^personal_bits, in which a lesson counts for its user; None if it does not.

    This depends only on what is stored with the lesson, so it can be repeated at any time.
    """
    if not is_person(user) or not (held_out is None or has_correction(held_out)):
        return None
    return PERSONAL.rows(features.buckets, features.offsets, user_key(user), personal_bits, features.extra_bits(bits))


def shared_room(own: int, others: int, of_others: int) -> int | None:
    """Return how many more lessons of a user may count for everyone; None means no bound.

    The user has `own` lessons that count for everyone, `others` is the number of other users, and `of_others` the
    number of lessons that are not the user's, including those without a user.

    >>> shared_room(own=5000, others=3, of_others=200) is None
    True
    >>> [shared_room(own=15, others=1_000, of_others=n) for n in (1_000, 50_000, 900_000)]
    [5, 985, 1785]
    """
    if others < FEW:
        return None
    bound = max(LEAST, min(of_others // ONE_IN, MOST), TIMES * of_others // others)
    return max(bound - own, 0)
